/* bench_cpu_options.c - the command line of bench-cpu */
#include "bench_cpu_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_exit.h"
#include "parallel.h"

enum { SAMPLES_MAX = 1000 };

static const char help[] =
    "usage: bench-cpu [options]\n"
    "Times the head on the CPU against one read of its weight and against OpenBLAS's sgemm.\n"
    "\n"
    "  --vocab N     vocabulary (126464)\n"
    "  --depth N     depth (4096)\n"
    "  --rows LIST   numbers of rows, with commas (16)\n"
    "  --threads N   threads of all three (2)\n"
    "  --samples N   samples, of which the median is printed (7)\n"
    "  --json FILE   also write the results as a JSON list\n"
    "  --help        this text\n"
    "\n"
    "exit status: 0 done, 1 usage, 2 a wrong result or a failed call\n";

static int64_t read_number(const char *name, const char *text, int64_t most)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > most)
        bench_fatal(BENCH_USAGE, "--%s %s is not a number from 1 to %lld", name, text,
                    (long long)most);
    return value;
}

static void read_rows(bench_cpu_options *out, char *list)
{
    char *rest = NULL;
    out->row_count = 0;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (out->row_count == BENCH_CPU_ROW_COUNTS_MAX)
            bench_fatal(BENCH_USAGE, "--rows has more than %d entries", BENCH_CPU_ROW_COUNTS_MAX);
        out->rows[out->row_count++] = read_number("rows", item, 1 << 16);
    }
    if (out->row_count == 0) bench_fatal(BENCH_USAGE, "--rows is empty");
}

void bench_cpu_options_read(bench_cpu_options *out, int argc, char **argv)
{
    enum { VOCAB = 1, DEPTH, ROWS, THREADS, SAMPLES, JSON, HELP };
    static const struct option options[] = {
        {"vocab", required_argument, NULL, VOCAB},
        {"depth", required_argument, NULL, DEPTH},
        {"rows", required_argument, NULL, ROWS},
        {"threads", required_argument, NULL, THREADS},
        {"samples", required_argument, NULL, SAMPLES},
        {"json", required_argument, NULL, JSON},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    *out = (bench_cpu_options){126464, 4096, {16}, 1, 2, 7, NULL};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == VOCAB) out->vocab = read_number("vocab", optarg, 1 << 24);
        if (option == DEPTH) out->depth = read_number("depth", optarg, 1 << 20);
        if (option == ROWS) read_rows(out, optarg);
        if (option == THREADS)
            out->threads = (int)read_number("threads", optarg, DLLM_PARALLEL_THREADS_MAX);
        if (option == SAMPLES) out->samples = (int)read_number("samples", optarg, SAMPLES_MAX);
        if (option == JSON) out->json_path = optarg;
        if (option == HELP) {
            (void)fputs(help, stdout);
            exit(0);
        }
        if (option == '?') exit(BENCH_USAGE);
    }
    if (optind < argc) bench_fatal(BENCH_USAGE, "%s is not an option", argv[optind]);
}
