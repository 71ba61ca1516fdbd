/*
 * simt_state.cc - the five functions of state.cuh by themselves
 *
 * Properties first (merging commutes bit by bit, a neutral state changes nothing, tiles and single
 * logits agree), then the table of rows that are not finite.
 */
#include "simt_shim.h"

#include "dllm.h"
#include "state.cuh"

#include "check_suite.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace
{

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

dllm_row_state fold(const float *z, int count, int first)
{
    dllm_row_state state = state_neutral();
    for (int i = 0; i < count; i++)
        state_fold_logit(state, z[i], 0.0f, first + i, plain_context());
    return state;
}

bool same_bits(const dllm_row_state &a, const dllm_row_state &b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/* States of every kind: neutral, without mass, finite, infinite, with NaN, far apart and near. */
const float samples[][3] = {
    {0.0f, 1.0f, 2.0f},    {-0.0f, -0.0f, -1.0f},  {0.0f, -1.0f, -inf},     {-inf, -inf, -inf},
    {3.0f, inf, -inf},     {inf, inf, inf},        {nan, 1.0f, 2.0f},       {nan, nan, nan},
    {nan, inf, nan},       {1e6f, 1e6f + 1, 1e6f}, {-200, -201, -202},      {-3e38f, 3e38f, 100.0f},
    {2.0f, 2.0f, 1.9999f}, {-1e30f, -inf, nan},    {90.0f, 1e-40f, -1e-40f}};
constexpr int sample_count = sizeof samples / sizeof samples[0];

/* Sample `number`; the one past the last is the neutral state. */
dllm_row_state sample(int number, int first)
{
    return number == sample_count ? state_neutral() : fold(samples[number], 3, first);
}

START_TEST(merge_commutes_bit_by_bit)
{
    for (int other = 0; other <= sample_count; other++) {
        for (int distance = -3; distance <= 3; distance += 6) {
            const dllm_row_state a = sample(_i, 100);
            const dllm_row_state b = sample(other, 100 + distance);
            ck_assert_msg(
                same_bits(state_merge(a, b, plain_context()), state_merge(b, a, plain_context())),
                "samples %d and %d", _i, other);
        }
    }
}
END_TEST

START_TEST(merge_with_neutral_changes_no_value)
{
    const dllm_row_state a = sample(_i, 7);
    const dllm_row_state merged = state_merge(state_neutral(), a, plain_context());
    ck_assert(merged.max == a.max);
    ck_assert(merged.sum == a.sum);
    ck_assert_int_eq(merged.column, a.column);
    ck_assert_int_eq(merged.nan_column, a.nan_column);
}
END_TEST

/* Exactly, but for the sum: two roundings for the terms, two for each rescale. */
START_TEST(merge_equals_one_fold)
{
    for (int other = 0; other < sample_count; other++) {
        float z[6];
        std::memcpy(z, samples[_i], sizeof samples[_i]);
        std::memcpy(z + 3, samples[other], sizeof samples[other]);
        const dllm_row_state whole = fold(z, 6, 50);
        const dllm_row_state merged =
            state_merge(sample(other, 53), sample(_i, 50), plain_context());
        ck_assert(whole.max == merged.max);
        ck_assert_int_eq(whole.column, merged.column);
        ck_assert_int_eq(whole.nan_column, merged.nan_column);
        ck_assert(merged.sum == merged.sum);
        if (whole.max < inf) ck_assert(std::fabs(whole.sum - merged.sum) <= 1e-6f * whole.sum);
    }
}
END_TEST

template <int RUN, int STEP> void compare_tile_with_logits(unsigned seed, int32_t limit)
{
    const float kinds[] = {nan, inf, -inf, 0.0f, -0.0f, 1.0f, 1.0f, 2.5f, -300.0f, 4.0f, 4.0f};
    float z[8];
    dllm_row_state by_logit = state_neutral();
    for (int i = 0; i < 8; i++) {
        seed = seed * 1664525u + 1013904223u;
        z[i] = kinds[(seed >> 24) % (sizeof kinds / sizeof kinds[0])];
        const int32_t column = 40 + i / RUN * STEP + i % RUN;
        if (column < limit) state_fold_logit(by_logit, z[i], 0.0f, column, plain_context());
    }
    dllm_row_state by_tile = state_neutral();
    state_fold_tile<8, RUN, STEP>(by_tile, z, 40, limit, plain_context());
    ck_assert_msg(by_tile.max == by_logit.max, "seed %u: %g and %g", seed,
                  static_cast<double>(by_tile.max), static_cast<double>(by_logit.max));
    ck_assert_int_eq(by_tile.column, by_logit.column);
    ck_assert_int_eq(by_tile.nan_column, by_logit.nan_column);
    ck_assert(by_tile.sum == by_tile.sum);
    if (by_tile.max < inf) ck_assert(std::fabs(by_tile.sum - by_logit.sum) <= 1e-6f * by_tile.sum);
}

START_TEST(tile_equals_its_logits)
{
    const unsigned seed = static_cast<unsigned>(_i);
    for (int32_t limit = 39; limit < 80; limit++) {
        compare_tile_with_logits<8, 8>(seed, limit);
        compare_tile_with_logits<2, 8>(seed, limit);
        compare_tile_with_logits<1, 5>(seed, limit);
        compare_tile_with_logits<4, 32>(seed, limit);
    }
}
END_TEST

/* With one fma from m * log2 e the first term would be 0.985 at this size. */
START_TEST(term_of_the_maximum_is_one)
{
    for (float max = 1.1f; max < 1e30f; max *= 1.7f) {
        ck_assert(fold(&max, 1, 0).sum == 1.0f);
        const float negative = -max;
        ck_assert(fold(&negative, 1, 0).sum == 1.0f);
    }
}
END_TEST

START_TEST(masked_columns_are_never_seen)
{
    float z[4] = {-inf, nan, inf, 7.0f};
    dllm_row_state state = state_neutral();
    state_fold_tile<4, 4, 4>(state, z, 10, 11, plain_context());
    ck_assert(state.max == -inf);
    ck_assert_int_eq(state.column, 10);
    ck_assert_int_eq(state.nan_column, DLLM_NO_COLUMN);
    float none[4] = {-inf, nan, inf, 7.0f};
    state = state_neutral();
    state_fold_tile<4, 4, 4>(state, none, 10, 10, plain_context());
    ck_assert(same_bits(state, state_neutral()));
}
END_TEST

/* A signalling NaN is a NaN like others. */
START_TEST(signalling_nan_is_left_out_of_the_maximum)
{
    float z[3] = {1.0f, __uint_as_float(0x7f810000u), 2.0f};
    dllm_row_state state = state_neutral();
    state_fold_tile<3, 3, 3>(state, z, 0, 3, plain_context());
    ck_assert(state.max == 2.0f);
    ck_assert_int_eq(state.nan_column, 1);
}
END_TEST

const struct {
    const char *name;
    float z[4];
    int32_t column;
    float max;
    float lse;
    float confidence;
    uint32_t flags;
} finished[] = {
    {"nan beats infinity", {inf, nan, 1.0f, nan}, 1, nan, nan, nan, DLLM_FLAG_NONFINITE},
    {"first infinity", {1.0f, inf, -inf, inf}, 1, inf, nan, nan, DLLM_FLAG_NONFINITE},
    {"all -inf", {-inf, -inf, -inf, -inf}, 0, -inf, -inf, 0.0f, DLLM_FLAG_EMPTY},
    {"one id", {-inf, -inf, 5.0f, -inf}, 2, 5.0f, 5.0f, 1.0f, 0},
    {"tie", {-inf, 3.0f, 3.0f, -inf}, 1, 3.0f, 3.0f + 0.6931472f, 0.5f, 0},
    {"signed zeros", {-0.0f, 0.0f, -inf, -inf}, 0, 0.0f, 0.6931472f, 0.5f, 0},
};

bool same_number(float a, float b)
{
    return a == b || (a != a && b != b);
}

START_TEST(finish_follows_the_table)
{
    const row_result<int32_t> result = state_finish(fold(finished[_i].z, 4, 0), plain_context());
    ck_assert_msg(result.column == finished[_i].column, "%s: column %d", finished[_i].name,
                  result.column);
    ck_assert_msg(same_number(result.max, finished[_i].max), "%s: max", finished[_i].name);
    ck_assert_msg(same_number(result.lse, finished[_i].lse), "%s: lse", finished[_i].name);
    ck_assert_msg(same_number(result.confidence, finished[_i].confidence), "%s: confidence",
                  finished[_i].name);
    ck_assert_msg(result.flags == finished[_i].flags, "%s: flags", finished[_i].name);
}
END_TEST

START_TEST(finish_of_no_candidate_is_empty)
{
    const row_result<int32_t> result = state_finish(state_neutral(), plain_context());
    ck_assert_int_eq(result.column, DLLM_NO_COLUMN);
    ck_assert(result.max == -inf && result.lse == -inf && result.confidence == 0.0f);
    ck_assert_uint_eq(result.flags, DLLM_FLAG_EMPTY);
}
END_TEST

START_TEST(flags_are_those_of_the_public_header)
{
    ck_assert_uint_eq(flag_nonfinite, DLLM_FLAG_NONFINITE);
    ck_assert_uint_eq(flag_empty, DLLM_FLAG_EMPTY);
    ck_assert_uint_eq(flag_row, DLLM_FLAG_ROW);
}
END_TEST

/* Every half there is, by the definition of its bits. */
START_TEST(halves_convert_exactly)
{
    for (unsigned bits = 0; bits < 1u << 16; bits++) {
        const int exponent = static_cast<int>(bits >> 10 & 31);
        const float fraction = static_cast<float>(bits & 1023);
        float wanted =
            std::ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
        if (exponent == 31) wanted = fraction > 0 ? nan : inf;
        if (bits & 0x8000) wanted = -wanted;
        const float got = to_float(fp16{static_cast<uint16_t>(bits)});
        ck_assert_msg(same_number(got, wanted), "%04x is %g", bits, static_cast<double>(got));
    }
}
END_TEST

Suite *state_suite()
{
    Suite *suite = suite_create("simt_state");
    TCase *merge = tcase_create("merge");
    TCase *rest = tcase_create("fold_and_finish");
    tcase_add_loop_test(merge, merge_commutes_bit_by_bit, 0, sample_count + 1);
    tcase_add_loop_test(merge, merge_with_neutral_changes_no_value, 0, sample_count + 1);
    tcase_add_loop_test(merge, merge_equals_one_fold, 0, sample_count);
    tcase_add_loop_test(rest, tile_equals_its_logits, 0, 300);
    tcase_add_test(rest, term_of_the_maximum_is_one);
    tcase_add_test(rest, masked_columns_are_never_seen);
    tcase_add_test(rest, signalling_nan_is_left_out_of_the_maximum);
    tcase_add_loop_test(rest, finish_follows_the_table, 0, sizeof finished / sizeof finished[0]);
    tcase_add_test(rest, finish_of_no_candidate_is_empty);
    tcase_add_test(rest, flags_are_those_of_the_public_header);
    tcase_add_test(rest, halves_convert_exactly);
    suite_add_tcase(suite, merge);
    suite_add_tcase(suite, rest);
    return suite;
}

} // namespace

int main()
{
    return check_suite_run(state_suite());
}
