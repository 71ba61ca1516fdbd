/*
 * simt_decode_device.c - a decode loop on a fake device whose kernels run on the host
 *
 * The driver and the compiler are fakes. A launch of a decode kernel runs its source through the
 * shim; what a head would have written is computed by the CPU backend just before it is read.
 */
#include "check_suite.h"
#include "decode.h"
#include "decode_world.h"
#include "fake_driver.h"
#include "scratch.h"
#include "simt_rows.h"
#include "simt_shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRESETS = 12 };

static char folder[SCRATCH_BYTES];
static decode_world world, other;
static dllm_plan *head; /* of the world, on the CPU */
static void *workspace;
static char wrong[256];

/* ---- the device --------------------------------------------------------------------------- */

static void run_head(void)
{
    dllm_head_buffers buffers = world.decode->buffers;
    buffers.workspace = workspace;
    buffers.workspace_bytes = dllm_plan_workspace_bytes(head);
    if (dllm_head_run(head, &buffers, NULL) != DLLM_OK)
        (void)snprintf(wrong, sizeof wrong, "%s", dllm_last_error());
}

static void run_kernel(void *user, const fake_launch_record *launch)
{
    char name[64];
    (void)user;
    if (strncmp(launch->entry, "decode_", 7) != 0) return;
    if (strcmp(launch->entry, "decode_select") == 0) run_head();
    (void)snprintf(name, sizeof name, "%s_step", launch->entry);
    const simt_variant *variant = simt_variant_find(name);
    const char *reason = simt_run(variant->body, launch->parameters[0], launch->grid[0],
                                  launch->block[0], SIMT_FIRST_COME);
    if (reason) (void)snprintf(wrong, sizeof wrong, "%s: %s", name, reason);
}

/* The CPU's head for what the loop on the device asks of its own. */
static void make_head(dllm_decode *decode)
{
    dllm_head_options options = decode->head;
    options.family = NULL;
    ck_assert_msg(dllm_head_prepare(&head, other.context, &options) == DLLM_OK, "%s",
                  dllm_last_error());
    workspace = malloc(dllm_plan_workspace_bytes(head));
    ck_assert_ptr_nonnull(workspace);
}

static void make_world(decode_world *out, int preset)
{
    const char *name = dllm_decode_preset_name(preset);
    world_create(out, name);
    dllm_sequence *sequence = &out->sequences[0];
    sequence->block_length = strcmp(name, "dream") == 0 ? 0 : 8;
    if (sequence->steps) sequence->steps = 8;
    if (sequence->steps_per_block) sequence->steps_per_block = 4;
    sequence->selection.gamma = 0.5f;
    world_set_canvas(out, 0, 8, 16);
    world_set_canvas(out, 1, 0, 24);
    if (out->sequences[1].steps) out->sequences[1].steps = 12;
}

static void make_worlds(int preset)
{
    static dllm_driver table;
    wrong[0] = '\0';
    make_world(&other, preset);
    make_world(&world, preset);
    dllm_context_destroy(world.context);
    fake_driver_start(&table);
    fake_driver_on_launch(run_kernel, NULL);
    ck_assert_msg(dllm_context_create(&world.context, NULL) == DLLM_OK, "%s", dllm_last_error());
    world.options.head.family = "naive";
    world.prepared = make_head;
}

static void guide_worlds(void)
{
    decode_world *const worlds[] = {&world, &other};
    for (int i = 0; i < 2; i++) {
        worlds[i]->options.guides = 1;
        worlds[i]->sequences[0].cfg_scale = 1.5f;
    }
}

static void release_worlds(void)
{
    world_release(&world);
    dllm_plan_destroy(head);
    free(workspace);
    world_release(&other);
    ck_assert_int_eq(fake_driver_live(), 0);
}

/* ---- tests -------------------------------------------------------------------------------- */

START_TEST(a_device_decodes_as_the_cpu_does)
{
    make_worlds(_i % PRESETS);
    if (_i >= PRESETS) guide_worlds();
    ck_assert_msg(world_begin(&world) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_msg(dllm_decode_run(world.decode, NULL) == DLLM_OK, "%s", dllm_last_error());
    ck_assert_str_eq(wrong, "");
    ck_assert_int_eq(world_begin(&other), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(other.decode, NULL), DLLM_OK);
    for (int s = 0; s < world.count; s++) {
        const dllm_sequence_status got = world_status(&world, s), wanted = world_status(&other, s);
        ck_assert_mem_eq(world_canvas(&world, s), world_canvas(&other, s),
                         WORLD_LENGTH * sizeof(int64_t));
        /* idle forwards, which the CPU has none of, may change the rest */
        ck_assert_mem_eq(&got, &wanted, offsetof(dllm_sequence_status, internal));
    }
    release_worlds();
}
END_TEST

START_TEST(a_step_waits_for_nothing)
{
    make_worlds(1);
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    const int calls = fake_driver_calls(), launches = fake_driver_launches();
    ck_assert_int_eq(dllm_decode_step(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(fake_driver_launches() - launches, 4); /* list, head, combine, select */
    ck_assert_int_eq(fake_driver_calls() - calls, 4 + 6);   /* three pushes and pops */
    ck_assert_int_eq(fake_driver_calls_of("cuStreamSynchronize"), 0);
    ck_assert_int_eq(fake_driver_calls_of("cuEventQuery"), 0);
    release_worlds();
}
END_TEST

/* Guidance and the pass of published confidences are launches, and no more. */
START_TEST(a_guided_step_waits_for_nothing)
{
    static const int64_t late[] = {WORLD_EOS, 7};
    make_worlds(0);
    guide_worlds();
    world.options.eos_confidence = DLLM_EOS_PUBLISHED;
    world.options.late = late;
    world.options.late_count = 2;
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    const int calls = fake_driver_calls(), launches = fake_driver_launches();
    ck_assert_int_eq(dllm_decode_step(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(fake_driver_launches() - launches, 6); /* head and combine twice */
    ck_assert_int_eq(fake_driver_calls() - calls, 6 + 8);
    release_worlds();
}
END_TEST

START_TEST(steps_run_ahead_of_what_was_seen)
{
    dllm_batch_status batch = {.struct_size = sizeof batch};
    make_worlds(1);
    world.options.lookahead = _i;
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_decode_read(world.decode, &batch, NULL, 0), DLLM_OK);
    ck_assert_int_eq(batch.idle_forwards, _i);
    ck_assert_int_eq(world.forwards, batch.forwards + _i);
    release_worlds();
}
END_TEST

START_TEST(a_cancelled_run_goes_on)
{
    make_worlds(0);
    world.cancels_at = 1;
    ck_assert_int_eq(world_begin(&world), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_INCOMPLETE);
    ck_assert_int_eq(world_status(&world, 0).state, DLLM_DECODE_CANCELLED);
    ck_assert_int_eq(dllm_decode_resume(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(world.decode, NULL), DLLM_OK);
    ck_assert_int_eq(world_begin(&other), DLLM_OK);
    ck_assert_int_eq(dllm_decode_run(other.decode, NULL), DLLM_OK);
    for (int s = 0; s < world.count; s++)
        ck_assert_mem_eq(world_canvas(&world, s), world_canvas(&other, s),
                         WORLD_LENGTH * sizeof(int64_t));
    release_worlds();
}
END_TEST

/* One life of a loop; everything of it is released. */
static dllm_status live_once(void)
{
    head = NULL;
    workspace = NULL;
    dllm_status status = world_begin(&world);
    if (status == DLLM_OK) status = dllm_decode_run(world.decode, NULL);
    fake_driver_fail_call(0, 999);
    free(world.buffers.workspace);
    dllm_decode_destroy(world.decode);
    dllm_plan_destroy(head);
    free(workspace);
    world.decode = NULL;
    world.buffers.workspace = NULL;
    return status;
}

START_TEST(every_driver_call_may_fail)
{
    enum { CALLS = 120 };
    int failures = 0;
    make_worlds(1);
    ck_assert_int_eq(live_once(), DLLM_OK); /* kernels are loaded now */
    const int live = fake_driver_live();
    for (int n = 1; n <= CALLS; n++) {
        for (int s = 0; s < 2; s++)
            world_set_canvas(&world, s, s ? 0 : 8, s ? 24 : 16);
        fake_driver_fail_call(n, 999);
        const dllm_status status = live_once();
        failures += status == DLLM_DRIVER_FAILED;
        ck_assert_msg(status == DLLM_OK || status == DLLM_DRIVER_FAILED, "call %d: %d", n, status);
        ck_assert_int_eq(fake_driver_live(), live);
    }
    ck_assert_int_gt(failures, CALLS / 2); /* the others took a context away */
    head = NULL;
    workspace = NULL;
    release_worlds();
}
END_TEST

static void remove_folder(void)
{
    scratch_remove(folder);
}

static void set_environment(void)
{
    scratch_make(folder);
    (void)setenv("DLLM_CACHE_DIR", folder, 1);
    (void)setenv("DLLM_NVRTC", DLLM_BINARY_DIR "/tests/libfake_nvrtc.so", 1);
}

int main(void)
{
    Suite *suite = suite_create("simt_decode_device");
    TCase *runs = tcase_create("runs");
    tcase_add_unchecked_fixture(runs, set_environment, remove_folder);
    tcase_add_loop_test(runs, a_device_decodes_as_the_cpu_does, 0, 2 * PRESETS);
    tcase_add_test(runs, a_step_waits_for_nothing);
    tcase_add_test(runs, a_guided_step_waits_for_nothing);
    tcase_add_loop_test(runs, steps_run_ahead_of_what_was_seen, 0, 4);
    tcase_add_test(runs, a_cancelled_run_goes_on);
    tcase_add_test(runs, every_driver_call_may_fail);
    suite_add_tcase(suite, runs);
    return check_suite_run(suite);
}
