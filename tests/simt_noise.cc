/*
 * simt_noise.cc - Philox and the Gumbel variable of philox.cuh by themselves
 */
#include "simt_shim.h"

#include "philox.cuh"

#include "check_suite.h"

#include <cmath>

namespace
{

/* The known answers of Random123 1.09 (kat_vectors, philox4x32 10). */
const struct {
    philox_words counter;
    uint32_t key[2];
    philox_words wanted;
} answers[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {0xa4093822, 0x299f31d0},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};

START_TEST(philox_gives_the_known_answers)
{
    const philox_words got =
        philox4x32(answers[_i].counter, answers[_i].key[0], answers[_i].key[1]);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(got.word[i], answers[_i].wanted.word[i]);
}
END_TEST

constexpr uint32_t multipliers[] = {0xd2511f53, 0xcd9e8d57, 0x80000001, ~0u};

void check_upper_half(uint32_t a)
{
    for (uint32_t b : multipliers) {
        const uint64_t product = static_cast<uint64_t>(a) * b;
        ck_assert_msg(dllm_upper_half(a, b) == product >> 32, "%08x * %08x: %08x", a, b,
                      dllm_upper_half(a, b));
    }
}

/* Where the lower half is 0, or about to wrap, the sum lies next to a tie: the a whose product with a
   multiplier ends in `low` is low times its inverse modulo 2^32. */
START_TEST(upper_halves_are_exact)
{
    const uint32_t lows[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, ~1u, ~0u};
    for (uint32_t b : multipliers) {
        uint32_t inverse = b; /* right in 3 bits, twice as many each time */
        for (int i = 0; i < 4; i++)
            inverse *= 2 - b * inverse;
        const uint32_t one = inverse * b;
        ck_assert_uint_eq(one, 1);
        for (uint32_t low : lows)
            check_upper_half(low * inverse);
    }
    for (uint32_t bit = 1; bit != 0; bit *= 2) {
        check_upper_half(bit - 1);
        check_upper_half(bit);
        check_upper_half(~bit);
    }
    for (uint32_t i = 0, a = 1; i < 200000; i++, a = a * 1664525 + 1013904223)
        check_upper_half(a);
}
END_TEST

/* u = (2 w + 1) 2^-53 and 1 - u are exact in double. */
double exact_gumbel(uint32_t high, uint32_t low)
{
    const uint64_t w = (static_cast<uint64_t>(high) << 32 | low) >> 12;
    const double u = static_cast<double>(2 * w + 1) * 0x1p-53;
    const double q = static_cast<double>(2 * ((1ull << 52) - 1 - w) + 1) * 0x1p-53;
    return -std::log(u < 0.5 ? -std::log(u) : -std::log1p(-q));
}

void check_gumbel(uint32_t high, uint32_t low)
{
    const double wanted = exact_gumbel(high, low);
    const double error = std::fabs(static_cast<double>(gumbel(high, low)) - wanted);
    ck_assert_msg(error <= 0x1p-20 + 0x1p-22 * std::fabs(wanted), "%08x %08x: off by %g", high, low,
                  error);
}

START_TEST(gumbel_keeps_its_tolerance)
{
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        check_gumbel(static_cast<uint32_t>(state >> 32), static_cast<uint32_t>(state));
    }
    for (int i = 0; i < 200000; i++) { /* as often near both ends, at every distance from them */
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t near = state >> (i % 52);
        const uint64_t word = i % 2 ? near : ~near;
        check_gumbel(static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word));
    }
    const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, ~0u};
    for (uint32_t high : edges)
        for (uint32_t low : edges)
            check_gumbel(high, low);
}
END_TEST

START_TEST(gumbel_reaches_both_ends)
{
    ck_assert(std::fabs(gumbel(0, 0) + 3.604f) < 0.001f);
    ck_assert(std::fabs(gumbel(~0u, ~0u) - 36.737f) < 0.001f);
}
END_TEST

} // namespace

int main()
{
    Suite *suite = suite_create("simt_noise");
    TCase *group = tcase_create("noise");
    tcase_add_loop_test(group, philox_gives_the_known_answers, 0,
                        static_cast<int>(sizeof answers / sizeof answers[0]));
    tcase_add_test(group, upper_halves_are_exact);
    tcase_add_test(group, gumbel_keeps_its_tolerance);
    tcase_add_test(group, gumbel_reaches_both_ends);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
