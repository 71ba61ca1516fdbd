/* test_problem.c - the rules about options and buffers: each refused value, with its message */
#include "check_suite.h"

#include "problem.h"
#include "status.h"

#include <math.h>
#include <string.h>

static dllm_head_options head_options(void)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    options.vocab = 100;
    options.depth = 64;
    options.rows_max = 8;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE;
    return options;
}

/* One changed field and what must come of it. */
typedef struct option_case {
    const char *name;
    size_t offset;
    size_t bytes;
    int64_t integer;
    float real;
    bool is_real;
    dllm_status status;
    const char *words; /* part of the message */
} option_case;

#define INTEGER(field, value, status, words)                                                       \
    {                                                                                              \
#field, offsetof(dllm_head_options, field), sizeof(((dllm_head_options *)0)->field),       \
            value, 0.0f, false, status, words                                                      \
    }
#define REAL(field, value, status, words)                                                          \
    {                                                                                              \
#field, offsetof(dllm_head_options, field), sizeof(float), 0, value, true, status, words   \
    }

static const option_case option_cases[] = {
    INTEGER(vocab, 0, DLLM_INVALID_ARGUMENT, "vocab 0 is outside 1 .."),
    INTEGER(vocab, -5, DLLM_INVALID_ARGUMENT, "vocab -5"),
    INTEGER(vocab, (int64_t)1 << 31, DLLM_INVALID_ARGUMENT, "vocab 2147483648"),
    INTEGER(depth, 0, DLLM_INVALID_ARGUMENT, "depth 0"),
    INTEGER(rows_max, -1, DLLM_INVALID_ARGUMENT, "rows_max -1"),
    INTEGER(rows_max, (int64_t)1 << 31, DLLM_INVALID_ARGUMENT, "rows_max 2147483648"),
    INTEGER(valid_vocab, 101, DLLM_INVALID_ARGUMENT, "valid_vocab 101 is outside 0 .. 100"),
    INTEGER(valid_vocab, -1, DLLM_INVALID_ARGUMENT, "valid_vocab -1"),
    INTEGER(vocab_offset, -1, DLLM_INVALID_ARGUMENT, "vocab_offset -1"),
    INTEGER(vocab_offset, INT32_MAX - 99, DLLM_INVALID_ARGUMENT, "ask for DLLM_INT64 ids"),
    INTEGER(vocab_offset, INT64_MAX, DLLM_INVALID_ARGUMENT, "vocab_offset"),
    INTEGER(hidden_type, 0, DLLM_INVALID_ARGUMENT, "hidden_type 0"),
    INTEGER(hidden_type, 4, DLLM_INVALID_ARGUMENT, "hidden_type 4"),
    INTEGER(weight_type, -1, DLLM_INVALID_ARGUMENT, "weight_type -1"),
    INTEGER(id_type, 2, DLLM_INVALID_ARGUMENT, "id_type 2"),
    INTEGER(index_type, 9, DLLM_INVALID_ARGUMENT, "index_type 9"),
    INTEGER(outputs, 0, DLLM_INVALID_ARGUMENT, "at least one"),
    INTEGER(outputs, 1u << 20, DLLM_INVALID_ARGUMENT, "bit 0x100000"),
    INTEGER(outputs, DLLM_OUT_CANDIDATES, DLLM_INVALID_ARGUMENT, "candidates 0 is outside 1"),
    INTEGER(outputs, DLLM_OUT_TARGET_LOGPROB, DLLM_INVALID_ARGUMENT, "needs DLLM_IN_TARGET"),
    INTEGER(inputs, 0x7ff, DLLM_OK, ""),
    INTEGER(inputs, 0x800, DLLM_INVALID_ARGUMENT, "inputs 0x800"),
    INTEGER(inputs, 1u << 30, DLLM_INVALID_ARGUMENT, "inputs"),
    INTEGER(behaviour, 7, DLLM_OK, ""),
    INTEGER(behaviour, 8, DLLM_INVALID_ARGUMENT, "behaviour 0x8"),
    INTEGER(prepare, 1u << 9, DLLM_INVALID_ARGUMENT, "prepare"),
    INTEGER(alignment_bytes, 3, DLLM_INVALID_ARGUMENT, "alignment_bytes 3"),
    INTEGER(alignment_bytes, 32, DLLM_INVALID_ARGUMENT, "alignment_bytes 32"),
    INTEGER(round_logits, DLLM_FP32, DLLM_INVALID_ARGUMENT, "round_logits 3"),
    INTEGER(round_logits, DLLM_BF16, DLLM_OK, ""),
    INTEGER(candidates, -1, DLLM_INVALID_ARGUMENT, "candidates -1 is outside 0 .. 256"),
    INTEGER(candidates, 256, DLLM_OK, ""),
    INTEGER(candidates, 257, DLLM_INVALID_ARGUMENT, "candidates 257"),
    INTEGER(suppress_max, -1, DLLM_INVALID_ARGUMENT, "suppress_max -1"),
    INTEGER(prepare, DLLM_PREPARE_MEASURE | DLLM_PREPARE_PATIENT, DLLM_OK, ""),
    INTEGER(time_limit_ms, 5, DLLM_OK, ""),
    INTEGER(time_limit_ms, -1, DLLM_INVALID_ARGUMENT, "time_limit_ms -1"),
    REAL(scale, -1.0f, DLLM_INVALID_ARGUMENT, "scale -1"),
    REAL(scale, INFINITY, DLLM_INVALID_ARGUMENT, "scale inf"),
    REAL(scale, NAN, DLLM_INVALID_ARGUMENT, "scale"),
    REAL(scale, 0.5f, DLLM_OK, ""),
    REAL(scale, 1.0f, DLLM_OK, ""),
    REAL(softcap, -30.0f, DLLM_INVALID_ARGUMENT, "softcap -30"),
    REAL(softcap, INFINITY, DLLM_INVALID_ARGUMENT, "softcap inf"),
    REAL(softcap, 30.0f, DLLM_OK, ""),
    REAL(temperature, NAN, DLLM_INVALID_ARGUMENT, "temperature"),
    REAL(temperature, -INFINITY, DLLM_INVALID_ARGUMENT, "temperature -inf"),
    REAL(temperature, 0.7f, DLLM_OK, ""),
    REAL(temperature, -1.0f, DLLM_OK, ""),
    REAL(cfg_scale, 1.5f, DLLM_OK, ""),
    REAL(cfg_scale, -0.5f, DLLM_INVALID_ARGUMENT, "cfg_scale -0.5 is negative or not finite"),
    REAL(cfg_scale, NAN, DLLM_INVALID_ARGUMENT, "cfg_scale"),
    INTEGER(cfg_round, DLLM_BF16, DLLM_OK, ""),
    INTEGER(cfg_round, DLLM_FP16, DLLM_INVALID_ARGUMENT, "cfg_round 2 is not DLLM_BF16"),
};

START_TEST(checks_every_option)
{
    const option_case *row = &option_cases[_i];
    dllm_head_options options = head_options();
    dllm_problem problem;
    char *field = (char *)&options + row->offset;
    if (row->is_real)
        memcpy(field, &row->real, row->bytes);
    else
        memcpy(field, &row->integer, row->bytes); /* little-endian: the low bytes */
    dllm__clear_error();
    ck_assert_msg(dllm__head_problem(&problem, &options) == row->status, "%s: %s", row->name,
                  dllm_last_error());
    ck_assert_msg(strstr(dllm_last_error(), row->words) != NULL, "%s: \"%s\" lacks \"%s\"",
                  row->name, dllm_last_error(), row->words);
}
END_TEST

START_TEST(refuses_a_short_struct)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.struct_size = sizeof options - 1;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_int_eq(dllm__head_problem(&problem, NULL), DLLM_INVALID_ARGUMENT);
}
END_TEST

START_TEST(takes_a_longer_struct_only_with_a_zero_tail)
{
    struct {
        dllm_head_options options;
        int64_t tail;
    } newer = {head_options(), 0};
    dllm_problem problem;
    newer.options.struct_size = sizeof newer;
    ck_assert_int_eq(dllm__head_problem(&problem, &newer.options), DLLM_OK);
    newer.tail = 1;
    ck_assert_int_eq(dllm__head_problem(&problem, &newer.options), DLLM_UNSUPPORTED);
}
END_TEST

START_TEST(fills_defaults)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(problem.valid_vocab, 100);
    ck_assert_int_eq(problem.alignment_bytes, 16);
    options.depth = 10; /* 20 bytes a row */
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(problem.alignment_bytes, 4);
    options.hidden_type = DLLM_FP32; /* 40 and 20 bytes */
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(problem.alignment_bytes, 4);
    options.alignment_bytes = 16;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(problem.alignment_bytes, 16);
}
END_TEST

START_TEST(lays_sampler_options_out_as_head_options)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    dllm_problem problem;
    options.vocab = 129;
    options.rows_max = 4;
    options.valid_vocab = 128;
    options.vocab_offset = 7;
    options.logits_type = DLLM_FP16;
    options.id_type = DLLM_INT64;
    options.outputs = DLLM_OUT_MAX;
    ck_assert_int_eq(dllm__sampler_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(problem.operation, DLLM_OPERATION_SAMPLER);
    ck_assert_int_eq(problem.hidden_type, DLLM_FP16);
    ck_assert_int_eq(problem.valid_vocab, 128);
    ck_assert_int_eq(problem.vocab_offset, 7);
    ck_assert_int_eq(problem.id_type, DLLM_INT64);
    ck_assert_int_eq(problem.alignment_bytes, 2); /* 258 bytes a row */
}
END_TEST

/* What means "none" looks like none, so that no kernel is compiled for it. */
START_TEST(takes_transforms_that_do_nothing_for_none)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.scale = 1.0f;
    options.temperature = 0x1p-127f; /* subnormal: greedy */
    options.behaviour = DLLM_TEMPERED;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert(problem.scale == 0);
    ck_assert(problem.temperature == 0);
    ck_assert_uint_eq(dllm__transforms(&problem), 0);
    options.temperature = 1.0f;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_uint_eq(dllm__transforms(&problem), 0);
}
END_TEST

START_TEST(refuses_noise_whose_size_overflows)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.inputs = DLLM_IN_NOISE;
    options.rows_max = options.vocab = INT32_MAX;
    options.id_type = DLLM_INT64;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "noise"));
}
END_TEST

/* ---- what follows from a problem ---- */

static const struct {
    const char *name;
    uint32_t outputs, inputs, behaviour;
    float temperature;
    uint32_t statistics, transforms;
} needs[] = {
    {"three outputs", DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE, 0, 0, 1, 0, 0},
    {"entropy", DLLM_OUT_ENTROPY, 0, 0, 0, DLLM_STATISTIC_ENTROPY, 0},
    {"margin", DLLM_OUT_MARGIN, 0, 0, 0, DLLM_STATISTIC_SECOND, 0},
    {"a target", DLLM_OUT_TARGET_LOGPROB, DLLM_IN_TARGET, 0, 0, DLLM_STATISTIC_TARGET, 0},
    {"a target's flag", DLLM_OUT_FLAGS, DLLM_IN_TARGET, 0, 0, DLLM_STATISTIC_TARGET, 0},
    {"a target nobody asks for", DLLM_OUT_LSE, DLLM_IN_TARGET, 0, 0, 0, 0},
    {"a draw", DLLM_OUT_GUMBEL_ID, 0, 0, 0.5f, DLLM_STATISTIC_GUMBEL, 0},
    {"a greedy draw", DLLM_OUT_GUMBEL_ID, 0, 0, 0, 0, 0},
    {"a draw by row", DLLM_OUT_GUMBEL_ID, DLLM_IN_TEMPERATURE | DLLM_IN_ROW_KEY, 0, 0,
     DLLM_STATISTIC_GUMBEL, DLLM_TRANSFORM_ROW_TEMPERATURE | DLLM_TRANSFORM_ROW_KEY},
    {"words make keys idle", DLLM_OUT_GUMBEL_ID, DLLM_IN_NOISE | DLLM_IN_ROW_KEY, 0, 1,
     DLLM_STATISTIC_GUMBEL, DLLM_TRANSFORM_NOISE},
    {"seeds by row", DLLM_OUT_GUMBEL_ID, DLLM_IN_ROW_SEED, 0, 1, DLLM_STATISTIC_GUMBEL,
     DLLM_TRANSFORM_ROW_SEED},
    {"a temperature's flag", DLLM_OUT_FLAGS, DLLM_IN_TEMPERATURE, 0, 0, 0,
     DLLM_TRANSFORM_ROW_TEMPERATURE},
    {"a temperature nobody asks for", DLLM_OUT_LSE, DLLM_IN_TEMPERATURE, 0, 0, 0, 0},
    {"tempered", DLLM_OUT_LSE, 0, DLLM_TEMPERED, 0.5f, 0, DLLM_TRANSFORM_TEMPERED},
    {"tempered by row", DLLM_OUT_LSE, DLLM_IN_TEMPERATURE, DLLM_TEMPERED, 0, 0,
     DLLM_TRANSFORM_TEMPERED | DLLM_TRANSFORM_ROW_TEMPERATURE},
    {"transforms", DLLM_OUT_LSE, DLLM_IN_BIAS | DLLM_IN_SUPPRESS | DLLM_IN_PENALTY, 0, 0, 0,
     DLLM_TRANSFORM_BIAS | DLLM_TRANSFORM_SUPPRESS | DLLM_TRANSFORM_PENALTY},
    {"guidance", DLLM_OUT_LSE, DLLM_IN_CFG_SCALE, 0, 0, 0, DLLM_TRANSFORM_GUIDANCE},
};

START_TEST(needs_what_its_outputs_ask_for)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.outputs = needs[_i].outputs;
    options.inputs = needs[_i].inputs;
    options.behaviour = needs[_i].behaviour;
    options.temperature = needs[_i].temperature;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_msg(dllm__statistics(&problem) == needs[_i].statistics, "%s: statistics 0x%x",
                  needs[_i].name, dllm__statistics(&problem));
    ck_assert_msg(dllm__transforms(&problem) == needs[_i].transforms, "%s: transforms 0x%x",
                  needs[_i].name, dllm__transforms(&problem));
}
END_TEST

START_TEST(a_state_has_room_for_its_candidates)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.candidates = 5;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_uint_eq(dllm__state_bytes(&problem), 0);
    options.behaviour = DLLM_PARTIAL_STATE;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_uint_eq(dllm__state_bytes(&problem), 64);
    options.outputs = DLLM_OUT_CANDIDATES;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_uint_eq(dllm__state_bytes(&problem), 64 + 5 * 16);
}
END_TEST

/* ---- merge ---- */

static dllm_merge_options merge_options(void)
{
    dllm_merge_options options = DLLM_MERGE_OPTIONS_INIT;
    options.vocab = 1000;
    options.shards_max = 3;
    options.rows_max = 8;
    options.outputs = DLLM_OUT_ARGMAX;
    return options;
}

static void no_shards(dllm_merge_options *options)
{
    options->shards_max = 0;
}

static void narrow_ids(dllm_merge_options *options)
{
    options->vocab = INT32_MAX + (int64_t)1;
}

static void a_bias(dllm_merge_options *options)
{
    options->inputs = DLLM_IN_BIAS;
}

static void a_state_of_a_merge(dllm_merge_options *options)
{
    options->behaviour = DLLM_PARTIAL_STATE;
}

static void too_many_candidates(dllm_merge_options *options)
{
    options->candidates = 257;
}

static const struct {
    void (*change)(dllm_merge_options *);
    const char *words;
} merge_cases[] = {
    {no_shards, "shards_max 0"},
    {narrow_ids, "vocab 2147483648 is above 2147483647: ask for DLLM_INT64 ids"},
    {a_bias, "inputs 0x10"},
    {a_state_of_a_merge, "behaviour 0x4"},
    {too_many_candidates, "candidates 257"},
};

START_TEST(refuses_bad_merges)
{
    dllm_merge_options options = merge_options();
    dllm_problem problem;
    ck_assert_int_eq(dllm__merge_problem(&problem, &options), DLLM_OK);
    merge_cases[_i].change(&options);
    ck_assert_int_eq(dllm__merge_problem(&problem, &options), DLLM_INVALID_ARGUMENT);
    ck_assert_msg(strstr(dllm_last_error(), merge_cases[_i].words) != NULL, "\"%s\" lacks \"%s\"",
                  dllm_last_error(), merge_cases[_i].words);
}
END_TEST

/* ---- buffers ---- */

enum { WORKSPACE = 4096 };

static _Alignas(16) unsigned char memory[8 * 64 * 2 + 16];
static int64_t ids[8];
static float floats[8];
static int64_t row_index[8];

static dllm_problem head_problem(void)
{
    dllm_head_options options = head_options();
    dllm_problem problem;
    options.inputs = DLLM_IN_ROW_INDEX | DLLM_IN_ROWS_DEVICE | DLLM_IN_TARGET | DLLM_IN_SUPPRESS;
    options.suppress_max = 2;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    return problem;
}

static dllm_head_buffers head_buffers(void)
{
    dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    buffers.rows = 8;
    buffers.hidden = memory;
    buffers.weight = memory;
    buffers.argmax = ids;
    buffers.lse = floats;
    buffers.workspace = memory;
    buffers.workspace_bytes = WORKSPACE;
    buffers.target = ids;
    return buffers;
}

START_TEST(fills_strides_and_passes_buffers_on)
{
    const dllm_problem problem = head_problem();
    const dllm_head_buffers buffers = head_buffers();
    dllm_row_call call;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
    ck_assert_int_eq(call.hidden_stride, 64);
    ck_assert_int_eq(call.weight_stride, 64);
    ck_assert_int_eq(call.rows, 8);
    ck_assert_ptr_eq(call.argmax, ids);
    ck_assert_ptr_eq(call.lse, floats);
}
END_TEST

/* One change to good buffers, and the words of the refusal. */
static void rows_above_rows_max(dllm_head_buffers *buffers)
{
    buffers->rows = 9;
}

static void negative_rows(dllm_head_buffers *buffers)
{
    buffers->rows = -1;
}

static void null_hidden(dllm_head_buffers *buffers)
{
    buffers->hidden = NULL;
}

static void null_weight(dllm_head_buffers *buffers)
{
    buffers->weight = NULL;
}

static void a_null_output(dllm_head_buffers *buffers)
{
    buffers->argmax = NULL;
}

static void a_misaligned_output(dllm_head_buffers *buffers)
{
    buffers->lse = (float *)(void *)(memory + 2);
}

static void stride_below_depth(dllm_head_buffers *buffers)
{
    buffers->hidden_stride = 63;
}

static void negative_stride(dllm_head_buffers *buffers)
{
    buffers->weight_stride = -64;
}

static void stride_that_loses_alignment(dllm_head_buffers *buffers)
{
    buffers->weight_stride = 65;
}

static void misaligned_hidden(dllm_head_buffers *buffers)
{
    buffers->hidden = memory + 8;
}

static void overflowing_stride(dllm_head_buffers *buffers)
{
    buffers->hidden_stride = INT64_MAX / 16 * 8;
}

static void null_workspace(dllm_head_buffers *buffers)
{
    buffers->workspace = NULL;
}

static void small_workspace(dllm_head_buffers *buffers)
{
    buffers->workspace_bytes = WORKSPACE - 1;
}

static void an_input_not_prepared_for(dllm_head_buffers *buffers)
{
    buffers->bias = floats;
}

static void negative_source_rows(dllm_head_buffers *buffers)
{
    buffers->row_index = row_index;
    buffers->source_rows = -1;
}

static void a_misaligned_row_index(dllm_head_buffers *buffers)
{
    buffers->row_index = (const char *)row_index + 1;
}

static void a_misaligned_rows_device(dllm_head_buffers *buffers)
{
    buffers->rows_device = (const int64_t *)(const void *)(memory + 4);
}

static void a_null_input(dllm_head_buffers *buffers)
{
    buffers->target = NULL;
}

static void a_misaligned_input(dllm_head_buffers *buffers)
{
    buffers->target = memory + 2;
}

static void too_many_suppressed(dllm_head_buffers *buffers)
{
    buffers->suppress_count = 3;
}

static void a_seed_without_a_draw(dllm_head_buffers *buffers)
{
    buffers->seed = (const uint64_t *)(const void *)memory;
}

static const struct {
    const char *name;
    void (*change)(dllm_head_buffers *);
    const char *words;
} buffer_cases[] = {
    {"a_seed_without_a_draw", a_seed_without_a_draw, "seed is given"},
    {"a_null_input", a_null_input, "target is NULL"},
    {"a_misaligned_input", a_misaligned_input, "target at"},
    {"too_many_suppressed", too_many_suppressed, "suppress_count 3 is outside 0 .. 2"},
    {"rows_above_rows_max", rows_above_rows_max, "rows 9 is outside 0 .. 8"},
    {"negative_rows", negative_rows, "rows -1"},
    {"null_hidden", null_hidden, "hidden is NULL"},
    {"null_weight", null_weight, "weight is NULL"},
    {"a_null_output", a_null_output, "argmax was asked for"},
    {"a_misaligned_output", a_misaligned_output, "lse at"},
    {"stride_below_depth", stride_below_depth, "hidden stride 63 is below"},
    {"negative_stride", negative_stride, "weight stride -64"},
    {"stride_that_loses_alignment", stride_that_loses_alignment, "does not keep the 16"},
    {"misaligned_hidden", misaligned_hidden, "hidden at"},
    {"overflowing_stride", overflowing_stride, "overflows"},
    {"null_workspace", null_workspace, "workspace is NULL"},
    {"small_workspace", small_workspace, "workspace_bytes 4095"},
    {"an_input_not_prepared_for", an_input_not_prepared_for, "bias is given"},
    {"negative_source_rows", negative_source_rows, "source_rows -1"},
    {"a_misaligned_rows_device", a_misaligned_rows_device, "rows_device at"},
    {"a_misaligned_row_index", a_misaligned_row_index, "row_index at"},
};

START_TEST(refuses_bad_buffers)
{
    const dllm_problem problem = head_problem();
    dllm_head_buffers buffers = head_buffers();
    dllm_row_call call;
    buffer_cases[_i].change(&buffers);
    dllm__clear_error();
    ck_assert_msg(dllm__head_call(&call, &problem, WORKSPACE, &buffers) == DLLM_INVALID_ARGUMENT,
                  "%s", buffer_cases[_i].name);
    ck_assert_msg(strstr(dllm_last_error(), buffer_cases[_i].words) != NULL,
                  "%s: \"%s\" lacks \"%s\"", buffer_cases[_i].name, dllm_last_error(),
                  buffer_cases[_i].words);
}
END_TEST

START_TEST(a_draw_needs_a_seed_unless_it_is_greedy)
{
    dllm_head_options options = head_options();
    dllm_head_buffers buffers = head_buffers();
    dllm_problem problem;
    dllm_row_call call;
    options.outputs = DLLM_OUT_GUMBEL_ID;
    options.temperature = 0.5f;
    buffers.gumbel_id = ids;
    buffers.target = NULL;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "seed is NULL"));
    options.temperature = 0;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
}
END_TEST

/* A state takes the place of the outputs, which are not looked at. */
START_TEST(a_partial_state_needs_its_buffer_alone)
{
    dllm_head_options options = head_options();
    dllm_head_buffers buffers = head_buffers();
    dllm_problem problem;
    dllm_row_call call;
    options.behaviour = DLLM_PARTIAL_STATE;
    buffers.argmax = NULL;
    buffers.target = NULL;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "state was asked for"));
    buffers.state = memory;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
}
END_TEST

/* ---- buffers of a merge ---- */

static void null_states(dllm_merge_buffers *buffers)
{
    buffers->states = NULL;
}

static void misaligned_states(dllm_merge_buffers *buffers)
{
    buffers->states = memory + 4;
}

static void shards_above_shards_max(dllm_merge_buffers *buffers)
{
    buffers->shards = 4;
}

static void a_stride_below_a_shard(dllm_merge_buffers *buffers)
{
    buffers->shard_stride_bytes = 64;
}

static void an_overflowing_shard_stride(dllm_merge_buffers *buffers)
{
    buffers->shard_stride_bytes = INT64_MAX / 16 * 8;
}

static const struct {
    void (*change)(dllm_merge_buffers *);
    const char *words;
} merge_buffer_cases[] = {
    {null_states, "states is NULL"},
    {misaligned_states, "states at"},
    {shards_above_shards_max, "shards 4 is outside 1 .. 3"},
    {a_stride_below_a_shard, "shard_stride_bytes 64 is below the 128"},
    {an_overflowing_shard_stride, "overflows"},
};

START_TEST(refuses_bad_states)
{
    const dllm_merge_options options = merge_options();
    dllm_merge_buffers buffers = DLLM_MERGE_BUFFERS_INIT;
    dllm_problem problem;
    dllm_row_call call;
    buffers.rows = 2;
    buffers.shards = 3;
    buffers.states = memory;
    buffers.argmax = ids;
    ck_assert_int_eq(dllm__merge_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__merge_call(&call, &problem, &buffers), DLLM_OK);
    ck_assert_int_eq(call.shard_stride_bytes, 128);
    merge_buffer_cases[_i].change(&buffers);
    ck_assert_int_eq(dllm__merge_call(&call, &problem, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_msg(strstr(dllm_last_error(), merge_buffer_cases[_i].words) != NULL,
                  "\"%s\" lacks \"%s\"", dllm_last_error(), merge_buffer_cases[_i].words);
}
END_TEST

/* Nothing follows the only row: its stride is the library's to choose, and keeps the alignment. */
START_TEST(the_stride_of_a_single_row_is_made_whole)
{
    const dllm_problem problem = head_problem();
    dllm_head_buffers buffers = head_buffers();
    dllm_row_call call;
    buffers.rows = 1;
    buffers.hidden_stride = 67;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
    ck_assert_int_eq(call.hidden_stride, 64);
}
END_TEST

/* A guided row is followed by its unconditional one: its stride is the caller's, and has to fit. */
START_TEST(guided_rows_come_with_scales_and_a_second_row)
{
    dllm_head_options options = head_options();
    dllm_head_buffers buffers = head_buffers();
    dllm_problem problem;
    dllm_row_call call;
    options.inputs = DLLM_IN_CFG_SCALE;
    buffers.target = NULL;
    buffers.rows = 1;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "cfg_scale is NULL"));
    buffers.cfg_scale = floats;
    buffers.hidden_stride = 67;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "does not keep the 16"));
    buffers.hidden_stride = 72;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
    ck_assert_int_eq(call.hidden_stride, 72);
    options.inputs = 0;
    options.cfg_scale = 0.5f;
    ck_assert_int_eq(dllm__head_problem(&problem, &options), DLLM_OK);
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "cfg_scale is given"));
}
END_TEST

START_TEST(takes_no_rows_with_null_pointers)
{
    const dllm_problem problem = head_problem();
    const dllm_head_buffers buffers = DLLM_HEAD_BUFFERS_INIT;
    dllm_row_call call;
    ck_assert_int_eq(dllm__head_call(&call, &problem, WORKSPACE, &buffers), DLLM_OK);
    ck_assert_int_eq(call.rows, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("problem");
    TCase *options = tcase_create("options");
    tcase_add_loop_test(options, checks_every_option, 0,
                        (int)(sizeof option_cases / sizeof option_cases[0]));
    tcase_add_test(options, refuses_a_short_struct);
    tcase_add_test(options, takes_a_longer_struct_only_with_a_zero_tail);
    tcase_add_test(options, fills_defaults);
    tcase_add_test(options, lays_sampler_options_out_as_head_options);
    tcase_add_test(options, takes_transforms_that_do_nothing_for_none);
    tcase_add_test(options, refuses_noise_whose_size_overflows);
    tcase_add_loop_test(options, needs_what_its_outputs_ask_for, 0,
                        (int)(sizeof needs / sizeof needs[0]));
    tcase_add_test(options, a_state_has_room_for_its_candidates);
    tcase_add_loop_test(options, refuses_bad_merges, 0,
                        (int)(sizeof merge_cases / sizeof merge_cases[0]));
    suite_add_tcase(suite, options);
    TCase *buffers = tcase_create("buffers");
    tcase_add_test(buffers, fills_strides_and_passes_buffers_on);
    tcase_add_test(buffers, the_stride_of_a_single_row_is_made_whole);
    tcase_add_test(buffers, guided_rows_come_with_scales_and_a_second_row);
    tcase_add_test(buffers, takes_no_rows_with_null_pointers);
    tcase_add_loop_test(buffers, refuses_bad_buffers, 0,
                        (int)(sizeof buffer_cases / sizeof buffer_cases[0]));
    tcase_add_test(buffers, a_draw_needs_a_seed_unless_it_is_greedy);
    tcase_add_test(buffers, a_partial_state_needs_its_buffer_alone);
    tcase_add_loop_test(buffers, refuses_bad_states, 0,
                        (int)(sizeof merge_buffer_cases / sizeof merge_buffer_cases[0]));
    suite_add_tcase(suite, buffers);
    return check_suite_run(suite);
}
