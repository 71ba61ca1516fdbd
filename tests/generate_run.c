/*
 * generate_run.c - see generate_run.h
 */
#include "generate_run.h"

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM DLLM_BINARY_DIR "/dllm-generate"

static const char austen[] = GENERATE_AUSTEN;

enum { NUMBER_BYTES = 24 };

/** In the child: standard output and error to these, then the program. */
static void become_program(int out, int err, const char *const *arguments)
{
    char *argv[GENERATE_ARGUMENTS_MAX + 2] = {PROGRAM};
    for (int i = 0; arguments[i] && i < GENERATE_ARGUMENTS_MAX; i++)
        memcpy(&argv[i + 1], &arguments[i], sizeof argv[0]);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
    (void)execv(PROGRAM, argv);
    _exit(127);
}

static void read_all(FILE *stream, char *out, size_t out_bytes)
{
    rewind(stream);
    out[fread(out, 1, out_bytes - 1, stream)] = '\0';
    ck_assert_int_eq(fclose(stream), 0);
}

void generate_run(generate_end *out, const char *const *arguments)
{
    FILE *text = tmpfile();
    FILE *errors = tmpfile();
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(errors);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) become_program(fileno(text), fileno(errors), arguments);
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    out->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_all(text, out->out, sizeof out->out);
    read_all(errors, out->err, sizeof out->err);
}

/** The text, a newline, the ids, a newline: what --ids writes. */
static void write_wanted(char *out, size_t out_bytes, const json_t *run)
{
    const json_t *ids = json_object_get(run, "ids");
    const char *text = json_string_value(json_object_get(run, "text"));
    size_t used = (size_t)snprintf(out, out_bytes, "%s\n", text);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        ck_assert_uint_lt(used + NUMBER_BYTES, out_bytes);
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%lld", i ? " " : "",
                                 (long long)json_integer_value(json_array_get(ids, i)));
    }
    memcpy(out + used, "\n", 2);
}

static void format_field(char out[NUMBER_BYTES], const json_t *run, const char *name)
{
    const long long value = json_integer_value(json_object_get(run, name));
    ck_assert_int_gt(snprintf(out, NUMBER_BYTES, "%lld", value), 0);
}

void generate_check_golden(int run, const char *const *further)
{
    json_t *golden = json_load_file(GENERATE_AUSTEN "/golden.json", 0, NULL);
    const json_t *runs = json_object_get(golden, "runs");
    ck_assert_uint_eq(json_array_size(runs), GENERATE_GOLDEN_RUNS);
    const json_t *wanted_run = json_array_get(runs, (size_t)run);
    char gen[NUMBER_BYTES];
    char block[NUMBER_BYTES];
    char steps[NUMBER_BYTES];
    format_field(gen, wanted_run, "gen_length");
    format_field(block, wanted_run, "block_length");
    format_field(steps, wanted_run, "steps");
    const char *prompt = json_string_value(json_object_get(wanted_run, "prompt"));
    const char *arguments[GENERATE_ARGUMENTS_MAX + 1] = {
        "--model", austen, "--prompt", prompt,           "--gen-length", gen,
        "--steps", steps,  "--ids",    "--block-length", block};
    for (int i = 0; further[i]; i++)
        arguments[11 + i] = further[i];
    static generate_end end;
    static char wanted[sizeof end.out];
    write_wanted(wanted, sizeof wanted, wanted_run);
    generate_run(&end, arguments);
    ck_assert_msg(end.code == 0, "run %d ended with %d: %s", run, end.code, end.err);
    ck_assert_msg(strcmp(end.out, wanted) == 0, "run %d wrote\n%s\nwanted\n%s", run, end.out,
                  wanted);
    json_decref(golden);
}
