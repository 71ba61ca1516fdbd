/* operands.c - places a pattern, runs a plan on it, compares */
#include "operands.h"

#include "families.h"
#include "pattern.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>

enum {
    DISTINCT_ROWS = 61,         /* prime, so that a row of another tile is another row */
    PATTERN_ELEMENTS = 4194301, /* prime: rows of a weight do not repeat */
    COPIES_MAX = 512,
    GUARD_BYTES = 256,
    POISON = 0xff, /* no id, and not a number */
    OUTPUTS = 3
};

/* docs/numerics.md 15 gives a row of a large vocabulary 7e-5; two kernels may differ by both. */
static const double tolerance = 1.5e-4;

static dllm_status check(const dllm_operands *operands, dllm_cu_result result, const char *call)
{
    return dllm__driver_check(&operands->context->driver, result, call);
}

static dllm_status allocate(const dllm_operands *operands, dllm_cu_pointer *out, size_t bytes)
{
    return check(operands, operands->context->driver.memory_allocate(out, bytes), "cuMemAlloc");
}

static size_t rounded(size_t bytes)
{
    return (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
}

static void *pointer_to(dllm_cu_pointer memory)
{
    return (void *)(uintptr_t)memory; /* NOLINT(performance-no-int-to-ptr) device address */
}

/* ---- placing ---- */

/* Fills `total` elements with `count` of a pattern, again and again. */
static dllm_status place(const dllm_operands *operands, dllm_cu_pointer to, dllm_type type,
                         int64_t total, int64_t count, int exponent)
{
    const dllm_driver *driver = &operands->context->driver;
    const int64_t size = dllm__type_bytes(type);
    if (count > total) count = total;
    void *pattern = malloc((size_t)(count * size));
    if (!pattern)
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for %lld elements", (long long)count);
    dllm__pattern_fill(pattern, type, count, exponent, (uint64_t)total);
    dllm_status status =
        check(operands, driver->memory_write(to, pattern, (size_t)(count * size)), "cuMemcpyHtoD");
    free(pattern);
    for (int64_t done = count; status == DLLM_OK && done < total;) {
        const int64_t more = done < total - done ? done : total - done;
        status = check(
            operands,
            driver->memory_copy(to + (dllm_cu_pointer)(done * size), to, (size_t)(more * size)),
            "cuMemcpyDtoD");
        done += more;
    }
    return status;
}

static int64_t width(const dllm_problem *problem)
{
    return problem->operation == DLLM_OPERATION_HEAD ? problem->depth : problem->vocab;
}

static dllm_status place_all(dllm_operands *operands)
{
    const dllm_problem *problem = &operands->problem;
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    const dllm_type streamed_type = head ? problem->weight_type : problem->hidden_type;
    const int64_t streamed = (head ? problem->vocab : problem->rows_max) * width(problem);
    const int64_t streamed_bytes = streamed * dllm__type_bytes(streamed_type);
    const int64_t wanted = 2 * operands->context->device.l2_bytes / streamed_bytes + 1;
    operands->copies = wanted < COPIES_MAX ? wanted : COPIES_MAX;
    const int64_t hidden = problem->rows_max * width(problem) * (head ? 1 : operands->copies);
    const int64_t distinct = operands->distinct_rows * width(problem);
    DLLM_TRY(allocate(operands, &operands->hidden,
                      (size_t)(hidden * dllm__type_bytes(problem->hidden_type))));
    if (!head)
        return place(operands, operands->hidden, problem->hidden_type, hidden, distinct,
                     DLLM_PATTERN_LOGIT_EXPONENT);
    DLLM_TRY(place(operands, operands->hidden, problem->hidden_type, hidden, distinct,
                   dllm__pattern_hidden_exponent(problem->depth)));
    DLLM_TRY(allocate(operands, &operands->weight, (size_t)(streamed_bytes * operands->copies)));
    return place(operands, operands->weight, streamed_type, streamed * operands->copies,
                 PATTERN_ELEMENTS, DLLM_PATTERN_WEIGHT_EXPONENT);
}

/* ---- outputs: guard, argmax, guard, lse, guard, confidence, guard ---- */

static size_t output_bytes(const dllm_operands *operands)
{
    return rounded((size_t)operands->problem.rows_max * sizeof(float));
}

static size_t outputs_bytes(const dllm_operands *operands)
{
    return OUTPUTS * (output_bytes(operands) + GUARD_BYTES) + GUARD_BYTES;
}

static dllm_cu_pointer output_at(const dllm_operands *operands, int number)
{
    return operands->outputs + GUARD_BYTES +
           (dllm_cu_pointer)number * (output_bytes(operands) + GUARD_BYTES);
}

dllm_row_call dllm__operands_call(const dllm_operands *operands, int64_t turn)
{
    const dllm_problem *problem = &operands->problem;
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    const int64_t copy = turn % operands->copies;
    const int64_t rows_bytes =
        problem->rows_max * width(problem) * dllm__type_bytes(problem->hidden_type);
    const int64_t weight_bytes =
        problem->vocab * problem->depth * dllm__type_bytes(problem->weight_type);
    return (dllm_row_call){
        .rows = problem->rows_max,
        .hidden = pointer_to(operands->hidden + (dllm_cu_pointer)(head ? 0 : copy * rows_bytes)),
        .weight =
            head ? pointer_to(operands->weight + (dllm_cu_pointer)(copy * weight_bytes)) : NULL,
        .hidden_stride = width(problem),
        .weight_stride = problem->depth,
        .source_rows = problem->rows_max,
        .workspace = pointer_to(operands->workspace),
        .argmax = pointer_to(output_at(operands, 0)),
        .lse = pointer_to(output_at(operands, 1)),
        .confidence = pointer_to(output_at(operands, 2)),
    };
}

static dllm_status poison(const dllm_operands *operands, size_t workspace_bytes)
{
    const dllm_driver *driver = &operands->context->driver;
    DLLM_TRY(check(operands,
                   driver->memory_fill(operands->outputs, POISON, outputs_bytes(operands)),
                   "cuMemsetD8"));
    return check(operands,
                 driver->memory_fill(operands->workspace + workspace_bytes, POISON, GUARD_BYTES),
                 "cuMemsetD8");
}

static dllm_status check_guard(const dllm_operands *operands, dllm_cu_pointer at, const char *where)
{
    unsigned char bytes[GUARD_BYTES];
    DLLM_TRY(check(operands, operands->context->driver.memory_read(bytes, at, sizeof bytes),
                   "cuMemcpyDtoH"));
    for (int i = 0; i < GUARD_BYTES; i++)
        if (bytes[i] != POISON)
            return dllm__fail(DLLM_DRIVER_FAILED, "byte %d %s was written", i, where);
    return DLLM_OK;
}

static dllm_status check_guards(const dllm_operands *operands, size_t workspace_bytes)
{
    static const char *const where[] = {"before argmax", "behind argmax", "behind lse",
                                        "behind confidence"};
    for (int i = 0; i <= OUTPUTS; i++)
        DLLM_TRY(check_guard(operands, output_at(operands, i) - GUARD_BYTES, where[i]));
    return check_guard(operands, operands->workspace + workspace_bytes, "behind the workspace");
}

/* Poisons, runs turn 0, reads the answers of the first rows, looks at the guards. */
static dllm_status run_guarded(const dllm_operands *operands, const dllm_plan *plan,
                               dllm_answers *answers)
{
    const dllm_driver *driver = &operands->context->driver;
    const size_t bytes = (size_t)answers->rows * sizeof(float);
    dllm_row_call call = dllm__operands_call(operands, 0);
    call.rows = call.source_rows = answers->rows;
    DLLM_TRY(poison(operands, plan->workspace_bytes));
    DLLM_TRY(dllm__plan_run(plan, &call, NULL));
    DLLM_TRY(check(operands, driver->stream_synchronize(NULL), "cuStreamSynchronize"));
    DLLM_TRY(check(operands, driver->memory_read(answers->argmax, output_at(operands, 0), bytes),
                   "cuMemcpyDtoH"));
    DLLM_TRY(check(operands, driver->memory_read(answers->lse, output_at(operands, 1), bytes),
                   "cuMemcpyDtoH"));
    DLLM_TRY(check(operands,
                   driver->memory_read(answers->confidence, output_at(operands, 2), bytes),
                   "cuMemcpyDtoH"));
    return check_guards(operands, plan->workspace_bytes);
}

/* ---- comparing ---- */

static dllm_status compare_row(const dllm_answers *got, const dllm_answers *wanted, int64_t row)
{
    const int64_t from = row % wanted->rows;
    const double lse = (double)wanted->lse[from], confidence = (double)wanted->confidence[from];
    if (got->argmax[row] != wanted->argmax[from])
        return dllm__fail(DLLM_DRIVER_FAILED, "row %lld: argmax %d is not %d", (long long)row,
                          got->argmax[row], wanted->argmax[from]);
    /* written so that a NaN fails */
    if (!(fabs((double)got->lse[row] - lse) <= tolerance * fmax(1.0, fabs(lse))))
        return dllm__fail(DLLM_DRIVER_FAILED, "row %lld: lse %.9g is not %.9g", (long long)row,
                          (double)got->lse[row], lse);
    if (!(fabs((double)got->confidence[row] - confidence) <= tolerance * confidence))
        return dllm__fail(DLLM_DRIVER_FAILED, "row %lld: confidence %.9g is not %.9g",
                          (long long)row, (double)got->confidence[row], confidence);
    return DLLM_OK;
}

dllm_status dllm__operands_check(dllm_operands *operands, const dllm_plan *plan)
{
    DLLM_TRY(run_guarded(operands, plan, &operands->answers));
    for (int64_t row = 0; row < operands->answers.rows; row++)
        DLLM_TRY(compare_row(&operands->answers, &operands->reference, row));
    return DLLM_OK;
}

/* ---- the reference ---- */

static dllm_status allocate_answers(dllm_answers *out, int64_t rows)
{
    out->rows = rows;
    out->argmax = calloc((size_t)rows, sizeof *out->argmax);
    out->lse = calloc((size_t)rows, sizeof *out->lse);
    out->confidence = calloc((size_t)rows, sizeof *out->confidence);
    if (out->argmax && out->lse && out->confidence) return DLLM_OK;
    return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for the answers of %lld rows",
                      (long long)rows);
}

static void release_answers(dllm_answers *answers)
{
    free(answers->argmax);
    free(answers->lse);
    free(answers->confidence);
}

/* The clearest family that there is, on the rows that differ. */
static dllm_status choose_reference(dllm_choice *out, dllm_problem *problem,
                                    const dllm_operands *operands)
{
    *problem = operands->problem;
    problem->rows_max = operands->distinct_rows;
    return dllm__propose(out, dllm__family_find("naive", problem->operation), problem,
                         &operands->context->device);
}

static dllm_status head_reference(dllm_operands *operands)
{
    dllm_problem problem;
    dllm_choice choice;
    dllm_plan *plan = NULL;
    DLLM_TRY(choose_reference(&choice, &problem, operands));
    DLLM_TRY(dllm__plan_create_with(&plan, operands->context, &problem, &choice));
    const dllm_status status = run_guarded(operands, plan, &operands->reference);
    dllm_plan_destroy(plan);
    return status;
}

/* The reference runs in the same workspace as the candidates. */
static dllm_status size_workspace(dllm_operands *operands)
{
    dllm_problem problem;
    dllm_choice choice;
    if (operands->problem.operation != DLLM_OPERATION_HEAD) return DLLM_OK;
    DLLM_TRY(choose_reference(&choice, &problem, operands));
    const size_t bytes =
        choice.family->workspace_bytes(&problem, &choice) + DLLM_WORKSPACE_ALIGNMENT - 1;
    if (bytes > operands->workspace_bytes) operands->workspace_bytes = bytes;
    return DLLM_OK;
}

static dllm_status run_on_cpu(dllm_operands *operands, dllm_context *cpu, const void *logits)
{
    dllm_problem problem = operands->problem;
    dllm_plan *plan = NULL;
    problem.rows_max = operands->distinct_rows;
    DLLM_TRY(dllm__plan_create(&plan, cpu, &problem));
    char *workspace = malloc(plan->workspace_bytes + 1);
    dllm_row_call call = dllm__operands_call(operands, 0);
    call.rows = call.source_rows = problem.rows_max;
    call.hidden = logits;
    call.workspace = workspace;
    call.argmax = operands->reference.argmax;
    call.lse = operands->reference.lse;
    call.confidence = operands->reference.confidence;
    const dllm_status status = workspace ? dllm__plan_run(plan, &call, NULL)
                                         : dllm__fail(DLLM_OUT_OF_MEMORY, "no workspace");
    free(workspace);
    dllm_plan_destroy(plan);
    return status;
}

static dllm_status sampler_reference(dllm_operands *operands)
{
    const dllm_problem *problem = &operands->problem;
    const size_t bytes =
        (size_t)(operands->distinct_rows * problem->vocab * dllm__type_bytes(problem->hidden_type));
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    dllm_context *cpu = NULL;
    options.device = DLLM_DEVICE_CPU;
    void *logits = malloc(bytes);
    if (!logits) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for %zu bytes of logits", bytes);
    dllm_status status =
        check(operands, operands->context->driver.memory_read(logits, operands->hidden, bytes),
              "cuMemcpyDtoH");
    if (status == DLLM_OK) status = dllm_context_create(&cpu, &options);
    if (status == DLLM_OK) status = run_on_cpu(operands, cpu, logits);
    dllm_context_destroy(cpu);
    free(logits);
    return status;
}

static dllm_status fill(dllm_operands *operands)
{
    const bool head = operands->problem.operation == DLLM_OPERATION_HEAD;
    DLLM_TRY(size_workspace(operands));
    DLLM_TRY(allocate_answers(&operands->reference, operands->distinct_rows));
    DLLM_TRY(allocate_answers(&operands->answers, operands->problem.rows_max));
    DLLM_TRY(place_all(operands));
    DLLM_TRY(allocate(operands, &operands->outputs, outputs_bytes(operands)));
    DLLM_TRY(allocate(operands, &operands->workspace, operands->workspace_bytes + GUARD_BYTES));
    return head ? head_reference(operands) : sampler_reference(operands);
}

dllm_status dllm__operands_create(dllm_operands *out, dllm_context *context,
                                  const dllm_problem *problem, size_t workspace_bytes)
{
    const int64_t rows = problem->rows_max;
    *out = (dllm_operands){.context = context,
                           .problem = *problem,
                           .workspace_bytes = workspace_bytes,
                           .distinct_rows = rows < DISTINCT_ROWS ? rows : DISTINCT_ROWS};
    const dllm_status status = fill(out);
    if (status != DLLM_OK) dllm__operands_release(out);
    return status;
}

void dllm__operands_release(dllm_operands *operands)
{
    const dllm_cu_pointer memory[] = {operands->hidden, operands->weight, operands->outputs,
                                      operands->workspace};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (memory[i]) (void)operands->context->driver.memory_free(memory[i]);
    release_answers(&operands->reference);
    release_answers(&operands->answers);
    *operands = (dllm_operands){.context = NULL};
}
