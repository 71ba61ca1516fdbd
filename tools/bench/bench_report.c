/*
 * bench_report.c - rows of a table, CSV, JSON
 */
#include "bench_report.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_exit.h"
#include "element_type.h"

/* Operations of the product, and bytes that have to be read at least; the time of the calling thread
   says nothing about either, nor does that of steps, whose rows grow fewer. */
static bool has_rates(const bench_result *result)
{
    return result->method != 'H' && strcmp(result->op, "step") != 0;
}

static double tflops(const bench_result *result)
{
    if (!has_rates(result) || strcmp(result->what, "read") == 0) return 0.0;
    return 2.0 * (double)result->rows * (double)result->vocab * (double)result->depth /
           (result->ms * 1e9);
}

static double gbps(const bench_result *result)
{
    /* the plain read is of the weight alone */
    const int64_t rows = strcmp(result->what, "read") == 0 ? 0 : result->rows;
    const double read = result->depth ? (double)(result->vocab + rows) * (double)result->depth
                                      : (double)result->rows * (double)result->vocab;
    if (!has_rates(result)) return 0.0;
    return read * (double)element_bytes(result->type) / (result->ms * 1e6);
}

/* One line of nvidia-smi: "580.65.06, 1980 MHz, 3201 MHz, 700.00 W". */
static void ask_nvidia_smi(bench_place *place, int device)
{
    char command[192];
    char line[192] = "";
    (void)snprintf(
        command, sizeof command,
        "nvidia-smi -i %d --format=csv,noheader "
        "--query-gpu=driver_version,clocks.max.sm,clocks.max.mem,power.limit 2>/dev/null",
        device);
    FILE *answer = popen(command, "r");
    if (!answer) return;
    const bool read = fgets(line, sizeof line, answer) != NULL;
    if (pclose(answer) != 0 || !read) return;
    line[strcspn(line, "\n")] = '\0';
    char *comma = strstr(line, ", ");
    if (!comma) return;
    *comma = '\0';
    (void)snprintf(place->driver, sizeof place->driver, "%.60s", line);
    (void)snprintf(place->clocks, sizeof place->clocks, "%.120s", comma + 2);
}

void bench_report_begin(bench_report *out, int argc, char **argv)
{
    *out = (bench_report){0};
    char *command = out->place.command;
    (void)snprintf(command, sizeof out->place.command, "bench");
    for (int i = 1; i < argc; i++) {
        const size_t used = strlen(command);
        (void)snprintf(command + used, sizeof out->place.command - used, " %s", argv[i]);
    }
}

void bench_report_place(bench_report *report, const dllm_context *context, int device)
{
    dllm_device_info info = DLLM_DEVICE_INFO_INIT;
    bench_place *place = &report->place;
    if (dllm_context_device(context, &info) != DLLM_OK)
        bench_fatal(BENCH_FAILED, "%s", dllm_last_error());
    (void)snprintf(place->device, sizeof place->device, "%s", info.name);
    (void)snprintf(place->arch, sizeof place->arch, "%s", info.arch);
    if (device != DLLM_DEVICE_CPU) ask_nvidia_smi(place, device);
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        (void)strftime(place->date, sizeof place->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void bench_report_header(const bench_report *report)
{
    const bench_place *place = &report->place;
    (void)printf("# dllm %s on %s (%s)", dllm_version(), place->device, place->arch);
    if (place->driver[0]) (void)printf(", driver %s, limits %s", place->driver, place->clocks);
    (void)printf("\n# %s, %s\n", place->date, place->command);
    (void)printf(
        "# ms: median; ratio: head %s; sampler to the plain read; step to the head alone\n",
        place->baseline);
    (void)printf(
        "# share: of the plain read's rate; method L launches interleaved, B bursts, H time "
        "of the calling thread\n");
    (void)printf("%-7s %-4s %7s %6s %6s %-16s %1s %10s %10s %7s %6s %8s %8s %5s %4s %7s %12s\n",
                 "op", "type", "vocab", "depth", "rows", "what", "", "ms", "min ms", "ratio",
                 "share", "TFLOP/s", "GB/s", "MHz", "W", "samples", "workspace");
    (void)fflush(stdout);
}

static void print_start(const bench_result *result)
{
    (void)printf("%-7s %-4s %7lld %6lld %6lld %-16s %c", result->op, element_name(result->type),
                 (long long)result->vocab, (long long)result->depth, (long long)result->rows,
                 result->what, result->method);
}

/* A number in a column of that width, "-" where there is none. */
static void print_number(double value, int width, int decimals)
{
    if (value > 0.0)
        (void)printf(" %*.*f", width, decimals, value);
    else
        (void)printf(" %*s", width, "-");
}

void bench_report_skip(const bench_result *result, const char *why)
{
    print_start(result);
    (void)printf(" -- %s\n", why);
    (void)fflush(stdout);
}

void bench_report_add(bench_report *report, const bench_result *result)
{
    if (report->count == report->capacity) {
        const int capacity = report->capacity ? 2 * report->capacity : 64;
        bench_result *grown = realloc(report->results, (size_t)capacity * sizeof *grown);
        if (!grown) bench_fatal(BENCH_FAILED, "no host memory for %d results", capacity);
        report->results = grown;
        report->capacity = capacity;
    }
    report->results[report->count++] = *result;
    print_start(result);
    print_number(result->ms, 10, 5);
    print_number(result->min_ms, 10, 5);
    print_number(result->ratio, 7, 3);
    print_number(result->share, 6, 3);
    print_number(tflops(result), 8, 1);
    print_number(gbps(result), 8, 0);
    print_number(result->sm_mhz, 5, 0);
    print_number(result->watts, 4, 0);
    (void)printf(" %7d %12zu\n", result->samples, result->workspace_bytes);
    (void)fflush(stdout);
}

static void print_csv(FILE *file, const bench_place *place, const bench_result *result)
{
    (void)fprintf(file, "\"%s\",%s,%s,%s,%s,%lld,%lld,%s,%lld,%c,%.6f,%.6f,", place->device,
                  place->date, result->op, result->set, result->what, (long long)result->vocab,
                  (long long)result->depth, element_name(result->type), (long long)result->rows,
                  result->method, result->ms, result->min_ms);
    if (result->ratio > 0.0) (void)fprintf(file, "%.4f", result->ratio);
    (void)fprintf(file, ",");
    if (result->share > 0.0) (void)fprintf(file, "%.4f", result->share);
    (void)fprintf(file, ",%.0f,%.0f,%d,%zu,%.2f,%.1f\n", result->sm_mhz, result->watts,
                  result->samples, result->workspace_bytes, tflops(result), gbps(result));
}

static bool write_csv(const bench_report *report, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) return false;
    (void)fprintf(file, "device,date,op,set,what,vocab,depth,type,rows,method,ms,min_ms,ratio,"
                        "share,sm_mhz,watts,samples,workspace_bytes,tflops,gbps\n");
    for (int i = 0; i < report->count; i++)
        print_csv(file, &report->place, &report->results[i]);
    const bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}

static json_t *known(double value)
{
    return value > 0.0 ? json_real(value) : json_null();
}

static json_t *result_json(const bench_place *place, const bench_result *result)
{
    const char method[] = {result->method, '\0'};
    return json_pack("{ss ss ss ss ss ss ss ss ss ss sI sI ss sI ss sf sf so so so so si sI sf sf}",
                     "device", place->device, "arch", place->arch, "driver", place->driver,
                     "clocks", place->clocks, "cublas", place->cublas, "date", place->date,
                     "command", place->command, "op", result->op, "set", result->set, "what",
                     result->what, "vocab", (json_int_t)result->vocab, "depth",
                     (json_int_t)result->depth, "type", element_name(result->type), "rows",
                     (json_int_t)result->rows, "method", method, "ms", result->ms, "min_ms",
                     result->min_ms, "ratio", known(result->ratio), "share", known(result->share),
                     "sm_mhz", known(result->sm_mhz), "watts", known(result->watts), "samples",
                     result->samples, "workspace_bytes", (json_int_t)result->workspace_bytes,
                     "tflops", tflops(result), "gbps", gbps(result));
}

static bool write_json(const bench_report *report, const char *path)
{
    json_t *list = json_array();
    bool written = list != NULL;
    for (int i = 0; written && i < report->count; i++)
        written =
            json_array_append_new(list, result_json(&report->place, &report->results[i])) == 0;
    written = written && json_dump_file(list, path, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) == 0;
    json_decref(list);
    return written;
}

bool bench_report_write(const bench_report *report, const char *csv_path, const char *json_path)
{
    bool written = true;
    if (csv_path && !write_csv(report, csv_path)) {
        (void)fprintf(stderr, "bench: %s cannot be written\n", csv_path);
        written = false;
    }
    if (json_path && !write_json(report, json_path)) {
        (void)fprintf(stderr, "bench: %s cannot be written\n", json_path);
        written = false;
    }
    return written;
}

void bench_report_release(bench_report *report)
{
    free(report->results);
}
