/*
 * e2e_generate.c - dllm-generate as a user runs it: golden texts, command line, terminal
 *
 * An argument limits the golden runs to the first of them; sanitizers take ten times as long.
 */
#include "check_suite.h"
#include "dllm.h"
#include "generate_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef E2E_GOLDEN_RUNS
#define E2E_GOLDEN_RUNS GENERATE_GOLDEN_RUNS
#endif

/* all threads of a machine for one small model only get in each other's way */
static const char *const two_threads[] = {"--threads", "2", NULL};

static generate_end end;

enum { PRESETS = 12 };

START_TEST(golden_run)
{
    generate_check_golden(_i, two_threads);
}
END_TEST

/* ---- command line ---------------------------------------------------------------------------- */

static const char austen[] = GENERATE_AUSTEN;

#define MODEL "--model", austen, "--prompt", "It is"

/* what is refused before the model is looked at */
#define NO_MODEL "--model", "/nowhere", "--prompt", "It is"

static const struct {
    const char *arguments[12];
    int code;
    const char *reason; /* a part of standard error */
} refused[] = {
    {{NULL}, 1, "--model is missing"},
    {{"--model", austen}, 1, "--prompt is missing"},
    {{MODEL, "--no-such"}, 1, "option --no-such is unknown"},
    {{MODEL, "--steps"}, 1, "option --steps wants a value"},
    {{MODEL, "word"}, 1, "argument word is no option"},
    {{MODEL, "--steps", "0"}, 1, "--steps 0 is not a number from 1"},
    {{MODEL, "--gen-length", "8x"}, 1, "--gen-length 8x is not a number from 1"},
    {{MODEL, "--threads", "9999"}, 1, "--threads 9999 is not a number from 1 to 256"},
    {{MODEL, "--device", "gpu"}, 1, "--device gpu is not cpu, cuda or cuda:N"},
    {{MODEL, "--device", "cuda:-1"}, 1, "--device cuda:-1 is not"},
    {{MODEL, "--gen-length", "64", "--block-length", "24"},
     1,
     "block-length 24 does not divide gen-length 64"},
    {{MODEL, "--steps", "63"}, 1, "the number of blocks, 2, does not divide steps 63"},
    {{MODEL, "--gen-length", "255", "--block-length", "255"},
     1,
     "prompt of 2 tokens and gen-length 255 pass the model's max_sequence_length 256"},
    {{MODEL, "--preset", "lada"}, 1, "--preset \"lada\" is none of llada, threshold"},
    {{MODEL, "--rule", "best"}, 1, "--rule best is none of those"},
    {{MODEL, "--eos", "soon"}, 1, "--eos soon is none of those"},
    {{MODEL, "--threshold", "-1"}, 1, "--threshold -1 is not a number from 0"},
    {{MODEL, "--seed", "x"}, 1, "--seed x is not a number from 0"},
    {{MODEL, "--top-k", "5", "--temperature", "1"},
     1,
     "--top-k wants a preset that filters, llada does not"},
    {{MODEL, "--preset", "sdar", "--top-k", "-1"}, 1, "--top-k -1 is not a number from 0"},
    {{MODEL, "--preset", "sdar", "--top-k", "256"},
     1,
     "--top-k 256 is neither below 256, the entries of the longest list, whose end has to show "
     "what "
     "ties with the last, nor the vocabulary's 4096\n"},
    {{MODEL, "--preset", "sdar", "--top-k", "4095"}, 1, "--top-k 4095 is neither below 256"},
    {{MODEL, "--preset", "sdar", "--top-p", "2"}, 1, "--top-p 2 is not above 0 and at most 1"},
    {{MODEL, "--preset", "sdar", "--top-p", "0"}, 1, "--top-p 0 is not above 0 and at most 1"},
    {{MODEL, "--preset", "sdar", "--top-p", "x"}, 1, "--top-p x is not above 0 and at most 1"},
    {{MODEL, "--key", "surest"}, 1, "--key surest is none of those"},
    {{MODEL, "--edit-threshold", "0.5"},
     1,
     "--edit-threshold wants a preset that edits, llada does not"},
    {{MODEL, "--preset", "llada2", "--max-post-steps", "2"},
     1,
     "--max-post-steps wants a preset that edits, llada2 does not"},
    {{MODEL, "--preset", "llada21", "--penalty", "1"},
     1,
     "--penalty wants a preset that penalises, llada21 does not"},
    {{MODEL, "--cfg-scale", "-0.5"}, 1, "--cfg-scale -0.5 is not a number from 0"},
    {{MODEL, "--cfg-round", "bf16"}, 1, "--cfg-round wants a --cfg-scale above 0"},
    {{MODEL, "--cfg-scale", "1", "--cfg-round", "fp16"}, 1, "--cfg-round fp16 is none of those"},
    {{MODEL, "--rule", "threshold"},
     1,
     "--rule threshold wants --threshold, preset llada has none"},
    {{MODEL, "--threshold", "0.5"},
     1,
     "--threshold wants a rule that looks at it, llada's top_k does not"},
    {{MODEL, "--preset", "threshold", "--factor", "2"},
     1,
     "--factor wants a rule that looks at it, threshold's threshold does not"},
    {{MODEL, "--preset", "dream", "--threshold", "0.5"},
     1,
     "--threshold wants a rule that looks at it, dream's coins does not"},
    {{MODEL, "--preset", "entropy_bound", "--low-threshold", "0.5"},
     1,
     "--low-threshold wants a rule that looks at it, entropy_bound's entropy_bound does not"},
    {{MODEL, "--rule", "sequential", "--gamma", "0.5"},
     1,
     "--gamma wants a rule that looks at it, sequential does not"},
    {{MODEL, "--rule", "sequential", "--key", "margin"},
     1,
     "--key wants a rule that looks at it, sequential does not"},
    {{MODEL, "--rule", "sequential", "--order-temperature", "0.5"},
     1,
     "--order-temperature wants a rule that looks at it, sequential does not"},
    {{MODEL, "--preset", "dream", "--order-temperature", "0.5"},
     1,
     "--order-temperature wants a rule that looks at it, dream's coins does not"},
    {{MODEL, "--preset", "llada21", "--steps", "8"},
     1,
     "--steps wants a rule that counts them, llada21's dynamic does not"},
    {{MODEL, "--rule", "factor", "--factor", "2", "--steps", "8"},
     1,
     "--steps wants a rule that counts them, factor does not"},
    {{MODEL, "--preset", "llada2", "--top-k", "5"},
     1,
     "--top-k wants a --temperature above 0, preset llada2 draws nothing"},
    {{MODEL, "--preset", "sdar", "--temperature", "0", "--top-p", "0.5"},
     1,
     "--top-p wants a --temperature above 0, preset sdar draws nothing"},
    {{NO_MODEL, "--gen-length", "99999999999999999999"},
     1,
     "--gen-length 99999999999999999999 is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--gen-length", "2147483647"},
     1,
     "--gen-length 2147483647 is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--gen-length", ""}, 1, "--gen-length \"\" is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--gen-length", " 8"}, 1, "--gen-length  8 is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--block-length", "0"}, 1, "--block-length 0 is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--block-length", "16777217"},
     1,
     "--block-length 16777217 is not a number from 1 to 16777216;"},
    {{NO_MODEL, "--steps", "1e9"}, 1, "--steps 1e9 is not a number from 1 to 1048576;"},
    {{NO_MODEL, "--steps", "1048577"}, 1, "--steps 1048577 is not a number from 1 to 1048576;"},
    {{NO_MODEL, "--preset", "llada21", "--max-post-steps", "1048577"},
     1,
     "--max-post-steps 1048577 is not a number from 1 to 1048576;"},
    {{NO_MODEL, "--threads", "-3"}, 1, "--threads -3 is not a number from 1 to 256;"},
    {{NO_MODEL, "--seed", "-1"}, 1, "--seed -1 is not a number from 0 to 9223372036854775807;"},
    {{NO_MODEL, "--seed", "9223372036854775808"},
     1,
     "--seed 9223372036854775808 is not a number from 0 to 9223372036854775807;"},
    {{NO_MODEL, "--preset", "sdar", "--top-k", "99999999999"},
     1,
     "--top-k 99999999999 is not a number from 0 to 2147483647;"},
    {{NO_MODEL, "--temperature", "abc"},
     1,
     "--temperature abc is not a number from 0 to 3.40282e+38;"},
    {{NO_MODEL, "--temperature", "inf"},
     1,
     "--temperature inf is not a number from 0 to 3.40282e+38;"},
    {{NO_MODEL, "--temperature", "nan"},
     1,
     "--temperature nan is not a number from 0 to 3.40282e+38;"},
    {{NO_MODEL, "--temperature", "1e39"},
     1,
     "--temperature 1e39 is not a number from 0 to 3.40282e+38;"},
    {{NO_MODEL, "--temperature", "1e-99"},
     1,
     "--temperature 1e-99 is below 1.17549e-38, the least number above 0;"},
    {{NO_MODEL, "--temperature", ""},
     1,
     "--temperature \"\" is not a number from 0 to 3.40282e+38;"},
    {{NO_MODEL, "--preset", "sdar", "--top-p", ""},
     1,
     "--top-p \"\" is not above 0 and at most 1;"},
    {{NO_MODEL, "--threshold", "2", "--rule", "threshold"},
     1,
     "--threshold 2 is not a number from 0 to 1;"},
    {{NO_MODEL, "--threshold", "1.0000001", "--rule", "threshold"},
     1,
     "--threshold 1.00000012 is not a number from 0 to 1;"},
    {{NO_MODEL, "--preset", "hierarchy", "--low-threshold", "2"},
     1,
     "--low-threshold 2 is not a number from 0 to 1;"},
    {{NO_MODEL, "--preset", "llada21", "--edit-threshold", "1.5"},
     1,
     "--edit-threshold 1.5 is not a number from 0 to 1;"},
    {{NO_MODEL, "--gen-length", "64", "--block-length", "48"},
     1,
     "block-length 48 does not divide gen-length 64;"},
    {{NO_MODEL, "--steps", "7"}, 1, "the number of blocks, 2, does not divide steps 7;"},
    {{NO_MODEL, "--rule", ""}, 1, "--rule \"\" is none of those"},
    {{NO_MODEL, "--device", "cuda:2147483648"},
     1,
     "--device cuda:2147483648 is not cpu, cuda or cuda:N, N from 0 to 2147483647;"},
    {{NO_MODEL, "--trace", ""}, 1, "--trace \"\" is not the name of a file or folder;"},
    {{"--model", "", "--prompt", "x"}, 1, "--model \"\" is not the name of a file or folder;"},
    {{MODEL, "--preset", "sdar", "--block-length", "16777216"},
     1,
     "gen-length 64 in whole blocks of block-length 16777216 pass the model's "
     "max_sequence_length 256"},
    {{MODEL, "--trace", "/nowhere/trace"}, 2, "/nowhere/trace: No such file or directory"},
    {{"--model", "/nowhere", "--prompt", "x"}, 1, "/nowhere/config.json cannot be opened: No such"},
    {{MODEL, "--family", "no_such"}, 1, "no_such"},
    {{MODEL, "--device", "cuda:999"}, 3, "dllm-generate: "},
};

START_TEST(refuses_with_reason)
{
    generate_run(&end, refused[_i].arguments);
    ck_assert_msg(end.code == refused[_i].code, "row %d: %d, %s", _i, end.code, end.err);
    ck_assert_msg(strstr(end.err, refused[_i].reason), "row %d: %s", _i, end.err);
    ck_assert_str_eq(end.out, "");
}
END_TEST

START_TEST(a_threshold_of_entropies_or_noisy_keys_may_be_above_one)
{
    static const char *const options[][2] = {{"--key", "entropy"}, {"--order-temperature", "0.5"}};
    const char *const arguments[] = {
        MODEL,          "--gen-length", "8", "--rule", "threshold", "--threshold", "2",
        options[_i][0], options[_i][1], NULL};
    generate_run(&end, arguments);
    ck_assert_msg(end.code == 0, "%s: %s", options[_i][0], end.err);
}
END_TEST

START_TEST(help_has_a_line_for_every_option)
{
    static const char *const options[] = {"  --model DIR ",        "  --prompt TEXT ",
                                          "  --gen-length N ",     "  --block-length N ",
                                          "  --steps N ",          "  --device WHERE ",
                                          "  --family NAME ",      "  --threads N ",
                                          "  --preset NAME ",      "  --rule NAME ",
                                          "  --threshold X ",      "  --factor X ",
                                          "  --gamma X ",          "  --temperature T ",
                                          "  --seed N ",           "  --top-k N ",
                                          "  --top-p X ",          "  --eos RULE ",
                                          "  --trace FILE ",       "  --ids ",
                                          "  --key NAME ",         "  --order-temperature X ",
                                          "  --edit-threshold X ", "  --max-post-steps N ",
                                          "  --penalty X ",        "  --low-threshold X ",
                                          "  --shifted ",          "  --cfg-scale S ",
                                          "  --cfg-round TYPE ",   "  --help "};
    const char *const arguments[] = {"--help", NULL};
    generate_run(&end, arguments);
    ck_assert_int_eq(end.code, 0);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        ck_assert_msg(strstr(end.out, options[i]), "no line for %s", options[i]);
}
END_TEST

START_TEST(report_is_the_last_line)
{
    const char *const arguments[] = {MODEL, "--gen-length", "8", "--steps", "4", NULL};
    const char *begin = "dllm-generate: 4 steps, 20 rows scored, head (cpu) "; /* 8 + 6 + 4 + 2 */
    generate_run(&end, arguments);
    ck_assert_int_eq(end.code, 0);
    ck_assert_msg(strncmp(end.err, begin, strlen(begin)) == 0, "%s", end.err);
    ck_assert_ptr_nonnull(strstr(end.err, "where logits take 128.0 KiB\n"));
    ck_assert_int_eq(strncmp(end.out, "It is", 5), 0);
}
END_TEST

/* Nearly flat rows: what a filter keeps of them is as many as it is asked for. */
static void run_flat(generate_end *out, const char *option, const char *value)
{
    const char *const arguments[] = {
        MODEL, "--gen-length", "16", "--preset", "sdar", "--temperature", "8", option, value, NULL};
    generate_run(out, arguments);
    ck_assert_msg(out->code == 0, "%s %s: %s", option, value, out->err);
}

static const char cut[] = " rows the filter keeps more tokens than its list has, the 256 likeliest";

START_TEST(the_list_is_as_long_as_top_k_needs)
{
    static const char *const ks[] = {"64", "128", "255"};
    static generate_end before;
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        run_flat(&end, "--top-k", ks[i]);
        ck_assert_ptr_null(strstr(end.err, cut));
        ck_assert_msg(strcmp(end.out, before.out) != 0, "--top-k %s as the one before", ks[i]);
        before = end;
    }
}
END_TEST

/* 0, the vocabulary and more; no list is made, and none ends. */
START_TEST(a_filter_that_keeps_all_is_off)
{
    static const char *const all[][2] = {
        {"--top-k", "0"}, {"--top-k", "4096"}, {"--top-k", "2147483647"}, {"--top-p", "1"}};
    static generate_end plain;
    run_flat(&plain, NULL, NULL);
    run_flat(&end, all[_i][0], all[_i][1]);
    ck_assert_str_eq(end.out, plain.out);
    ck_assert_ptr_null(strstr(end.err, cut));
}
END_TEST

START_TEST(a_nucleus_wider_than_its_list_is_told)
{
    run_flat(&end, "--top-p", "0.95");
    ck_assert_msg(strncmp(end.err, "dllm-generate: in ", 18) == 0, "%s", end.err);
    ck_assert_ptr_nonnull(strstr(end.err, cut));
    ck_assert_ptr_nonnull(strstr(end.err, " steps, ")); /* the report, behind it */
    run_flat(&end, "--top-p", "0.001");
    ck_assert_ptr_null(strstr(end.err, cut));
}
END_TEST

/* Two forwards a step, counted once; a scale of 0 is none. */
START_TEST(guidance_changes_the_text)
{
    static const char *const further[][5] = {
        {"--cfg-scale", "0"}, {"--cfg-scale", "3"}, {"--cfg-scale", "3", "--cfg-round", "bf16"}};
    static generate_end plain;
    const char *arguments[12] = {MODEL, "--gen-length", "24", NULL};
    generate_run(&plain, arguments);
    ck_assert_int_eq(plain.code, 0);
    for (int i = 0; further[_i][i]; i++)
        arguments[6 + i] = further[_i][i];
    generate_run(&end, arguments);
    ck_assert_msg(end.code == 0, "%s", end.err);
    ck_assert_msg((strcmp(end.out, plain.out) == 0) == (_i == 0), "%s", end.out);
    ck_assert_int_eq(strncmp(end.err, "dllm-generate: 24 steps, ", 25), 0);
}
END_TEST

START_TEST(every_preset_ends)
{
    const char *arguments[] = {
        MODEL, "--gen-length", "16", "--preset", dllm_decode_preset_name(_i), "--threads",
        "2",   NULL,           NULL, NULL};
    if (strcmp(arguments[7], "entropy_bound") == 0) {
        arguments[10] = "--gamma";
        arguments[11] = "0.5";
    }
    generate_run(&end, arguments);
    ck_assert_msg(end.code == 0, "%s: %d, %s", arguments[7], end.code, end.err);
    ck_assert_int_eq(strncmp(end.out, "It is", 5), 0);
}
END_TEST

START_TEST(trace_has_a_line_for_every_change)
{
    static const char path[] = DLLM_BINARY_DIR "/tests/e2e_generate.trace";
    const char *const arguments[] = {MODEL, "--gen-length", "8",  "--steps",
                                     "4",   "--trace",      path, NULL};
    char line[256];
    int commits = 0, steps = 0;
    generate_run(&end, arguments);
    ck_assert_msg(end.code == 0, "%s", end.err);
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        commits += strstr(line, "\"kind\": \"commit\"") != NULL;
        steps += strstr(line, "\"kind\": \"step\"") != NULL;
    }
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(commits, 8);
    ck_assert_int_eq(steps, 4);
}
END_TEST

/* ---- terminal -------------------------------------------------------------------------------- */

enum { COLUMNS = 20, ROWS = 6 };

/** A terminal of that size: what a program on it writes is read from *control. */
static void open_terminal(int *control, int *terminal)
{
    const struct winsize size = {ROWS, COLUMNS, 0, 0};
    *control = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(*control, 0);
    ck_assert(grantpt(*control) == 0 && unlockpt(*control) == 0);
    *terminal = open(ptsname(*control), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(*terminal, 0);
    ck_assert_int_eq(ioctl(*terminal, TIOCSWINSZ, &size), 0);
}

/** Starts the program on a terminal of its own, whose other side is left in *control. */
static pid_t start_on_terminal(int *control, const char *steps)
{
    int terminal;
    open_terminal(control, &terminal);
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)close(*control);
        (void)setenv("TERM", "xterm", 1);
        if (dup2(terminal, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0)
            (void)execl(DLLM_BINARY_DIR "/dllm-generate", "dllm-generate", MODEL, "--gen-length",
                        "32", "--steps", steps, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_ge(child, 0);
    ck_assert_int_eq(close(terminal), 0);
    return child;
}

/** Reads what comes until the text appears, or to the end; false if it never does. */
static bool read_until(int control, char *out, size_t out_bytes, const char *text)
{
    size_t used = 0;
    out[0] = '\0';
    while (used < out_bytes - 1) {
        const ssize_t got = read(control, out + used, out_bytes - 1 - used);
        if (got <= 0) break; /* EIO: the other side is closed */
        used += (size_t)got;
        out[used] = '\0';
        if (text && strstr(out, text)) return true;
    }
    return text == NULL;
}

/** What stands on the screen after the last wipe. */
static const char *last_screen(const char *text)
{
    const char *last = text;
    for (const char *next = text; (next = strstr(next, "\033[J")); next += 3)
        last = next + 3;
    return last;
}

START_TEST(canvas_fills_in_and_leaves_the_text)
{
    static char seen[1 << 16];
    int control;
    int status = 0;
    const pid_t child = start_on_terminal(&control, "4");
    ck_assert(read_until(control, seen, sizeof seen, NULL));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(close(control), 0);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(strncmp(seen, "\033[?25l", 6), 0);
    ck_assert_ptr_nonnull(strstr(seen, "\033[2m\u2588\033[0m")); /* a mask */
    ck_assert_ptr_nonnull(strstr(seen, "\r\033[1A\033[J"));      /* over the two lines of it */
    const char *last = last_screen(seen);
    ck_assert_int_eq(strncmp(last, "\033[?25hIt is", 11), 0);
    ck_assert_ptr_null(strstr(last, "\u2588"));
}
END_TEST

START_TEST(interrupt_brings_the_cursor_back)
{
    static char seen[1 << 16];
    int control;
    int status = 0;
    const pid_t child = start_on_terminal(&control, "32");
    ck_assert(read_until(control, seen, sizeof seen, "\u2588"));
    ck_assert_int_eq(kill(child, SIGINT), 0);
    ck_assert(read_until(control, seen, sizeof seen, "\033[?25h"));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(close(control), 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}
END_TEST

int main(int count, char **arguments)
{
    const long runs = count > 1 ? strtol(arguments[1], NULL, 10) : E2E_GOLDEN_RUNS;
    if (runs < 1 || runs > GENERATE_GOLDEN_RUNS) return 1;
    Suite *suite = suite_create("e2e_generate");
    TCase *golden = tcase_create("golden");
    tcase_add_loop_test(golden, golden_run, 0, (int)runs);
    suite_add_tcase(suite, golden);
    TCase *command = tcase_create("command_line");
    tcase_add_loop_test(command, refuses_with_reason, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_loop_test(command, a_threshold_of_entropies_or_noisy_keys_may_be_above_one, 0, 2);
    tcase_add_test(command, help_has_a_line_for_every_option);
    tcase_add_test(command, report_is_the_last_line);
    tcase_add_test(command, the_list_is_as_long_as_top_k_needs);
    tcase_add_loop_test(command, a_filter_that_keeps_all_is_off, 0, 4);
    tcase_add_test(command, a_nucleus_wider_than_its_list_is_told);
    tcase_add_loop_test(command, guidance_changes_the_text, 0, 3);
    tcase_add_loop_test(command, every_preset_ends, 0, PRESETS);
    tcase_add_test(command, trace_has_a_line_for_every_change);
    suite_add_tcase(suite, command);
    TCase *terminal = tcase_create("terminal");
    tcase_add_test(terminal, canvas_fills_in_and_leaves_the_text);
    tcase_add_test(terminal, interrupt_brings_the_cursor_back);
    suite_add_tcase(suite, terminal);
    return check_suite_run(suite);
}
