/*
 * dllm_check.c - dllm-check: runs the case files on a device and says which cases pass
 */
#include "check_decode.h"
#include "check_rows.h"
#include "decode_shape.h"
#include "standard_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_PASSED = 0, EXIT_USAGE = 1, EXIT_SOME_FAILED = 2, EXIT_NO_DEVICE = 3 };

static const char usage[] =
    "usage: dllm-check rows FILE [--device cpu|cuda[:N]] [--op head|sampler] [--family NAME]\n"
    "                            [--large]\n"
    "       dllm-check decode FILE [--device cpu|cuda[:N]] [--tier A|B|C]\n"
    "\n"
    "Runs the cases of FILE (row_cases.json and decode_cases.json of tests/cases have their "
    "format)\n"
    "through the library.\n"
    "\n"
    "  --device cpu|cuda[:N]  where to run; cpu by default, cuda is cuda:0\n"
    "  --op head|sampler      rows: one operation; both by default\n"
    "  --family NAME          rows: one kernel family for the operation that has it; by default\n"
    "                         every one that can take the case\n"
    "  --large                rows: also the cases that need several GB\n"
    "  --tier A|B|C           decode: the last tier that is run; B by default\n"
    "  --help                 this text\n"
    "\n"
    "One line a case: PASS id, FAIL id: got, wanted, or SKIP id: needs NAME; the last line "
    "counts.\n"
    "Exit status: 0 none failed, 1 usage, unusable file or unwritten output, 2 some failed,\n"
    "3 no such device.\n";

enum { COMMAND_ROWS = 1, COMMAND_DECODE = 2 };

typedef struct known_option {
    const char *name;
    unsigned commands; /* those that take it */
    bool has_value;
} known_option;

static const known_option known_options[] = {
    {"--device", COMMAND_ROWS | COMMAND_DECODE, true},
    {"--op", COMMAND_ROWS, true},
    {"--family", COMMAND_ROWS, true},
    {"--tier", COMMAND_DECODE, true},
    {"--large", COMMAND_ROWS, false},
};

typedef struct check_options {
    unsigned command; /* COMMAND_ROWS or COMMAND_DECODE */
    const char *file;
    const char *family;
    int device;
    unsigned operations;
    bool large;
    char tier;
} check_options;

static bool parse_device(check_options *out, const char *value)
{
    if (strcmp(value, "cpu") == 0) {
        out->device = DLLM_DEVICE_CPU;
        return true;
    }
    if (strncmp(value, "cuda", 4) != 0) return false;
    out->device = 0;
    if (value[4] == '\0') return true;
    char *end = NULL;
    const long ordinal = strtol(value + 5, &end, 10);
    if (value[4] != ':' || end == value + 5 || *end || ordinal < 0 || ordinal > 1023) return false;
    out->device = (int)ordinal;
    return true;
}

/* Takes one option with its value. */
static bool parse_value(check_options *out, const char *name, const char *value,
                        dllm_message *message)
{
    if (strcmp(name, "--device") == 0) {
        return parse_device(out, value) ||
               DLLM_REFUSE(message, "--device \"%s\" is not cpu, cuda or cuda:N", value);
    }
    if (strcmp(name, "--op") == 0) {
        out->operations = strcmp(value, "head") == 0      ? CHECK_HEAD
                          : strcmp(value, "sampler") == 0 ? CHECK_SAMPLER
                                                          : 0;
        return out->operations || DLLM_REFUSE(message, "--op \"%s\" is not head or sampler", value);
    }
    if (strcmp(name, "--tier") == 0) {
        out->tier = value[0];
        return (value[0] >= 'A' && value[0] <= 'C' && !value[1]) ||
               DLLM_REFUSE(message, "--tier \"%s\" is not A, B or C", value);
    }
    out->family = value;
    return true;
}

static bool check_family_option(const check_options *options, dllm_message *message)
{
    const bool on_cpu = options->device == DLLM_DEVICE_CPU;
    dllm_message names;
    if (!options->family || check_family_exists(options->family, on_cpu, options->operations))
        return true;
    check_family_names(&names, on_cpu, options->operations);
    return DLLM_REFUSE(message, "--family \"%s\" is not one of %s", options->family, names.text);
}

/* The option of the first `length` characters of an argument, or NULL. */
static const known_option *find_option(const char *argument, size_t length)
{
    for (size_t i = 0; i < sizeof known_options / sizeof *known_options; i++) {
        const char *name = known_options[i].name;
        if (strlen(name) == length && strncmp(argument, name, length) == 0)
            return &known_options[i];
    }
    return NULL;
}

/* Takes the option arguments[0], "--name value" or "--name=value". Returns how many arguments it was,
 * 0 with a message if it is refused. */
static int parse_option(check_options *out, int count, char **arguments, dllm_message *message)
{
    const size_t length = strcspn(arguments[0], "=");
    const bool joined = arguments[0][length] == '=';
    const known_option *option = find_option(arguments[0], length);
    if (!option)
        return DLLM_REFUSE(message,
                           "option \"%s\" is not --device, --op, --family, --tier, --large or "
                           "--help",
                           arguments[0]);
    if (!(option->commands & out->command)) {
        const bool is_rows = out->command == COMMAND_ROWS;
        return DLLM_REFUSE(message, "option %s is for %s, %s does not take it", option->name,
                           is_rows ? "decode" : "rows", is_rows ? "rows" : "decode");
    }
    if (!option->has_value) {
        if (joined) return DLLM_REFUSE(message, "%s takes no value", option->name);
        out->large = true;
        return 1;
    }
    if (!joined && count < 2) return DLLM_REFUSE(message, "%s has no value", option->name);
    const char *value = joined ? arguments[0] + length + 1 : arguments[1];
    if (!parse_value(out, option->name, value, message)) return 0;
    return joined ? 1 : 2;
}

static bool parse_options(check_options *out, unsigned command, int count, char **arguments,
                          dllm_message *message)
{
    *out = (check_options){.command = command,
                           .device = DLLM_DEVICE_CPU,
                           .operations = CHECK_HEAD | CHECK_SAMPLER,
                           .tier = 'B'};
    for (int i = 0; i < count;) {
        if (arguments[i][0] == '-') {
            const int taken = parse_option(out, count - i, arguments + i, message);
            if (!taken) return false;
            i += taken;
        } else if (out->file) {
            return DLLM_REFUSE(message, "\"%s\" is a second file, one is taken", arguments[i]);
        } else {
            out->file = arguments[i++];
        }
    }
    if (!out->file) return DLLM_REFUSE(message, "no case file is given");
    return check_family_option(out, message);
}

static void tell(check_verdict verdict, const char *id, const dllm_message *why)
{
    static const char *const words[] = {"PASS", "FAIL", "SKIP"};
    if (verdict == CHECK_PASS)
        printf("%s %s\n", words[verdict], id);
    else
        printf("%s %s: %s%s\n", words[verdict], id, verdict == CHECK_SKIP ? "needs " : "",
               why->text);
    (void)fflush(stdout);
}

static int tell_counts(const int counts[3])
{
    printf("%d passed, %d failed, %d skipped\n", counts[CHECK_PASS], counts[CHECK_FAIL],
           counts[CHECK_SKIP]);
    return counts[CHECK_FAIL] ? EXIT_SOME_FAILED : EXIT_PASSED;
}

static int run_cases(row_checker *checker, const row_cases *cases)
{
    int counts[3] = {0};
    for (int64_t i = 0; i < cases->count; i++) {
        dllm_message why;
        const check_verdict verdict = row_checker_run(checker, &cases->cases[i], &why);
        tell(verdict, cases->cases[i].id, &why);
        counts[verdict]++;
    }
    return tell_counts(counts);
}

static int check_rows(const check_options *options)
{
    dllm_message message;
    row_cases cases;
    row_checker checker;
    int status = EXIT_NO_DEVICE;
    if (!row_cases_load(&cases, options->file, &message)) {
        (void)fprintf(stderr, "dllm-check: %s\n", message.text);
        return EXIT_USAGE;
    }
    if (!row_checker_open(&checker, options->device, &message)) {
        (void)fprintf(stderr, "dllm-check: %s\n", message.text);
        goto done;
    }
    checker.operations = options->operations;
    checker.family = options->family;
    checker.large = options->large;
    status = run_cases(&checker, &cases);
    row_checker_close(&checker);
done:
    row_cases_release(&cases);
    return status;
}

static int run_decode_cases(decode_checker *checker, const json_t *cases)
{
    int counts[3] = {0};
    for (size_t i = 0; i < json_array_size(cases); i++) {
        dllm_message why;
        const json_t *from = json_array_get(cases, i);
        const check_verdict verdict = decode_checker_run(checker, from, &why);
        tell(verdict, json_string_value(json_object_get(from, "id")), &why);
        counts[verdict]++;
    }
    return tell_counts(counts);
}

static int check_decode(const check_options *options)
{
    dllm_message message;
    json_error_t error;
    decode_checker checker;
    int status = EXIT_NO_DEVICE;
    json_t *file = json_load_file(options->file, JSON_REJECT_DUPLICATES, &error);
    const json_t *cases = json_object_get(file, "cases");
    if (!file) dllm_message_set(&message, "%s", error.text);
    if (!file || !decode_shape_check(cases, &message)) {
        (void)fprintf(stderr, "dllm-check: %s: %s\n", options->file, message.text);
        json_decref(file);
        return EXIT_USAGE;
    }
    if (decode_checker_open(&checker, options->device, &message)) {
        checker.tier = options->tier;
        status = run_decode_cases(&checker, cases);
        decode_checker_close(&checker);
    } else {
        (void)fprintf(stderr, "dllm-check: %s\n", message.text);
    }
    json_decref(file);
    return status;
}

static int run(int count, char **arguments)
{
    dllm_message message;
    check_options options;
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--help") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_PASSED;
        }
    const unsigned command = count < 2                             ? 0
                             : strcmp(arguments[1], "rows") == 0   ? COMMAND_ROWS
                             : strcmp(arguments[1], "decode") == 0 ? COMMAND_DECODE
                                                                   : 0;
    if (count < 2)
        dllm_message_set(&message, "a command is missing: rows or decode");
    else if (!command)
        dllm_message_set(&message, "command \"%s\" is not rows or decode", arguments[1]);
    else if (parse_options(&options, command, count - 2, arguments + 2, &message))
        return command == COMMAND_ROWS ? check_rows(&options) : check_decode(&options);
    (void)fprintf(stderr, "dllm-check: %s\n(dllm-check --help tells more)\n", message.text);
    return EXIT_USAGE;
}

int main(int count, char **arguments)
{
    standard_output_start();
    const int status = run(count, arguments);
    if (standard_output_end()) return status;
    (void)fputs("dllm-check: the output could not be written\n", stderr);
    return EXIT_USAGE;
}
