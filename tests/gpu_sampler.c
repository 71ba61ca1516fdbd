/*
 * gpu_sampler.c - the sampler on a GPU against the double reference; exit 77 without a device
 *
 * Beside the suite of every operation the ways in which one kernel finishes rows: blocks of each width,
 * alone and in clusters of each size where the device has them.
 *
 *     gpu_sampler [stream]  the suite
 *     gpu_sampler --draws   2^20 draws in place of 2^13, and nothing else
 */
#include "row_driver.h"
#include "row_fixture.h"
#include "row_suite.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS_FEATURES = 3 };

/* By the rule of thumb: clusters of 2 to 8 blocks, then 512, 256 and 128 threads a block in clusters of 8,
   and fewer splits of more rows until a block has a row. */
static const struct {
    int64_t rows, vocab;
    int splits; /* where there are clusters; 0: that follows from the number of multiprocessors */
} ways[] = {{1, 2000, 2},    {2, 3001, 3},    {3, 4096, 4},   {1, 5003, 5},    {1, 6100, 6},
            {2, 7168, 7},    {3, 8011, 8},    {1, 126464, 8}, {16, 126464, 8}, {60, 50257, 0},
            {128, 20011, 0}, {256, 20000, 0}, {512, 9001, 0}, {1100, 4099, 0}, {5, 1000, 1}};

enum { WAYS = sizeof ways / sizeof ways[0] };

/* Plain bf16 and fp16, then every statistic in fp32, then guided as well: more than a row has in common
   with its neighbours, at any address, some of no source. */
static row_shape way_shape(int way, int features)
{
    const uint32_t all = FEATURE_GUIDANCE - 1 - FEATURE_WORDS - FEATURE_ROUND;
    const uint32_t bits[WAYS_FEATURES] = {0, all, all | FEATURE_GUIDANCE};
    return (row_shape){.seed = 40 + (uint64_t)way,
                       .values = VALUES_REAL,
                       .hidden_type = features ? DLLM_FP32 : DLLM_BF16 + (dllm_type)(way % 2),
                       .id_type = way % 2 ? DLLM_INT64 : DLLM_INT32,
                       .rows = ways[way].rows,
                       .vocab = ways[way].vocab,
                       .source_rows = way % 3 ? ways[way].rows + 1 : 0,
                       .hidden_pad = 1,
                       .alignment_bytes = features ? 4 : 2,
                       .features = bits[features]};
}

/* Of every device from compute capability 9.0 on. */
static bool has_clusters(void)
{
    dllm_device_info info = DLLM_DEVICE_INFO_INIT;
    ck_assert_int_eq(dllm_context_device(row_fixture_device()->context, &info), DLLM_OK);
    return strtol(info.arch + strlen("sm_"), NULL, 10) >= 90;
}

START_TEST(each_way_to_finish_rows_is_right)
{
    const row_shape shape = way_shape(_i / WAYS_FEATURES, _i % WAYS_FEATURES);
    row_data data;
    row_result result;
    dllm_message why;
    dllm_message text;
    row_shape_text(&text, &shape);
    ck_assert(row_data_make(&data, &shape));
    data.problem.family = "stream";
    row_fixture_run(&result, &data.problem);
    ck_assert_msg(row_data_compare(&data, &result, &why), "%s: %s", text.text, why.text);
    const int splits = ways[_i / WAYS_FEATURES].splits;
    if (splits && has_clusters()) ck_assert_int_eq(result.plan.splits, splits);
    row_result_release(&result);
    row_data_release(&data);
}
END_TEST

int main(int count, char **arguments)
{
    static const char *const families[] = {"stream", NULL};
    const bool draws = count == 2 && strcmp(arguments[1], "--draws") == 0;
    const row_suite_setup setup = {0, false, families, 1, draws ? 1 << 20 : 1 << 13};
    if (!row_suite_has_device()) return 77;
    Suite *suite = suite_create("gpu_sampler");
    if (draws)
        row_suite_add_draws(suite, &setup);
    else
        row_suite_add(suite, &setup);
    TCase *finished = draws ? NULL : row_suite_case(suite, "sampler_ways");
    if (finished)
        tcase_add_loop_test(finished, each_way_to_finish_rows_is_right, 0, WAYS * WAYS_FEATURES);
    return row_suite_run(suite);
}
