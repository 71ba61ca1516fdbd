/* row_fixture.c - the device, the family and the rows that a test of a row suite runs on */
#include "row_fixture.h"

/* Check hands a test nothing but its number, so the suite that runs is kept here. */
static row_suite_setup setup;
static row_suite_device opened;

void row_fixture_set(const row_suite_setup *with)
{
    setup = *with;
}

const row_suite_setup *row_fixture_setup(void)
{
    return &setup;
}

row_suite_device *row_fixture_device(void)
{
    return &opened;
}

void row_fixture_open(void)
{
    row_suite_open(&opened, setup.device);
}

void row_fixture_close(void)
{
    row_suite_close(&opened);
}

const char *row_fixture_family(int index)
{
    return setup.families[index / ROW_VARIANTS];
}

row_shape row_fixture_shape(int index)
{
    const uint32_t guided = FEATURE_GUIDANCE; /* by what is not exact: it does not round */
    const uint32_t all = FEATURE_GUIDANCE - 1 - FEATURE_WORDS - FEATURE_ROUND;
    const uint32_t features[ROW_VARIANTS] = {0, all, all | guided};
    return (row_shape){.seed = 7,
                       .is_head = setup.is_head,
                       .values = VALUES_REAL,
                       .hidden_type = DLLM_BF16,
                       .weight_type = DLLM_BF16,
                       .rows = ROW_FIXTURE_ROWS,
                       /* a sampler's rows in several splits, where devices have clusters */
                       .vocab = setup.is_head ? 1000 : 5000,
                       .depth = setup.is_head ? 72 : 0,
                       .features = features[index % ROW_VARIANTS]};
}

void row_fixture_run(row_result *out, const row_problem *problem)
{
    const row_outcome outcome = row_run(out, &opened.memory, opened.context, problem);
    ck_assert_msg(outcome == ROW_RAN, "%s: %s", problem->family, out->message.text);
}

bool row_fixture_make(row_data *out, const row_shape *shape, int index)
{
    dllm_plan *plan = NULL;
    ck_assert(row_data_make(out, shape));
    out->problem.family = row_fixture_family(index);
    const dllm_status status = row_prepare(&plan, opened.context, &out->problem, 0);
    dllm_plan_destroy(plan);
    if (status != DLLM_UNSUPPORTED || index % ROW_VARIANTS == 0) return true;
    row_data_release(out);
    return false;
}
