/* test_candidates.c - what the tuner may try: legal, none twice, the rule of thumb first */
#include "check_suite.h"

#include "candidates.h"
#include "estimate.h"
#include "heads.h"
#include "kernel_spec.h"
#include "plan.h"

#include <string.h>

static const char *const archs[] = {"sm_75",  "sm_80",  "sm_86", "sm_89",
                                    "sm_90a", "sm_100", "sm_120"};

enum { ARCHS = sizeof archs / sizeof archs[0] };

static const int64_t bucket_rows[] = {1, 16, 64, 128, 256, 512, 1024, 4096, 16384};

enum { BUCKETS = sizeof bucket_rows / sizeof bucket_rows[0] };

static dllm_candidate list[DLLM_CANDIDATES_MAX];

static dllm_device typical(const char *arch)
{
    dllm_device device;
    ck_assert_int_eq(dllm__device_typical(&device, arch), DLLM_OK);
    return device;
}

static dllm_problem head(int64_t vocab, int64_t depth, int64_t rows, dllm_type type)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_problem problem;
    options.vocab = vocab;
    options.depth = depth;
    options.rows_max = rows;
    options.hidden_type = options.weight_type = type;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    return problem;
}

static dllm_problem sampler(int64_t vocab, int64_t rows, dllm_type type)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_problem problem;
    options.vocab = vocab;
    options.rows_max = rows;
    options.logits_type = type;
    options.outputs = DLLM_OUT_ARGMAX;
    ck_assert_int_eq(dllm__sampler_problem(&problem, &options), DLLM_OK);
    return problem;
}

static bool is_repeated(int index)
{
    for (int j = 0; j < index; j++)
        if (dllm__choice_equal(&list[index].choice, &list[j].choice)) return true;
    return false;
}

/* Also a walk of every rule of thumb through the families' spaces: one that proposes a tile without
   naming it there is refused. */
static void check_list(const dllm_problem *problem, const dllm_device *device)
{
    int count = 0;
    char why[192];
    dllm_choice rule;
    const dllm_status status = dllm__candidates(list, &count, problem, device);
    ck_assert_msg(status == DLLM_OK, "%s: %s", device->arch, dllm_last_error());
    ck_assert_int_eq(dllm__choose(&rule, why, problem, device), DLLM_OK);
    ck_assert(dllm__choice_equal(&rule, &list[0].choice));
    ck_assert_int_lt(count, DLLM_CANDIDATES_MAX);
    for (int i = 0; i < count; i++) {
        const bool sorted = i < 2 || list[i - 1].estimate_us <= list[i].estimate_us;
        ck_assert_int_eq(dllm__check_choice(&list[i].choice, problem, device), DLLM_OK);
        ck_assert_msg(sorted && list[i].estimate_us > 0.0 && !is_repeated(i), "number %d", i);
    }
}

START_TEST(every_list_is_legal_and_begins_with_the_rule)
{
    const dllm_device device = typical(archs[_i / BUCKETS]);
    const int64_t rows = bucket_rows[_i % BUCKETS];
    int sets = 0;
    const dllm_head_set *heads = dllm__head_sets(&sets);
    for (int s = 0; s < sets; s++) {
        const dllm_problem problem =
            head(heads[s].vocab, heads[s].depth, rows, heads[s].weight_type);
        check_list(&problem, &device);
    }
    for (int type = DLLM_BF16; type <= DLLM_FP32; type++) {
        const dllm_problem problem = sampler(126464, rows, (dllm_type)type);
        check_list(&problem, &device);
    }
}
END_TEST

START_TEST(odd_problems_have_candidates_too)
{
    static const struct {
        int64_t vocab, depth, rows;
        dllm_type type;
    } shapes[] = {{1, 1, 0, DLLM_BF16},      {5, 8, 1, DLLM_FP16},
                  {129, 4097, 3, DLLM_BF16}, {50257, 768, 7, DLLM_FP32},
                  {1000, 64, 1, DLLM_FP16},  {INT32_MAX, 8, 2, DLLM_BF16}};
    for (int a = 0; a < ARCHS; a++) {
        const dllm_device device = typical(archs[a]);
        const dllm_problem problem =
            head(shapes[_i].vocab, shapes[_i].depth, shapes[_i].rows, shapes[_i].type);
        check_list(&problem, &device);
    }
}
END_TEST

/* A cold search compiles every kernel of its list: few enough for two minutes. */
START_TEST(the_llada_head_needs_few_kernels)
{
    const dllm_device device = typical("sm_90a");
    static dllm_kernel_spec kernels[64];
    int kernel_count = 0;
    for (int b = 0; b < BUCKETS; b++) {
        const dllm_problem problem = head(126464, 4096, bucket_rows[b], DLLM_BF16);
        int count = 0;
        ck_assert_int_eq(dllm__candidates(list, &count, &problem, &device), DLLM_OK);
        ck_assert_msg(count >= 8 && count <= 160, "%d candidates at %lld rows", count,
                      (long long)bucket_rows[b]);
        for (int i = 0; i < count; i++) {
            dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
            int known = 0;
            (void)list[i].choice.family->kernels(&problem, &list[i].choice, specs);
            while (known < kernel_count && !dllm__kernel_spec_equal(&kernels[known], &specs[0]))
                known++;
            ck_assert_int_lt(known, 64);
            if (known == kernel_count) kernels[kernel_count++] = specs[0];
        }
    }
    ck_assert_msg(kernel_count <= 24, "%d kernels", kernel_count);
}
END_TEST

START_TEST(the_hopeless_is_left_out)
{
    const dllm_device device = typical("sm_90a");
    const dllm_problem problem = head(126464, 4096, 4096, DLLM_BF16);
    int count = 0, chunked = 0;
    ck_assert_int_eq(dllm__candidates(list, &count, &problem, &device), DLLM_OK);
    for (int i = 0; i < count; i++) {
        ck_assert_str_ne(list[i].choice.family->name, "naive");
        ck_assert_str_ne(list[i].choice.family->name, "tiled");
        chunked += list[i].choice.family->space->chunked;
    }
    ck_assert_int_gt(chunked, 0);
}
END_TEST

START_TEST(without_cublas_there_are_no_chunks)
{
    dllm_device device = typical("sm_80");
    const dllm_problem problem = head(126464, 4096, 4096, DLLM_BF16);
    int count = 0;
    device.has_cublas = false;
    ck_assert_int_eq(dllm__candidates(list, &count, &problem, &device), DLLM_OK);
    ck_assert_int_gt(count, 1);
    for (int i = 0; i < count; i++)
        ck_assert(!list[i].choice.family->space->chunked);
}
END_TEST

/* Whatever wins, a caller allocates no more than the bound, or than for the rule of thumb. */
START_TEST(the_workspace_of_all_is_bounded)
{
    const dllm_device device = typical(archs[_i]);
    const dllm_problem problem = head(126464, 4096, 16384, DLLM_BF16);
    int count = 0;
    ck_assert_int_eq(dllm__candidates(list, &count, &problem, &device), DLLM_OK);
    const size_t of_rule = list[0].choice.family->workspace_bytes(&problem, &list[0].choice);
    for (int i = 1; i < count; i++) {
        const dllm_choice *choice = &list[i].choice;
        const size_t bytes = choice->family->workspace_bytes(&problem, choice);
        const size_t most = (size_t)(choice->family->space->chunked ? 64 : 16) << 20;
        ck_assert_msg(bytes <= most || bytes <= of_rule, "%s, %d splits: %zu bytes",
                      choice->family->name, choice->splits, bytes);
    }
}
END_TEST

/* ---- the check that stored choices pass ---- */

static dllm_choice legal_choice(const dllm_problem *problem, const dllm_device *device)
{
    int count = 0;
    ck_assert_int_eq(dllm__candidates(list, &count, problem, device), DLLM_OK);
    return list[0].choice;
}

START_TEST(a_choice_outside_the_space_is_refused)
{
    const dllm_device device = typical("sm_90a");
    const dllm_problem problem = head(126464, 4096, 512, DLLM_BF16);
    const dllm_choice legal = legal_choice(&problem, &device);
    dllm_choice choice = legal;
    choice.tile_rows = 96;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "no kernel for tile 96"));
    choice = legal;
    choice.splits++;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    choice = legal;
    choice.splits--;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    choice = legal;
    choice.split_columns = 0;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    choice = legal;
    choice.split_columns++;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    choice = legal;
    choice.stages = 100;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
}
END_TEST

START_TEST(a_choice_of_another_device_is_refused)
{
    const dllm_device hopper = typical("sm_90a"), ampere = typical("sm_80");
    const dllm_device cpu = {.arch = "cpu", .is_cpu = true, .multiprocessors = 2};
    const dllm_problem problem = head(126464, 4096, 512, DLLM_BF16);
    const dllm_choice choice = legal_choice(&problem, &hopper);
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &ampere), DLLM_UNSUPPORTED);
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &cpu), DLLM_UNSUPPORTED);
}
END_TEST

START_TEST(a_chunk_beyond_its_limit_is_refused)
{
    const dllm_device device = typical("sm_80");
    const dllm_problem problem = head(126464, 4096, 4096, DLLM_BF16);
    dllm_choice choice = legal_choice(&problem, &device);
    ck_assert(choice.family->space->chunked);
    choice.chunk_rows *= 100;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
    choice.chunk_rows = 0;
    ck_assert_int_eq(dllm__check_choice(&choice, &problem, &device), DLLM_UNSUPPORTED);
}
END_TEST

/* ---- estimates ---- */

START_TEST(more_rows_never_take_less_time)
{
    const dllm_device device = typical(archs[_i]);
    double before = 0.0;
    for (int b = 0; b < BUCKETS; b++) {
        const dllm_problem problem = head(126464, 4096, bucket_rows[b], DLLM_BF16);
        const dllm_choice choice = legal_choice(&problem, &device);
        const double estimate = dllm__estimate_us(&problem, &device, &choice);
        const double least = dllm__floor_us(&problem, &device);
        ck_assert_msg(estimate >= least, "%lld rows: %f us below the floor of %f",
                      (long long)bucket_rows[b], estimate, least);
        ck_assert_msg(least >= before, "%lld rows", (long long)bucket_rows[b]);
        before = least;
    }
}
END_TEST

/* What measuring has shown on Hopper: wgmma before cuBLAS before mma.sync; few rows are bound by
   reading whoever multiplies. */
START_TEST(families_are_ordered_as_measured)
{
    const dllm_device device = typical("sm_90a");
    const int64_t rows = bucket_rows[_i];
    const dllm_problem problem = head(126464, 4096, rows, DLLM_BF16);
    int count = 0, mma = 0, chunked = 0;
    ck_assert_int_eq(dllm__candidates(list, &count, &problem, &device), DLLM_OK);
    ck_assert_str_eq(list[1].choice.family->name, "sm90");
    for (int i = count - 1; i > 0; i--) {
        if (list[i].choice.family->space->chunked) chunked = i;
        if (strcmp(list[i].choice.family->name, "mma") == 0) mma = i;
    }
    if (rows >= 512) ck_assert(chunked > 0 && (mma == 0 || chunked < mma));
}
END_TEST

START_TEST(the_floor_is_reading_once_or_multiplying)
{
    const dllm_device device = typical("sm_90a");
    dllm_problem problem = head(126464, 4096, 1, DLLM_BF16);
    const double reading = 126464.0 * 4096.0 * 2.0 / (1000.0 * device.memory_bytes_a_ns);
    ck_assert_double_eq_tol(dllm__floor_us(&problem, &device), reading, 1e-6);
    problem.rows_max = 4096;
    const double products = 126464.0 * 4096.0 * 4096.0;
    ck_assert_double_eq_tol(dllm__floor_us(&problem, &device),
                            products / (2048.0 * device.clock_mhz * device.multiprocessors), 1e-6);
    const dllm_problem logits = sampler(1000, 64, DLLM_FP32);
    ck_assert_double_eq_tol(dllm__floor_us(&logits, &device),
                            64.0 * 1000.0 * 4.0 / (1000.0 * device.memory_bytes_a_ns), 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("candidates");
    TCase *group = tcase_create("list");
    tcase_add_loop_test(group, every_list_is_legal_and_begins_with_the_rule, 0, ARCHS * BUCKETS);
    tcase_add_loop_test(group, odd_problems_have_candidates_too, 0, 6);
    tcase_add_test(group, the_llada_head_needs_few_kernels);
    tcase_add_test(group, the_hopeless_is_left_out);
    tcase_add_test(group, without_cublas_there_are_no_chunks);
    tcase_add_loop_test(group, the_workspace_of_all_is_bounded, 0, ARCHS);
    suite_add_tcase(suite, group);
    group = tcase_create("check");
    tcase_add_test(group, a_choice_outside_the_space_is_refused);
    tcase_add_test(group, a_choice_of_another_device_is_refused);
    tcase_add_test(group, a_chunk_beyond_its_limit_is_refused);
    suite_add_tcase(suite, group);
    group = tcase_create("estimate");
    tcase_add_loop_test(group, more_rows_never_take_less_time, 0, ARCHS);
    tcase_add_loop_test(group, families_are_ordered_as_measured, 4, BUCKETS);
    tcase_add_test(group, the_floor_is_reading_once_or_multiplying);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
