/*
 * head_shapes.c - every head of the table at random row counts: each family against cuBLAS
 *
 * Round 0 takes a head's own shape in one block, round 1 a ragged vocabulary, padded rows and masked
 * columns, round 2 the same in fp16 with a row index, round 3 that with guidance.
 */
#include "head_shapes.h"

#include "element_type.h"
#include "heads.h"
#include "row_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, HEADS_MAX = 64, ROWS_MAX = 1100, SOURCE_ROWS = 700, OUTPUTS = 5 };
/* A prime: no two rows of an operand begin at the same element, and none repeats another. */
enum { PERIOD = 8388617 };

/* Tiles have 8, 16, 32, 64, 96, 128 or 192 rows: a row count is near a multiple of one of them. */
static const int64_t tile_rows[] = {8, 16, 32, 64, 96, 128, 192};

static const char reference_family[] = "gemm_chunk";
/* NULL: the library's choice */
static const char *const families[] = {NULL, "sm90", "mma", "tiled"};
enum { FAMILIES = sizeof families / sizeof families[0], TILED_ROWS_MAX = 80 };

typedef struct shape {
    const char *set;
    dllm_type type;
    int64_t rows, vocab, depth, valid_vocab, vocab_offset;
    int64_t source_rows; /* 0: no row index */
    int64_t hidden_stride, weight_stride;
    int copies; /* of hidden rows */
} shape;

/* Outputs of a run on the host: argmax, max, lse, confidence, flags. */
typedef struct outputs {
    uint32_t bits[OUTPUTS][ROWS_MAX];
} outputs;

static row_suite_device opened;
static void *operands; /* one block for weight and hidden states */
static size_t operand_bytes;
static dllm_type operand_type; /* what the block holds */
static void *results;          /* (OUTPUTS, ROWS_MAX), 4 bytes each */
static void *row_index;
static outputs wanted;
static outputs got;
static int runs_of[FAMILIES];

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int64_t between(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)(next(state) % (uint64_t)(most - least + 1));
}

static shape make_shape(int index)
{
    int count;
    const dllm_head_set *set = &dllm__head_sets(&count)[index / ROUNDS];
    const int round = index % ROUNDS;
    uint64_t state = (uint64_t)index;
    const int64_t tile = tile_rows[between(&state, 0, sizeof tile_rows / sizeof tile_rows[0] - 1)];
    const int64_t tiles = between(&state, 1, 1024 / tile);
    shape made = {.set = set->set,
                  .type = round == 2 ? DLLM_FP16 : set->weight_type,
                  .copies = round == 3 ? 2 : 1,
                  .rows = tile * tiles + between(&state, -1, 1),
                  .vocab = set->vocab,
                  .depth = set->depth,
                  .valid_vocab = set->valid_vocab};
    if (round > 0) {
        made.vocab -= between(&state, 0, 300);
        made.valid_vocab = made.vocab - between(&state, 0, 1) * between(&state, 0, 300);
        made.vocab_offset = between(&state, 0, 1 << 20);
    }
    if (round >= 2) made.source_rows = SOURCE_ROWS;
    made.hidden_stride = made.depth + (round > 0 ? 8 * between(&state, 0, 2) : 0);
    made.weight_stride = made.depth + (round > 0 ? 8 * between(&state, 0, 2) : 0);
    return made;
}

static size_t weight_elements(const shape *one)
{
    return (size_t)(one->vocab * one->weight_stride);
}

static size_t hidden_elements(const shape *one)
{
    const int64_t rows = one->source_rows ? one->source_rows : one->rows;
    return (size_t)(one->copies * rows * one->hidden_stride);
}

/* -2 .. 2 in units of 1/8: a product counts in 1/64, a sum of 12,288 of them below 2^24 units. */
static void fill_operands(dllm_type type)
{
    const size_t size = element_bytes(type);
    const size_t elements = operand_bytes / size;
    const size_t first = elements < PERIOD ? elements : PERIOD;
    unsigned char *block = malloc(first * size);
    uint64_t state = 7;
    ck_assert_ptr_nonnull(block);
    for (size_t i = 0; i < first; i++)
        element_store(type, block, (int64_t)i, (double)between(&state, -2, 2) / 8);
    ck_assert(device_write(&opened.memory, operands, block, first * size));
    for (size_t done = first; done < elements;) {
        const size_t left = elements - done;
        const size_t count = left < done ? left : done;
        ck_assert_msg(
            device_copy(&opened.memory, (char *)operands + done * size, operands, count * size),
            "%s", opened.memory.message);
        done += count;
    }
    free(block);
    operand_type = type;
}

static int shape_count(void)
{
    int heads;
    (void)dllm__head_sets(&heads);
    return heads * ROUNDS;
}

static void open_shapes(void)
{
    int32_t index[ROWS_MAX];
    uint64_t state = 1;
    row_suite_open(&opened, 0);
    operand_bytes = 0;
    for (int i = 0; i < shape_count(); i++) {
        const shape one = make_shape(i);
        const size_t bytes =
            (weight_elements(&one) + hidden_elements(&one)) * element_bytes(one.type);
        operand_bytes = bytes > operand_bytes ? bytes : operand_bytes;
    }
    operands = device_allocate(&opened.memory, operand_bytes);
    results = device_allocate(&opened.memory, sizeof wanted.bits);
    row_index = device_allocate(&opened.memory, sizeof index);
    ck_assert_msg(operands && results && row_index, "%zu bytes: %s", operand_bytes,
                  opened.memory.message);
    for (int i = 0; i < ROWS_MAX; i++) /* some lie outside the source */
        index[i] = (int32_t)between(&state, -1, SOURCE_ROWS);
    ck_assert(device_write(&opened.memory, row_index, index, sizeof index));
    operand_type = DLLM_TYPE_NONE;
    memset(runs_of, 0, sizeof runs_of);
}

static void close_shapes(void)
{
    device_free(&opened.memory, operands);
    device_free(&opened.memory, results);
    device_free(&opened.memory, row_index);
    row_suite_close(&opened);
}

static dllm_status prepare(dllm_plan **plan, const shape *one, const char *family)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = one->vocab;
    options.depth = one->depth;
    options.rows_max = one->rows;
    options.valid_vocab = one->valid_vocab;
    options.vocab_offset = one->vocab_offset;
    options.hidden_type = options.weight_type = one->type;
    options.inputs = one->source_rows ? DLLM_IN_ROW_INDEX : 0;
    options.outputs =
        DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS;
    options.family = family;
    options.cfg_scale = one->copies > 1 ? 1.0f : 0.0f; /* u + 2(c - u) stays exact */
    return dllm_head_prepare(plan, opened.context, &options);
}

/* Outputs and workspace begin as `poison`, which must not show. */
static void run(outputs *out, const dllm_plan *plan, const shape *one, int poison)
{
    const size_t workspace_bytes = dllm_plan_workspace_bytes(plan);
    char *base = results;
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = one->rows;
    buffers.weight = operands;
    buffers.weight_stride = one->weight_stride;
    buffers.hidden = (char *)operands + weight_elements(one) * element_bytes(one->type);
    buffers.hidden_stride = one->hidden_stride;
    if (one->source_rows) {
        buffers.row_index = row_index;
        buffers.source_rows = one->source_rows;
    }
    buffers.workspace = device_allocate(&opened.memory, workspace_bytes);
    buffers.workspace_bytes = workspace_bytes;
    buffers.argmax = base;
    buffers.max = (float *)(void *)(base + sizeof out->bits[0]);
    buffers.lse = (float *)(void *)(base + 2 * sizeof out->bits[0]);
    buffers.confidence = (float *)(void *)(base + 3 * sizeof out->bits[0]);
    buffers.flags = (uint32_t *)(void *)(base + 4 * sizeof out->bits[0]);
    ck_assert_msg(buffers.workspace != NULL, "%s", opened.memory.message);
    ck_assert(device_fill(&opened.memory, results, poison, sizeof out->bits));
    ck_assert(device_fill(&opened.memory, buffers.workspace, poison, workspace_bytes));
    ck_assert_msg(dllm_head_run(plan, &buffers, NULL) == DLLM_OK, "%s: %s", one->set,
                  dllm_last_error());
    ck_assert_msg(device_wait(&opened.memory, NULL), "%s: %s", one->set, opened.memory.message);
    ck_assert(device_read(&opened.memory, out->bits, results, sizeof out->bits));
    device_free(&opened.memory, buffers.workspace);
}

static double number(const outputs *from, int output, int64_t row)
{
    float value;
    memcpy(&value, &from->bits[output][row], sizeof value);
    return (double)value;
}

/* Two sides with equal logits: each within tau of numerics.md 15, whose N and X are not known here
   and are taken at their largest: 1,024, and the entropy of equal logits less ln d. */
static bool close_enough(const shape *one, int64_t row)
{
    const double eps = 0x1p-24;
    const double confidence = number(&wanted, 3, row);
    const double lse = number(&wanted, 2, row);
    const double candidates = (double)(one->valid_vocab ? one->valid_vocab : one->vocab);
    const double additions = fmin(candidates, 1024) + 32 + 5 * (1024 + 16);
    const double spread = log(candidates) + log(confidence);
    const double tau = fmin(additions * eps, 2 * (1 - confidence)) + 4 * eps + 2 * eps * spread;
    const double lse_off = tau + 2 * eps * -log(confidence) + eps * fabs(lse);
    return fabs(number(&got, 2, row) - lse) <= 2 * lse_off &&
           fabs(number(&got, 3, row) - confidence) <= 2 * (tau + 2 * eps) * confidence;
}

static void compare(const shape *one, const char *family)
{
    enum { FLAGS = 4 };
    for (int64_t row = 0; row < one->rows; row++) {
        const bool same = wanted.bits[0][row] == got.bits[0][row] &&
                          wanted.bits[1][row] == got.bits[1][row] &&
                          wanted.bits[FLAGS][row] == got.bits[FLAGS][row];
        const bool ordinary = wanted.bits[FLAGS][row] == 0;
        ck_assert_msg(
            same && (!ordinary || close_enough(one, row)),
            "%s, %s %s, R %lld, V %lld of %lld, H %lld, row %lld: argmax %u max %.9g lse %.9g "
            "confidence %.9g flags %u, cuBLAS gives %u %.9g %.9g %.9g %u",
            family, one->set, element_name(one->type), (long long)one->rows,
            (long long)one->valid_vocab, (long long)one->vocab, (long long)one->depth,
            (long long)row, got.bits[0][row], number(&got, 1, row), number(&got, 2, row),
            number(&got, 3, row), got.bits[FLAGS][row], wanted.bits[0][row],
            number(&wanted, 1, row), number(&wanted, 2, row), number(&wanted, 3, row),
            wanted.bits[FLAGS][row]);
    }
}

/* A packed copy of gathered rows comes on top. */
static void check_workspace(const shape *one, const dllm_plan *plan, const char *family)
{
    const size_t most = strcmp(family, reference_family) == 0 ? (size_t)64 << 20 : (size_t)16 << 20;
    const size_t bytes = dllm_plan_workspace_bytes(plan);
    ck_assert_msg(one->source_rows || bytes <= most,
                  "%s, %s, R %lld: workspace %zu bytes, at most %zu wanted", family, one->set,
                  (long long)one->rows, bytes, most);
}

/* What a family gives twice, against the reference; a family need not take every type. */
static void check_family(const shape *one, int which)
{
    static outputs again;
    dllm_plan_information information = DLLM_PLAN_INFORMATION_INIT;
    dllm_plan *plan = NULL;
    const char *family = families[which];
    if (family && strcmp(family, "tiled") == 0 && one->rows > TILED_ROWS_MAX) return;
    const dllm_status status = prepare(&plan, one, family);
    if (family && status == DLLM_UNSUPPORTED) return;
    ck_assert_msg(status == DLLM_OK, "%s: %s", one->set, dllm_last_error());
    ck_assert(dllm_plan_info(plan, &information) == DLLM_OK);
    check_workspace(one, plan, information.family);
    run(&got, plan, one, 0xff);
    run(&again, plan, one, 0x55);
    dllm_plan_destroy(plan);
    for (int i = 0; i < OUTPUTS; i++)
        ck_assert_msg(memcmp(got.bits[i], again.bits[i], (size_t)one->rows * 4) == 0,
                      "%s, %s, R %lld: output %d differs from run to run", information.family,
                      one->set, (long long)one->rows, i);
    compare(one, information.family);
    runs_of[which]++;
}

START_TEST(gives_what_cublas_and_the_sampler_give)
{
    const shape one = make_shape(_i);
    dllm_plan *plan = NULL;
    if (one.type != operand_type) fill_operands(one.type);
    ck_assert_msg(prepare(&plan, &one, reference_family) == DLLM_OK, "%s: %s", one.set,
                  dllm_last_error());
    run(&wanted, plan, &one, 0xff);
    dllm_plan_destroy(plan);
    for (int i = 0; i < FAMILIES; i++)
        check_family(&one, i);
}
END_TEST

/* The last test: the shapes must not have passed because nothing was run. */
START_TEST(the_library_chose_for_every_shape)
{
    ck_assert_int_ge(shape_count(), 100);
    ck_assert_int_eq(runs_of[0], shape_count());
}
END_TEST

void head_shapes_add(Suite *suite)
{
    TCase *shapes = tcase_create("shapes");
    tcase_add_unchecked_fixture(shapes, open_shapes, close_shapes);
    tcase_set_timeout(shapes, 0);
    tcase_add_loop_test(shapes, gives_what_cublas_and_the_sampler_give, 0, shape_count());
    tcase_add_test(shapes, the_library_chose_for_every_shape);
    suite_add_tcase(suite, shapes);
}
