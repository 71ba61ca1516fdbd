/*
 * dllm_tune.c - the command line of the kernel cache: what is there, what is missing, fill it
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "standard_output.h"
#include "tune.h"
#include "tune_help.h"

/* Letters of the options that a command takes, as bits. */
enum {
    TAKES_COMMON = 1,
    TAKES_DRY_RUN = 2,
    TAKES_PREBUILD = 4,
    TAKES_REPAIR = 8,
    TAKES_SETS = 16,
    TAKES_TUNE = 32,
    TAKES_OUTPUT = 64,
    TAKES_FILES = 128,
    TAKES_MAX = 256,
    TAKES_KINDS = 512
};

static int tune_capture(const tune_options *options);

static const struct command {
    const char *name;
    int (*run)(const tune_options *options);
    const char *help;
    int takes;
} commands[] = {
    {"doctor", tune_doctor, tune_doctor_help, TAKES_COMMON},
    {"prebuild", tune_prebuild, tune_prebuild_help,
     TAKES_COMMON | TAKES_DRY_RUN | TAKES_PREBUILD | TAKES_SETS | TAKES_OUTPUT},
    {"tune", tune_search, tune_tune_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_SETS | TAKES_TUNE},
    {"merge", tune_merge, tune_merge_help,
     TAKES_COMMON | TAKES_DRY_RUN | TAKES_OUTPUT | TAKES_FILES},
    {"export", tune_export, tune_export_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_OUTPUT},
    {"import", tune_import, tune_import_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_FILES},
    {"stat", tune_stat, tune_stat_help, TAKES_COMMON},
    {"show", tune_show, tune_show_help, TAKES_COMMON | TAKES_FILES},
    {"trim", tune_trim, tune_trim_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_MAX},
    {"clear", tune_clear, tune_clear_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_KINDS},
    {"capture", tune_capture, tune_capture_help, TAKES_COMMON},
    {"list", tune_list, tune_list_help, TAKES_COMMON},
    {"verify", tune_verify, tune_verify_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_REPAIR},
};

enum {
    ARCH = 256,
    SET,
    JOBS,
    DRY_RUN,
    REPAIR,
    MAX,
    KERNELS,
    TUNING,
    JSON,
    SHAPES,
    CAPTURE,
    ROWS,
    DEVICE,
    PATIENCE,
    EXHAUSTIVE,
    TIME_LIMIT,
    RESUME,
    REPORT
};

static const struct option long_options[] = {
    {"arch", required_argument, NULL, ARCH},
    {"set", required_argument, NULL, SET},
    {"jobs", required_argument, NULL, JOBS},
    {"dry-run", no_argument, NULL, DRY_RUN},
    {"repair", no_argument, NULL, REPAIR},
    {"max", required_argument, NULL, MAX},
    {"kernels", no_argument, NULL, KERNELS},
    {"tuning", no_argument, NULL, TUNING},
    {"json", no_argument, NULL, JSON},
    {"shapes", required_argument, NULL, SHAPES},
    {"capture", required_argument, NULL, CAPTURE},
    {"rows", required_argument, NULL, ROWS},
    {"device", required_argument, NULL, DEVICE},
    {"patience", required_argument, NULL, PATIENCE},
    {"exhaustive", no_argument, NULL, EXHAUSTIVE},
    {"time-limit", required_argument, NULL, TIME_LIMIT},
    {"resume", no_argument, NULL, RESUME},
    {"report", required_argument, NULL, REPORT},
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int tune_capture(const tune_options *options)
{
    const char *file = getenv("DLLM_CAPTURE");
    if (options->json)
        (void)printf("{\"variable\": \"DLLM_CAPTURE\", \"set\": %s}\n", file ? "true" : "false");
    else
        (void)fputs(tune_capture_help, stdout);
    return TUNE_DONE;
}

int tune_fail(int code, const char *format, ...)
{
    char line[DLLM_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    dllm_message_line(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fprintf(stderr, "dllm-tune: %s\n", line);
    return code;
}

static void print_line(void *user, const char *line)
{
    (void)user;
    (void)fprintf(stderr, "dllm: %s\n", line);
}

dllm_log tune_log(const tune_options *options)
{
    return (dllm_log){.function = options->verbose ? print_line : NULL, .user = NULL};
}

static int add_name(tune_names *names, const char *name)
{
    if (names->count == TUNE_NAMES_MAX)
        return tune_fail(TUNE_USAGE, "more than %d values of one option", TUNE_NAMES_MAX);
    names->text[names->count++] = name;
    return TUNE_DONE;
}

static int read_count(int *out, const char *option, const char *text, int least)
{
    char *end = NULL;
    errno = 0;
    const long count = strtol(text, &end, 10);
    if (errno || end == text || *end || count < least || count > 1024)
        return tune_fail(TUNE_USAGE, "--%s %s is not a number from %d to 1024", option, text,
                         least);
    *out = (int)count;
    return TUNE_DONE;
}

static int read_patience(tune_options *out, const char *text)
{
    static const char *const names[] = {"measure", "patient", "exhaustive"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(names[i], text) != 0) continue;
        out->patience = i;
        return TUNE_DONE;
    }
    return tune_fail(TUNE_USAGE, "--patience %s is not measure, patient or exhaustive", text);
}

static int read_time(tune_options *out, const char *text)
{
    char *end = NULL;
    const char *after = text + strspn(text, "0123456789."); /* strtod knows inf and 0x10 too */
    errno = 0;
    const double value = strtod(text, &end);
    const double unit = strcmp(end, "m") == 0            ? 60.0
                        : strcmp(end, "h") == 0          ? 3600.0
                        : !*end || strcmp(end, "s") == 0 ? 1.0
                                                         : 0.0;
    if (errno || end == text || end != after || !(value * unit > 0.0))
        return tune_fail(TUNE_USAGE, "--time-limit %s is no time like 90s, 10m or 1h", text);
    out->time_limit_seconds = value * unit;
    return TUNE_DONE;
}

/* The bit of `takes` that an option needs. */
static int needs(int option)
{
    switch (option) {
    case ARCH:
    case JOBS:
        return TAKES_PREBUILD;
    case SET:
        return TAKES_SETS;
    case DRY_RUN:
        return TAKES_DRY_RUN;
    case REPAIR:
        return TAKES_REPAIR;
    case 'o':
        return TAKES_OUTPUT;
    case MAX:
        return TAKES_MAX;
    case KERNELS:
    case TUNING:
        return TAKES_KINDS;
    default:
        return option >= SHAPES ? TAKES_TUNE : TAKES_COMMON;
    }
}

static int read_tune_option(tune_options *out, int option, const char *value)
{
    switch (option) {
    case SHAPES:
        out->shapes = value;
        break;
    case CAPTURE:
        out->capture = value;
        break;
    case REPORT:
        out->report = value;
        break;
    case RESUME:
        out->resume = true;
        break;
    case ROWS:
        return add_name(&out->rows, value);
    case DEVICE:
        return read_count(&out->device, "device", value, 0);
    case TIME_LIMIT:
        return read_time(out, value);
    default:
        return read_patience(out, option == PATIENCE ? value : "exhaustive");
    }
    return TUNE_DONE;
}

static int read_option(tune_options *out, int option, const char *value)
{
    if (needs(option) == TAKES_TUNE) return read_tune_option(out, option, value);
    switch (option) {
    case ARCH:
        return add_name(&out->arches, value);
    case SET:
        return add_name(&out->sets, value);
    case JOBS:
        return read_count(&out->jobs, "jobs", value, 1);
    case DRY_RUN:
        out->dry_run = true;
        break;
    case REPAIR:
        out->repair = true;
        break;
    case JSON:
        out->json = true;
        break;
    case MAX:
        out->max = value;
        break;
    case KERNELS:
        out->kernels = true;
        break;
    case TUNING:
        out->tuning = true;
        break;
    case 'o':
        out->output = value;
        break;
    case 'q':
        out->quiet = true;
        break;
    default:
        out->verbose = true;
        break;
    }
    return TUNE_DONE;
}

/* What was asked for and is not taken: an option without its value, one of another command, or none. */
static int fail_option(const struct command *command, int option, char *const *argv)
{
    const int meant = option == '?' ? optopt : option;
    const char letter[] = {'-', (char)meant, '\0'};
    const char *name = argv[optind - 1];
    const char *dashes = "";
    for (const struct option *known = long_options; known->name; known++) {
        if (known->val != meant || meant < ARCH) continue;
        name = known->name;
        dashes = "--";
    }
    if (meant > 0 && meant < ARCH) name = letter;
    return tune_fail(TUNE_USAGE, "%s does not take %s%s, or not so; try dllm-tune %s --help",
                     command->name, dashes, name, command->name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    tune_options options = {0};
    opterr = 0; /* getopt would speak in the name of argv[0], here the command's */
    for (;;) {
        const int option = getopt_long(argc, argv, "qvho:", long_options, NULL);
        if (option == -1) break;
        if (option == 'h') {
            (void)fputs(command->help, stdout);
            return TUNE_DONE;
        }
        if (option == '?' || !(command->takes & needs(option)))
            return fail_option(command, option, argv);
        const int status = read_option(&options, option, optarg);
        if (status != TUNE_DONE) return status;
    }
    while (command->takes & TAKES_FILES && optind < argc) {
        const int status = add_name(&options.files, argv[optind++]);
        if (status != TUNE_DONE) return status;
    }
    if (optind < argc)
        return tune_fail(TUNE_USAGE, "%s does not take %s; try dllm-tune %s --help", command->name,
                         argv[optind], command->name);
    if (options.dry_run && (command->takes & TAKES_REPAIR) && !options.repair)
        return tune_fail(TUNE_USAGE, "--dry-run goes with --repair: verify alone writes nothing");
    if (options.kernels && options.tuning)
        return tune_fail(TUNE_USAGE,
                         "--kernels does not go with --tuning: without either, both go");
    return command->run(&options);
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        (void)fputs(tune_general_help, stdout);
        return TUNE_DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    }
    if (name[0]) (void)tune_fail(TUNE_USAGE, "%s is not a command", name);
    (void)fputs(tune_general_help, stderr);
    return TUNE_USAGE;
}

int main(int argc, char **argv)
{
    standard_output_start();
    const int status = run(argc, argv);
    if (standard_output_end()) return status;
    return tune_fail(status == TUNE_DONE ? TUNE_SOME_FAILED : status,
                     "the output could not be written");
}
