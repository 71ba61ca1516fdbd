/* test_cpu_fold.c - a block of logits becomes a state: the same as its logits one by one */
#include "cpu_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_suite.h"
#include "cpu_case.h"

enum { BLOCK = 4096, FIRST = 1000 };

static const uint32_t everything =
    DLLM_STATISTIC_ENTROPY | DLLM_STATISTIC_SECOND | DLLM_STATISTIC_TARGET;

/* A state's sums are formed in double beside it. */
typedef struct plain_state {
    dllm_state state;
    double sum;
    double weighted;
} plain_state;

static void keep_best(dllm_state *state, float z, int64_t id)
{
    if (dllm__cpu_comes_before(z, id, state->max, state->id)) {
        state->second = state->max;
        state->second_id = state->id;
        state->max = z;
        state->id = id;
    } else if (dllm__cpu_comes_before(z, id, state->second, state->second_id)) {
        state->second = z;
        state->second_id = id;
    }
}

static plain_state fold_one_by_one(const float *logits, int count, double temperature)
{
    plain_state plain = {.state = dllm__cpu_state_init()};
    dllm_state *state = &plain.state;
    for (int i = 0; i < count; i++)
        if (!isnan(logits[i]))
            keep_best(state, logits[i], FIRST + i);
        else if (state->nan_id < 0)
            state->nan_id = FIRST + i;
    for (int i = 0; i < count; i++) {
        const double x = ((double)logits[i] - (double)state->max) / temperature;
        if (!(x > -(double)INFINITY)) continue;
        plain.sum += exp(x);
        plain.weighted += exp(x) * x;
    }
    return plain;
}

static void assert_state(const dllm_state *got, const plain_state *wanted, double tolerance)
{
    const dllm_state *plain = &wanted->state;
    ck_assert_msg(got->max == plain->max, "max %g, not %g", (double)got->max, (double)plain->max);
    ck_assert_int_eq(got->id, plain->id);
    ck_assert_int_eq(got->nan_id, plain->nan_id);
    ck_assert_msg(got->second == plain->second, "second %g, not %g", (double)got->second,
                  (double)plain->second);
    ck_assert_int_eq(got->second_id, plain->second_id);
    if (got->max == INFINITY) return; /* the sums of such a row mean nothing */
    ck_assert_msg(fabs((double)got->sum - wanted->sum) <= tolerance * wanted->sum,
                  "sum %.9g, not %.9g", (double)got->sum, wanted->sum);
    ck_assert_msg(fabs((double)got->weighted - wanted->weighted) <=
                      tolerance * (wanted->sum + fabs(wanted->weighted)),
                  "weighted %.9g, not %.9g", (double)got->weighted, wanted->weighted);
}

/* The state of a copy of the logits, which a fold may change. */
static dllm_state fold(const dllm_cpu_transform *with, const dllm_cpu_row *row, const float *logits,
                       int count)
{
    float *copy = malloc((size_t)(count + 15) / 16 * 16 * sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, logits, (size_t)count * sizeof *copy);
    const dllm_cpu_block block = {.logits = copy, .count = count, .column = FIRST};
    const dllm_state state = dllm__cpu_fold(with, row, &block, NULL, 0);
    free(copy);
    return state;
}

static void assert_block_folds(const float *logits, int count, float temperature, double tolerance)
{
    const plain_state wanted = fold_one_by_one(logits, count, (double)temperature);
    for (int v = 0; cpu_case_vector(v); v++) {
        const dllm_cpu_transform with = {.vector = cpu_case_vector(v)};
        dllm_cpu_row row = {.rule = {everything, temperature}, .target = -1, .penalty_place = -1};
        dllm_state got = fold(&with, &row, logits, count);
        assert_state(&got, &wanted, tolerance);
        if (temperature != 1) continue;
        /* the base state alone, by the loop that has no weights */
        row.rule.statistics = 0;
        got = fold(&with, &row, logits, count);
        got.second = wanted.state.second;
        got.second_id = wanted.state.second_id;
        got.weighted = (float)wanted.weighted;
        assert_state(&got, &wanted, tolerance);
    }
}

static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 191, 192, 1000, 4095, BLOCK};

START_TEST(a_block_is_its_logits)
{
    float logits[BLOCK];
    srand(7);
    for (int i = 0; i < counts[_i]; i++)
        logits[i] = (float)(rand() % 4001 - 2000) / 100.0f;
    assert_block_folds(logits, counts[_i], 1.0f, 0x1p-20);
    assert_block_folds(logits, counts[_i], 0.3f, 0x1p-20);
    assert_block_folds(logits, counts[_i], 0x1p-120f, 0x1p-20);
}
END_TEST

/* Each value at each place of a short block of ordinary, of -inf and of NaN logits. */
START_TEST(a_block_keeps_special_logits)
{
    static const float fillings[] = {-1.5f, -INFINITY, NAN, INFINITY};
    static const float values[] = {NAN, INFINITY, -INFINITY, 4.0f, -0.0f, 0.0f, -3e38f};
    const int count = counts[_i];
    float logits[BLOCK];
    if (count > 40) return; /* the shorter ones have every remainder already */
    for (size_t f = 0; f < sizeof fillings / sizeof fillings[0]; f++)
        for (int place = 0; place < 7 * count; place++) {
            for (int i = 0; i < count; i++)
                logits[i] = fillings[f];
            logits[place % count] = values[place / count];
            assert_block_folds(logits, count, 1.0f, 0x1p-20);
        }
}
END_TEST

/* 63 equal terms make the error of one exp visible beside the 1 of the maximum. */
START_TEST(exp_is_accurate)
{
    enum { TERMS = 64 };
    const float t = -(float)_i / 16.0f - 0.003f;
    for (int v = 0; cpu_case_vector(v); v++) {
        float block[TERMS];
        for (int i = 0; i < TERMS; i++)
            block[i] = i == TERMS / 2 ? 0.0f : t;
        const dllm_row_state got = cpu_case_vector(v)->fold(block, TERMS);
        const double wanted = 1 + (TERMS - 1) * exp((double)t);
        ck_assert_msg(fabs((double)got.sum - wanted) <= 12 * 0x1p-24 * wanted && got.sum >= 1.0f,
                      "%s: sum %.9g, not %.9g", cpu_case_vector(v)->name, (double)got.sum, wanted);
    }
}
END_TEST

/* ---- transforms */

/* z2 within 2^-21 softcap, monotone, odd, NaN kept; every vector length and remainder. */
START_TEST(the_softcap_is_within_its_bound)
{
    const float softcap = 30.0f;
    for (int v = 0; cpu_case_vector(v); v++)
        for (int from = -1500; from < 1500; from += 16) {
            float block[32];
            for (int i = 0; i < 17; i++)
                block[i] = (float)(from + i) * 0.11f;
            cpu_case_vector(v)->cap(block, 17, softcap);
            for (int i = 0; i < 17; i++) {
                const double wanted =
                    (double)softcap * tanh((double)((float)(from + i) * 0.11f) / (double)softcap);
                ck_assert(fabs((double)block[i] - wanted) <= 0x1p-21 * (double)softcap);
            }
        }
}
END_TEST

START_TEST(the_softcap_takes_infinities_and_keeps_nan)
{
    for (int v = 0; cpu_case_vector(v); v++) {
        float block[16] = {-INFINITY, INFINITY, NAN, -0.0f, 1e38f};
        cpu_case_vector(v)->cap(block, 5, 8.0f);
        ck_assert(block[0] == -8.0f && block[1] == 8.0f && isnan(block[2]) && block[3] == 0.0f &&
                  block[4] == 8.0f);
    }
}
END_TEST

static const struct {
    float z, bf16, fp16;
} rounded[] = {
    {1.0f, 1.0f, 1.0f},
    {0x1.01p0f, 0x1.00p0f, 0x1.01p0f}, /* bf16: half way, to even */
    {0x1.03p0f, 0x1.04p0f, 0x1.03p0f}, /* bf16: half way, to even above */
    {0x1.010002p0f, 0x1.02p0f, 0x1.01p0f},
    {0x1.002p0f, 0x1.0p0f, 0x1.0p0f},   /* fp16: half way, to even */
    {0x1.006p0f, 0x1.0p0f, 0x1.008p0f}, /* fp16: half way, to even above */
    {-65519.0f, -65536.0f, -65504.0f},
    {65520.0f, 65536.0f, INFINITY},
    {3.4e38f, INFINITY, INFINITY},      /* bf16 ends at 3.39e38 */
    {0x1.4p-24f, 0x1.4p-24f, 0x1p-24f}, /* a subnormal of fp16 */
    {0x1p-25f, 0x1p-25f, 0.0f},
    {0x1.8p-24f, 0x1.8p-24f, 0x1p-23f},
    {-INFINITY, -INFINITY, -INFINITY},
    {NAN, NAN, NAN},
};

static bool same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

START_TEST(rounds_to_nearest_even)
{
    const dllm_cpu_transform to_bf16 = {.transforms = DLLM_TRANSFORM_ROUND_BF16};
    const dllm_cpu_transform to_fp16 = {.transforms = DLLM_TRANSFORM_ROUND_FP16};
    float bf16 = rounded[_i].z, fp16 = rounded[_i].z;
    dllm__cpu_transform(&to_bf16, &bf16, 1, 0);
    dllm__cpu_transform(&to_fp16, &fp16, 1, 0);
    ck_assert_msg(same(bf16, rounded[_i].bf16), "%a: bf16 %a", (double)rounded[_i].z, (double)bf16);
    ck_assert_msg(same(fp16, rounded[_i].fp16), "%a: fp16 %a", (double)rounded[_i].z, (double)fp16);
}
END_TEST

/* The bias removes what the cap would keep: it comes after. */
START_TEST(scale_comes_before_the_cap_and_bias_behind)
{
    static const float bias[] = {0.0f, -100.0f};
    const dllm_cpu_transform with = {.vector = cpu_case_vector(0),
                                     .transforms = DLLM_TRANSFORM_SCALE | DLLM_TRANSFORM_SOFTCAP |
                                                   DLLM_TRANSFORM_BIAS,
                                     .scale = 1e6f,
                                     .softcap = 4.0f,
                                     .bias = bias};
    float block[16] = {1.0f, 1.0f};
    dllm__cpu_transform(&with, block, 2, 0);
    ck_assert(block[0] == 4.0f && block[1] == -96.0f);
}
END_TEST

/* docs/decode.md 2.4: what the scale leaves of both sides, infinities and NaN among them. */
static const struct {
    float c, u, scale, fp32, bf16;
} guided[] = {
    {2, 1, 0.5f, 2.5f, 2.5f},
    {0.00390625f, 1.5859375f, 1.5f, -2.369140625f, -2.34375f}, /* by each of the roundings */
    {13.375f, 1.0078125f, 1.5f, 31.92578125f, 32},
    {13.4375f, 1, 1.5f, 32.09375f, 32},
    {-INFINITY, 1, 1, -INFINITY, -INFINITY},
    {INFINITY, 1, 1, INFINITY, INFINITY},
    {3, -INFINITY, 1, NAN, NAN},
    {-INFINITY, -INFINITY, 1, NAN, NAN},
    {3, NAN, 1, NAN, NAN},
    {3, NAN, 0, 3, 3},
    {3e38f, -3e38f, 1, INFINITY, INFINITY},
};

START_TEST(guidance_rounds_each_of_its_operations)
{
    const dllm_cpu_transform in_fp32 = {.transforms = DLLM_TRANSFORM_GUIDANCE};
    const dllm_cpu_transform in_bf16 = {.transforms =
                                            DLLM_TRANSFORM_GUIDANCE | DLLM_TRANSFORM_GUIDANCE_BF16};
    float fp32 = guided[_i].c, bf16 = guided[_i].c;
    dllm__cpu_guide(&in_fp32, &fp32, &guided[_i].u, 1, guided[_i].scale);
    dllm__cpu_guide(&in_bf16, &bf16, &guided[_i].u, 1, guided[_i].scale);
    ck_assert_msg(same(fp32, guided[_i].fp32), "fp32 %a", (double)fp32);
    ck_assert_msg(same(bf16, guided[_i].bf16), "bf16 %a", (double)bf16);
}
END_TEST

/* ---- masks */

static dllm_state fold_suppressed(const float *logits, int count, const int64_t *ids,
                                  int64_t id_count)
{
    const dllm_cpu_transform with = {.vector = cpu_case_vector(0),
                                     .transforms = DLLM_TRANSFORM_SUPPRESS,
                                     .suppress = ids,
                                     .suppress_count = id_count};
    const dllm_cpu_row row = {.rule = {everything, 1.0f}, .target = FIRST + 2, .penalty_place = -1};
    return fold(&with, &row, logits, count);
}

START_TEST(a_suppressed_column_is_absent)
{
    static const int64_t ids[] = {FIRST + 1, 3, INT64_MAX, -5, FIRST + 1, FIRST + 3, FIRST + 2};
    const float logits[] = {-INFINITY, NAN, 9.0f, INFINITY, -INFINITY};
    const dllm_state state = fold_suppressed(logits, 5, ids, 7);
    ck_assert(state.max == -INFINITY && state.sum == 0.0f && state.nan_id == -1);
    ck_assert_int_eq(state.id, FIRST);
    ck_assert_int_eq(state.second_id, FIRST + 4);
    ck_assert(state.target == -INFINITY);
}
END_TEST

START_TEST(a_nan_beside_a_suppressed_one_counts)
{
    static const int64_t ids[] = {FIRST};
    const float logits[] = {NAN, 1.0f, 2.0f, NAN};
    const dllm_state state = fold_suppressed(logits, 4, ids, 1);
    ck_assert_int_eq(state.nan_id, FIRST + 3);
    ck_assert(state.target == 2.0f && state.id == FIRST + 2);
}
END_TEST

START_TEST(a_block_without_candidates_is_neutral)
{
    static const int64_t ids[] = {FIRST, FIRST + 1};
    const float logits[] = {5.0f, 6.0f};
    const dllm_state neutral = dllm__cpu_state_init();
    const dllm_state state = fold_suppressed(logits, 2, ids, 2);
    ck_assert_mem_eq(&state, &neutral, sizeof state);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_fold");
    TCase *blocks = tcase_create("blocks");
    tcase_add_loop_test(blocks, a_block_is_its_logits, 0, sizeof counts / sizeof counts[0]);
    tcase_add_loop_test(blocks, a_block_keeps_special_logits, 0, sizeof counts / sizeof counts[0]);
    tcase_add_loop_test(blocks, exp_is_accurate, 0, 200);
    suite_add_tcase(suite, blocks);
    TCase *transforms = tcase_create("transforms");
    tcase_add_test(transforms, the_softcap_is_within_its_bound);
    tcase_add_test(transforms, the_softcap_takes_infinities_and_keeps_nan);
    tcase_add_loop_test(transforms, rounds_to_nearest_even, 0, sizeof rounded / sizeof rounded[0]);
    tcase_add_test(transforms, scale_comes_before_the_cap_and_bias_behind);
    tcase_add_loop_test(transforms, guidance_rounds_each_of_its_operations, 0,
                        sizeof guided / sizeof guided[0]);
    suite_add_tcase(suite, transforms);
    TCase *masks = tcase_create("masks");
    tcase_add_test(masks, a_suppressed_column_is_absent);
    tcase_add_test(masks, a_nan_beside_a_suppressed_one_counts);
    tcase_add_test(masks, a_block_without_candidates_is_neutral);
    suite_add_tcase(suite, masks);
    return check_suite_run(suite);
}
