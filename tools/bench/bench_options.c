/*
 * bench_options.c - reads the command line
 */
#include "bench_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_exit.h"
#include "bench_taker.h"
#include "element_type.h"
#include "heads.h"

/* What may stand in a list, as a bit each. */
typedef struct word {
    const char *name;
    unsigned bit;
} word;

static const word beside_words[] = {{"read", BENCH_BESIDE_READ},
                                    {"cublaslt", BENCH_BESIDE_LT},
                                    {"cublas+sampler", BENCH_BESIDE_SAMPLER},
                                    {"none", 0},
                                    {NULL, 0}};
static const word more_words[] = {
    {"statistics", BENCH_MORE_STATISTICS}, {"gumbel", BENCH_MORE_GUMBEL}, {NULL, 0}};

static const char help[] =
    "usage: bench [options]\n"
    "Times the head and the sampler against cuBLAS's product alone and a plain read, after "
    "checking\n"
    "their results; and steps of the decode loop against the head alone.\n"
    "\n"
    "  --device D      cuda, cuda:N or cpu (cuda)\n"
    "  --threads N     worker threads of the CPU device (all cores)\n"
    "  --op OP         head, sampler or step (head and sampler)\n"
    "  --method M      letters, in order: L launches interleaved, B bursts interleaved, H time of\n"
    "                  the calling thread, at the first number of rows alone (LH; on the CPU L)\n"
    "  --family LIST   families of the head by name, with commas; dllm is the library's choice\n"
    "                  (all that the device has, naive and tiled up to 64 rows and by L alone;\n"
    "                  with --set all dllm)\n"
    "  --beside LIST   read, cublaslt, cublas+sampler or none (the three, by L alone)\n"
    "  --more LIST     statistics (entropy, second, a target's log-probability) or gumbel (a draw "
    "at\n"
    "                  temperature 1): each family a second time, with these outputs too\n"
    "  --rows LIST     numbers of rows, with commas (1 .. 16384; few on the CPU; with --set all "
    "32\n"
    "                  and 1024)\n"
    "  --set NAME      shape of a model's head (llada-8b); an unknown name lists the known ones;\n"
    "                  all measures each shape of the table once\n"
    "  --vocab N       vocabulary, in place of the set's\n"
    "  --depth N       depth, in place of the set's\n"
    "  --canvases N    step: sequences (4)\n"
    "  --length N      step: positions of each, whole blocks (4096)\n"
    "  --block N       step: positions of a block (32)\n"
    "  --preset LIST   step: decoders by name (llada,threshold,dream)\n"
    "  --type TYPE     bf16, fp16 or fp32 (head: the set's; sampler: each)\n"
    "  --samples N     samples of a variant, fewer where it is slow (L 30, B 5, H 2000)\n"
    "  --burst MS      length of a burst (150)\n"
    "  --csv FILE      also write the results as CSV\n"
    "  --json FILE     also write the results as a JSON list\n"
    "  --help          this text\n"
    "\n"
    "exit status: 0 done, 1 usage, 2 a wrong result or a failed call, 3 no such device\n";

enum {
    DEVICE = 1,
    THREADS,
    OP,
    METHOD,
    FAMILY,
    BESIDE,
    MORE,
    ROWS,
    SET,
    VOCAB,
    DEPTH,
    CANVASES,
    LENGTH,
    BLOCK,
    PRESET,
    TYPE,
    SAMPLES,
    BURST,
    CSV,
    JSON,
    HELP
};

static const struct option long_options[] = {
    {"device", required_argument, NULL, DEVICE},
    {"threads", required_argument, NULL, THREADS},
    {"op", required_argument, NULL, OP},
    {"method", required_argument, NULL, METHOD},
    {"family", required_argument, NULL, FAMILY},
    {"beside", required_argument, NULL, BESIDE},
    {"more", required_argument, NULL, MORE},
    {"rows", required_argument, NULL, ROWS},
    {"set", required_argument, NULL, SET},
    {"vocab", required_argument, NULL, VOCAB},
    {"depth", required_argument, NULL, DEPTH},
    {"canvases", required_argument, NULL, CANVASES},
    {"length", required_argument, NULL, LENGTH},
    {"block", required_argument, NULL, BLOCK},
    {"preset", required_argument, NULL, PRESET},
    {"type", required_argument, NULL, TYPE},
    {"samples", required_argument, NULL, SAMPLES},
    {"burst", required_argument, NULL, BURST},
    {"csv", required_argument, NULL, CSV},
    {"json", required_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static int64_t read_number(const char *name, const char *text, int64_t least, int64_t most)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        bench_fatal(BENCH_USAGE, "%s %s is not a number from %lld to %lld", name, text,
                    (long long)least, (long long)most);
    return value;
}

static void read_rows(bench_options *out, char *list)
{
    char *rest = NULL;
    out->row_count = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (out->row_count == BENCH_ROWS_MAX)
            bench_fatal(BENCH_USAGE, "--rows has more than %d entries", BENCH_ROWS_MAX);
        out->rows[out->row_count++] = read_number("--rows", item, 1, 1 << 20);
    }
    if (out->row_count == 0) bench_fatal(BENCH_USAGE, "--rows is empty");
}

/* Looks a name up among those of name_of, which ends with NULL. */
static void require_name(const char *option, const char *name, const char *(*name_of)(int32_t i))
{
    char list[512] = "";
    int used = 0;
    const char *known;
    for (int32_t i = 0; (known = name_of(i)); i++) {
        if (strcmp(known, name) == 0) return;
        if (used < (int)sizeof list)
            used += snprintf(list + used, sizeof list - (size_t)used, " %s", known);
    }
    bench_fatal(BENCH_USAGE, "%s %s is not one of:%s", option, name, list);
}

/* Names with commas, each of name_of; returns how many. */
static int read_names(char (*names)[BENCH_NAME_BYTES], int most, const char *option, char *list,
                      const char *(*name_of)(int32_t i))
{
    char *rest = NULL;
    int count = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (count == most || strlen(item) >= BENCH_NAME_BYTES)
            bench_fatal(BENCH_USAGE, "%s takes at most %d names of at most %d letters", option,
                        most, BENCH_NAME_BYTES - 1);
        require_name(option, item, name_of);
        (void)snprintf(names[count++], BENCH_NAME_BYTES, "%s", item);
    }
    if (count == 0) bench_fatal(BENCH_USAGE, "%s is empty", option);
    return count;
}

static unsigned read_words(const char *option, const word *words, char *list)
{
    unsigned bits = 0;
    char *rest = NULL;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        const word *one = words;
        while (one->name && strcmp(one->name, item) != 0)
            one++;
        if (!one->name)
            bench_fatal(BENCH_USAGE, "%s %s is not one of the words in --help", option, item);
        bits |= one->bit;
    }
    return bits;
}

static void read_method(bench_options *out, const char *letters)
{
    out->way_count = 0;
    for (; *letters; letters++) {
        const bench_way *way = bench_way_find(*letters);
        if (!way || out->way_count == BENCH_WAYS_MAX)
            bench_fatal(BENCH_USAGE, "--method takes at most %d letters of L, B and H",
                        BENCH_WAYS_MAX);
        out->ways[out->way_count++] = way;
    }
    if (out->way_count == 0) bench_fatal(BENCH_USAGE, "--method is empty");
}

/* Adds a head of the table, unless one of that shape is there. */
static void add_shape(bench_options *out, const dllm_head_set *set)
{
    for (int i = 0; i < out->shape_count; i++) {
        const bench_head *other = &out->shapes[i];
        if (other->vocab == set->vocab && other->depth == set->depth &&
            other->type == set->weight_type)
            return;
    }
    if (out->shape_count == BENCH_SHAPES_MAX)
        bench_fatal(BENCH_USAGE, "--set all has more than %d shapes", BENCH_SHAPES_MAX);
    out->shapes[out->shape_count++] =
        (bench_head){set->set, set->vocab, set->depth, set->weight_type};
}

static _Noreturn void refuse_set(const char *name, const dllm_head_set *sets, int count)
{
    char list[4096] = "";
    for (int i = 0, used = 0; i < count && used < (int)sizeof list; i++)
        used += snprintf(list + used, sizeof list - (size_t)used, " %s", sets[i].set);
    bench_fatal(BENCH_USAGE, "set %s is not all or one of:%s", name, list);
}

static void read_set(bench_options *out, const char *name)
{
    int count = 0;
    const dllm_head_set *sets = dllm__head_sets(&count);
    const bool all = strcmp(name, "all") == 0;
    out->shape_count = 0;
    for (int i = 0; i < count; i++) {
        if (all || strcmp(sets[i].set, name) == 0) add_shape(out, &sets[i]);
    }
    if (out->shape_count == 0) refuse_set(name, sets, count);
}

/* --vocab and --depth: the shape is no model's any more. */
static void change_shape(bench_options *out, const char *option, const char *value)
{
    bench_head *shape = &out->shapes[0];
    const int64_t number = read_number(option, value, 1, INT32_MAX);
    if (out->shape_count > 1) bench_fatal(BENCH_USAGE, "%s does not go with --set all", option);
    *(strcmp(option, "--vocab") == 0 ? &shape->vocab : &shape->depth) = number;
    shape->set = "";
}

static void read_device(bench_options *out, const char *name)
{
    if (strcmp(name, "cpu") == 0)
        out->device = DLLM_DEVICE_CPU;
    else if (strcmp(name, "cuda") == 0)
        out->device = 0;
    else if (strncmp(name, "cuda:", 5) == 0)
        out->device = (int)read_number("--device cuda:", name + 5, 0, 1023);
    else
        bench_fatal(BENCH_USAGE, "device %s is not cuda, cuda:N or cpu", name);
}

static void read_operation(bench_options *out, const char *name)
{
    out->head = strcmp(name, "head") == 0;
    out->sampler = strcmp(name, "sampler") == 0;
    out->step = strcmp(name, "step") == 0;
    if (!out->head && !out->sampler && !out->step)
        bench_fatal(BENCH_USAGE, "operation %s is not head, sampler or step", name);
}

static void read_type(bench_options *out, const char *name)
{
    out->type = element_type_of(name);
    if (out->type == DLLM_TYPE_NONE)
        bench_fatal(BENCH_USAGE, "type %s is not bf16, fp16 or fp32", name);
}

/* What steps decode; false: it is another option. */
static bool read_step_option(bench_options *out, int option, char *value)
{
    switch (option) {
    case CANVASES:
        out->canvases = read_number("--canvases", value, 1, 1024);
        return true;
    case LENGTH:
        out->length = read_number("--length", value, 2, 1 << 20);
        return true;
    case BLOCK:
        out->block = read_number("--block", value, 1, 8192);
        return true;
    case PRESET:
        out->preset_count =
            read_names(out->presets, BENCH_PRESETS_MAX, "--preset", value, dllm_decode_preset_name);
        return true;
    default:
        return false;
    }
}

/* How it is timed; false: it is another option. */
static bool read_timing_option(bench_options *out, int option, char *value)
{
    switch (option) {
    case METHOD:
        read_method(out, value);
        return true;
    case SAMPLES:
        out->samples = (int)read_number("--samples", value, 1, BENCH_SAMPLES_MAX);
        return true;
    case BURST:
        out->burst_ms = (double)read_number("--burst", value, 1, 60000);
        return true;
    default:
        return false;
    }
}

static void read_option(bench_options *out, int option, char *value)
{
    if (read_step_option(out, option, value) || read_timing_option(out, option, value)) return;
    switch (option) {
    case DEVICE:
        read_device(out, value);
        break;
    case THREADS:
        /* the context has a limit of its own and says so */
        out->threads = (int)read_number("--threads", value, 0, INT32_MAX);
        break;
    case OP:
        read_operation(out, value);
        break;
    case FAMILY:
        out->family_count =
            read_names(out->families, BENCH_FAMILIES_MAX, "--family", value, bench_family_name);
        break;
    case BESIDE:
        out->beside = read_words("--beside", beside_words, value);
        out->beside_named = true;
        break;
    case MORE:
        out->more = read_words("--more", more_words, value);
        break;
    case ROWS:
        read_rows(out, value);
        break;
    case SET:
        read_set(out, value);
        break;
    case VOCAB:
        change_shape(out, "--vocab", value);
        break;
    case DEPTH:
        change_shape(out, "--depth", value);
        break;
    case TYPE:
        read_type(out, value);
        break;
    case CSV:
        out->csv_path = value;
        break;
    case JSON:
        out->json_path = value;
        break;
    case HELP:
        (void)fputs(help, stdout);
        exit(BENCH_DONE);
    default:
        (void)fputs("try bench --help\n", stderr);
        exit(BENCH_USAGE);
    }
}

/* What follows from the rest of the command line. */
static void finish(bench_options *out)
{
    const bool cpu = out->device == DLLM_DEVICE_CPU;
    if (out->way_count == 0) read_method(out, cpu ? "L" : "LH");
    if (out->step && (out->length % out->block != 0 || out->length == out->block))
        bench_fatal(BENCH_USAGE, "--length %lld is not two blocks of %lld or more",
                    (long long)out->length, (long long)out->block);
    for (int i = 0; cpu && i < out->way_count; i++) {
        if (out->ways[i]->letter == 'H')
            bench_fatal(BENCH_USAGE, "--method H needs a GPU: a run on the CPU is the work itself");
    }
    if (out->shape_count > 1 && out->family_count == 0 && !cpu) {
        (void)snprintf(out->families[0], sizeof out->families[0], "dllm");
        out->family_count = 1;
    }
}

void bench_options_read(bench_options *out, int argc, char **argv)
{
    *out = (bench_options){.head = true,
                           .sampler = true,
                           .beside = BENCH_BESIDE_READ | BENCH_BESIDE_LT | BENCH_BESIDE_SAMPLER,
                           .burst_ms = 150.0,
                           .preset_count = 3,
                           .presets = {"llada", "threshold", "dream"},
                           .canvases = 4,
                           .length = 4096,
                           .block = 32};
    read_set(out, "llada-8b");
    for (;;) {
        const int option = getopt_long(argc, argv, "", long_options, NULL);
        if (option == -1) break;
        read_option(out, option, optarg);
    }
    if (optind < argc) bench_fatal(BENCH_USAGE, "%s is not an option; try --help", argv[optind]);
    finish(out);
}
