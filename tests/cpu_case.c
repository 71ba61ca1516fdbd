/* cpu_case.c - one call of the CPU backend with random data, run on any vector table */
#include "cpu_case.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "element_type.h"
#include "reference.h"

enum { MAX, LSE, CONFIDENCE, VALUES };

static const float canary = 12345.0f;

const dllm_cpu_vector *cpu_case_vector(int index)
{
    static const char *const names[] = {"generic", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const dllm_cpu_vector *vector = dllm__cpu_vector_by_name(names[i]);
        if (vector && index-- == 0) return vector;
    }
    return NULL;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static double random_value(uint32_t *state, bool integer)
{
    if (integer) return (double)(next_random(state) % 5) - 2;
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)next_random(state) / (1 << 24) - 0.5;
    return sum;
}

/* Rows of `width` random elements and `pad` that must not be read; ends after the last element. */
static char *random_matrix(dllm_type type, int64_t rows, int64_t width, int64_t pad,
                           uint32_t *state, bool integer)
{
    const double poison[] = {(double)NAN, (double)INFINITY, 99};
    const int64_t elements = rows * (width + pad) - pad;
    char *start = malloc((size_t)(elements + 1) * element_bytes(type));
    ck_assert_ptr_nonnull(start);
    for (int64_t i = 0; i < elements; i++) {
        const double value =
            i % (width + pad) < width ? random_value(state, integer) : poison[i % 3];
        element_store(type, start, i + 1, value);
    }
    element_store(type, start, 0, (double)NAN);
    return start;
}

/* Repeats, and indices outside the source in three ways. */
static void *random_index(const cpu_shape *shape, int64_t source_rows, uint32_t *state)
{
    char *index = malloc((size_t)(shape->rows * shape->index_bytes));
    ck_assert_ptr_nonnull(index);
    for (int64_t r = 0; r < shape->rows; r++) {
        int64_t source = (int64_t)next_random(state) % source_rows;
        if (r % 7 == 2) source = source_rows;
        if (r % 7 == 4) source = -1;
        if (r % 7 == 6) source = INT32_MIN;
        const int32_t narrow = (int32_t)source;
        if (shape->index_bytes == 8)
            memcpy(index + r * 8, &source, 8);
        else
            memcpy(index + r * 4, &narrow, 4);
    }
    return index;
}

static void set_problem(cpu_case *c)
{
    const cpu_shape *shape = &c->shape;
    c->problem = (dllm_problem){
        .operation = shape->operation,
        .hidden_type = shape->hidden_type,
        .weight_type = shape->weight_type,
        .id_type = shape->id_type,
        .index_type = shape->index_bytes == 8 ? DLLM_INT64 : DLLM_INT32,
        .vocab = shape->vocab,
        .valid_vocab = shape->valid_vocab,
        .vocab_offset = shape->vocab_offset,
        .depth = shape->depth,
        .rows_max = shape->rows,
        .outputs =
            DLLM_OUT_ARGMAX | DLLM_OUT_MAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE | DLLM_OUT_FLAGS,
    };
}

static int64_t hidden_width(const cpu_shape *shape)
{
    return shape->operation == DLLM_OPERATION_HEAD ? shape->depth : shape->vocab;
}

static size_t id_bytes(const cpu_case *c)
{
    return c->shape.id_type == DLLM_INT64 ? sizeof(int64_t) : sizeof(int32_t);
}

void cpu_case_create(cpu_case *out, const cpu_shape *shape, uint32_t seed)
{
    *out = (cpu_case){.shape = *shape};
    cpu_case *c = out;
    if (c->shape.valid_vocab == 0) c->shape.valid_vocab = shape->vocab;
    set_problem(c);
    const int64_t width = hidden_width(shape);
    const int64_t source_rows = shape->index_bytes ? shape->rows / 2 + 1 : shape->rows;
    const size_t rows = (size_t)shape->rows;
    c->hidden = random_matrix(shape->hidden_type, source_rows, width, shape->hidden_pad, &seed,
                              shape->integers);
    if (shape->operation == DLLM_OPERATION_HEAD)
        c->weight = random_matrix(shape->weight_type, shape->vocab, shape->depth, shape->weight_pad,
                                  &seed, shape->integers);
    if (shape->index_bytes) c->row_index = random_index(shape, source_rows, &seed);
    c->argmax = malloc((rows + 2) * id_bytes(c));
    for (int i = 0; i < VALUES; i++)
        c->values[i] = malloc((rows + 2) * sizeof(float));
    c->flags = malloc((rows + 2) * sizeof *c->flags);
    ck_assert(c->argmax && c->values[MAX] && c->values[LSE] && c->values[CONFIDENCE] && c->flags);
    c->call = (dllm_row_call){
        .rows = shape->rows,
        .hidden = c->hidden + element_bytes(shape->hidden_type),
        .weight = c->weight ? c->weight + element_bytes(shape->weight_type) : NULL,
        .hidden_stride = width + shape->hidden_pad,
        .weight_stride = shape->depth + shape->weight_pad,
        .row_index = c->row_index,
        .source_rows = source_rows,
        .argmax = c->argmax + id_bytes(c),
        .max = c->values[MAX] + 1,
        .lse = c->values[LSE] + 1,
        .confidence = c->values[CONFIDENCE] + 1,
        .flags = c->flags + 1,
    };
}

void cpu_case_release(cpu_case *c)
{
    free(c->hidden);
    free(c->weight);
    free(c->row_index);
    free(c->argmax);
    for (int i = 0; i < VALUES; i++)
        free(c->values[i]);
    free(c->flags);
}

void cpu_case_set_hidden(cpu_case *c, int64_t row, int64_t column, double value)
{
    element_store(c->shape.hidden_type, c->hidden, 1 + row * c->call.hidden_stride + column, value);
}

void cpu_case_set_weight(cpu_case *c, int64_t row, int64_t column, double value)
{
    element_store(c->shape.weight_type, c->weight, 1 + row * c->call.weight_stride + column, value);
}

static void poison_outputs(cpu_case *c)
{
    const size_t rows = (size_t)c->shape.rows + 2;
    memset(c->argmax, 0x55, rows * id_bytes(c));
    memset(c->flags, 0x55, rows * sizeof *c->flags);
    for (int i = 0; i < VALUES; i++)
        for (size_t r = 0; r < rows; r++)
            c->values[i][r] = canary;
}

static void check_canaries(const cpu_case *c)
{
    const size_t last = (size_t)c->shape.rows + 1;
    const size_t size = id_bytes(c);
    bool intact = c->flags[0] == 0x55555555U && c->flags[last] == 0x55555555U;
    for (int i = 0; i < VALUES; i++)
        intact = intact && c->values[i][0] == canary && c->values[i][last] == canary;
    for (size_t i = 0; i < size; i++)
        intact = intact && c->argmax[i] == 0x55 && c->argmax[last * size + i] == 0x55;
    ck_assert_msg(intact, "%s: something is written outside the rows", c->shape.name);
}

void cpu_case_run(cpu_case *c, const dllm_cpu_vector *vector, int threads)
{
    const bool is_head = c->shape.operation == DLLM_OPERATION_HEAD;
    dllm_cpu_pool *pool = NULL;
    ck_assert_int_eq(dllm__cpu_pool_create(&pool, threads), DLLM_OK);
    const size_t bytes = is_head ? dllm__cpu_head_workspace(&c->problem, threads)
                                 : dllm__cpu_sampler_workspace(&c->problem, threads);
    c->call.workspace = aligned_alloc(DLLM_CPU_ALIGNMENT_BYTES, bytes);
    ck_assert_ptr_nonnull(c->call.workspace);
    memset(c->call.workspace, 0xff, bytes); /* NaN: nothing may be taken for granted */
    poison_outputs(c);
    if (is_head)
        dllm__cpu_head_run_with(pool, vector, &c->problem, &c->call);
    else
        dllm__cpu_sampler_run_with(pool, vector, &c->problem, &c->call);
    free(c->call.workspace);
    c->call.workspace = NULL;
    dllm__cpu_pool_destroy(pool);
    check_canaries(c);
}

int64_t cpu_case_argmax(const cpu_case *c, int64_t row)
{
    if (c->shape.id_type == DLLM_INT64) {
        int64_t wide;
        memcpy(&wide, (const char *)c->call.argmax + row * (int64_t)sizeof wide, sizeof wide);
        return wide;
    }
    int32_t narrow;
    memcpy(&narrow, (const char *)c->call.argmax + row * (int64_t)sizeof narrow, sizeof narrow);
    return narrow;
}

static int64_t source_of(const cpu_case *c, int64_t row)
{
    if (!c->row_index) return row;
    if (c->shape.index_bytes == 8) return ((const int64_t *)c->row_index)[row];
    return ((const int32_t *)c->row_index)[row];
}

static void find_logits(const cpu_case *c, int64_t source, double *z, double *delta)
{
    const cpu_shape *shape = &c->shape;
    const reference_matrix hidden = {shape->hidden_type, c->call.hidden, c->call.hidden_stride};
    const reference_matrix weight = {shape->weight_type, c->call.weight, c->call.weight_stride};
    *delta = 0;
    if (shape->operation == DLLM_OPERATION_HEAD) {
        reference_delta bound;
        reference_logits(z, &bound, &hidden, source, &weight, shape->vocab, shape->depth);
        if (!shape->integers) *delta = bound.any_order;
        return;
    }
    for (int64_t v = 0; v < shape->vocab; v++)
        z[v] = element_load(shape->hidden_type, hidden.data, source * hidden.stride + v);
}

static bool within(double got, double wanted, double tolerance)
{
    if (isnan(wanted)) return isnan(got);
    return got == wanted || fabs(got - wanted) <= tolerance;
}

static void check_row(const cpu_case *c, int64_t row, double *z, const char *vector_name)
{
    const int64_t source = source_of(c, row);
    const reference_input input = {.z = z,
                                   .vocab = c->shape.vocab,
                                   .valid_vocab = c->shape.valid_vocab,
                                   .vocab_offset = c->shape.vocab_offset};
    reference_row wanted;
    row_answer answer;
    double delta = 0;
    if (source < 0 || source >= c->call.source_rows) {
        reference_bad_row(&wanted);
    } else {
        find_logits(c, source, z, &delta);
        reference_statistics(&wanted, &input);
    }
    reference_answer(&answer, &wanted, delta);
    const double tolerance[VALUES] = {answer.tolerance[ROW_MAX], answer.tolerance[ROW_LSE],
                                      answer.tolerance[ROW_CONFIDENCE] * wanted.confidence};
    const double values[VALUES] = {wanted.max, wanted.lse, wanted.confidence};
    const char *const where = c->shape.name;
    ck_assert_msg(c->call.flags[row] == wanted.flags, "%s, %s: row %lld has flags %u, not %u",
                  where, vector_name, (long long)row, c->call.flags[row], wanted.flags);
    ck_assert_msg(argmax_matches(&wanted, &input, delta, (double)cpu_case_argmax(c, row)),
                  "%s, %s: row %lld has argmax %lld, not %lld", where, vector_name, (long long)row,
                  (long long)cpu_case_argmax(c, row), (long long)wanted.argmax);
    for (int i = 0; i < VALUES; i++) {
        const double got = (double)c->values[i][row + 1];
        ck_assert_msg(within(got, values[i], tolerance[i]),
                      "%s, %s: row %lld has value %d %.9g, not %.9g within %.3g", where,
                      vector_name, (long long)row, i, got, values[i], tolerance[i]);
    }
    ck_assert_msg(!(c->call.confidence[row] > 1.0f), "%s: confidence above 1", where);
}

void cpu_case_check(const cpu_case *c, const char *vector_name)
{
    double *z = calloc((size_t)c->shape.vocab, sizeof *z);
    ck_assert_ptr_nonnull(z);
    for (int64_t row = 0; row < c->shape.rows; row++)
        check_row(c, row, z, vector_name);
    free(z);
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

bool cpu_case_same(const cpu_case *a, int64_t a_row, const cpu_case *b, int64_t b_row)
{
    bool same = cpu_case_argmax(a, a_row) == cpu_case_argmax(b, b_row) &&
                a->call.flags[a_row] == b->call.flags[b_row];
    for (int i = 0; i < VALUES; i++)
        same = same && float_bits(a->values[i][a_row + 1]) == float_bits(b->values[i][b_row + 1]);
    return same;
}
