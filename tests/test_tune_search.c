/*
 * test_tune_search.c - `dllm-tune tune`: what it keeps, what it says, how it ends; over a fake driver
 */
#include "check_suite.h"

#include "capture.h"
#include "fake_driver.h"
#include "scratch.h"
#include "timed_device.h"
#include "tune.h"
#include "tune_report.h"
#include "tune_shapes.h"
#include "tune_store.h"
#include "tuned.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 3, PATH_BYTES = SCRATCH_BYTES + 16 };

static char folder[SCRATCH_BYTES];
static char cache[PATH_BYTES], shapes[PATH_BYTES], drawing[PATH_BYTES];
static char message[512]; /* the last one */
static json_t *document;

/* ---- what dllm-tune's other files do */

int tune_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return code;
}

dllm_log tune_log(const tune_options *options)
{
    (void)options;
    return (dllm_log){.function = NULL};
}

json_t *tune_json_text(const char *text)
{
    return json_string(text);
}

int tune_print_json(json_t *object)
{
    document = object;
    return TUNE_DONE;
}

/* ---- one run */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void start(void)
{
    scratch_make(folder);
    (void)snprintf(cache, sizeof cache, "%s/cache", folder);
    (void)snprintf(shapes, sizeof shapes, "%s/shapes", folder);
    (void)snprintf(drawing, sizeof drawing, "%s/drawing.svg", folder);
    (void)setenv("DLLM_CACHE_DIR", cache, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
    write_file(shapes, "# a small head\n\nhead vocab 4096 depth 64 rows_max 64\n");
    timed_device_reset();
    timed_device.mma_us = 50.0;
}

static void clean(void)
{
    json_decref(document);
    document = NULL;
    scratch_remove(folder);
}

static tune_options options(void)
{
    return (tune_options){.json = true, .shapes = shapes};
}

/* A process of its own, but for what stays on disk. */
static int run(const tune_options *asked)
{
    json_decref(document);
    document = NULL;
    message[0] = '\0';
    timed_device_start();
    const int status = tune_search(asked);
    ck_assert_int_eq(fake_driver_live(), 0);
    return status;
}

static int told(const char *name)
{
    return (int)json_integer_value(json_object_get(document, name));
}

START_TEST(what_wins_is_kept_and_resumed)
{
    tune_options asked = options();
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("won"), BUCKETS);
    ck_assert_uint_eq(json_array_size(json_object_get(document, "shapes")), BUCKETS);
    asked.resume = true;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("resumed"), BUCKETS);
    ck_assert_int_eq(told("won"), 0);
    asked.resume = false;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("won"), BUCKETS);
}
END_TEST

START_TEST(a_dry_run_lists_shapes_and_measures_nothing)
{
    tune_options asked = options();
    asked.dry_run = true;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    json_t *listed = json_object_get(document, "shapes");
    ck_assert_uint_eq(json_array_size(listed), BUCKETS);
    ck_assert(json_is_true(json_object_get(document, "dry_run")));
    ck_assert(json_is_false(json_object_get(json_array_get(listed, 0), "known")));
    ck_assert_int_eq(timed_device.launches, 0);
    ck_assert_int_ne(access(cache, F_OK), 0);
}
END_TEST

/* What is known already is known of a GPU. */
START_TEST(a_dry_run_needs_a_gpu_to_resume_alone)
{
    tune_options asked = options();
    asked.dry_run = true;
    for (int resume = 0; resume < 2; resume++) {
        timed_device_start();
        fake_driver_hide();
        asked.resume = resume;
        ck_assert_int_eq(tune_search(&asked), resume ? TUNE_NO_DEVICE : TUNE_DONE);
    }
    ck_assert_uint_eq(json_array_size(json_object_get(document, "shapes")), BUCKETS);
    ck_assert_ptr_nonnull(strstr(message, "the CUDA driver cannot be opened"));
}
END_TEST

START_TEST(every_candidate_is_told)
{
    const tune_options asked = options();
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    json_t *shape = json_array_get(json_object_get(document, "shapes"), 0);
    json_t *candidates = json_object_get(shape, "candidates");
    const size_t winner = (size_t)json_integer_value(json_object_get(shape, "winner"));
    json_t *won = json_array_get(candidates, winner);
    ck_assert_str_eq(json_string_value(json_object_get(shape, "verdict")), "won");
    ck_assert_str_eq(json_string_value(json_object_get(won, "family")), "mma");
    ck_assert_str_eq(json_string_value(json_object_get(won, "fate")), "winner");
    ck_assert_double_lt(json_number_value(json_object_get(won, "median_us")), 60.0);
    ck_assert(json_is_true(json_object_get(shape, "stored")));
    ck_assert_double_gt(json_number_value(json_object_get(shape, "gain")), 0.3);
}
END_TEST

/* The signal comes in the second shape: the first is kept, and --resume goes on behind it. */
START_TEST(an_interrupt_keeps_what_won)
{
    tune_options asked = options();
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    const int launches = timed_device.launches;
    scratch_remove(cache);
    timed_device.launches = 0;
    timed_device.signal_at = launches / 2;
    ck_assert_int_eq(run(&asked), TUNE_INTERRUPTED);
    const int won = told("won");
    ck_assert(won > 0 && won < BUCKETS);
    ck_assert_ptr_nonnull(strstr(message, "what was tuned is kept"));
    timed_device.signal_at = 0;
    asked.resume = true;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("resumed"), won);
    ck_assert_int_eq(told("won"), BUCKETS - won);
}
END_TEST

START_TEST(a_time_limit_leaves_shapes_untuned)
{
    tune_options asked = options();
    asked.time_limit_seconds = 1e-6;
    ck_assert_int_eq(run(&asked), TUNE_UNTUNED);
    ck_assert_int_eq(told("untuned"), BUCKETS);
    asked.resume = true;
    asked.time_limit_seconds = 0.0;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("resumed"), 0);
}
END_TEST

START_TEST(noise_leaves_shapes_untuned)
{
    const tune_options asked = options();
    timed_device.noise = 1.0;
    ck_assert_int_eq(run(&asked), TUNE_UNTUNED);
    ck_assert_int_eq(told("untuned"), BUCKETS);
}
END_TEST

START_TEST(rows_choose_buckets)
{
    tune_options asked = options();
    asked.rows = (tune_names){2, {"16", "9"}}; /* the same bucket */
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    ck_assert_int_eq(told("won"), 1);
    asked.rows = (tune_names){1, {"none"}};
    ck_assert_int_eq(run(&asked), TUNE_USAGE);
    ck_assert_ptr_nonnull(strstr(message, "--rows none"));
}
END_TEST

/* ---- what stands in the way */

START_TEST(without_a_driver_it_says_so)
{
    const tune_options asked = options();
    timed_device_start();
    fake_driver_hide();
    ck_assert_int_eq(tune_search(&asked), TUNE_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(message, "driver"));
}
END_TEST

START_TEST(without_a_compiler_it_says_so)
{
    const tune_options asked = options();
    (void)setenv("DLLM_NVRTC", "/no/such.so", 1);
    ck_assert_int_eq(run(&asked), TUNE_NO_COMPILER);
    ck_assert_ptr_nonnull(strstr(message, "/no/such.so"));
}
END_TEST

START_TEST(what_cannot_be_stored_is_said)
{
    const tune_options asked = options();
    (void)setenv("DLLM_CACHE_DIR", "/dev/null/below", 1);
    ck_assert_int_eq(run(&asked), TUNE_NO_CACHE);
    ck_assert_int_eq(told("won"), BUCKETS);
}
END_TEST

static const struct {
    const char *text, *says;
} bad_files[] = {
    {"head vocab 4096\n", "depth"},
    {"head vocab many depth 64\n", "line 1: vocab many is not a number from 0 to 2147483647"},
    {"head vocab 4096 depth 64 hidden_type fp8\n", "hidden_type fp8 is not bf16, fp16 or fp32"},
    {"#\nsampler vocab 100 rows 5\n", "line 2: rows is not one of: vocab valid_vocab rows_max"},
    {"head vocab 4096 depth 64 hidden_typ fp32\n", "line 1: hidden_typ is not one of: vocab"},
    {"head vocab 4096 depth 64 logits_type fp32\n", "logits_type is not one of: vocab depth"},
    {"sampler vocab 100 depth 64\n", "depth is not one of"},
    {"sampler vocab 100 rows_max\n", "line 1: rows_max has no value"},
    {"sampler vocab 100 rows_max 1 bogus\n", "bogus is not one of"},
    {"sampler vocab 100 vocab 0\n", "line 1: vocab is given twice"},
    {"sampler vocab 100 alignment_bytes 4294967312\n", "alignment_bytes 4294967312 is not"},
    {"sampler vocab 100 alignment_bytes 3\n", "alignment_bytes 3 is not 1, 2, 4, 8 or 16"},
    {"tail vocab 4096\n", "tail is not head or sampler"},
    {"\n\nsampler vocab 0\n", "line 3"},
    {"# nothing\n", "/shapes names no problem"},
};

START_TEST(a_bad_line_is_named)
{
    const tune_options asked = options();
    write_file(shapes, bad_files[_i].text);
    ck_assert_int_eq(run(&asked), TUNE_USAGE);
    ck_assert_msg(strstr(message, bad_files[_i].says) != NULL, "%s", message);
}
END_TEST

START_TEST(samplers_and_sets_are_shapes_too)
{
    tune_shape_list list;
    tune_options asked = options();
    write_file(shapes, "sampler vocab 1000 logits_type fp32 rows_max 1\n"
                       "head vocab 4096 depth 256 valid_vocab 4095\n");
    asked.sets = (tune_names){1, {"austen"}};
    ck_assert_int_eq(tune_shapes_collect(&list, &asked), TUNE_DONE);
    ck_assert_int_eq(list.count, 9 + 1); /* the head of the file is that of the set */
    ck_assert_int_eq(list.shapes[9].problem.hidden_type, DLLM_FP32);
    free(list.shapes);
}
END_TEST

/* Of every kind that an application may prepare. */
START_TEST(what_capture_writes_is_taken)
{
    tune_shape_list list;
    const tune_options asked = {.capture = shapes};
    dllm_head_options head = DLLM_HEAD_OPTIONS_INIT;
    dllm_sampler_options sampler = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_problem problems[2];
    head.vocab = sampler.vocab = 4096;
    head.depth = 64;
    head.rows_max = sampler.rows_max = 1;
    head.valid_vocab = 4000;
    head.hidden_type = DLLM_FP16;
    head.weight_type = DLLM_FP32;
    sampler.logits_type = DLLM_FP32;
    head.alignment_bytes = 4;
    head.outputs = sampler.outputs = DLLM_OUT_ARGMAX;
    ck_assert_int_eq(dllm__head_problem(&problems[0], &head), DLLM_OK);
    ck_assert_int_eq(dllm__sampler_problem(&problems[1], &sampler), DLLM_OK);
    write_file(shapes, "");
    (void)setenv("DLLM_CAPTURE", shapes, 1);
    for (int i = 0; i < 2; i++)
        dllm__capture(&problems[i], &(dllm_log){.function = NULL});
    (void)unsetenv("DLLM_CAPTURE");
    ck_assert_msg(tune_shapes_collect(&list, &asked) == TUNE_DONE, "%s", message);
    ck_assert_int_eq(list.count, 2);
    for (int i = 0; i < 2; i++) {
        dllm_problem tuned;
        dllm__tuned_problem(&tuned, &problems[i]);
        ck_assert_mem_eq(&list.shapes[i].problem, &tuned, sizeof tuned);
    }
    free(list.shapes);
}
END_TEST

/* ---- the drawing */

static char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

START_TEST(a_drawing_has_every_shape)
{
    tune_options asked = options();
    asked.report = drawing;
    ck_assert_int_eq(run(&asked), TUNE_DONE);
    const char *text = read_file(drawing);
    ck_assert_ptr_nonnull(strstr(text, "<svg"));
    ck_assert_ptr_nonnull(strstr(text, "</svg>"));
    ck_assert_ptr_nonnull(strstr(text, "head, 64 rows"));
    ck_assert_ptr_nonnull(strstr(text, "stroke=\"black\""));
    ck_assert_ptr_nonnull(strstr(text, "% less time than the rule of thumb"));
    ck_assert_ptr_nonnull(strstr(text, ">mma<"));
    ck_assert_ptr_null(strstr(text, ">stream<"));
    asked.report = "/no/such/folder/drawing.html";
    ck_assert_int_eq(run(&asked), TUNE_SOME_FAILED);
    ck_assert_ptr_nonnull(strstr(message, "cannot be written"));
}
END_TEST

/* One that left before the device slowed down is drawn where it would stand now; nothing is right of
   the floor. */
START_TEST(a_drawing_goes_by_the_same_rounds)
{
    static const char shape[] =
        "{\"shapes\": [{\"floor_us\": 100, \"winner\": 0, \"verdict\": \"default\", "
        "\"candidates\": ["
        "{\"family\": \"mma\", \"fate\": \"winner\", \"median_us\": 200, \"ratio\": 1},"
        "{\"family\": \"mma\", \"fate\": \"dropped\", \"median_us\": 150, \"ratio\": 1.25},"
        "{\"family\": \"mma\", \"fate\": \"failed\", \"median_us\": 0, \"ratio\": 0},"
        "{\"family\": \"mma\", \"fate\": \"dropped\", \"median_us\": 80, \"ratio\": 0.4}]}]}";
    json_t *made = json_loads(shape, 0, NULL);
    ck_assert(tune_report_write(drawing, made));
    const char *text = read_file(drawing);
    ck_assert_ptr_nonnull(strstr(text, "<circle cx=\"495.0\" cy=\"134.0\" r=\"7\""));
    ck_assert_ptr_nonnull(strstr(text, "<circle cx=\"438.0\" cy=\"134.0\" r=\"4\""));
    ck_assert_ptr_nonnull(strstr(text, "<circle cx=\"780.0\" cy=\"134.0\" r=\"4\""));
    ck_assert_ptr_nonnull(strstr(text, "(1 failed)"));
    json_decref(made);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune_search");
    TCase *group = tcase_create("results");
    tcase_add_checked_fixture(group, start, clean);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, what_wins_is_kept_and_resumed);
    tcase_add_test(group, a_dry_run_lists_shapes_and_measures_nothing);
    tcase_add_test(group, a_dry_run_needs_a_gpu_to_resume_alone);
    tcase_add_test(group, every_candidate_is_told);
    tcase_add_test(group, an_interrupt_keeps_what_won);
    tcase_add_test(group, a_time_limit_leaves_shapes_untuned);
    tcase_add_test(group, noise_leaves_shapes_untuned);
    tcase_add_test(group, rows_choose_buckets);
    tcase_add_test(group, a_drawing_has_every_shape);
    tcase_add_test(group, a_drawing_goes_by_the_same_rounds);
    suite_add_tcase(suite, group);
    group = tcase_create("obstacles");
    tcase_add_checked_fixture(group, start, clean);
    tcase_add_test(group, without_a_driver_it_says_so);
    tcase_add_test(group, without_a_compiler_it_says_so);
    tcase_add_test(group, what_cannot_be_stored_is_said);
    tcase_add_loop_test(group, a_bad_line_is_named, 0,
                        (int)(sizeof bad_files / sizeof bad_files[0]));
    tcase_add_test(group, samplers_and_sets_are_shapes_too);
    tcase_add_test(group, what_capture_writes_is_taken);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
