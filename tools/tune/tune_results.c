/* tune_results.c - one shape's tuning as a JSON object */
#include "tune_results.h"

#include <stdio.h>

#include "tune_store.h"

static const char *type_name(dllm_type type)
{
    static const char *const names[] = {"none", "bf16", "fp16", "fp32"};
    return names[type];
}

void tune_choice_words(char *out, size_t bytes, const dllm_choice *choice)
{
    (void)snprintf(out, bytes, "%s %dx%d stages %d splits %d%s", choice->family->name,
                   choice->tile_rows, choice->tile_vocab, choice->stages, choice->splits,
                   choice->finishes ? " finishing" : "");
}

static const char *fate(const dllm_tuning *tuning, int number)
{
    const dllm_contender *contender = &tuning->contenders[number];
    if (contender->failed) return "failed";
    if (number == tuning->winner) return "winner";
    if (contender->sample_count == 0) return "not measured";
    return contender->dropped ? "dropped" : "finalist";
}

static json_t *candidate_json(const dllm_tuning *tuning, int number)
{
    const dllm_candidate *candidate = &tuning->candidates[number];
    const dllm_contender *contender = &tuning->contenders[number];
    const dllm_choice *choice = &candidate->choice;
    char words[96];
    tune_choice_words(words, sizeof words, choice);
    return json_pack("{ss ss ss si si si si si si si sf sf sf sf si so}", "words", words, "family",
                     choice->family->name, "fate", fate(tuning, number), "tile_rows",
                     choice->tile_rows, "tile_vocab", choice->tile_vocab, "tile_depth",
                     choice->tile_depth, "stages", choice->stages, "splits", choice->splits,
                     "split_columns", choice->split_columns, "finishes", choice->finishes,
                     "estimate_us", candidate->estimate_us, "median_us", contender->median_us,
                     "spread_us", contender->spread_us, "ratio", contender->ratio, "samples",
                     contender->sample_count, "why", tune_json_text(contender->why));
}

json_t *tune_result_json(const tune_shape *shape, const dllm_tuning *tuning)
{
    const dllm_problem *problem = &tuning->problem;
    const bool head = problem->operation == DLLM_OPERATION_HEAD;
    json_t *candidates = json_array();
    for (int i = 0; i < tuning->count; i++)
        (void)json_array_append_new(candidates, candidate_json(tuning, i));
    return json_pack(
        "{ss ss sI sI ss ss sI ss si si sf sf sf sb so}", "set", shape->name, "operation",
        head ? "head" : "sampler", "vocab", (json_int_t)problem->valid_vocab, "depth",
        (json_int_t)problem->depth, "hidden_type", type_name(problem->hidden_type), "weight_type",
        type_name(problem->weight_type), "rows", (json_int_t)problem->rows_max, "verdict",
        dllm__verdict_name(tuning->verdict), "winner", tuning->winner, "runner_up",
        tuning->runner_up, "gain", tuning->gain, "floor_us", tuning->floor_us, "seconds",
        tuning->seconds, "stored", tuning->stored, "candidates", candidates);
}
