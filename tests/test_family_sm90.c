/* test_family_sm90.c - what a run of the sm90 head launches, over the fake driver */
#include "check_suite.h"

#include "fake_driver.h"
#include "families.h"
#include "family_list.h"
#include "sm90_params.h"

#include <string.h>

enum { VOCAB = 126464, DEPTH = 4096, KERNELS = 3, MULTIPROCESSORS = 132, LAUNCHES_MAX = 4 };

static const char *const entries[KERNELS] = {"head_sm90", "combine", "gather"};

/* Operands are never read here: addresses alone matter. */
static _Alignas(256) char memory[1024];
static dllm_context context;
static dllm_plan plan;

static struct {
    int count;
    const char *entries[LAUNCHES_MAX];
    const int64_t *rows_device[LAUNCHES_MAX];
    unsigned grids[LAUNCHES_MAX];
    fake_launch_record head;
    dllm_sm90_params params;
} seen;

static void note_launch(void *user, const fake_launch_record *launch)
{
    (void)user;
    const void *params = launch->parameters[0];
    const int64_t **rows_device = &seen.rows_device[seen.count];
    ck_assert_int_lt(seen.count, LAUNCHES_MAX);
    seen.grids[seen.count] = launch->grid[0];
    seen.entries[seen.count++] = launch->entry;
    if (strcmp(launch->entry, "gather") == 0)
        *rows_device = ((const dllm_gather_params *)params)->rows_device;
    if (strcmp(launch->entry, "combine") == 0)
        *rows_device = ((const dllm_combine_params *)params)->rows_device;
    if (strcmp(launch->entry, "head_sm90") != 0) return;
    seen.head = *launch;
    memcpy(&seen.params, params, sizeof seen.params);
    *rows_device = seen.params.rows_device;
}

static void load_kernels(dllm_plan_entry *entry)
{
    dllm_cu_module module;
    const dllm_driver *driver = &context.driver;
    ck_assert_int_eq(driver->module_load(&module, memory), DLLM_CU_SUCCESS);
    for (int i = 0; i < KERNELS; i++) {
        const int shared_bytes = dllm__family_sm90.shared_bytes(&plan.problem, &entry->choice, i);
        ck_assert_int_eq(driver->module_function(&entry->kernels[i], module, entries[i]),
                         DLLM_CU_SUCCESS);
        ck_assert_int_eq(driver->function_set_attribute(entry->kernels[i],
                                                        DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                                        shared_bytes),
                         DLLM_CU_SUCCESS);
    }
}

/* A plan as prepare makes it, but for its kernels. */
static void make_plan_of(uint32_t outputs, int64_t rows_max, uint32_t inputs)
{
    dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
    dllm_plan_entry *entry = &plan.entries[0];
    fake_driver_start(&context.driver);
    fake_driver_enter();
    fake_driver_on_launch(note_launch, NULL);
    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(dllm__device_typical(&context.device, "sm_90a"), DLLM_OK);
    options.vocab = VOCAB;
    options.depth = DEPTH;
    options.rows_max = rows_max;
    options.hidden_type = options.weight_type = DLLM_BF16;
    options.outputs = outputs;
    options.temperature = 1;
    options.inputs = inputs;
    plan = (dllm_plan){.context = &context, .entry_count = 1};
    ck_assert_int_eq(dllm__head_problem(&plan.problem, &options), DLLM_OK);
    entry->problem = plan.problem;
    entry->choice = (dllm_choice){.family = &dllm__family_sm90, .stages = 1, .splits = 1};
    dllm__family_sm90.propose(&plan.problem, &context.device, &entry->choice);
    ck_assert_int_eq(dllm__family_sm90.legal(&plan.problem, &context.device, &entry->choice),
                     DLLM_OK);
    load_kernels(entry);
}

static void make_plan(int64_t rows_max, uint32_t inputs)
{
    make_plan_of(DLLM_OUT_ARGMAX, rows_max, inputs);
}

static dllm_row_call call_of(int64_t rows)
{
    return (dllm_row_call){.rows = rows,
                           .hidden = memory,
                           .weight = memory + 256,
                           .hidden_stride = 5000,
                           .weight_stride = 6000,
                           .source_rows = rows,
                           .workspace = memory + 512};
}

static void run(const dllm_row_call *call)
{
    ck_assert_msg(dllm__family_sm90.run(&plan, &plan.entries[0], call, NULL) == DLLM_OK, "%s",
                  dllm_last_error());
}

static const int64_t row_counts[] = {1,   8,   16,  63,  64,  65,  100, 128,  129,  160,
                                     192, 193, 256, 320, 384, 500, 512, 1000, 4096, 16384};

enum { ROW_COUNTS = sizeof row_counts / sizeof row_counts[0] };

/* Every column of every row belongs to one unit, and no block of the grid is without one. */
START_TEST(units_cover_rows_and_columns)
{
    const int64_t rows = row_counts[_i];
    make_plan(rows, 0);
    const dllm_row_call call = call_of(rows);
    run(&call);
    const dllm_sm90_params *p = &seen.params;
    const int tile_rows = plan.entries[0].choice.tile_rows;
    ck_assert_int_eq(p->rows, rows);
    ck_assert_int_ge((int64_t)p->splits * p->split_columns, VOCAB);
    ck_assert_int_lt((int64_t)(p->splits - 1) * p->split_columns, VOCAB);
    ck_assert_uint_le(seen.head.grid[0],
                      (unsigned)((rows + tile_rows - 1) / tile_rows * p->splits));
    ck_assert_uint_le(seen.head.grid[0], MULTIPROCESSORS);
}
END_TEST

/* The ring lies behind barriers and shares, and all of it within what the device has. */
START_TEST(the_ring_fits)
{
    const int64_t rows = row_counts[_i];
    make_plan(rows, 0);
    const dllm_row_call call = call_of(rows);
    run(&call);
    const dllm_choice *choice = &plan.entries[0].choice;
    const int stage = (seen.params.hidden_rows + choice->tile_vocab) * DLLM_SM90_LINE_BYTES;
    ck_assert_int_ge(seen.params.stages, 2);
    ck_assert_int_le(seen.params.stages, DLLM_SM90_STAGES_MAX);
    ck_assert_uint_eq(
        seen.head.shared_bytes,
        (unsigned)(DLLM_SM90_RING_AT(choice->tile_rows, choice->tile_rows == 192 ? 1 : 2, 0) +
                   seen.params.stages * stage));
    ck_assert_uint_le(seen.head.shared_bytes, (unsigned)context.device.shared_bytes_max);
}
END_TEST

/* What lanes keep of more statistics lies before the ring, which loses a stage or two by it. */
START_TEST(the_ring_fits_beside_more_statistics)
{
    enum { WORDS = 6 }; /* entropy, second, draw */
    const int64_t rows = row_counts[_i];
    make_plan_of(DLLM_OUT_ENTROPY | DLLM_OUT_MARGIN | DLLM_OUT_GUMBEL_ID, rows, 0);
    const dllm_row_call call = call_of(rows);
    run(&call);
    const dllm_choice *choice = &plan.entries[0].choice;
    const int turns = choice->tile_rows == 192 ? 1 : 2;
    const int stage = (seen.params.hidden_rows + choice->tile_vocab) * DLLM_SM90_LINE_BYTES;
    ck_assert_int_ge(seen.params.stages, 4);
    ck_assert_int_le(choice->tile_rows > 64 ? choice->tile_vocab : 0, 128);
    ck_assert_uint_eq(seen.head.shared_bytes,
                      (unsigned)(DLLM_SM90_RING_AT(choice->tile_rows, turns, WORDS) +
                                 seen.params.stages * stage));
    ck_assert_uint_le(seen.head.shared_bytes, (unsigned)context.device.shared_bytes_max);
    ck_assert_ptr_nonnull(seen.params.further.extras);
}
END_TEST

START_TEST(maps_are_those_of_the_operands)
{
    make_plan(128, 0);
    const dllm_row_call call = call_of(100);
    run(&call);
    const fake_tensor hidden = fake_driver_tensor(&seen.params.hidden);
    const fake_tensor weight = fake_driver_tensor(&seen.params.weight);
    ck_assert_uint_eq(hidden.base, (uintptr_t)memory);
    ck_assert_uint_eq(hidden.rows, 100);
    ck_assert_uint_eq(hidden.stride_bytes, 10000);
    ck_assert_uint_eq(hidden.box_rows, (uint32_t)seen.params.hidden_rows);
    ck_assert_uint_eq(weight.base, (uintptr_t)memory + 256);
    ck_assert_uint_eq(weight.rows, VOCAB);
    ck_assert_uint_eq(weight.stride_bytes, 12000);
    ck_assert_uint_eq(weight.box_rows, DLLM_SM90_BOX_ROWS);
}
END_TEST

/* A stage has no more lines of hidden than the call needs, though the plan was made for more. */
START_TEST(fewer_rows_make_smaller_boxes)
{
    make_plan(64, 0);
    const dllm_row_call call = call_of(3);
    run(&call);
    ck_assert_int_eq(seen.params.hidden_rows, 8);
    ck_assert_int_eq(seen.params.splits, plan.entries[0].choice.splits);
}
END_TEST

START_TEST(gathered_rows_are_packed_behind_the_states)
{
    static const int32_t index[3] = {2, 0, 1};
    make_plan(16, DLLM_IN_ROW_INDEX);
    dllm_row_call call = call_of(3);
    call.row_index = index;
    run(&call);
    const fake_tensor hidden = fake_driver_tensor(&seen.params.hidden);
    const size_t states = (size_t)plan.entries[0].choice.splits * 16 * sizeof(dllm_row_state);
    ck_assert_int_eq(seen.count, 3);
    ck_assert_str_eq(seen.entries[0], "gather");
    ck_assert_str_eq(seen.entries[2], "combine");
    ck_assert_uint_eq(hidden.base, (uintptr_t)call.workspace + (states + 255) / 256 * 256);
    ck_assert_uint_eq(hidden.stride_bytes, (uintmax_t)DEPTH * 2);
}
END_TEST

/* Two lines a row, in groups of 16: in the packed copy, in the map, in stages and units. */
START_TEST(guided_rows_are_packed_as_lines)
{
    static const float scales[1];
    const int64_t rows = row_counts[_i], lines = (rows + 7) / 8 * 16;
    make_plan(rows, DLLM_IN_CFG_SCALE);
    dllm_row_call call = call_of(rows);
    call.cfg_scale = scales;
    run(&call);
    const dllm_choice *choice = &plan.entries[0].choice;
    const fake_tensor hidden = fake_driver_tensor(&seen.params.hidden);
    const int64_t units = (lines + choice->tile_rows - 1) / choice->tile_rows * choice->splits;
    ck_assert_int_eq(seen.count, 3);
    ck_assert_str_eq(seen.entries[0], "gather");
    ck_assert_uint_eq(seen.grids[0], (unsigned)lines);
    ck_assert_uint_eq(hidden.rows, (uint64_t)lines);
    ck_assert_int_eq(seen.params.rows, rows);
    ck_assert_int_eq(seen.params.hidden_rows % 16, 0);
    ck_assert_uint_eq(seen.grids[1], (unsigned)(units < MULTIPROCESSORS ? units : MULTIPROCESSORS));
    ck_assert_uint_eq(seen.grids[2], (unsigned)(rows + 3) / 4);
    ck_assert_ptr_eq(seen.params.guidance.scales, scales);
    ck_assert_uint_ge(dllm__family_sm90.workspace_bytes(&plan.problem, choice),
                      (size_t)lines * DEPTH * 2 +
                          (size_t)(choice->splits * rows) * sizeof(dllm_row_state));
}
END_TEST

START_TEST(every_kernel_has_the_row_count_of_the_device)
{
    static const int32_t index[3] = {2, 0, 1};
    static const int64_t rows = 2;
    make_plan(16, DLLM_IN_ROW_INDEX | DLLM_IN_ROWS_DEVICE);
    dllm_row_call call = call_of(3);
    call.row_index = index;
    call.rows_device = &rows;
    run(&call);
    ck_assert_int_eq(seen.count, 3);
    for (int i = 0; i < seen.count; i++)
        ck_assert_msg(seen.rows_device[i] == &rows, "%s", seen.entries[i]);
}
END_TEST

START_TEST(combine_hides_its_launch_behind_the_head)
{
    make_plan(16, 0);
    const dllm_row_call call = call_of(16);
    context.device.dependent_launch = true;
    run(&call);
    ck_assert_int_eq(seen.count, 2);
    ck_assert(!seen.head.dependent);
    ck_assert(fake_driver_last_launch().dependent);
}
END_TEST

/* Without extras a warp a row and four of them a block. Blocks that waited for the head in one place would
   take their turns there. */
static const struct {
    int64_t rows;
    uint32_t outputs;
    unsigned blocks, threads;
    unsigned together; /* on a multiprocessor; 0: any */
} combines[] = {{1, DLLM_OUT_LSE, 1, 128, 2},         {1056, DLLM_OUT_LSE, 264, 128, 2},
                {1057, DLLM_OUT_LSE, 265, 128, 0},    {1, DLLM_OUT_ENTROPY, 1, 32, 1},
                {64, DLLM_OUT_ENTROPY, 64, 32, 1},    {132, DLLM_OUT_ENTROPY, 132, 32, 1},
                {133, DLLM_OUT_MARGIN, 133, 32, 2},   {1056, DLLM_OUT_GUMBEL_ID, 1056, 32, 8},
                {1057, DLLM_OUT_ENTROPY, 1057, 32, 0}};

START_TEST(combine_is_spread_over_the_device)
{
    enum { RESERVED = 1 << 10 }; /* of each block, by the driver */
    make_plan_of(combines[_i].outputs, combines[_i].rows, 0);
    const dllm_row_call call = call_of(combines[_i].rows);
    run(&call);
    const fake_launch_record combine = fake_driver_last_launch();
    const unsigned most = (unsigned)context.device.shared_bytes_max + RESERVED;
    const unsigned each = combine.shared_bytes + RESERVED;
    ck_assert_str_eq(combine.entry, "combine");
    ck_assert_uint_eq(combine.grid[0], combines[_i].blocks);
    ck_assert_uint_eq(combine.block[0], combines[_i].threads);
    ck_assert_uint_eq(combine.shared_bytes != 0, combines[_i].together != 0);
    if (combines[_i].together) ck_assert_uint_eq(most / each, combines[_i].together);
}
END_TEST

/* Rows that are drawn, and what else the lanes keep of them. */
static const struct {
    uint32_t outputs, inputs;
    bool in_double;
} draws[] = {
    {0, 0, true},
    {0, DLLM_IN_ROW_KEY | DLLM_IN_ROW_SEED | DLLM_IN_SUPPRESS | DLLM_IN_PENALTY, true},
    {0, DLLM_IN_BIAS, false},
    {0, DLLM_IN_NOISE, false},
    {DLLM_OUT_ENTROPY, 0, false},
    {DLLM_OUT_MARGIN, 0, false},
    {DLLM_OUT_TARGET_LOGPROB, DLLM_IN_TARGET, false},
};

static bool is_defined(const dllm_kernel_spec *spec, const char *name)
{
    for (int i = 0; i < spec->define_count; i++)
        if (strcmp(spec->defines[i].name, name) == 0) return true;
    return false;
}

START_TEST(a_draw_beside_anything_else_takes_no_products_in_double)
{
    static const int64_t rows[] = {1, 64, 100, 128, 129};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        dllm_kernel_spec specs[DLLM_PLAN_KERNELS_MAX];
        const bool wanted = draws[_i].in_double && rows[r] <= 128;
        make_plan_of(DLLM_OUT_GUMBEL_ID | draws[_i].outputs, rows[r],
                     DLLM_IN_TEMPERATURE | draws[_i].inputs);
        const dllm_plan_entry *entry = &plan.entries[0];
        ck_assert_int_gt(dllm__family_sm90.kernels(&entry->problem, &entry->choice, specs), 0);
        ck_assert_msg(is_defined(&specs[0], "DLLM_UPPER_IN_DOUBLE") == wanted, "%d rows",
                      (int)rows[r]);
        if (rows[r] == 100) ck_assert_int_eq(entry->choice.tile_rows, wanted ? 64 : 128);
    }
}
END_TEST

START_TEST(other_devices_and_types_are_refused)
{
    dllm_device device;
    make_plan(16, 0);
    const dllm_choice *choice = &plan.entries[0].choice;
    ck_assert_int_eq(dllm__device_typical(&device, "sm_100"), DLLM_OK);
    ck_assert_int_eq(dllm__family_sm90.legal(&plan.problem, &device, choice), DLLM_UNSUPPORTED);
    plan.problem.weight_type = DLLM_FP16;
    ck_assert_int_eq(dllm__family_sm90.legal(&plan.problem, &context.device, choice),
                     DLLM_UNSUPPORTED);
    plan.problem.weight_type = DLLM_BF16;
    plan.problem.alignment_bytes = 8;
    ck_assert_int_eq(dllm__family_sm90.legal(&plan.problem, &context.device, choice),
                     DLLM_UNSUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("family_sm90");
    TCase *group = tcase_create("run");
    tcase_add_loop_test(group, units_cover_rows_and_columns, 0, ROW_COUNTS);
    tcase_add_loop_test(group, the_ring_fits, 0, ROW_COUNTS);
    tcase_add_loop_test(group, the_ring_fits_beside_more_statistics, 0, ROW_COUNTS);
    tcase_add_test(group, maps_are_those_of_the_operands);
    tcase_add_test(group, fewer_rows_make_smaller_boxes);
    tcase_add_test(group, gathered_rows_are_packed_behind_the_states);
    tcase_add_loop_test(group, guided_rows_are_packed_as_lines, 0, ROW_COUNTS);
    tcase_add_test(group, every_kernel_has_the_row_count_of_the_device);
    tcase_add_test(group, combine_hides_its_launch_behind_the_head);
    tcase_add_loop_test(group, combine_is_spread_over_the_device, 0,
                        sizeof combines / sizeof combines[0]);
    tcase_add_test(group, other_devices_and_types_are_refused);
    tcase_add_loop_test(group, a_draw_beside_anything_else_takes_no_products_in_double, 0,
                        sizeof draws / sizeof draws[0]);
    suite_add_tcase(suite, group);
    return check_suite_run(suite);
}
