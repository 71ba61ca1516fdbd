/* test_trunk.c - the trunk against its formulas in double, and what must not change its result */
#include "check_suite.h"
#include "scratch.h"
#include "tensor_fixture.h"
#include "trunk.h"

#include <math.h>
#include <string.h>

enum { HEAD = TINY_HIDDEN / TINY_HEADS, HALF = HEAD / 2 };

typedef double hidden_row[TINY_HIDDEN];

static char folder[SCRATCH_BYTES];
static dllm_model *model;
static dllm_trunk *trunk;
static dllm_message message;
static int32_t ids[TINY_SEQUENCE];

static void open_tiny(dllm_tensor_type type, int threads)
{
    const tiny_model tiny = {.type = type};
    dllm_trunk_destroy(trunk);
    dllm_model_close(model);
    trunk = NULL;
    model = NULL;
    tiny_model_write(folder, &tiny);
    ck_assert_msg(dllm_model_open(&model, folder, &message), "%s", message.text);
    ck_assert_msg(dllm_trunk_create(&trunk, model, TINY_SEQUENCE, threads, &message), "%s",
                  message.text);
}

static void set_up(void)
{
    scratch_make(folder);
    for (int t = 0; t < TINY_SEQUENCE; t++)
        ids[t] = (t * 7 + t / 11) % TINY_VOCAB;
    open_tiny(DLLM_TENSOR_BF16, 1);
}

static void tear_down(void)
{
    dllm_trunk_destroy(trunk);
    dllm_model_close(model);
    trunk = NULL;
    model = NULL;
    scratch_remove(folder);
}

/* ---- the formulas in double ------------------------------------------------------------------ */

static double weight_at(const dllm_tensor *tensor, int64_t index)
{
    float value;
    dllm_tensor_to_fp32(&value, tensor, index, 1);
    return (double)value;
}

/** y[o] = sum over i of x[i] * W[o, i] */
static void apply(double *y, const double *x, const dllm_tensor *weight)
{
    for (int64_t o = 0; o < weight->shape[0]; o++) {
        y[o] = 0.0;
        for (int64_t i = 0; i < weight->shape[1]; i++)
            y[o] += x[i] * weight_at(weight, o * weight->shape[1] + i);
    }
}

static void norm(double *y, const double *x, const dllm_tensor *weight)
{
    double squares = 0.0;
    for (int i = 0; i < TINY_HIDDEN; i++)
        squares += x[i] * x[i];
    for (int i = 0; i < TINY_HIDDEN; i++)
        y[i] = x[i] / sqrt(squares / TINY_HIDDEN + 1e-5) * weight_at(weight, i);
}

static void turn(double *x, int position)
{
    for (int pair = 0; pair < TINY_HEADS * HALF; pair++) {
        const int low = pair / HALF * HEAD + pair % HALF;
        const double angle = position * pow(10000.0, -(double)(pair % HALF) / HALF);
        const double a = x[low];
        const double b = x[low + HALF];
        x[low] = a * cos(angle) - b * sin(angle);
        x[low + HALF] = b * cos(angle) + a * sin(angle);
    }
}

/** One head of one query over all keys. */
static void attend(double *out, const double *query, const hidden_row *key, const hidden_row *value,
                   int length)
{
    double sum = 0.0;
    memset(out, 0, HEAD * sizeof *out);
    for (int s = 0; s < length; s++) {
        double score = 0.0;
        for (int i = 0; i < HEAD; i++)
            score += query[i] * key[s][i];
        const double weight = exp(score / sqrt((double)HEAD));
        sum += weight;
        for (int i = 0; i < HEAD; i++)
            out[i] += weight * value[s][i];
    }
    for (int i = 0; i < HEAD; i++)
        out[i] /= sum;
}

static void run_attention(hidden_row *x, const dllm_tensor *const *tensor, int length)
{
    static hidden_row query[TINY_SEQUENCE];
    static hidden_row key[TINY_SEQUENCE];
    static hidden_row value[TINY_SEQUENCE];
    for (int t = 0; t < length; t++) {
        hidden_row n;
        norm(n, x[t], tensor[DLLM_BLOCK_ATTN_NORM]);
        apply(query[t], n, tensor[DLLM_BLOCK_Q_PROJ]);
        apply(key[t], n, tensor[DLLM_BLOCK_K_PROJ]);
        apply(value[t], n, tensor[DLLM_BLOCK_V_PROJ]);
        turn(query[t], t);
        turn(key[t], t);
    }
    for (int t = 0; t < length; t++) {
        hidden_row mixed;
        hidden_row out;
        for (int head = 0; head < TINY_HIDDEN; head += HEAD)
            attend(mixed + head, query[t] + head, (const hidden_row *)&key[0][head],
                   (const hidden_row *)&value[0][head], length);
        apply(out, mixed, tensor[DLLM_BLOCK_ATTN_OUT]);
        for (int i = 0; i < TINY_HIDDEN; i++)
            x[t][i] += out[i];
    }
}

static void run_mlp(double *x, const dllm_tensor *const *tensor)
{
    hidden_row n;
    hidden_row out;
    double gate[TINY_MLP] = {0.0};
    double up[TINY_MLP] = {0.0};
    norm(n, x, tensor[DLLM_BLOCK_FF_NORM]);
    apply(gate, n, tensor[DLLM_BLOCK_FF_PROJ]);
    apply(up, n, tensor[DLLM_BLOCK_UP_PROJ]);
    for (int i = 0; i < TINY_MLP; i++)
        gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
    apply(out, gate, tensor[DLLM_BLOCK_FF_OUT]);
    for (int i = 0; i < TINY_HIDDEN; i++)
        x[i] += out[i];
}

static void reference(hidden_row *x, int length)
{
    for (int t = 0; t < length; t++)
        for (int i = 0; i < TINY_HIDDEN; i++)
            x[t][i] = weight_at(model->embedding, ids[t] * TINY_HIDDEN + i);
    for (int layer = 0; layer < TINY_LAYERS; layer++) {
        const dllm_tensor *const *tensor = model->blocks[layer].tensor;
        run_attention(x, tensor, length);
        for (int t = 0; t < length; t++)
            run_mlp(x[t], tensor);
    }
    for (int t = 0; t < length; t++) {
        hidden_row n;
        norm(n, x[t], model->final_norm);
        memcpy(x[t], n, sizeof n);
    }
}

/* A value goes through fewer than 128 sums a layer (depths 8 and 6, one softmax over up to 80), each
 * term of which is rounded by 2^-24. */
#define TOLERANCE (TINY_LAYERS * 128 * 0x1p-24)

/* ---- tests ----------------------------------------------------------------------------------- */

/* around the sizes that the trunk works in: 2 rows, panels of 16, 64 queries */
static const int lengths[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, TINY_SEQUENCE};

START_TEST(matches_formulas)
{
    static hidden_row wanted[TINY_SEQUENCE];
    const int length = lengths[_i];
    reference(wanted, length);
    const float *got = dllm_trunk_forward(trunk, ids, length);
    for (int i = 0; i < length * TINY_HIDDEN; i++) {
        const double value = wanted[i / TINY_HIDDEN][i % TINY_HIDDEN];
        ck_assert_msg(fabs((double)got[i] - value) <= TOLERANCE * (1.0 + fabs(value)),
                      "length %d, position %d, element %d: got %.9g, wanted %.9g", length,
                      i / TINY_HIDDEN, i % TINY_HIDDEN, (double)got[i], value);
    }
}
END_TEST

/** Hidden states of the whole sequence, copied. */
static void copy_forward(float *out)
{
    const float *hidden = dllm_trunk_forward(trunk, ids, TINY_SEQUENCE);
    memcpy(out, hidden, sizeof *out * TINY_SEQUENCE * TINY_HIDDEN);
}

static const struct {
    dllm_tensor_type type;
    int threads;
} variants[] = {
    {DLLM_TENSOR_FP16, 1}, {DLLM_TENSOR_FP32, 1}, {DLLM_TENSOR_BF16, 2}, {DLLM_TENSOR_BF16, 7}};

START_TEST(type_and_threads_change_no_bit)
{
    static float first[TINY_SEQUENCE * TINY_HIDDEN];
    static float second[TINY_SEQUENCE * TINY_HIDDEN];
    copy_forward(first);
    open_tiny(variants[_i].type, variants[_i].threads);
    copy_forward(second);
    ck_assert_mem_eq(first, second, sizeof first);
}
END_TEST

START_TEST(longer_forward_before_changes_no_bit)
{
    float first[5 * TINY_HIDDEN];
    memcpy(first, dllm_trunk_forward(trunk, ids, 5), sizeof first);
    (void)dllm_trunk_forward(trunk, ids, TINY_SEQUENCE);
    ck_assert_mem_eq(first, dllm_trunk_forward(trunk, ids, 5), sizeof first);
}
END_TEST

START_TEST(last_position_reaches_the_first)
{
    float first[TINY_HIDDEN];
    memcpy(first, dllm_trunk_forward(trunk, ids, 20), sizeof first);
    ids[19] = (ids[19] + 1) % TINY_VOCAB;
    ck_assert_mem_ne(first, dllm_trunk_forward(trunk, ids, 20), sizeof first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trunk");
    TCase *values = tcase_create("values");
    tcase_add_checked_fixture(values, set_up, tear_down);
    tcase_add_loop_test(values, matches_formulas, 0, (int)(sizeof lengths / sizeof lengths[0]));
    tcase_add_loop_test(values, type_and_threads_change_no_bit, 0,
                        (int)(sizeof variants / sizeof variants[0]));
    tcase_add_test(values, longer_forward_before_changes_no_bit);
    tcase_add_test(values, last_position_reaches_the_first);
    suite_add_tcase(suite, values);
    return check_suite_run(suite);
}
