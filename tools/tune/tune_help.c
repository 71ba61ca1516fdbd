/*
 * tune_help.c - what each subcommand says of itself
 */
#include "tune_help.h"

/* What every help text ends with. */
#define COMMON_HELP                                                                                \
    "  --json          the result as one JSON object on stdout\n"                                  \
    "  -q, --quiet     the result alone\n"                                                         \
    "  -v, --verbose   also what the library logs\n"                                               \
    "  -h, --help      this text\n"

#define PACK_STATUS                                                                                \
    "\nexit status: 0 done, 1 usage, 2 some entries are corrupt or were not stored, or a file "    \
    "cannot\nbe read or written, 5 the cache folder cannot be used\n"

const char tune_doctor_help[] = "usage: dllm-tune doctor [options]\n"
                                "Says what the library finds on this machine: driver, devices, "
                                "compiler, cuBLAS, cache folder,\n"
                                "variables, and whether a kernel can be compiled. Ends with 0 "
                                "whatever it finds.\n\n" COMMON_HELP;

const char tune_prebuild_help[] =
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

const char tune_tune_help[] =
    "usage: dllm-tune tune (--set NAME | --shapes FILE | --capture LOG) ... [options]\n"
    "Measures the choices of kernels on this GPU and keeps the best of each row bucket for every\n"
    "later plan. Each is kept at once: an interrupt loses one shape at most.\n"
    "Plans with guidance (cfg_scale) are not tuned: rules of thumb choose for them.\n\n"
    "  --set NAME      the head of a model; an unknown name lists all\n"
    "  --shapes FILE   a problem a line: head vocab 126464 depth 4096 [hidden_type bf16]\n"
    "                  [weight_type bf16] [rows_max 64], or sampler vocab 126464 [logits_type "
    "bf16]\n"
    "  --capture LOG   the problems that an application logged\n"
    "  --rows N        this row count's bucket alone; may be given again\n"
    "  --device N      ordinal of the GPU (0)\n"
    "  --patience P    measure, patient or exhaustive (measure)\n"
    "  --exhaustive    all choices, at least 11 samples of each: to judge the others by\n"
    "  --time-limit T  90, 90s, 10m or 1h; shapes that are left stay untuned\n"
    "  --resume        leave out what is tuned\n"
    "  --report FILE   a drawing of all candidates, FILE.html or FILE.svg\n"
    "  --dry-run       say what would be measured; without --resume it needs no GPU\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 some failed, 3 no GPU or driver, 4 no compiler,\n"
    "5 not stored, 6 some stayed untuned (noise, time limit), 130 interrupted (what won is kept)\n";

const char tune_merge_help[] =
    "usage: dllm-tune merge PACK PACK ... -o PACK [options]\n"
    "Makes one pack of several. Of a kernel in more than one the first is kept, of a tuned choice\n"
    "the fastest.\n\n"
    "  -o, --output PACK   where to\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

const char tune_export_help[] =
    "usage: dllm-tune export -o PACK [options]\n"
    "Packs the kernels and tuned choices of the cache folder: an archive that depends on its\n"
    "contents alone. tar unpacks it into a read-only cache folder (DLLM_SYSTEM_CACHE_PATH).\n\n"
    "  -o, --output PACK   where to\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

const char tune_import_help[] =
    "usage: dllm-tune import PACK ... [options]\n"
    "Checks every entry of a pack and publishes those that are new in the cache folder.\n\n"
    "  --dry-run       count alone\n" COMMON_HELP PACK_STATUS;

const char tune_list_help[] =
    "usage: dllm-tune list [options]\n"
    "Lists the kernels in the cache folder, in order of program, architecture and what they are\n"
    "specialised to, then the tuned choices, in order of GPU and file name. What stands below\n"
    "\"key\" is for show; -q and --json print whole names, -v paths of kernels too.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 a folder in the cache cannot be used, 5 nothing in it can\n";

const char tune_show_help[] =
    "usage: dllm-tune show KEY [options]\n"
    "Prints the key text of the kernel, or the tuned choice, whose name begins with KEY, as list\n"
    "prints it. If several do, it says how many; --json prints them.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 there is none or more than one,\n"
    "5 the cache folder cannot be used\n";

const char tune_stat_help[] =
    "usage: dllm-tune stat [options]\n"
    "Counts what is in the cache folder, how much of it was used, and what was moved "
    "aside.\n\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 a folder in the cache cannot be used, 5 nothing in it can\n";

const char tune_trim_help[] =
    "usage: dllm-tune trim [--max SIZE] [options]\n"
    "Removes the kernels that were not used for longest until the rest is below a size. Nothing\n"
    "younger than an hour goes.\n\n"
    "  --max SIZE      500M, 1G or plain bytes (DLLM_CACHE_MAX, else 2G)\n"
    "  --dry-run       count alone\n" COMMON_HELP
    "\nexit status: 0 done, 1 usage, 2 some files cannot be removed,\n"
    "5 the folder cannot be used or is no cache\n";

const char tune_clear_help[] = "usage: dllm-tune clear [--kernels | --tuning] [options]\n"
                               "Empties the cache folder.\n\n"
                               "  --kernels       kernels alone\n"
                               "  --tuning        tuned choices alone\n"
                               "  --dry-run       count alone\n" COMMON_HELP
                               "\nexit status: 0 done, 1 usage, 2 some files stay, 5 the folder "
                               "cannot be used or is no cache\n";

const char tune_capture_help[] =
    "usage: dllm-tune capture\n"
    "An application that runs with DLLM_CAPTURE=FILE notes each distinct head and sampler that it\n"
    "prepares in FILE, a line each; so does every process that inherits the variable. Those with\n"
    "guidance (cfg_scale) are left out: nothing tunes them. Tune the others with\n"
    "    dllm-tune tune --capture FILE\n\n" COMMON_HELP "\nexit status: 0 done, 1 usage\n";

const char tune_verify_help[] =
    "usage: dllm-tune verify [--repair [--dry-run]] [options]\n"
    "Reads every entry of the cache folder whole and checks its digests.\n\n"
    "  --repair        move bad entries aside, to v1/bad\n"
    "  --dry-run       with --repair: say what would be moved\n" COMMON_HELP
    "\nexit status: 0 all are good (or repaired), 1 usage, 2 some are bad or a folder in the "
    "cache\n"
    "cannot be used, 5 nothing in it can\n";

const char tune_general_help[] =
    "usage: dllm-tune COMMAND [options]\n\n"
    "  doctor      what the library finds on this machine\n"
    "  prebuild    compile the kernels of an architecture, without a GPU\n"
    "  tune        measure choices on this GPU and keep the best\n"
    "  capture     how an application notes its problems for tune\n"
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
