/* test_exact_split.c - three bf16 addends are the fp32 number, split rows give the same product */
#include "check_suite.h"
#include "exact_split.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static float value_of(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** A finite number with all of its 24 bits in use, of any exponent that loses nothing. */
static float random_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    const uint32_t exponent = 20u + (*state >> 8) % 230u;
    *state = *state * 1664525u + 1013904223u;
    const uint32_t bits = (*state & 0x80000000u) | exponent << 23 | (*state >> 8 & 0x7fffffu);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

START_TEST(three_addends_sum_to_the_number)
{
    uint32_t state = 1;
    for (int i = 0; i < 20000; i++) {
        const float value = random_value(&state);
        uint16_t addends[3];
        dllm_split_hidden(addends, &value, 1, 1);
        const double sum = (double)value_of(addends[0]) + (double)value_of(addends[1]) +
                           (double)value_of(addends[2]);
        ck_assert_msg(sum == (double)value, "%a became %a", (double)value, sum);
    }
}
END_TEST

START_TEST(two_addends_hold_fp16)
{
    for (uint32_t mantissa = 0; mantissa < 2048; mantissa++) {
        const float value = (float)mantissa * 0x1p-24f; /* subnormals and the first normals */
        uint16_t row[6];
        dllm_split_weight(row, &value, 1, 2);
        ck_assert_msg(value_of(row[0]) + value_of(row[3]) == value, "%u * 2^-24", mantissa);
    }
}
END_TEST

START_TEST(keeps_infinity_and_nan)
{
    const uint32_t low_nan_bits = 0x7f800001u; /* its payload is cut off */
    float low_nan;
    memcpy(&low_nan, &low_nan_bits, sizeof low_nan);
    const float row[] = {INFINITY, -INFINITY, NAN, low_nan};
    uint16_t out[12];
    dllm_split_hidden(out, row, 4, 1);
    ck_assert(value_of(out[0]) == INFINITY);
    ck_assert(value_of(out[1]) == -INFINITY);
    ck_assert(isnan(value_of(out[2])));
    ck_assert(isnan(value_of(out[3])));
    for (int i = 4; i < 12; i++)
        ck_assert_uint_eq(out[i], 0);
}
END_TEST

/** The product of split rows, for a weight that needs `_i` addends, against that of the rows. */
START_TEST(split_rows_have_the_same_product)
{
    enum { WIDTH = 37, ADDENDS_MAX = 3 };
    uint32_t state = 7;
    float hidden[WIDTH];
    float weight[WIDTH];
    uint16_t hidden_split[3 * ADDENDS_MAX * WIDTH];
    uint16_t weight_split[3 * ADDENDS_MAX * WIDTH];
    double wanted = 0.0;
    double got = 0.0;
    for (int i = 0; i < WIDTH; i++) {
        state = state * 1664525u + 1013904223u;
        hidden[i] = (float)(int32_t)state * 0x1p-31f;
        state = state * 1664525u + 1013904223u; /* 8, 16 or 24 bits: as many addends */
        weight[i] = (float)(int32_t)(state >> (32 - 8 * _i)) * 0x1p-8f;
        wanted += (double)hidden[i] * (double)weight[i];
    }
    dllm_split_hidden(hidden_split, hidden, WIDTH, _i);
    dllm_split_weight(weight_split, weight, WIDTH, _i);
    for (int i = 0; i < 3 * _i * WIDTH; i++)
        got += (double)value_of(hidden_split[i]) * (double)value_of(weight_split[i]);
    ck_assert_msg(fabs(got - wanted) <= 1e-12 * fabs(wanted), "got %a, wanted %a", got, wanted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exact_split");
    TCase *values = tcase_create("values");
    tcase_add_test(values, three_addends_sum_to_the_number);
    tcase_add_test(values, two_addends_hold_fp16);
    tcase_add_test(values, keeps_infinity_and_nan);
    tcase_add_loop_test(values, split_rows_have_the_same_product, 1, 4);
    suite_add_tcase(suite, values);
    return check_suite_run(suite);
}
