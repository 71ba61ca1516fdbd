/*
 * dllm_tune.c - the command line of the kernel cache: what is there, what is missing, fill it
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standard_output.h"
#include "tune.h"

/* What every help text ends with. */
#define COMMON_HELP                                                                                \
    "  --json          the result as one JSON object on stdout\n"                                  \
    "  -q, --quiet     the result alone\n"                                                         \
    "  -v, --verbose   also what the library logs\n"                                               \
    "  -h, --help      this text\n"

#define PACK_STATUS                                                                                \
    "\nexit status: 0 done, 1 usage, 2 some entries are corrupt or were not stored, or a file "    \
    "cannot\nbe read or written, 5 the cache folder cannot be used\n"

static const char doctor_help[] = "usage: dllm-tune doctor [options]\n"
                                  "Says what the library finds on this machine: driver, devices, "
                                  "compiler, cuBLAS, cache folder,\n"
                                  "variables, and whether a kernel can be compiled. Ends with 0 "
                                  "whatever it finds.\n\n" COMMON_HELP;

static const char prebuild_help[] =
    "usage: dllm-tune prebuild --arch ARCH [--arch ARCH ...] [--set NAME ...] [options]\n"
    "Compiles the kernels that heads need into the cache folder. Needs no GPU.\n"
    "The last line is \"N kernels, C compiled, K already cached\".\n\n"
    "  --arch ARCH     sm_75, sm_80, sm_86, sm_89, sm_90a, sm_100 or sm_120\n"
    "  --set NAME      the head of a model, llada-8b for instance; an unknown name lists all\n"
    "                  (default: all of them)\n"
    "  --jobs N        worker processes (one a core)\n"
    "  -o, --output PACK   also write these kernels into a pack\n"
    "  --dry-run       say what would be compiled, write nothing\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 some kernels failed, 4 no compiler,\n"
    "5 the cache folder or one in it cannot be used, 130 interrupted (what was compiled is kept)\n";

static const char tune_help[] =
    "usage: dllm-tune tune (--set NAME | --shapes FILE | --capture LOG) ... [options]\n"
    "Measures the choices of kernels on this GPU and keeps the best of each row bucket for every\n"
    "later plan. Each is kept at once: an interrupt loses one shape at most.\n\n"
    "  --set NAME      the head of a model; an unknown name lists all\n"
    "  --shapes FILE   a problem a line: head vocab 126464 depth 4096 [hidden_type bf16]\n"
    "                  [weight_type bf16] [rows_max 64], or sampler vocab 126464 [logits_type "
    "bf16]\n"
    "  --capture LOG   the problems that an application logged\n"
    "  --rows N        this row count's bucket alone; may be given again\n"
    "  --device N      ordinal of the GPU (0)\n"
    "  --patience P    measure, patient or exhaustive (measure)\n"
    "  --exhaustive    all choices, none dropped: to judge the others by\n"
    "  --time-limit T  90, 90s, 10m or 1h; shapes that are left stay untuned\n"
    "  --resume        leave out what is tuned\n"
    "  --report FILE   a drawing of all candidates, FILE.html or FILE.svg\n"
    "  --dry-run       say what would be measured\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 some failed, 3 no GPU or driver, 4 no compiler,\n"
    "5 not stored, 6 some stayed untuned (noise, time limit), 130 interrupted (what won is kept)\n";

static const char merge_help[] =
    "usage: dllm-tune merge PACK PACK ... -o PACK [options]\n"
    "Makes one pack of several. Of a kernel in more than one the first is kept, of a tuned choice\n"
    "the fastest.\n\n"
    "  -o, --output PACK   where to\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

static const char export_help[] =
    "usage: dllm-tune export -o PACK [options]\n"
    "Packs the kernels and tuned choices of the cache folder: an archive that depends on its\n"
    "contents alone. tar unpacks it into a read-only cache folder (DLLM_SYSTEM_CACHE_PATH).\n\n"
    "  -o, --output PACK   where to\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

static const char import_help[] =
    "usage: dllm-tune import PACK ... [options]\n"
    "Checks every entry of a pack and publishes those that are new in the cache folder.\n\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

static const char list_help[] =
    "usage: dllm-tune list [options]\n"
    "Lists the kernels in the cache folder.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 a folder in the cache cannot be used, 5 nothing in it can\n";

static const char show_help[] =
    "usage: dllm-tune show KEY [options]\n"
    "Prints the key text of the kernel, or the tuned choice, whose name begins with "
    "KEY.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 there is none, 5 the cache folder cannot be used\n";

static const char stat_help[] =
    "usage: dllm-tune stat [options]\n"
    "Counts what is in the cache folder, how much of it was used, and what was moved "
    "aside.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 a folder in the cache cannot be used, 5 nothing in it can\n";

static const char trim_help[] =
    "usage: dllm-tune trim [--max SIZE] [options]\n"
    "Removes the kernels that were not used for longest until the rest is below a size. Nothing\n"
    "younger than an hour goes.\n\n"
    "  --max SIZE      500M, 1G or plain bytes (DLLM_CACHE_MAX, else 2G)\n"
    "  --dry-run       count alone\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 5 the folder cannot be used or is no cache\n";

static const char clear_help[] = "usage: dllm-tune clear [--kernels | --tuning] [options]\n"
                                 "Empties the cache folder.\n\n"
                                 "  --kernels       kernels alone\n"
                                 "  --tuning        tuned choices alone\n"
                                 "  --dry-run       count alone\n" COMMON_HELP
                                 "\nexit status: 0 done, 1 usage, 2 some files stay, 5 the folder "
                                 "cannot be used or is no cache\n";

static const char verify_help[] =
    "usage: dllm-tune verify [--repair [--dry-run]] [options]\n"
    "Reads every entry of the cache folder whole and checks its digests.\n\n"
    "  --repair        move bad entries aside, to v1/bad\n"
    "  --dry-run       with --repair: say what would be moved\n" COMMON_HELP
    "\nexit status: 0 all are good (or repaired), 1 usage, 2 some are bad or a folder in the "
    "cache\n"
    "cannot be used, 5 nothing in it can\n";

static const char general_help[] =
    "usage: dllm-tune COMMAND [options]\n\n"
    "  doctor      what the library finds on this machine\n"
    "  prebuild    compile the kernels of an architecture, without a GPU\n"
    "  tune        measure choices on this GPU and keep the best\n"
    "  merge       make one pack of several\n"
    "  export      the cache folder as a pack\n"
    "  import      a pack into the cache folder\n"
    "  stat        how much is in the cache folder\n"
    "  show        one entry of it\n"
    "  trim        remove what was not used for longest\n"
    "  clear       remove all\n"
    "  list        the kernels in the cache folder\n"
    "  verify      read every entry of the cache folder and check it\n\n"
    "dllm-tune COMMAND --help tells a command's options. Output that could not be written is exit\n"
    "status 2.\n";

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

static const struct command {
    const char *name;
    int (*run)(const tune_options *options);
    const char *help;
    int takes;
} commands[] = {
    {"doctor", tune_doctor, doctor_help, TAKES_COMMON},
    {"prebuild", tune_prebuild, prebuild_help,
     TAKES_COMMON | TAKES_DRY_RUN | TAKES_PREBUILD | TAKES_SETS | TAKES_OUTPUT},
    {"tune", tune_search, tune_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_SETS | TAKES_TUNE},
    {"merge", tune_merge, merge_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_OUTPUT | TAKES_FILES},
    {"export", tune_export, export_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_OUTPUT},
    {"import", tune_import, import_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_FILES},
    {"stat", tune_stat, stat_help, TAKES_COMMON},
    {"show", tune_show, show_help, TAKES_COMMON | TAKES_FILES},
    {"trim", tune_trim, trim_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_MAX},
    {"clear", tune_clear, clear_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_KINDS},
    {"list", tune_list, list_help, TAKES_COMMON},
    {"verify", tune_verify, verify_help, TAKES_COMMON | TAKES_DRY_RUN | TAKES_REPAIR},
};

/* Known, and not in this version. */
static const char *const unbuilt[] = {"capture"};

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

int tune_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fflush(stdout);
    (void)fputs("dllm-tune: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
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
    errno = 0;
    const double value = strtod(text, &end);
    const double unit = strcmp(end, "m") == 0            ? 60.0
                        : strcmp(end, "h") == 0          ? 3600.0
                        : !*end || strcmp(end, "s") == 0 ? 1.0
                                                         : 0.0;
    if (errno || end == text || !(value * unit > 0.0))
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
            return tune_fail(TUNE_USAGE, "%s does not take %s, or not so; try dllm-tune %s --help",
                             command->name, argv[optind - 1], command->name);
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
    return command->run(&options);
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        (void)fputs(general_help, stdout);
        return TUNE_DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    }
    for (size_t i = 0; i < sizeof unbuilt / sizeof unbuilt[0]; i++) {
        if (strcmp(name, unbuilt[i]) == 0)
            return tune_fail(TUNE_USAGE,
                             "%s is not built in this version; dllm-tune --help names what is",
                             name);
    }
    if (name[0]) (void)tune_fail(TUNE_USAGE, "%s is not a command", name);
    (void)fputs(general_help, stderr);
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
