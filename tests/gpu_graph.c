/*
 * gpu_graph.c - a captured run replays with other data and another row count, and gives the bits of a
 * direct run
 *
 * Exit 77 without a device.
 */
#include "check_suite.h"

#include "device_memory.h"
#include "element_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, VOCAB = 5000, DEPTH = 136 };

static const char *const families[] = {"naive", "tiled", "mma", "gemm_chunk", "sm90"};

/* Bits of argmax, lse and confidence, one after the other. */
typedef struct answer {
    uint32_t bits[3][ROWS];
} answer;

static device_memory memory;
static dllm_context *context;
static dllm_stream stream;
static uint16_t values[VOCAB * DEPTH];

static void open_device(void)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    ck_assert_msg(device_open(&memory, 0), "%s", memory.message);
    ck_assert_msg(dllm_context_create(&context, &options) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_msg(device_stream_create(&memory, &stream), "%s", memory.message);
}

static void close_device(void)
{
    device_stream_destroy(&memory, stream);
    dllm_context_destroy(context);
    device_close(&memory);
}

/* bf16 numbers between 1/4 and 4 of either sign, other ones for every seed. */
static void write_random(void *device, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const unsigned bits = (unsigned)(seed >> 40);
        values[i] = (uint16_t)((bits & 0x8000) | ((125 + (bits >> 7 & 3)) << 7) | (bits & 0x7f));
    }
    ck_assert(device_write(&memory, device, values, count * sizeof *values));
}

/* One head with its buffers in device memory. */
typedef struct head {
    dllm_plan *plan;
    dllm_head_buffers buffers;
    void *hidden, *weight, *answers, *rows;
} head;

static bool head_open(head *out, const char *family)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = ROWS;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    options.inputs = DLLM_IN_ROWS_DEVICE;
    options.family = family;
    const dllm_status status = dllm_head_prepare(&out->plan, context, &options);
    if (status == DLLM_UNSUPPORTED || status == DLLM_LIBRARY_MISSING) return false;
    ck_assert_msg(status == DLLM_OK, "%s", dllm_last_error());
    out->hidden = device_allocate(&memory, sizeof(uint16_t) * ROWS * DEPTH);
    out->weight = device_allocate(&memory, sizeof(uint16_t) * VOCAB * DEPTH);
    out->answers = device_allocate(&memory, sizeof(answer));
    out->rows = device_allocate(&memory, sizeof(int64_t));
    const size_t workspace_bytes = dllm_plan_workspace_bytes(out->plan);
    out->buffers = (dllm_head_buffers)DLLM_HEAD_BUFFERS_INIT;
    out->buffers.rows = ROWS;
    out->buffers.hidden = out->hidden;
    out->buffers.weight = out->weight;
    out->buffers.rows_device = out->rows;
    out->buffers.argmax = out->answers;
    out->buffers.lse = (float *)out->answers + ROWS;
    out->buffers.confidence = (float *)out->answers + (ptrdiff_t)2 * ROWS;
    out->buffers.workspace = device_allocate(&memory, workspace_bytes);
    out->buffers.workspace_bytes = workspace_bytes;
    ck_assert(out->hidden && out->weight && out->answers && out->rows && out->buffers.workspace);
    write_random(out->weight, (size_t)VOCAB * DEPTH, 1);
    write_random(out->hidden, (size_t)ROWS * DEPTH, 2);
    return true;
}

static void head_close(head *closed)
{
    device_free(&memory, closed->buffers.workspace);
    device_free(&memory, closed->rows);
    device_free(&memory, closed->answers);
    device_free(&memory, closed->weight);
    device_free(&memory, closed->hidden);
    dllm_plan_destroy(closed->plan);
}

static void set_rows(head *ran, int64_t rows)
{
    ck_assert(device_write(&memory, ran->rows, &rows, sizeof rows));
}

/* Poisons the answers, runs the graph or, without one, the plan, and reads them. */
static void run(answer *out, head *ran, void *graph)
{
    ck_assert(device_fill(&memory, ran->answers, 0xff, sizeof *out));
    if (graph)
        ck_assert_msg(device_graph_launch(&memory, graph, stream), "%s", memory.message);
    else
        ck_assert_msg(dllm_head_run(ran->plan, &ran->buffers, stream) == DLLM_OK, "%s",
                      dllm_last_error());
    ck_assert_msg(device_wait(&memory, stream), "%s", memory.message);
    ck_assert(device_read(&memory, out, ran->answers, sizeof *out));
}

static bool is_poison(uint32_t bits)
{
    return bits == 0xffffffffu;
}

START_TEST(replay_gives_the_bits_of_a_direct_run)
{
    static const int64_t counts[] = {ROWS, 1, 0, 65, ROWS - 1};
    static answer direct, replayed, before;
    head ran;
    void *graph;
    if (!head_open(&ran, families[_i])) return;
    set_rows(&ran, ROWS);
    ck_assert_msg(device_capture_begin(&memory, stream), "%s", memory.message);
    ck_assert_msg(dllm_head_run(ran.plan, &ran.buffers, stream) == DLLM_OK, "%s: %s", families[_i],
                  dllm_last_error());
    ck_assert_msg(device_capture_end(&memory, stream, &graph), "%s: %s", families[_i],
                  memory.message);
    run(&before, &ran, graph);
    for (uint64_t seed = 3; seed < 8; seed++) {
        const int64_t rows = counts[seed - 3];
        write_random(ran.hidden, (size_t)ROWS * DEPTH, seed);
        set_rows(&ran, rows);
        run(&direct, &ran, NULL);
        run(&replayed, &ran, graph);
        ck_assert_msg(memcmp(direct.bits, replayed.bits, sizeof direct.bits) == 0, "%s: seed %d",
                      families[_i], (int)seed);
        ck_assert_msg(memcmp(before.bits, replayed.bits, sizeof before.bits) != 0,
                      "%s: data did not matter", families[_i]);
        for (int r = 0; r < ROWS; r++)
            ck_assert_msg(is_poison(replayed.bits[0][r]) == (r >= rows), "%s: row %d of %lld",
                          families[_i], r, (long long)rows);
    }
    device_graph_destroy(&memory, graph);
    head_close(&ran);
}
END_TEST

int main(void)
{
    char reason[256];
    if (device_count(reason) < 1) {
        (void)printf("skipped: %s\n", reason);
        return 77;
    }
    Suite *suite = suite_create("gpu_graph");
    TCase *group = tcase_create("replay");
    tcase_add_unchecked_fixture(group, open_device, close_device);
    tcase_add_loop_test(group, replay_gives_the_bits_of_a_direct_run, 0,
                        (int)(sizeof families / sizeof families[0]));
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
