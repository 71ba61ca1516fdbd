/*
 * simt_decode.c - the kernels of a decode step on the host against the CPU backend
 *
 * A world is decoded twice, the second time with the kernels in place of the CPU's stages. Canvases,
 * records and trace must be the same, whatever the order that threads run in.
 */
#include "check_suite.h"
#include "decode.h"
#include "decode_world.h"
#include "simt_rows.h"
#include "simt_shim.h"

#include <string.h>

enum { PRESETS = 12 };

static decode_world world, other;
static simt_order order;
static const char *select_variant = "decode_select_step";

/* ---- stages ------------------------------------------------------------------------------- */

static dllm_status launch(dllm_decode *decode, const char *name)
{
    const simt_variant *variant = simt_variant_find(name);
    ck_assert_ptr_nonnull(variant);
    decode->params.cancel = &decode->cancel_seen;
    decode->cancel_seen = atomic_load(&decode->view->cancel);
    const char *wrong = simt_run(variant->body, &decode->params, (unsigned)decode->params.sequences,
                                 variant->threads, order);
    ck_assert_msg(wrong == NULL, "%s: %s", name, wrong);
    return DLLM_OK;
}

static dllm_status start(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return launch(decode, "decode_start_step");
}

static dllm_status list(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return launch(decode, "decode_list_step");
}

static dllm_status select_tokens(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return launch(decode, select_variant);
}

static void take_kernels(dllm_decode *decode)
{
    static dllm_decode_stages stages;
    stages = *decode->stages;
    stages.start = start;
    stages.list = list;
    stages.select = select_tokens;
    decode->stages = &stages;
}

/* ---- worlds ------------------------------------------------------------------------------- */

static void make_world(decode_world *out, int preset)
{
    const char *name = dllm_decode_preset_name(preset);
    world_create(out, name);
    dllm_sequence *sequence = &out->sequences[0];
    sequence->block_length = strcmp(name, "dream") == 0 ? 0 : 8;
    if (sequence->steps) sequence->steps = 8;
    if (sequence->steps_per_block) sequence->steps_per_block = 4;
    sequence->selection.gamma = 0.5f;
    out->options.draws = 1;
    sequence->filter.temperature = 0.75f;
    world_set_canvas(out, 0, 8, 16);
    world_set_canvas(out, 1, 16, 8);
    world_set_canvas(out, 2, 0, 24);
    out->sequences[1].filter.temperature = 0;
    out->sequences[2].seed = 99;
    for (int s = 1; s < out->count; s++)
        if (out->sequences[s].steps) out->sequences[s].steps = 12;
}

static void ck_assert_same_sequences(void)
{
    for (int s = 0; s < world.count; s++) {
        const dllm_sequence_status got = world_status(&world, s), wanted = world_status(&other, s);
        const size_t bytes = WORLD_LENGTH * sizeof(int64_t);
        ck_assert(memcmp(world_canvas(&world, s), world_canvas(&other, s), bytes) == 0);
        ck_assert(memcmp(&got, &wanted, sizeof got) == 0);
    }
}

/* The trace of a world; returns how many records. */
static int64_t read_trace(decode_world *from, dllm_trace_record *records)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    ck_assert_int_eq(dllm_decode_read(from->decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_eq(dllm_decode_trace(from->decode, records, 0, batch.traced), DLLM_OK);
    return batch.traced;
}

static void ck_assert_same_runs(void)
{
    static dllm_trace_record records[2][WORLD_TRACE];
    ck_assert_same_sequences();
    const int64_t count = read_trace(&world, records[0]);
    ck_assert_int_eq(count, read_trace(&other, records[1]));
    ck_assert_mem_eq(records[0], records[1], (size_t)count * sizeof records[0][0]);
}

static void compare_runs(void)
{
    world.prepared = take_kernels;
    ck_assert_msg(world_begin(&world) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_msg(world_begin(&other) == DLLM_OK, "%s", dllm_last_error());
    const dllm_status got = dllm_decode_run(world.decode, NULL);
    const dllm_status wanted = dllm_decode_run(other.decode, NULL);
    ck_assert_int_eq(got, wanted);
    ck_assert_same_runs();
    world_release(&world);
    world_release(&other);
}

START_TEST(kernels_decode_as_the_cpu_does)
{
    order = _i < PRESETS ? SIMT_FIRST_COME : SIMT_LAST_COME;
    make_world(&world, _i % PRESETS);
    make_world(&other, _i % PRESETS);
    compare_runs();
}
END_TEST

static void filter_tokens(decode_world *out)
{
    out->options.head.candidates = 16;
    out->sequences[0].filter.top_p = 0.8f;
    out->sequences[2].filter.top_k = 3;
}

START_TEST(kernels_filter_as_the_cpu_does)
{
    make_world(&world, 3 + 2 * _i); /* dream, llada2 */
    make_world(&other, 3 + 2 * _i);
    filter_tokens(&world);
    filter_tokens(&other);
    compare_runs();
}
END_TEST

/* As blocks with more positions than a team has threads. */
START_TEST(keys_may_be_sorted)
{
    order = SIMT_LAST_COME;
    select_variant = "decode_select_sorted";
    make_world(&world, _i);
    make_world(&other, _i);
    compare_runs();
    select_variant = "decode_select_step";
}
END_TEST

static void guide_tokens(decode_world *out)
{
    static const int64_t late[] = {WORLD_EOS, 7};
    out->options.guides = 1;
    out->options.eos_confidence = DLLM_EOS_PUBLISHED;
    out->options.late = late;
    out->options.late_count = 2;
    out->sequences[0].cfg_scale = 1.5f;
    out->sequences[2].cfg_scale = 0.5f;
}

START_TEST(kernels_guide_and_publish_as_the_cpu_does)
{
    order = _i ? SIMT_LAST_COME : SIMT_FIRST_COME;
    make_world(&world, 0);
    make_world(&other, 0);
    guide_tokens(&world);
    guide_tokens(&other);
    compare_runs();
}
END_TEST

START_TEST(large_blocks_take_the_workspace)
{
    make_world(&world, 1);
    make_world(&other, 1);
    world.options.block_length_max = 600;
    compare_runs();
}
END_TEST

START_TEST(bad_rows_end_a_sequence_alike)
{
    make_world(&world, 1);
    make_world(&other, 1);
    world.nan_position = other.nan_position = 20;
    world.nan_sequence = other.nan_sequence = 1;
    compare_runs();
}
END_TEST

/* Sequence 0's team sees a cancel, the next one none: the word is one that the first clears. What goes
   on is read, so its rows are counted. */
START_TEST(a_cancel_that_one_team_misses_takes_no_rows_away)
{
    make_world(&world, 0);
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    dllm_decode_params *params = &world.decode->params;
    const simt_variant *variant = simt_variant_find("decode_list_step");
    params->cancel = &params->batch->unfinished;
    params->batch->unfinished = 1;
    ck_assert_ptr_null(
        simt_run(variant->body, params, (unsigned)world.count, variant->threads, SIMT_FIRST_COME));
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_CANCELLED);
    ck_assert_int_eq(world_status(&world, 1).state, DLLM_DECODE_RUNNING);
    ck_assert_int_gt(params->batch->rows, params->records[1].first_row);
    world_release(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simt_decode");
    TCase *runs = tcase_create("runs");
    tcase_add_loop_test(runs, kernels_decode_as_the_cpu_does, 0, 2 * PRESETS);
    tcase_add_loop_test(runs, kernels_filter_as_the_cpu_does, 0, 2);
    tcase_add_loop_test(runs, kernels_guide_and_publish_as_the_cpu_does, 0, 2);
    tcase_add_test(runs, bad_rows_end_a_sequence_alike);
    tcase_add_test(runs, a_cancel_that_one_team_misses_takes_no_rows_away);
    suite_add_tcase(suite, runs);
    TCase *sizes = tcase_create("sizes");
    tcase_add_loop_test(sizes, keys_may_be_sorted, 0, PRESETS);
    tcase_add_test(sizes, large_blocks_take_the_workspace);
    suite_add_tcase(suite, sizes);
    return check_suite_run(suite);
}
