/*
 * test_decode_guidance.c - the decode loop with guidance, and with LLaDA's published confidences
 */
#include "check_suite.h"
#include "decode_world.h"

#include <math.h>
#include <string.h>

static decode_world world, other;

enum { PRESETS = 12 };

static void take_run(decode_world *out, dllm_status wanted)
{
    ck_assert_msg(world_begin(out) == DLLM_OK, "%s", dllm_last_error());
    const dllm_status status = dllm_decode_run(out->decode, NULL);
    ck_assert_msg(status == wanted, "status %d: %s", (int)status, dllm_last_error());
}

static void ck_assert_same_canvases(decode_world *got, decode_world *wanted)
{
    for (int s = 0; s < got->count; s++)
        ck_assert_mem_eq(world_canvas(got, s), world_canvas(wanted, s),
                         WORLD_LENGTH * sizeof(int64_t));
}

/* Three ragged sequences of a preset, the second without guidance, the third with a mask in its prompt. */
static void make_world(decode_world *out, int preset)
{
    const char *name = dllm_decode_preset_name(preset);
    world_create(out, name);
    out->options.guides = 1;
    out->options.draws = 1;
    dllm_sequence *sequence = &out->sequences[0];
    sequence->block_length = strcmp(name, "dream") == 0 ? 0 : 8;
    if (sequence->steps) sequence->steps = 24;
    if (sequence->steps_per_block) sequence->steps_per_block = 4;
    sequence->selection.gamma = 0.5f;
    sequence->filter.temperature = 0.75f;
    sequence->cfg_scale = 1.5f;
    world_set_canvas(out, 0, 8, 16);
    world_set_canvas(out, 1, 16, 8);
    world_set_canvas(out, 2, 8, 24);
    out->sequences[1].cfg_scale = 0;
    out->sequences[2].cfg_scale = 0.3f;
    out->sequences[2].filter.temperature = 0;
    out->canvas[2 * WORLD_LENGTH + 3] = WORLD_MASK;
}

/* ---- guidance ----------------------------------------------------------------------------- */

/* What the second canvas has to be: the first with its prompt masked. */
static void look_at_canvases(decode_world *from, const dllm_trunk_call *call)
{
    ck_assert_int_eq(call->copies, 2);
    for (int s = 0; s < from->count; s++)
        for (int q = 0; q < from->sequences[s].prompt + from->sequences[s].generate; q++) {
            const int64_t id = from->canvas[s * WORLD_LENGTH + q];
            ck_assert_msg(from->unconditional[s * WORLD_LENGTH + q] ==
                              (q < from->sequences[s].prompt ? WORLD_MASK : id),
                          "sequence %d, position %d, forward %d", s, q, from->forwards);
        }
}

START_TEST(the_second_canvas_follows_the_first)
{
    make_world(&world, _i);
    world.looked = look_at_canvases;
    world.cancels_at = 2; /* it is not made anew when the run goes on */
    take_run(&world, DLLM_INCOMPLETE);
    ck_assert_int_eq(dllm_decode_resume(world.decode, NULL), DLLM_OK);
    ck_assert_msg(dllm_decode_run(world.decode, NULL) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_int_gt(world.forwards, 3);
    world_release(&world);
}
END_TEST

/* Behind the end of the first sequence, and wherever the second has none. */
static void look_behind_the_ends(decode_world *from, const dllm_trunk_call *call)
{
    const int64_t *ids = call->unconditional;
    ck_assert_int_eq(call->unconditional_stride, WORLD_LENGTH);
    for (int q = 0; q < WORLD_LENGTH; q++) {
        if (q >= 24) ck_assert_int_eq(ids[q], WORLD_MASK);
        ck_assert_msg(ids[WORLD_LENGTH + q] == WORLD_MASK, "position %d, forward %d", q,
                      from->forwards);
    }
}

START_TEST(the_second_canvas_is_masked_where_there_is_no_first)
{
    make_world(&world, 0);
    world.looked = look_behind_the_ends;
    world.sequences[1].inactive = 1;
    take_run(&world, DLLM_OK);
    ck_assert_int_gt(world.forwards, 3);
    world_release(&world);
}
END_TEST

/* Tokens before the mask are no prompt where they stand behind it: they stay in both canvases. */
START_TEST(tokens_behind_the_prompt_stay)
{
    make_world(&world, 1);
    world.looked = look_at_canvases;
    world.canvas[10] = 5;
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(world_canvas(&world, 0)[10], 5);
    world_release(&world);
}
END_TEST

START_TEST(a_scale_of_0_decodes_as_without_guidance)
{
    make_world(&world, _i);
    make_world(&other, _i);
    other.options.guides = 0;
    for (int s = 0; s < world.count; s++)
        world.sequences[s].cfg_scale = other.sequences[s].cfg_scale = 0;
    take_run(&world, DLLM_OK);
    take_run(&other, DLLM_OK);
    ck_assert_same_canvases(&world, &other);
    ck_assert_int_eq(world.forwards, other.forwards);
    world_release(&other);
    world_release(&world);
}
END_TEST

START_TEST(a_scale_changes_its_own_sequence)
{
    make_world(&world, 0);
    make_world(&other, 0);
    other.sequences[0].cfg_scale = 3;
    take_run(&world, DLLM_OK);
    take_run(&other, DLLM_OK);
    ck_assert(memcmp(world_canvas(&world, 0), world_canvas(&other, 0),
                     WORLD_LENGTH * sizeof(int64_t)) != 0);
    for (int s = 1; s < world.count; s++)
        ck_assert_mem_eq(world_canvas(&world, s), world_canvas(&other, s),
                         WORLD_LENGTH * sizeof(int64_t));
    world_release(&other);
    world_release(&world);
}
END_TEST

START_TEST(a_batch_equals_its_sequences_alone)
{
    make_world(&world, _i);
    take_run(&world, DLLM_OK);
    for (int s = 0; s < world.count; s++) {
        make_world(&other, _i);
        for (int t = 0; t < other.count; t++)
            other.sequences[t].inactive = t != s;
        take_run(&other, DLLM_OK);
        ck_assert_mem_eq(world_canvas(&world, s), world_canvas(&other, s),
                         WORLD_LENGTH * sizeof(int64_t));
        world_release(&other);
    }
    world_release(&world);
}
END_TEST

/* Where rows lie, and how wide ids are, does not enter. */
START_TEST(layouts_and_id_types_decode_alike)
{
    make_world(&world, _i);
    make_world(&other, _i);
    other.options.layout = DLLM_HIDDEN_GATHERED;
    other.options.id_type = DLLM_INT32;
    take_run(&world, DLLM_OK);
    take_run(&other, DLLM_OK);
    ck_assert_same_canvases(&world, &other);
    world_release(&other);
    world_release(&world);
}
END_TEST

/* Two ids that three roundings tie; the larger one wins without them. */
static int near_trunk(void *user, dllm_trunk_call *call)
{
    decode_world *to = user;
    float *second = to->hidden + (size_t)WORLD_LENGTH * WORLD_VOCAB;
    (void)call;
    to->hidden[0] = 13.375f;
    to->hidden[1] = 13.4375f;
    second[0] = 1.0078125f;
    second[1] = 1;
    return 0;
}

START_TEST(bf16_rounds_another_way)
{
    world_create(&world, "threshold");
    world.options.guides = 1;
    world.options.trunk = near_trunk;
    world.options.head.cfg_round = _i ? DLLM_BF16 : DLLM_TYPE_NONE;
    world.sequences[0].cfg_scale = 1.5f;
    world_set_canvas(&world, 0, 0, 1);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(world_canvas(&world, 0)[0], _i ? 0 : 1);
    world_release(&world);
}
END_TEST

static void ck_assert_refused(const char *message)
{
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), message);
}

START_TEST(refuses_a_scale_that_it_cannot_use)
{
    make_world(&world, 0);
    world.sequences[0].cfg_scale = -1;
    ck_assert_refused("sequence 0: cfg_scale -1 is negative");
    world.sequences[0].cfg_scale = INFINITY;
    ck_assert_refused("sequence 0: cfg_scale inf is not finite");
    world_release(&world);
    make_world(&world, 0);
    world.options.guides = 0;
    ck_assert_refused("sequence 0: a cfg_scale wants guides 1");
    world_release(&world);
    make_world(&world, 0);
    world.options.head.cfg_scale = 0.5f;
    ck_assert_refused("head.cfg_scale 0.5: it is given with a sequence");
    world_release(&world);
}
END_TEST

/* ---- published confidences ---------------------------------------------------------------- */

enum { EOT = 21, POSITIONS = 4 };

/* One row of logits a position, of the case eos_eot_suppression: EOS and EoT win rows 0 and 3. */
static const struct {
    int id[2];
    float logit[2];
} rows[POSITIONS] = {
    {{3, WORLD_EOS}, {5, 6}}, {{4, WORLD_EOS}, {5, 4.5f}}, {{5, 6}, {4, 0}}, {{6, EOT}, {3, 5.5f}}};

static float logit_of(int q, int v)
{
    for (int i = 0; i < 2; i++)
        if (rows[q].id[i] == v) return rows[q].logit[i];
    return 0;
}

/* Probability of an id where some have left the row; the mask is one of the others. */
static double probability(int q, int id, const int *gone, int count)
{
    double sum = 0;
    for (int v = 0; v < WORLD_VOCAB; v++) {
        bool stays = true;
        for (int i = 0; i < count; i++)
            stays = stays && gone[i] != v;
        if (stays) sum += exp((double)logit_of(q, v));
        if (!stays && v == id) return 0;
    }
    return exp((double)logit_of(q, id)) / sum;
}

static int case_trunk(void *user, dllm_trunk_call *call)
{
    decode_world *to = user;
    (void)call;
    for (int q = 0; q < POSITIONS; q++)
        for (int v = 0; v < WORLD_VOCAB; v++)
            to->hidden[q * WORLD_VOCAB + v] = logit_of(q, v);
    return 0;
}

static void make_case(decode_world *out, dllm_eos_confidence confidence)
{
    static const int64_t late[] = {WORLD_EOS, EOT};
    world_create(out, "llada");
    out->options.mask_rule = DLLM_MASK_ALLOW;
    out->options.eos_confidence = confidence;
    out->options.late = late;
    out->options.late_count = 2;
    out->options.draws = 1;
    out->options.trunk = case_trunk;
    out->sequences[0].steps = POSITIONS;
    world_set_canvas(out, 0, 0, POSITIONS);
}

/* Commits in order, with their keys. */
static int read_commits(decode_world *from, dllm_trace_record *out)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    dllm_trace_record records[32];
    int count = 0;
    ck_assert_int_eq(dllm_decode_read(from->decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_eq(dllm_decode_trace(from->decode, records, 0, batch.traced), DLLM_OK);
    for (int i = 0; i < batch.traced; i++)
        if (records[i].kind == DLLM_TRACE_COMMIT) out[count++] = records[i];
    return count;
}

/* Greedy: both ids leave the softmax, an end's confidence is 0. */
START_TEST(published_confidences_leave_both_ends_out)
{
    static const int gone[] = {WORLD_EOS, EOT};
    static const int order[POSITIONS] = {1, 2, 0, 3}, tokens[] = {4, 5, WORLD_EOS, EOT};
    dllm_trace_record commits[POSITIONS];
    make_case(&world, DLLM_EOS_PUBLISHED);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(read_commits(&world, commits), POSITIONS);
    for (int i = 0; i < POSITIONS; i++) {
        const double wanted = probability(order[i], tokens[i], gone, 2);
        ck_assert_int_eq(commits[i].position, order[i]);
        ck_assert_int_eq(commits[i].new_id, tokens[i]);
        ck_assert_msg(fabs((double)commits[i].key - wanted) < 2e-6, "key %d is %g, wanted %g", i,
                      (double)commits[i].key, wanted);
    }
    world_release(&world);
}
END_TEST

/* Drawn: EoT alone leaves it; the token is drawn with both. */
START_TEST(published_confidences_of_a_draw_leave_eot_out)
{
    static const int gone[] = {EOT};
    dllm_trace_record commits[POSITIONS];
    make_case(&world, DLLM_EOS_PUBLISHED);
    world.sequences[0].filter.temperature = 1e-3f; /* the argmax, all but surely */
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(read_commits(&world, commits), POSITIONS);
    for (int i = 0; i < POSITIONS; i++) {
        const double wanted = probability(commits[i].position, (int)commits[i].new_id, gone, 1);
        ck_assert_msg(fabs((double)commits[i].key - wanted) < 2e-6, "key %d is %g, wanted %g", i,
                      (double)commits[i].key, wanted);
    }
    ck_assert_int_eq(world_canvas(&world, 0)[0], WORLD_EOS);
    ck_assert_int_eq(commits[3].position, 3);
    world_release(&world);
}
END_TEST

START_TEST(intended_confidences_put_ends_last)
{
    static const int order[POSITIONS] = {2, 1, 0, 3};
    dllm_trace_record commits[POSITIONS];
    make_case(&world, DLLM_EOS_INTENDED);
    take_run(&world, DLLM_OK);
    ck_assert_int_eq(read_commits(&world, commits), POSITIONS);
    for (int i = 0; i < POSITIONS; i++)
        ck_assert_int_eq(commits[i].position, order[i]);
    world_release(&world);
}
END_TEST

/* A batch of a greedy and a drawn sequence, with the mask suppressed, in every layout of rows. */
START_TEST(published_confidences_are_a_sequence_s_own)
{
    static const int64_t late[] = {WORLD_EOS, EOT, 20};
    for (int gathered = 0; gathered < 2; gathered++) {
        decode_world *out = gathered ? &other : &world;
        world_create(out, "llada");
        out->options.eos_confidence = DLLM_EOS_PUBLISHED;
        out->options.late = late;
        out->options.late_count = 3;
        out->options.draws = 1;
        out->options.guides = 1;
        out->options.layout = gathered ? DLLM_HIDDEN_GATHERED : DLLM_HIDDEN_CANVAS;
        out->sequences[0].steps = 16;
        world_set_canvas(out, 0, 8, 16);
        world_set_canvas(out, 1, 4, 16);
        out->sequences[1].filter.temperature = 0.5f;
        out->sequences[1].cfg_scale = 0.5f;
        take_run(out, DLLM_OK);
    }
    ck_assert_same_canvases(&world, &other);
    world_release(&other);
    world_release(&world);
}
END_TEST

static void worsen_key(dllm_decode_options *options)
{
    options->key = DLLM_KEY_MARGIN;
}

static void worsen_tempered(dllm_decode_options *options)
{
    options->tempered = 1;
}

static void worsen_count(dllm_decode_options *options)
{
    options->late_count = 0;
}

static void worsen_name(dllm_decode_options *options)
{
    options->eos_confidence = (dllm_eos_confidence)2;
}

static const struct {
    void (*worsen)(dllm_decode_options *);
    const char *message;
} bad[] = {
    {worsen_key, "a published eos_confidence wants key confidence, without tempered, penalises and "
                 "candidates"},
    {worsen_tempered,
     "a published eos_confidence wants key confidence, without tempered, penalises "
     "and candidates"},
    {worsen_count, "late_count 0: a published eos_confidence wants EOS and what else ends a text"},
    {worsen_name, "eos_confidence 2 is outside 0 .. 1"},
};

START_TEST(refuses_what_is_not_published)
{
    make_case(&world, DLLM_EOS_PUBLISHED);
    bad[_i].worsen(&world.options);
    ck_assert_refused(bad[_i].message);
    world_release(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_guidance");
    TCase *guidance = tcase_create("guidance");
    tcase_add_loop_test(guidance, the_second_canvas_follows_the_first, 0, PRESETS);
    tcase_add_test(guidance, the_second_canvas_is_masked_where_there_is_no_first);
    tcase_add_test(guidance, tokens_behind_the_prompt_stay);
    tcase_add_loop_test(guidance, a_scale_of_0_decodes_as_without_guidance, 0, PRESETS);
    tcase_add_test(guidance, a_scale_changes_its_own_sequence);
    tcase_add_loop_test(guidance, a_batch_equals_its_sequences_alone, 0, PRESETS);
    tcase_add_loop_test(guidance, layouts_and_id_types_decode_alike, 0, PRESETS);
    tcase_add_loop_test(guidance, bf16_rounds_another_way, 0, 2);
    tcase_add_test(guidance, refuses_a_scale_that_it_cannot_use);
    suite_add_tcase(suite, guidance);
    TCase *published = tcase_create("published");
    tcase_add_test(published, published_confidences_leave_both_ends_out);
    tcase_add_test(published, published_confidences_of_a_draw_leave_eot_out);
    tcase_add_test(published, intended_confidences_put_ends_last);
    tcase_add_test(published, published_confidences_are_a_sequence_s_own);
    tcase_add_loop_test(published, refuses_what_is_not_published, 0, sizeof bad / sizeof bad[0]);
    suite_add_tcase(suite, published);
    return check_suite_run(suite);
}
