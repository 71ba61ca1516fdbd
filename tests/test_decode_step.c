/* test_decode_step.c - a step's parts against plainer ones: the order of keys, the kept first EOS */
#include "check_suite.h"
#include "decode_step.h"
#include "decode_world.h"

#include <string.h>

enum { PRESETS = 12, POSITIONS = 200 };

/* Keys of few levels, some positions not eligible. */
static void fill_words(uint64_t *words, int32_t positions)
{
    uint64_t state = (uint64_t)positions;
    for (int32_t i = 0; i < positions; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        words[i] = (state >> 60) % 5 ? state >> 61 << 32 | (uint32_t)i : DLLM_NOT_ELIGIBLE;
    }
}

START_TEST(ranking_orders_as_sorting_does)
{
    uint64_t words[2][256] = {{0}};
    int32_t order[2][256] = {{0}};
    const dllm_step_block ranked = {.sorted = words[0], .order = order[0]};
    const dllm_step_block sorted = {.sorted = words[1], .order = order[1]};
    for (int32_t n = 1; n <= POSITIONS; n++) {
        int32_t eligible = 0;
        fill_words(words[0], n);
        memcpy(words[1], words[0], sizeof words[0]);
        for (int32_t i = 0; i < n; i++)
            eligible += words[0][i] != DLLM_NOT_ELIGIBLE;
        dllm_rank_positions(&ranked, n);
        dllm_sort_positions(&sorted, n);
        for (int32_t i = 0; i < eligible; i++)
            ck_assert_msg(order[0][i] == order[1][i], "%d of %d positions: %d, not %d", i, n,
                          order[0][i], order[1][i]);
    }
}
END_TEST

/* Behind the first of the two ids from the prompt's end on. */
static int end_of(decode_world *of, const int64_t eos[2])
{
    const int length = (int)(of->sequences[0].prompt + of->sequences[0].generate);
    const int64_t *canvas = world_canvas(of, 0);
    for (int q = (int)of->sequences[0].prompt; q < length; q++)
        if (canvas[q] == eos[0] || canvas[q] == eos[1]) return q + 1;
    return length;
}

/* With any two ids as EOS: they come early and late, and where tokens may change they go again. */
START_TEST(the_end_is_where_the_canvas_says)
{
    static decode_world world;
    for (int64_t id = 0; id + 1 < WORLD_EOS; id += 2) {
        const int64_t eos[2] = {id, id + 1};
        world_create(&world, dllm_decode_preset_name(_i));
        dllm_sequence *sequence = &world.sequences[0];
        sequence->block_length = 8;
        if (sequence->steps) sequence->steps = 8;
        if (sequence->steps_per_block) sequence->steps_per_block = 4;
        sequence->selection.gamma = 0.5f;
        sequence->eos_rule = DLLM_END_NEVER;
        sequence->eos = eos;
        sequence->eos_count = 2;
        world_set_canvas(&world, 0, 8, 16);
        ck_assert_msg(world_begin(&world) == DLLM_OK, "%s", dllm_last_error());
        while (world_status(&world, 0).state == DLLM_DECODE_RUNNING) {
            ck_assert_int_eq(dllm_decode_step(world.decode, NULL), DLLM_OK);
            ck_assert_int_eq(world_status(&world, 0).end, end_of(&world, eos));
        }
        world_release(&world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_step");
    TCase *parts = tcase_create("parts");
    tcase_add_test(parts, ranking_orders_as_sorting_does);
    tcase_add_loop_test(parts, the_end_is_where_the_canvas_says, 0, PRESETS);
    suite_add_tcase(suite, parts);
    return check_suite_run(suite);
}
