/* measure.c - captures batches and reads the clock of the device */
#include "measure.h"

#include "status.h"

#include <math.h>

enum { BATCH_MAX = 512 };
static const double batch_us = 500.0;  /* shorter, and the events count too much */
static const double alone_us = 2000.0; /* longer, and what was before does not matter */

static dllm_status check(const dllm_measure *measure, dllm_cu_result result, const char *call)
{
    return dllm__driver_check(&measure->operands.context->driver, result, call);
}

static const dllm_driver *driver_of(const dllm_measure *measure)
{
    return &measure->operands.context->driver;
}

static dllm_status create_parts(dllm_measure *measure)
{
    const dllm_driver *driver = driver_of(measure);
    DLLM_TRY(check(measure, driver->stream_create(&measure->stream, 0), "cuStreamCreate"));
    DLLM_TRY(check(measure, driver->event_create(&measure->begin, 0), "cuEventCreate"));
    return check(measure, driver->event_create(&measure->end, 0), "cuEventCreate");
}

dllm_status dllm__measure_create(dllm_measure *out, dllm_context *context,
                                 const dllm_problem *problem, size_t workspace_bytes)
{
    *out = (dllm_measure){.stream = NULL};
    DLLM_TRY(dllm__operands_create(&out->operands, context, problem, workspace_bytes));
    const dllm_status status = create_parts(out);
    if (status != DLLM_OK) dllm__measure_release(out);
    return status;
}

void dllm__measure_release(dllm_measure *measure)
{
    if (measure->end) (void)driver_of(measure)->event_destroy(measure->end);
    if (measure->begin) (void)driver_of(measure)->event_destroy(measure->begin);
    if (measure->stream) (void)driver_of(measure)->stream_destroy(measure->stream);
    dllm__operands_release(&measure->operands);
    *measure = (dllm_measure){.stream = NULL};
}

/* ---- one choice ---- */

static dllm_status run(const dllm_trial *trial, const dllm_measure *measure, int turn)
{
    const dllm_row_call call = dllm__operands_call(&measure->operands, turn);
    return dllm__plan_run(trial->plan, &call, measure->stream);
}

static dllm_status elapsed(const dllm_measure *measure, double *us)
{
    float ms = 0.0f;
    DLLM_TRY(check(measure, driver_of(measure)->stream_synchronize(measure->stream),
                   "cuStreamSynchronize"));
    DLLM_TRY(check(measure, driver_of(measure)->event_elapsed(&ms, measure->begin, measure->end),
                   "cuEventElapsedTime"));
    *us = 1000.0 * (double)ms;
    return DLLM_OK;
}

/* A batch is long enough to be timed, and goes through all copies of what is streamed. */
static dllm_status plan_batch(dllm_trial *trial, const dllm_measure *measure)
{
    const dllm_driver *driver = driver_of(measure);
    double us = 0.0;
    DLLM_TRY(run(trial, measure, 0));
    DLLM_TRY(
        check(measure, driver->event_record(measure->begin, measure->stream), "cuEventRecord"));
    DLLM_TRY(run(trial, measure, 1));
    DLLM_TRY(check(measure, driver->event_record(measure->end, measure->stream), "cuEventRecord"));
    DLLM_TRY(elapsed(measure, &us));
    const double copies = measure->operands.copies > 1 ? (double)measure->operands.copies : 1.0;
    const double runs = fmax(copies, ceil(batch_us / fmax(us, 0.5)));
    trial->batch = (int)fmin(runs, BATCH_MAX);
    trial->warms_itself = us * trial->batch > alone_us;
    return DLLM_OK;
}

/* An unfinished capture is ended too, or the stream could do nothing else. */
static dllm_status capture(dllm_trial *trial, const dllm_measure *measure)
{
    const dllm_driver *driver = driver_of(measure);
    dllm_cu_graph graph = NULL;
    DLLM_TRY(check(measure, driver->capture_begin(measure->stream, DLLM_CU_CAPTURE_THREAD_LOCAL),
                   "cuStreamBeginCapture"));
    dllm_status status = DLLM_OK;
    for (int i = 0; status == DLLM_OK && i < trial->batch; i++)
        status = run(trial, measure, i);
    const dllm_cu_result ended = driver->capture_end(measure->stream, &graph);
    if (status == DLLM_OK) status = check(measure, ended, "cuStreamEndCapture");
    if (status == DLLM_OK)
        status = check(measure, driver->graph_instantiate(&trial->graph, graph, 0),
                       "cuGraphInstantiateWithFlags");
    if (graph) (void)driver->graph_destroy(graph);
    return status;
}

dllm_status dllm__trial_open(dllm_trial *trial, dllm_measure *measure, const dllm_choice *choice)
{
    dllm_operands *operands = &measure->operands;
    DLLM_TRY(dllm__plan_create_with(&trial->plan, operands->context, &operands->problem, choice));
    DLLM_TRY(dllm__operands_check(operands, trial->plan));
    DLLM_TRY(plan_batch(trial, measure));
    return capture(trial, measure);
}

dllm_status dllm__trial_sample(const dllm_trial *trial, const dllm_measure *measure, double *us)
{
    const dllm_driver *driver = driver_of(measure);
    if (!trial->warms_itself)
        DLLM_TRY(
            check(measure, driver->graph_launch(trial->graph, measure->stream), "cuGraphLaunch"));
    DLLM_TRY(
        check(measure, driver->event_record(measure->begin, measure->stream), "cuEventRecord"));
    DLLM_TRY(check(measure, driver->graph_launch(trial->graph, measure->stream), "cuGraphLaunch"));
    DLLM_TRY(check(measure, driver->event_record(measure->end, measure->stream), "cuEventRecord"));
    DLLM_TRY(elapsed(measure, us));
    *us /= trial->batch;
    return DLLM_OK;
}

void dllm__trial_release(dllm_trial *trial, const dllm_measure *measure)
{
    if (trial->graph) (void)driver_of(measure)->graph_release(trial->graph);
    dllm_plan_destroy(trial->plan);
    *trial = (dllm_trial){.plan = NULL};
}
