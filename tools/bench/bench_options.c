/*
 * bench_options.c - reads the command line; the named shapes
 */
#include "bench_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_exit.h"
#include "bench_measure.h"
#include "element_type.h"

/* Shapes that have a name here; any other is --vocab with --depth. */
static const struct shape {
    const char *name;
    int64_t vocab;
    int64_t depth;
} shapes[] = {
    {"llada-8b", 126464, 4096},   {"llada2-mini", 157184, 2048}, {"dream-7b", 152064, 3584},
    {"llama-3-8b", 128256, 4096}, {"llama-3-70b", 128256, 8192}, {"qwen3-0-6b", 151936, 1024},
    {"gpt-oss", 201088, 2880},    {"command-r", 256000, 8192},   {"austen", 4096, 256},
};
enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

static const char help[] =
    "usage: bench [options]\n"
    "Times the head and the sampler against cuBLAS's product alone, after checking their results.\n"
    "\n"
    "  --device D      cuda, cuda:N or cpu (cuda)\n"
    "  --threads N     worker threads of the CPU device (all cores)\n"
    "  --op OP         head or sampler (both)\n"
    "  --family LIST   families of the head by name, with commas (all that the device has;\n"
    "                  naive and tiled then stop at 256 rows)\n"
    "  --rows LIST     numbers of rows, with commas (1 .. 16384; few on the CPU)\n"
    "  --set NAME      shape of a model's head (llada-8b); an unknown name lists the known ones\n"
    "  --vocab N       vocabulary, in place of the set's\n"
    "  --depth N       depth, in place of the set's\n"
    "  --type TYPE     bf16, fp16 or fp32 (head: bf16; sampler: each)\n"
    "  --samples N     samples of a variant, fewer where it is slow (30)\n"
    "  --csv FILE      also write the results as CSV\n"
    "  --json FILE     also write the results as a JSON list\n"
    "  --help          this text\n"
    "\n"
    "exit status: 0 done, 1 usage, 2 a wrong result or a failed call, 3 no such device\n";

enum { DEVICE = 1, THREADS, OP, FAMILY, ROWS, SET, VOCAB, DEPTH, TYPE, SAMPLES, CSV, JSON, HELP };

static const struct option long_options[] = {
    {"device", required_argument, NULL, DEVICE}, {"threads", required_argument, NULL, THREADS},
    {"op", required_argument, NULL, OP},         {"family", required_argument, NULL, FAMILY},
    {"rows", required_argument, NULL, ROWS},     {"set", required_argument, NULL, SET},
    {"vocab", required_argument, NULL, VOCAB},   {"depth", required_argument, NULL, DEPTH},
    {"type", required_argument, NULL, TYPE},     {"samples", required_argument, NULL, SAMPLES},
    {"csv", required_argument, NULL, CSV},       {"json", required_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},           {NULL, 0, NULL, 0},
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

static void read_families(bench_options *out, char *list)
{
    char *rest = NULL;
    out->family_count = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (out->family_count == BENCH_FAMILIES_MAX || strlen(item) >= sizeof out->families[0])
            bench_fatal(BENCH_USAGE, "--family takes at most %d names of at most %zu letters",
                        BENCH_FAMILIES_MAX, sizeof out->families[0] - 1);
        (void)snprintf(out->families[out->family_count++], sizeof out->families[0], "%s", item);
    }
    if (out->family_count == 0) bench_fatal(BENCH_USAGE, "--family is empty");
}

static void read_set(bench_options *out, const char *name)
{
    char known[SHAPE_COUNT * 24] = "";
    for (int i = 0; i < SHAPE_COUNT; i++) {
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, " %s", shapes[i].name);
        if (strcmp(shapes[i].name, name) != 0) continue;
        out->vocab = shapes[i].vocab;
        out->depth = shapes[i].depth;
        return;
    }
    bench_fatal(BENCH_USAGE, "set %s is not one of:%s", name, known);
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
    if (!out->head && !out->sampler)
        bench_fatal(BENCH_USAGE, "operation %s is not head or sampler", name);
}

static void read_type(bench_options *out, const char *name)
{
    out->type = element_type_of(name);
    if (out->type == DLLM_TYPE_NONE)
        bench_fatal(BENCH_USAGE, "type %s is not bf16, fp16 or fp32", name);
}

static void read_option(bench_options *out, int option, char *value)
{
    switch (option) {
    case DEVICE:
        read_device(out, value);
        break;
    case THREADS:
        out->threads = (int)read_number("--threads", value, 0, 4096);
        break;
    case OP:
        read_operation(out, value);
        break;
    case FAMILY:
        read_families(out, value);
        break;
    case ROWS:
        read_rows(out, value);
        break;
    case SET:
        read_set(out, value);
        break;
    case VOCAB:
        out->vocab = read_number("--vocab", value, 1, INT32_MAX);
        break;
    case DEPTH:
        out->depth = read_number("--depth", value, 1, INT32_MAX);
        break;
    case TYPE:
        read_type(out, value);
        break;
    case SAMPLES:
        out->samples = (int)read_number("--samples", value, 1, BENCH_SAMPLES_MAX);
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

void bench_options_read(bench_options *out, int argc, char **argv)
{
    *out = (bench_options){.head = true, .sampler = true, .samples = 30};
    read_set(out, "llada-8b");
    for (;;) {
        const int option = getopt_long(argc, argv, "", long_options, NULL);
        if (option == -1) break;
        read_option(out, option, optarg);
    }
    if (optind < argc) bench_fatal(BENCH_USAGE, "%s is not an option; try --help", argv[optind]);
}
