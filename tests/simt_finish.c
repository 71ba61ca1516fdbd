/* simt_finish.c - the sampler in one launch on the host: the bits of two, and the outputs it is given */
#include "check_suite.h"
#include "row_driver.h"
#include "simt_shapes.h"

#include <string.h>

/* The sampler that stores what this one finishes, with the same share of a row a thread; or NULL. */
static const simt_variant *storing_variant(const simt_variant *finishing)
{
    static const char *const defines[] = {"DLLM_LOGITS_TYPE", "DLLM_STATISTICS", "DLLM_TRANSFORMS",
                                          "DLLM_PACKETS", "DLLM_THREADS"};
    const simt_variant *variant;
    for (int v = 0; (variant = simt_variant_of_rows(v)); v++) {
        bool same = strcmp(variant->kernel, "sampler_stream") == 0;
        for (size_t i = 0; i < sizeof defines / sizeof defines[0]; i++)
            same = same && simt_variant_value(variant, defines[i], 0) ==
                               simt_variant_value(finishing, defines[i], 0);
        if (same) return variant;
    }
    return NULL;
}

/* The number-th variant that finishes rows and has a storing one beside it. */
static const simt_variant *compared_variant(int number)
{
    const simt_variant *variant;
    for (int v = 0; (variant = simt_variant_of_rows(v)); v++)
        if (simt_variant_finishes(variant) && storing_variant(variant) && number-- == 0)
            return variant;
    return NULL;
}

START_TEST(one_launch_has_the_bits_of_two)
{
    simt_choice one = {.kernel = compared_variant(_i)};
    simt_choice two = {.kernel = storing_variant(one.kernel)};
    const bool clustered = simt_variant_value(one.kernel, "DLLM_CLUSTERED", 0);
    const row_shape shape = simt_shape_plain(one.kernel);
    row_data data;
    simt_data_make(&data, &shape, one.kernel);
    for (int splits = clustered ? 2 : 1; splits <= (clustered ? SIMT_CLUSTER_MAX : 1); splits++) {
        row_result finished, combined;
        one.splits = two.splits = splits;
        simt_data_run(&finished, &data, &one);
        simt_data_run(&combined, &data, &two);
        for (int64_t r = 0; r < shape.rows; r++)
            simt_bits_compare(&finished, r, &combined, r, one.kernel->name);
        row_result_release(&finished);
        row_result_release(&combined);
    }
    row_data_release(&data);
}
END_TEST

/* The others have no memory that could be written. */
START_TEST(a_finishing_kernel_writes_the_plain_outputs_it_is_given)
{
    static const uint32_t given[] = {DLLM_OUT_ARGMAX, DLLM_OUT_MAX,
                                     DLLM_OUT_LSE,    DLLM_OUT_CONFIDENCE,
                                     DLLM_OUT_FLAGS,  DLLM_OUT_LSE | DLLM_OUT_FLAGS};
    const simt_choice choice = {
        .kernel = simt_variant_find("sampler_finish_3_15_0"), .splits = 3, .plain = given[_i]};
    const row_shape shape = simt_shape_plain(choice.kernel);
    row_data data;
    row_result result;
    dllm_message why;
    simt_data_make(&data, &shape, choice.kernel);
    data.problem.outputs &= ~(uint32_t)DLLM_PLAIN_OUTPUTS | given[_i];
    simt_data_run(&result, &data, &choice);
    ck_assert_msg(row_data_compare(&data, &result, &why), "%s", why.text);
    ck_assert_int_eq(result.data[ROW_LSE] != NULL, (given[_i] & DLLM_OUT_LSE) != 0);
    row_result_release(&result);
    row_data_release(&data);
}
END_TEST

int main(void)
{
    int compared = 0;
    Suite *suite = suite_create("simt_finish");
    TCase *group = tcase_create("finish");
    while (compared_variant(compared))
        compared++;
    tcase_set_timeout(group, 0);
    tcase_add_loop_test(group, one_launch_has_the_bits_of_two, 0, compared);
    tcase_add_loop_test(group, a_finishing_kernel_writes_the_plain_outputs_it_is_given, 0, 6);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
