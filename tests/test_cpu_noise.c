/* test_cpu_noise.c - the generator and the Gumbel noise against the case file's answers */
#include "cpu_noise.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "check_suite.h"
#include "cpu_case.h"

static json_t *cases;

static void load_cases(void)
{
    cases = json_load_file(DLLM_SOURCE_DIR "/tests/cases/row_cases.json", 0, NULL);
    ck_assert_ptr_nonnull(cases);
}

static void release_cases(void)
{
    json_decref(cases);
}

static const json_t *answers(const char *name)
{
    const json_t *list = json_object_get(json_object_get(cases, "noise"), name);
    ck_assert(json_array_size(list) > 0);
    return list;
}

static uint64_t word(const json_t *value)
{
    if (json_is_integer(value)) return (uint64_t)json_integer_value(value);
    ck_assert(json_is_string(value));
    return strtoull(json_string_value(value), NULL, 16);
}

static void read_words(uint32_t *out, size_t count, const json_t *list)
{
    ck_assert_uint_eq(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)word(json_array_get(list, i));
}

/* The words that a table gives pair number `place` behind `pair`. */
static void read_pair(uint32_t out[4], const dllm_cpu_vector *vector, const dllm_cpu_stream *stream,
                      uint64_t pair, int place)
{
    dllm_cpu_noise noise;
    vector->words(&noise, stream, pair);
    for (int w = 0; w < 4; w++)
        out[w] = noise.word[w][place];
}

/* The known answers of Random123: the counter is {pair, draw, row key}, the key is the seed. */
START_TEST(gives_the_published_blocks)
{
    size_t i;
    const json_t *answer;
    json_array_foreach(answers("philox4x32_10"), i, answer)
    {
        uint32_t counter[4] = {0}, key[2] = {0}, wanted[4] = {0}, got[4];
        read_words(counter, 4, json_object_get(answer, "counter"));
        read_words(key, 2, json_object_get(answer, "key"));
        read_words(wanted, 4, json_object_get(answer, "out"));
        const dllm_cpu_stream stream = {.seed = key[0] | (uint64_t)key[1] << 32,
                                        .row_key = counter[2] | (uint64_t)counter[3] << 32,
                                        .draw = counter[1]};
        for (int v = 0; cpu_case_vector(v); v++) {
            read_pair(got, cpu_case_vector(v), &stream, counter[0], 0);
            ck_assert_mem_eq(got, wanted, sizeof got);
        }
    }
}
END_TEST

/* Wherever a block of pairs begins, also where the counter's word runs over. */
START_TEST(a_pair_has_its_words_at_every_place)
{
    const dllm_cpu_stream stream = {.seed = 77, .row_key = (uint64_t)3 << 40, .draw = 2};
    for (int v = 0; cpu_case_vector(v); v++)
        for (int place = 0; place < DLLM_CPU_NOISE_PAIRS; place++) {
            const uint64_t pair = ((uint64_t)1 << 32) - 20 + (uint64_t)place;
            uint32_t wanted[4], got[4];
            read_pair(wanted, cpu_case_vector(0), &stream, pair, 0);
            read_pair(got, cpu_case_vector(v), &stream, pair - (uint64_t)place, place);
            ck_assert_mem_eq(got, wanted, sizeof got);
        }
}
END_TEST

START_TEST(words_become_the_right_noise)
{
    size_t i;
    const json_t *answer;
    json_array_foreach(answers("words_to_gumbel"), i, answer)
    {
        uint32_t words[2];
        read_words(words, 2, json_object_get(answer, "words"));
        const double wanted = json_number_value(json_object_get(answer, "gumbel"));
        const double tolerance = json_number_value(json_object_get(answer, "tol"));
        const double got = (double)dllm__cpu_gumbel(words[0], words[1]);
        ck_assert_msg(fabs(got - wanted) <= tolerance, "%u %u: %.9g, not %.9g", words[0], words[1],
                      got, wanted);
    }
}
END_TEST

START_TEST(seed_key_and_id_choose_the_words)
{
    size_t i;
    const json_t *answer;
    json_array_foreach(answers("keyed"), i, answer)
    {
        const dllm_cpu_stream stream = {.seed = word(json_object_get(answer, "seed")),
                                        .row_key = word(json_object_get(answer, "row_key"))};
        const uint64_t id = word(json_object_get(answer, "id"));
        uint32_t wanted[2] = {0}, got[4] = {0};
        read_words(wanted, 2, json_object_get(answer, "words"));
        read_pair(got, cpu_case_vector(0), &stream, id / 2, 0);
        ck_assert_mem_eq(got + id % 2 * 2, wanted, sizeof wanted);
    }
}
END_TEST

static float noise_of(const dllm_cpu_noise *noise, int i, uint32_t low)
{
    return dllm__cpu_gumbel(noise->word[i % 2 ? 2 : 0][i / 2], low);
}

/* A bound that is too low would lose winners. */
START_TEST(no_noise_is_above_its_bound)
{
    const dllm_cpu_stream stream = {.seed = 5};
    for (int v = 0; cpu_case_vector(v); v++)
        for (uint64_t pair = 0; pair < 1 << 17; pair += DLLM_CPU_NOISE_PAIRS) {
            dllm_cpu_noise noise;
            cpu_case_vector(v)->words(&noise, &stream, pair);
            cpu_case_vector(v)->bound(&noise);
            for (int i = 0; i < 2 * DLLM_CPU_NOISE_PAIRS; i++)
                ck_assert(noise.bound[i] > noise_of(&noise, i, noise.word[i % 2 ? 3 : 1][i / 2]));
        }
}
END_TEST

/* One more and one less than each power of two that 1 - u may be near; the lower word at its largest
   gives the most noise. */
START_TEST(a_bound_holds_for_every_exponent)
{
    for (int v = 0; cpu_case_vector(v); v++) {
        dllm_cpu_noise noise;
        for (int i = 0; i < DLLM_CPU_NOISE_PAIRS; i++) {
            const uint32_t power = (uint32_t)((uint64_t)1 << i / 2);
            noise.word[0][i] = UINT32_MAX - power + (uint32_t)(i % 2);
            noise.word[2][i] = noise.word[0][i] - 1;
        }
        cpu_case_vector(v)->bound(&noise);
        for (int i = 0; i < 2 * DLLM_CPU_NOISE_PAIRS; i++)
            ck_assert(noise.bound[i] > noise_of(&noise, i, UINT32_MAX));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_noise");
    TCase *noise = tcase_create("noise");
    tcase_add_unchecked_fixture(noise, load_cases, release_cases);
    tcase_add_test(noise, gives_the_published_blocks);
    tcase_add_test(noise, a_pair_has_its_words_at_every_place);
    tcase_add_test(noise, words_become_the_right_noise);
    tcase_add_test(noise, seed_key_and_id_choose_the_words);
    tcase_add_test(noise, no_noise_is_above_its_bound);
    tcase_add_test(noise, a_bound_holds_for_every_exponent);
    suite_add_tcase(suite, noise);
    return check_suite_run(suite);
}
