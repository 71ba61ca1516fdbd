/* test_decode_arguments.c - what the decode loop refuses before it launches anything, and how it says so */
#include "check_suite.h"
#include "decode_world.h"

#include <math.h>
#include <string.h>

static decode_world world;

static void worsen_block(dllm_sequence *sequence)
{
    sequence->block_length = 5;
}

static void worsen_steps(dllm_sequence *sequence)
{
    sequence->block_length = 4;
    sequence->steps = 5;
}

static void worsen_schedule(dllm_sequence *sequence)
{
    sequence->steps = 0;
}

static void worsen_threshold(dllm_sequence *sequence)
{
    sequence->selection.threshold = NAN;
}

static void worsen_temperature(dllm_sequence *sequence)
{
    sequence->filter.temperature = 1;
}

static void worsen_length(dllm_sequence *sequence)
{
    sequence->prompt = WORLD_LENGTH - 7;
}

static void worsen_eos(dllm_sequence *sequence)
{
    sequence->eos_count = 1;
}

static void worsen_end(dllm_sequence *sequence)
{
    static const int64_t ends[] = {WORLD_EOS, WORLD_MASK};
    sequence->eos_count = 2;
    sequence->eos = ends;
}

static void worsen_two_limits(dllm_sequence *sequence)
{
    sequence->steps_per_block = 2;
}

static void worsen_count(dllm_sequence *sequence)
{
    sequence->schedule = DLLM_SCHEDULED_NONE;
    sequence->steps = 0;
}

static void worsen_coins(dllm_sequence *sequence)
{
    sequence->selection.name = DLLM_SELECTION_COINS;
    sequence->order_temperature = 0.5f;
}

static const struct {
    void (*worsen)(dllm_sequence *);
    const char *message;
} bad[] = {
    {worsen_block, "sequence 0: block_length 5 does not divide generate 8"},
    {worsen_steps, "sequence 0: 2 blocks do not divide steps 5"},
    {worsen_schedule, "sequence 0: steps 0, steps_per_block 0: a schedule wants one"},
    {worsen_threshold, "sequence 0: threshold nan is not finite"},
    {worsen_temperature, "sequence 0: a temperature wants draws 1"},
    {worsen_length, "sequence 0: generate 8 is outside 0 .. 7"},
    {worsen_eos, "sequence 0: eos is NULL"},
    {worsen_end, "sequence 0: 23 is an end of sequence and the mask"},
    {worsen_two_limits, "sequence 0: steps 4, steps_per_block 2: a schedule wants one"},
    {worsen_count, "sequence 0: count 0 commits nothing, and neither schedule nor steps are given"},
    {worsen_coins, "sequence 0: coins want order_temperature 0"},
};

START_TEST(refuses_a_bad_sequence)
{
    world_create(&world, "llada");
    world.sequences[0].steps = 4;
    world_set_canvas(&world, 0, 4, 8);
    bad[_i].worsen(&world.sequences[0]);
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), bad[_i].message);
    ck_assert_int_eq(dllm_decode_step(world.decode, NULL), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "decode has not begun a run");
    world_release(&world);
}
END_TEST

static void ck_assert_refused(const char *message)
{
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_msg(strstr(dllm_last_error(), message), "%s", dllm_last_error());
}

START_TEST(refuses_steps_of_all_blocks_where_blocks_are_aligned)
{
    world_create(&world, "llada2");
    world_set_canvas(&world, 0, 0, 3);
    world.sequences[0].block_length = 4; /* longer than what is generated */
    world.sequences[0].steps_per_block = 0;
    world.sequences[0].steps = 10;
    ck_assert_refused("sequence 0: steps 10 with aligned blocks, which want steps_per_block");
    world_release(&world);
}
END_TEST

START_TEST(refuses_a_mask_that_may_be_predicted_for_ever)
{
    world_create(&world, "llada");
    world.options.mask_rule = (dllm_mask_rule)_i;
    world_set_canvas(&world, 0, 4, 8);
    worsen_count(&world.sequences[0]);
    world.sequences[0].selection.count = 1;
    ck_assert_refused("sequence 0: a mask that may be predicted wants steps or steps_per_block");
    world.sequences[0].steps = 8;
    ck_assert_msg(world_begin(&world) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_OK);
    world_release(&world);
}
END_TEST

START_TEST(refuses_bad_buffers)
{
    world_create(&world, "threshold");
    world_set_canvas(&world, 0, 4, 8);
    ck_assert_msg(world_begin(&world) == DLLM_OK, "%s", dllm_last_error());
    const dllm_decode_buffers good = world.buffers;
    const struct {
        const char *message;
        dllm_decode_buffers buffers;
    } cases[] = {{"canvas at ", {.canvas = (char *)good.canvas + 4}},
                 {"hidden stride 3 is below", {.hidden_stride = 3}},
                 {"weight stride 5 is below", {.weight_stride = 5}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dllm_decode_buffers buffers = good;
        if (cases[i].buffers.canvas) buffers.canvas = cases[i].buffers.canvas;
        buffers.hidden_stride = cases[i].buffers.hidden_stride;
        buffers.weight_stride = cases[i].buffers.weight_stride;
        ck_assert_int_eq(dllm_decode_begin(world.decode, &buffers, world.sequences, 1, NULL),
                         DLLM_INVALID_ARGUMENT);
        ck_assert_msg(strstr(dllm_last_error(), cases[i].message), "%s", dllm_last_error());
    }
    world_release(&world);
}
END_TEST

START_TEST(refuses_bad_options)
{
    dllm_decode_options options;
    dllm_sequence sequence;
    world_create(&world, "llada");
    world.options.mask_id = WORLD_VOCAB;
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "mask_id 24 is outside 0 .. 23");
    world.options.mask_id = WORLD_MASK;
    world.options.block_length_max = 8193;
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    world.options.block_length_max = WORLD_LENGTH;
    world.options.trunk = NULL;
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), "trunk is NULL");
    ck_assert_int_eq(dllm_decode_preset(&options, &sequence, "lada"), DLLM_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(dllm_last_error(), "\"lada\" is none of llada, threshold"));
    world_release(&world);
}
END_TEST

/* The mask is one more than the caller's: with it -1 would be none, and the largest none either. */
START_TEST(refuses_a_suppress_max_that_does_not_count)
{
    static const struct {
        int32_t suppress_max;
        const char *message;
    } outside[] = {{-1, "head.suppress_max -1 is outside 0 .. 2147483631"},
                   {INT32_MAX, "head.suppress_max 2147483647 is outside 0 .. 2147483631"}};
    world_create(&world, "llada");
    world.options.head.suppress_max = outside[_i].suppress_max;
    ck_assert_int_eq(world_begin(&world), DLLM_INVALID_ARGUMENT);
    ck_assert_str_eq(dllm_last_error(), outside[_i].message);
    world_release(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_arguments");
    TCase *arguments = tcase_create("arguments");
    tcase_add_loop_test(arguments, refuses_a_bad_sequence, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(arguments, refuses_steps_of_all_blocks_where_blocks_are_aligned);
    tcase_add_loop_test(arguments, refuses_a_mask_that_may_be_predicted_for_ever, DLLM_MASK_EXCLUDE,
                        DLLM_MASK_ALLOW + 1);
    tcase_add_test(arguments, refuses_bad_buffers);
    tcase_add_test(arguments, refuses_bad_options);
    tcase_add_loop_test(arguments, refuses_a_suppress_max_that_does_not_count, 0, 2);
    suite_add_tcase(suite, arguments);
    return check_suite_run(suite);
}
