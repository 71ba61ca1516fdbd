/* cpu_merge.c - merge on the CPU: a task a row */
#include "cpu_head.h"

#include "cpu_candidates.h"
#include "cpu_row.h"

typedef struct merge_pass {
    const dllm_problem *problem;
    const dllm_row_call *call;
} merge_pass;

static void merge_row(void *user, int64_t number, int worker)
{
    (void)worker;
    const merge_pass *pass = user;
    const dllm_row_call *call = pass->call;
    const int count = pass->problem->candidates;
    const char *states = call->states + number * (int64_t)dllm__state_bytes(pass->problem);
    dllm_state_candidate list[DLLM_CPU_CANDIDATES_MAX];
    const dllm_cpu_rule rule = {
        .statistics = dllm__statistics(pass->problem),
        .temperature = dllm__cpu_sum_temperature(pass->problem, call, number),
    };
    const dllm_state state =
        dllm__cpu_state_merge_all(states, call->shard_stride_bytes, call->shards, &rule);
    const dllm_row_values values = dllm__cpu_state_finish(&state, rule.temperature);
    const bool listed = rule.statistics & DLLM_STATISTIC_CANDIDATES;
    if (listed) dllm__cpu_candidates_init(list, count);
    for (int64_t shard = 0; listed && shard < call->shards; shard++)
        dllm__cpu_candidates_merge(
            list, count,
            (const dllm_state_candidate *)(const void *)(states + shard * call->shard_stride_bytes +
                                                         sizeof state));
    dllm__cpu_row_write(pass->problem, call, number, &values, listed ? list : NULL);
}

void dllm__cpu_merge_run(dllm_cpu_pool *pool, const dllm_problem *problem,
                         const dllm_row_call *call)
{
    merge_pass pass = {problem, call};
    dllm__cpu_pool_run(pool, merge_row, &pass, call->rows);
}
