/* test_cpu_noise.c - the generator and the Gumbel noise against the case file's answers */
#include "cpu_noise.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "check_suite.h"

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

/* The known answers of Random123. */
START_TEST(gives_the_published_blocks)
{
    size_t i;
    const json_t *answer;
    json_array_foreach(answers("philox4x32_10"), i, answer)
    {
        uint32_t counter[4], key[2], wanted[4], got[4];
        read_words(counter, 4, json_object_get(answer, "counter"));
        read_words(key, 2, json_object_get(answer, "key"));
        read_words(wanted, 4, json_object_get(answer, "out"));
        dllm__cpu_philox(got, counter, key);
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
        dllm__cpu_noise_words(got, &stream, id / 2);
        ck_assert_mem_eq(got + id % 2 * 2, wanted, sizeof wanted);
    }
}
END_TEST

/* A bound that is too low would lose winners: every exponent of 1 - u, and words at random. */
START_TEST(no_noise_is_above_its_bound)
{
    const dllm_cpu_stream stream = {.seed = 5};
    for (uint64_t i = 0; i < 1 << 18; i++) {
        uint32_t words[4] = {0};
        dllm__cpu_noise_words(words, &stream, i);
        const unsigned zeros = words[2] % 52;
        const uint64_t near_one = ~(~(uint64_t)0 >> zeros) | ((uint64_t)words[0] << 12 >> zeros);
        const uint32_t pairs[2][2] = {{words[0], words[1]},
                                      {(uint32_t)(near_one >> 32), (uint32_t)near_one}};
        for (int p = 0; p < 2; p++) {
            const float noise = dllm__cpu_gumbel(pairs[p][0], pairs[p][1]);
            ck_assert(noise <= dllm__cpu_gumbel_bound(pairs[p][0], pairs[p][1]));
            ck_assert(noise <= DLLM_CPU_GUMBEL_MAX);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_noise");
    TCase *noise = tcase_create("noise");
    tcase_add_unchecked_fixture(noise, load_cases, release_cases);
    tcase_add_test(noise, gives_the_published_blocks);
    tcase_add_test(noise, words_become_the_right_noise);
    tcase_add_test(noise, seed_key_and_id_choose_the_words);
    tcase_add_test(noise, no_noise_is_above_its_bound);
    suite_add_tcase(suite, noise);
    return check_suite_run(suite);
}
