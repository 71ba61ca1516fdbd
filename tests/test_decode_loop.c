/* test_decode_loop.c - the decode loop on the CPU: how runs begin, go on and end */
#include "check_suite.h"
#include "decode_world.h"

#include <string.h>

static decode_world world, other;

static void take_run(decode_world *out, dllm_status wanted)
{
    ck_assert_msg(world_begin(out) == DLLM_OK, "%s", dllm_last_error());
    const dllm_status status = dllm_decode_run(out->decode, NULL);
    ck_assert_msg(status == wanted, "status %d: %s", (int)status, dllm_last_error());
}

static void ck_assert_same_canvas(int sequence, decode_world *alone, int alone_sequence)
{
    const int64_t *got = world_canvas(&world, sequence);
    const int64_t *wanted = world_canvas(alone, alone_sequence);
    for (int q = 0; q < WORLD_LENGTH; q++)
        ck_assert_msg(got[q] == wanted[q], "sequence %d, position %d: %lld, wanted %lld", sequence,
                      q, (long long)got[q], (long long)wanted[q]);
}

/* Every preset, small enough for the world. */
static const char *make_preset(decode_world *out, int i)
{
    const char *name = dllm_decode_preset_name(i);
    world_create(out, name);
    dllm_sequence *sequence = &out->sequences[0];
    sequence->block_length = 8;
    if (sequence->steps) sequence->steps = 8;
    if (sequence->steps_per_block) sequence->steps_per_block = 4;
    if (strcmp(name, "dream") == 0) sequence->block_length = 0;
    sequence->selection.gamma = 0.5f;
    return name;
}

enum { PRESETS = 12 };

/* ---- ends --------------------------------------------------------------------------------- */

START_TEST(every_preset_fills_its_canvas)
{
    const char *name = make_preset(&world, _i);
    world_set_canvas(&world, 0, 8, 16);
    take_run(&world, DLLM_OK);
    for (int q = 0; q < WORLD_LENGTH; q++)
        ck_assert_msg((world_canvas(&world, 0)[q] == WORLD_MASK) == (q >= 24), "%s: position %d",
                      name, q);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_DONE);
    ck_assert_int_eq(world_status(&world, 0).commits, 16);
    world_release(&world);
}
END_TEST

START_TEST(a_canvas_without_masks_takes_no_forward)
{
    world_create(&world, "threshold");
    world_set_canvas(&world, 0, 8, 0);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(world.forwards, 0);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_DONE);
    world_release(&world);
}
END_TEST

START_TEST(a_row_that_is_nan_ends_its_sequence_alone)
{
    const int first = 12;
    world_create(&world, "threshold");
    world.sequences[0].block_length = 4;
    world_set_canvas(&world, 0, 8, 8);
    world_set_canvas(&world, 1, 8, 8);
    world.nan_position = first;
    world.nan_sequence = 1;
    take_run(&world, DLLM_INCOMPLETE);
    const dllm_sequence_status status = world_status(&world, 1);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_DONE);
    ck_assert_int_eq(status.state, DLLM_DECODE_UNUSABLE_ROW);
    ck_assert_int_eq(status.error_position, first);
    ck_assert_int_eq(status.error_step, status.forwards - 1);
    ck_assert_int_eq(status.commits, 7);
    for (int q = 8; q < 16; q++)
        ck_assert((world_canvas(&world, 1)[q] == WORLD_MASK) == (q == first));
    world_release(&world);
}
END_TEST

START_TEST(an_allowed_mask_is_no_commit_and_stalls_a_threshold)
{
    world_create(&world, "threshold");
    world.options.mask_rule = DLLM_MASK_ALLOW;
    world.weight[WORLD_MASK * WORLD_VOCAB + WORLD_MASK] = 100; /* it wins every row */
    world_set_canvas(&world, 0, 4, 4);
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_NO_PROGRESS);
    ck_assert_int_eq(world_status(&world, 0).error_position, 4);
    ck_assert_int_eq(world.forwards, 1);
    world_release(&world);
}
END_TEST

START_TEST(a_schedule_ends_with_allowed_masks_left)
{
    world_create(&world, "llada");
    world.options.mask_rule = DLLM_MASK_ALLOW;
    world.sequences[0].steps = 4;
    world.weight[WORLD_MASK * WORLD_VOCAB + WORLD_MASK] = 100;
    world_set_canvas(&world, 0, 4, 4);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(world_status(&world, 0).masks, 4);
    ck_assert_int_eq(world.forwards, 4);
    world_release(&world);
}
END_TEST

START_TEST(a_trunk_that_fails_ends_the_run)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    world_create(&world, "llada");
    world.sequences[0].steps = 8;
    world_set_canvas(&world, 0, 4, 8);
    world.fails_at = 3;
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_str_eq(dllm_last_error(), "the trunk returned 7");
    ck_assert_int_eq(dllm_decode_read(world.decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_eq(batch.trunk_code, 7);
    ck_assert_int_eq(world_status(&world, 0).commits, 3);
    world_release(&world);
}
END_TEST

START_TEST(a_row_outside_the_window_ends_its_sequence)
{
    world_create(&world, "threshold");
    world.options.layout = DLLM_HIDDEN_BLOCK;
    world.options.shifted = 1;
    world.options.hidden_rows = WORLD_LENGTH;
    world_set_canvas(&world, 0, 4, 4);
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_BAD_ROW);
    ck_assert_int_eq(world_status(&world, 0).error_position, 4);
    ck_assert_int_eq(world_status(&world, 0).commits, 0);
    world_release(&world);
}
END_TEST

START_TEST(an_end_of_sequence_closes_the_gap)
{
    static const int64_t eos[] = {WORLD_EOS};
    world_create(&world, "threshold");
    world.sequences[0].eos = eos;
    world.sequences[0].eos_count = 1;
    world.sequences[0].eos_rule = DLLM_END_GAP_CLOSED;
    world.sequences[0].fill_id = 1;
    world_set_canvas(&world, 0, 4, 12);
    world.canvas[9] = WORLD_EOS;
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_DONE_EOS);
    ck_assert_int_le(world_status(&world, 0).end, 10);
    ck_assert_int_le(world_status(&world, 0).commits, 5);
    for (int q = 10; q < 16; q++)
        ck_assert_int_eq(world_canvas(&world, 0)[q], 1);
    world_release(&world);
}
END_TEST

/* ---- batches ------------------------------------------------------------------------------ */

/* Ragged, with parameters of their own. */
static void make_batch(decode_world *out, int preset)
{
    (void)make_preset(out, preset);
    out->options.draws = 1;
    out->sequences[0].filter.temperature = 0.75f;
    world_set_canvas(out, 0, 8, 16);
    world_set_canvas(out, 1, 16, 8);
    world_set_canvas(out, 2, 3, 24);
    world_set_canvas(out, 3, 0, 8);
    for (int s = 1; s < WORLD_SEQUENCES; s++) {
        out->sequences[s].seed = 1000 + (uint64_t)s;
        out->sequences[s].request_key = (uint64_t)s;
        if (out->sequences[s].steps) out->sequences[s].steps = 12;
    }
    out->sequences[1].filter.temperature = 0;
    if (out->options.aligned_blocks) out->sequences[2].prompt = 4;
    if (out->options.aligned_blocks) out->canvas[2 * WORLD_LENGTH + 3] = 2;
}

START_TEST(a_batch_equals_its_sequences_alone)
{
    make_batch(&world, _i);
    world.count = WORLD_SEQUENCES;
    take_run(&world, DLLM_OK);
    for (int s = 0; s < WORLD_SEQUENCES; s++) {
        make_batch(&other, _i);
        for (int t = 0; t < WORLD_SEQUENCES; t++)
            other.sequences[t].inactive = t != s;
        take_run(&other, DLLM_OK);
        ck_assert_same_canvas(s, &other, s);
        ck_assert_int_eq(world_status(&world, s).forwards, world_status(&other, s).forwards);
        world_release(&other);
    }
    world_release(&world);
}
END_TEST

START_TEST(ids_of_32_bits_decode_alike)
{
    make_batch(&world, _i);
    world.options.id_type = DLLM_INT32;
    make_batch(&other, _i);
    take_run(&world, DLLM_OK);
    take_run(&other, DLLM_OK);
    for (int s = 0; s < WORLD_SEQUENCES; s++)
        ck_assert_same_canvas(s, &other, s);
    world_release(&other);
    world_release(&world);
}
END_TEST

START_TEST(a_seed_changes_the_draw)
{
    make_batch(&world, 0);
    make_batch(&other, 0);
    other.sequences[0].seed = 77;
    take_run(&world, DLLM_OK);
    take_run(&other, DLLM_OK);
    ck_assert(memcmp(world.canvas, other.canvas, WORLD_LENGTH * sizeof *world.canvas) != 0);
    ck_assert_same_canvas(2, &other, 2);
    world_release(&other);
    world_release(&world);
}
END_TEST

/* ---- steps -------------------------------------------------------------------------------- */

START_TEST(a_cancelled_run_goes_on_as_one_run)
{
    make_batch(&world, _i);
    make_batch(&other, _i);
    world.cancels_at = 2;
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), ": cancelled after 3 forwards"));
    ck_assert_int_eq(world_status(&world, 2).state, DLLM_DECODE_CANCELLED);
    ck_assert_int_eq(world.forwards, 3);
    ck_assert_int_eq(dllm_decode_resume(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_OK);
    take_run(&other, DLLM_OK);
    for (int s = 0; s < WORLD_SEQUENCES; s++)
        ck_assert_same_canvas(s, &other, s);
    ck_assert_int_eq(world.forwards, other.forwards);
    world_release(&other);
    world_release(&world);
}
END_TEST

/* A forward that was refused is made again: the same draws, the same count. */
START_TEST(a_refused_run_goes_on_as_one_run)
{
    make_batch(&world, _i);
    make_batch(&other, _i);
    world.fails_at = 2;
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_int_eq(world_status(&world, 2).forwards, 2);
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_INCOMPLETE);
    world.fails_at = -1;
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_OK);
    take_run(&other, DLLM_OK);
    for (int s = 0; s < WORLD_SEQUENCES; s++) {
        ck_assert_same_canvas(s, &other, s);
        ck_assert_int_eq(world_status(&world, s).forwards, world_status(&other, s).forwards);
    }
    world_release(&other);
    world_release(&world);
}
END_TEST

START_TEST(a_block_ends_where_the_next_begins)
{
    world_create(&world, "threshold");
    world.sequences[0].block_length = 4;
    world_set_canvas(&world, 0, 4, 12);
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    for (int block = 1; block < 3; block++) {
        ck_assert_int_eq(dllm_decode_block(world.decode, NULL), DLLM_OK);
        ck_assert_int_eq(world_status(&world, 0).block, block);
        ck_assert_int_eq(world_status(&world, 0).low, 4 + 4 * block);
        ck_assert_int_eq(world_status(&world, 0).phase, DLLM_PHASE_REFRESH);
        ck_assert_int_eq(world_status(&world, 0).commits, world_status(&world, 0).low - 4);
    }
    ck_assert_int_eq(dllm_decode_block(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_DONE);
    world_release(&world);
}
END_TEST

START_TEST(the_trace_tells_every_change)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    static dllm_trace_record records[WORLD_TRACE];
    int64_t canvas[WORLD_LENGTH];
    int commits = 0;
    (void)make_preset(&world, _i);
    world_set_canvas(&world, 0, 8, 16);
    memcpy(canvas, world.canvas, sizeof canvas);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(dllm_decode_read(world.decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_lt(batch.traced, WORLD_TRACE);
    ck_assert_int_eq(dllm_decode_trace(world.decode, records, 0, batch.traced), DLLM_OK);
    for (int i = 0; i < batch.traced; i++) {
        if (records[i].kind == DLLM_TRACE_STEP) {
            ck_assert_int_eq(records[i].old_id, commits);
            commits = 0;
            continue;
        }
        ck_assert_int_eq(records[i].old_id, canvas[records[i].position]);
        canvas[records[i].position] = records[i].new_id;
        commits += records[i].kind == DLLM_TRACE_COMMIT;
    }
    ck_assert_mem_eq(canvas, world_canvas(&world, 0), sizeof canvas);
    ck_assert_int_eq(dllm_decode_trace(world.decode, records, 1, batch.traced),
                     DLLM_INVALID_ARGUMENT);
    world_release(&world);
}
END_TEST

START_TEST(a_full_trace_goes_on_counting)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    dllm_trace_record record;
    world_create(&world, "threshold");
    world.options.trace_max = 1;
    world_set_canvas(&world, 0, 8, 16);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(dllm_decode_read(world.decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_eq(batch.traced, 16 + batch.forwards);
    ck_assert_int_eq(dllm_decode_trace(world.decode, &record, 0, 1), DLLM_OK);
    world_release(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_loop");
    TCase *ends = tcase_create("ends");
    tcase_add_loop_test(ends, every_preset_fills_its_canvas, 0, PRESETS);
    tcase_add_test(ends, a_canvas_without_masks_takes_no_forward);
    tcase_add_test(ends, a_row_that_is_nan_ends_its_sequence_alone);
    tcase_add_test(ends, an_allowed_mask_is_no_commit_and_stalls_a_threshold);
    tcase_add_test(ends, a_schedule_ends_with_allowed_masks_left);
    tcase_add_test(ends, a_trunk_that_fails_ends_the_run);
    tcase_add_test(ends, a_row_outside_the_window_ends_its_sequence);
    tcase_add_test(ends, an_end_of_sequence_closes_the_gap);
    suite_add_tcase(suite, ends);
    TCase *batches = tcase_create("batches");
    tcase_add_loop_test(batches, a_batch_equals_its_sequences_alone, 0, PRESETS);
    tcase_add_loop_test(batches, ids_of_32_bits_decode_alike, 0, PRESETS);
    tcase_add_test(batches, a_seed_changes_the_draw);
    suite_add_tcase(suite, batches);
    TCase *steps = tcase_create("steps");
    tcase_add_loop_test(steps, a_cancelled_run_goes_on_as_one_run, 0, PRESETS);
    tcase_add_loop_test(steps, a_refused_run_goes_on_as_one_run, 0, PRESETS);
    tcase_add_test(steps, a_block_ends_where_the_next_begins);
    tcase_add_loop_test(steps, the_trace_tells_every_change, 0, PRESETS);
    tcase_add_test(steps, a_full_trace_goes_on_counting);
    suite_add_tcase(suite, steps);
    return check_suite_run(suite);
}
