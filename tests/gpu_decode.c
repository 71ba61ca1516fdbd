/*
 * gpu_decode.c - the decode loop on a device: batches, captured steps, cancelled runs
 *
 * The trunk does nothing: hidden rows lie in device memory and say the same whatever the canvas
 * holds, so that a step is launches alone and may be captured. What the rules should choose is told
 * by the cases of dllm-check; here runs are compared with each other. Every test runs twice, with guidance
 * the second time. Exit 77 without a device.
 *
 *     gpu_decode --short   two blocks of each canvas in place of seven, for compute-sanitizer
 */
#include "check_suite.h"

#include "device_memory.h"

#include <stdio.h>
#include <string.h>

enum { VOCAB = 1000, DEPTH = 64, SEQUENCES = 4, LENGTH = 256, BLOCK = 32, PRESETS = 12 };
enum { MASK = VOCAB - 1, CANVAS = SEQUENCES * LENGTH };

static device_memory memory;
static dllm_context *context;
static dllm_stream stream;
static void *hidden, *weight, *canvas;
static uint16_t values[2 * CANVAS * DEPTH + VOCAB * DEPTH];
static int blocks = LENGTH / BLOCK - 1; /* generated, behind one of prompt */

/* bf16 numbers between 1/8 and 1 of either sign. */
static void write_random(void *device, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned bits = (unsigned)(seed >> 40);
        values[i] = (uint16_t)((bits & 0x8000) | ((124 + (bits >> 7) % 3) << 7) | (bits & 0x7f));
    }
    ck_assert(device_write(&memory, device, values, count * sizeof *values));
}

static void open_device(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    ck_assert_msg(device_open(&memory, 0), "%s", memory.message);
    ck_assert_msg(dllm_context_create(&context, &options) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_msg(device_stream_create(&memory, &stream), "%s", memory.message);
    hidden = device_allocate(&memory, sizeof(uint16_t) * 2 * CANVAS * DEPTH);
    weight = device_allocate(&memory, sizeof(uint16_t) * VOCAB * DEPTH);
    canvas = device_allocate(&memory, sizeof(int64_t) * CANVAS);
    ck_assert(hidden && weight && canvas);
    write_random(hidden, (size_t)2 * CANVAS * DEPTH, 1);
    write_random(weight, (size_t)VOCAB * DEPTH, 2);
}

static void close_device(void)
{
    device_free(&memory, hidden);
    device_free(&memory, weight);
    device_free(&memory, canvas);
    device_stream_destroy(&memory, stream);
    dllm_context_destroy(context);
    device_close(&memory);
}

/* ---- a run -------------------------------------------------------------------------------- */

typedef struct run {
    dllm_decode *decode;
    dllm_decode_options options;
    dllm_sequence sequences[SEQUENCES];
    void *workspace;
    int64_t ids[CANVAS];
} run;

static run one, two;

static int forward(void *user, dllm_trunk_call *call)
{
    (void)user;
    (void)call;
    return 0;
}

/* Two presets' worth of numbers: those from PRESETS on guide. */
static void run_open(run *out, int number)
{
    const char *name = dllm_decode_preset_name(number % PRESETS);
    const bool guided = number >= PRESETS;
    dllm_decode_options *options = &out->options;
    ck_assert_int_eq(dllm_decode_preset(options, &out->sequences[0], name), DLLM_OK);
    options->head.vocab = VOCAB;
    options->head.depth = DEPTH;
    options->head.hidden_type = options->head.weight_type = DLLM_BF16;
    options->head.behaviour = DLLM_BATCH_INVARIANT;
    options->mask_id = MASK;
    options->sequences_max = SEQUENCES;
    options->length_max = options->block_length_max = LENGTH;
    options->id_type = DLLM_INT64;
    options->draws = 1;
    options->guides = guided;
    options->trunk = forward;
    dllm_sequence *sequence = &out->sequences[0];
    sequence->block_length = strcmp(name, "dream") == 0 ? 0 : BLOCK;
    sequence->generate = (int64_t)blocks * BLOCK;
    if (sequence->steps) sequence->steps = blocks * 16;
    if (sequence->steps_per_block) sequence->steps_per_block = 16;
    sequence->selection.gamma = 4.0f;
    sequence->filter.temperature = 0.5f;
    sequence->cfg_scale = guided ? 1.5f : 0.0f;
    for (int s = 0; s < SEQUENCES; s++) {
        out->sequences[s] = *sequence;
        out->sequences[s].canvas_offset = (int64_t)s * LENGTH;
        out->sequences[s].prompt = BLOCK;
        out->sequences[s].seed = 10 + (uint64_t)s;
        out->sequences[s].request_key = (uint64_t)s;
    }
    out->sequences[1].filter.temperature = 0;
    out->sequences[2].cfg_scale = 0;
    ck_assert_msg(dllm_decode_prepare(&out->decode, context, options) == DLLM_OK, "%s: %s", name,
                  dllm_last_error());
    out->workspace = device_allocate(&memory, dllm_decode_workspace_bytes(out->decode));
    ck_assert_ptr_nonnull(out->workspace);
}

static void run_close(run *done)
{
    device_free(&memory, done->workspace);
    dllm_decode_destroy(done->decode);
}

static void run_begin(run *begun)
{
    dllm_decode_buffers buffers = DLLM_DECODE_BUFFERS_INIT;
    for (int i = 0; i < CANVAS; i++)
        begun->ids[i] = i % LENGTH < BLOCK ? i % 97 : MASK;
    ck_assert(device_write(&memory, canvas, begun->ids, sizeof begun->ids));
    buffers.canvas = canvas;
    buffers.hidden = hidden;
    buffers.weight = weight;
    buffers.workspace = begun->workspace;
    buffers.workspace_bytes = dllm_decode_workspace_bytes(begun->decode);
    ck_assert_msg(dllm_decode_begin(begun->decode, &buffers, begun->sequences, SEQUENCES, stream) ==
                      DLLM_OK,
                  "%s", dllm_last_error());
}

static void read_ids(run *from)
{
    ck_assert_msg(device_wait(&memory, stream), "%s", memory.message);
    ck_assert(device_read(&memory, from->ids, canvas, sizeof from->ids));
}

/* Begins, runs to the end, reads the canvas. */
static void run_whole(run *taken)
{
    run_begin(taken);
    ck_assert_msg(dllm_decode_run(taken->decode, stream) == DLLM_OK, "%s", dllm_last_error());
    read_ids(taken);
}

static int unfinished(const run *of)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    ck_assert_int_eq(dllm_decode_read(of->decode, &batch, NULL, 0), DLLM_OK);
    return batch.unfinished;
}

/* ---- tests -------------------------------------------------------------------------------- */

START_TEST(every_preset_fills_its_canvases)
{
    run_open(&one, _i);
    run_whole(&one);
    for (int i = 0; i < CANVAS; i++)
        ck_assert_msg(i % LENGTH >= (1 + blocks) * BLOCK || (one.ids[i] >= 0 && one.ids[i] < MASK),
                      "id %d is %lld", i, (long long)one.ids[i]);
    run_close(&one);
}
END_TEST

START_TEST(a_batch_equals_its_sequences_alone)
{
    run_open(&one, _i);
    run_open(&two, _i);
    run_whole(&one);
    for (int s = 0; s < SEQUENCES; s++) {
        for (int t = 0; t < SEQUENCES; t++)
            two.sequences[t].inactive = t != s;
        run_whole(&two);
        const int64_t first = (int64_t)s * LENGTH;
        ck_assert_mem_eq(&one.ids[first], &two.ids[first], LENGTH * sizeof *one.ids);
    }
    run_close(&one);
    run_close(&two);
}
END_TEST

START_TEST(a_captured_step_replays_to_the_end)
{
    void *graph = NULL;
    int steps = 0;
    run_open(&one, _i);
    run_open(&two, _i);
    run_whole(&one);
    run_begin(&two);
    ck_assert_msg(device_capture_begin(&memory, stream), "%s", memory.message);
    ck_assert_msg(dllm_decode_step(two.decode, stream) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_msg(device_capture_end(&memory, stream, &graph), "%s", memory.message);
    for (; unfinished(&two) > 0 && steps < CANVAS; steps++)
        ck_assert_msg(device_graph_launch(&memory, graph, stream), "%s", memory.message);
    read_ids(&two);
    device_graph_destroy(&memory, graph);
    ck_assert_mem_eq(one.ids, two.ids, sizeof one.ids);
    run_close(&one);
    run_close(&two);
}
END_TEST

START_TEST(a_cancelled_run_goes_on)
{
    run_open(&one, _i);
    run_open(&two, _i);
    run_whole(&one);
    run_begin(&two);
    ck_assert_int_eq(dllm_decode_step(two.decode, stream), DLLM_OK);
    ck_assert_msg(device_wait(&memory, stream), "%s", memory.message);
    dllm_decode_cancel(two.decode);
    ck_assert_int_eq(dllm_decode_run(two.decode, stream), DLLM_INCOMPLETE);
    ck_assert_int_eq(dllm_decode_resume(two.decode, stream), DLLM_OK);
    ck_assert_msg(dllm_decode_run(two.decode, stream) == DLLM_OK, "%s", dllm_last_error());
    read_ids(&two);
    ck_assert_mem_eq(one.ids, two.ids, sizeof one.ids);
    run_close(&one);
    run_close(&two);
}
END_TEST

START_TEST(lookahead_changes_nothing)
{
    run_open(&one, 1);
    run_whole(&one);
    run_open(&two, 1);
    dllm_decode_destroy(two.decode);
    two.options.lookahead = _i;
    ck_assert_int_eq(dllm_decode_prepare(&two.decode, context, &two.options), DLLM_OK);
    run_whole(&two);
    ck_assert_mem_eq(one.ids, two.ids, sizeof one.ids);
    run_close(&one);
    run_close(&two);
}
END_TEST

/* A sequence without a scale among others that have one is decoded as by a loop that does not guide. */
START_TEST(a_scale_of_0_is_no_guidance)
{
    const int64_t first = (int64_t)2 * LENGTH;
    run_open(&one, _i);
    run_open(&two, PRESETS + _i);
    run_whole(&one);
    run_whole(&two);
    ck_assert_mem_eq(&one.ids[first], &two.ids[first], LENGTH * sizeof *one.ids);
    ck_assert(memcmp(one.ids, two.ids, LENGTH * sizeof *one.ids) != 0);
    run_close(&one);
    run_close(&two);
}
END_TEST

int main(int argc, char **argv)
{
    char reason[256];
    if (argc == 2 && strcmp(argv[1], "--short") == 0) {
        blocks = 2;
    } else if (argc > 1) {
        (void)fprintf(stderr, "usage: gpu_decode [--short]\n");
        return 1;
    }
    if (device_count(reason) < 1) {
        (void)printf("skipped: no CUDA device\n");
        return 77;
    }
    Suite *suite = suite_create("gpu_decode");
    TCase *fill = check_suite_case(suite, "decode_fill", open_device, close_device);
    tcase_add_loop_test(fill, every_preset_fills_its_canvases, 0, 2 * PRESETS);
    TCase *batch = check_suite_case(suite, "decode_batch", open_device, close_device);
    tcase_add_loop_test(batch, a_batch_equals_its_sequences_alone, 0, 2 * PRESETS);
    TCase *capture = check_suite_case(suite, "decode_capture", open_device, close_device);
    tcase_add_loop_test(capture, a_captured_step_replays_to_the_end, 0, 2 * PRESETS);
    TCase *stops = check_suite_case(suite, "decode_cancel", open_device, close_device);
    tcase_add_loop_test(stops, a_cancelled_run_goes_on, 0, 2 * PRESETS);
    TCase *options = check_suite_case(suite, "decode_options", open_device, close_device);
    tcase_add_loop_test(options, a_scale_of_0_is_no_guidance, 0, PRESETS);
    tcase_add_loop_test(options, lookahead_changes_nothing, 0, 4);
    return check_suite_run(suite);
}
