/*
 * families.c - the table of kernel families and the rule of thumb between them
 */
#include "families.h"

#include "family_list.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

static const dllm_family *const table[] = {
    &dllm__family_sm90,      &dllm__family_mma,      &dllm__family_gemm_chunk,
    &dllm__family_naive,     &dllm__family_tiled,    &dllm__family_stream,
    &dllm__family_merge,     &dllm__family_cpu_head, &dllm__family_cpu_sampler,
    &dllm__family_cpu_merge,
};

enum { FAMILY_COUNT = sizeof table / sizeof table[0] };

const dllm_family *dllm__family_at(int index)
{
    return index < FAMILY_COUNT ? table[index] : NULL;
}

/* Up to this many rows the weight is read once by mma; above, cuBLAS's product is faster. */
enum { MMA_ROWS = 256, NAIVE_ROWS = 4, GEMM_ROWS = 32, PREFERENCES_MAX = 5 };

/* The families a problem prefers, best first; the first legal one is taken. */
static int preference(const char *out[PREFERENCES_MAX], const dllm_problem *problem,
                      const dllm_device *device, const char **reason)
{
    if (device->is_cpu) {
        out[0] = "cpu";
        *reason = "the device is a CPU";
        return 1;
    }
    if (problem->operation != DLLM_OPERATION_HEAD) {
        const bool sampler = problem->operation == DLLM_OPERATION_SAMPLER;
        out[0] = sampler ? "stream" : "merge";
        *reason = sampler ? "one pass over the logits" : "one pass over the states";
        return 1;
    }
    const bool few = problem->rows_max <= NAIVE_ROWS;
    const bool many =
        problem->rows_max > (problem->hidden_type == DLLM_FP32 ? GEMM_ROWS : MMA_ROWS);
    out[0] = "sm90";
    out[1] = many ? "gemm_chunk" : "mma";
    out[2] = many ? "mma" : (few ? "naive" : "tiled");
    out[3] = few ? "naive" : "tiled";
    out[4] = "tiled";
    *reason = many  ? "many rows: bound by the product"
              : few ? "few rows: bound by reading the weight"
                    : "bound by reading the weight";
    return PREFERENCES_MAX;
}

const dllm_family *dllm__family_find(const char *name, dllm_operation operation)
{
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (table[i]->operation == operation && strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

/* What a choice may look at: a batch-invariant one sees the same rows whatever rows_max is, so that
   kernel, tile and splits do not follow from it. */
static dllm_problem seen_problem(const dllm_problem *problem)
{
    enum { INVARIANT_ROWS = 512 };
    dllm_problem seen = *problem;
    if (problem->behaviour & DLLM_BATCH_INVARIANT) seen.rows_max = INVARIANT_ROWS;
    return seen;
}

dllm_status dllm__propose(dllm_choice *out, const dllm_family *family, const dllm_problem *problem,
                          const dllm_device *device)
{
    *out = (dllm_choice){.family = family, .stages = 1, .splits = 1};
    if (device->is_cpu != family->is_cpu)
        return dllm__fail(DLLM_UNSUPPORTED, "%s: needs %s", family->name,
                          family->is_cpu ? "a context made with DLLM_DEVICE_CPU" : "a GPU");
    DLLM_TRY(dllm__check_ability(family->name, family->able, problem));
    const dllm_problem seen = seen_problem(problem);
    family->propose(&seen, device, out);
    return family->legal(problem, device, out);
}

/* A kernel is there for the tiles of the space alone; a chunk may have any size that is legal. */
static bool is_in_space(const dllm_choice *choice)
{
    const dllm_space *space = choice->family->space;
    for (int i = 0; i < space->tile_count; i++) {
        const dllm_tile *tile = &space->tiles[i];
        if (tile->rows == choice->tile_rows && tile->vocab == choice->tile_vocab &&
            tile->depth == choice->tile_depth &&
            (tile->stages == 0 || tile->stages == choice->stages))
            return true;
    }
    return space->chunked;
}

int dllm__blocks_an_sm(const dllm_choice *choice)
{
    const dllm_space *space = choice->family->space;
    if (!space->wide_blocks) return space->blocks_an_sm;
    const int blocks = space->blocks_an_sm * space->tiles[0].vocab / choice->tile_vocab;
    return blocks > 1 ? blocks : 1;
}

/* Every column is in one split, and no split is empty. */
static bool splits_cover(const dllm_choice *choice, int64_t columns)
{
    const dllm_space *space = choice->family->space;
    const int step = space->columns_step ? space->columns_step : choice->tile_vocab;
    return choice->splits > 0 && choice->split_columns > 0 && choice->split_columns % step == 0 &&
           (int64_t)choice->splits * choice->split_columns >= columns &&
           (int64_t)(choice->splits - 1) * choice->split_columns < columns;
}

dllm_status dllm__check_choice(const dllm_choice *choice, const dllm_problem *problem,
                               const dllm_device *device)
{
    const dllm_family *family = choice->family;
    if (!family->space || device->is_cpu != family->is_cpu)
        return dllm__fail(DLLM_UNSUPPORTED, "%s: has no choices on this device", family->name);
    const bool chunked = family->space->chunked;
    DLLM_TRY(dllm__check_ability(family->name, family->able, problem));
    if (!is_in_space(choice))
        return dllm__fail(DLLM_UNSUPPORTED, "%s: no kernel for tile %d x %d x %d with %d stages",
                          family->name, choice->tile_rows, choice->tile_vocab, choice->tile_depth,
                          choice->stages);
    if (choice->finishes && !family->space->finishes)
        return dllm__fail(DLLM_UNSUPPORTED, "%s: has no kernel that finishes rows", family->name);
    if (chunked && (choice->chunk_rows < 1 || choice->chunk_vocab < 1))
        return dllm__fail(DLLM_UNSUPPORTED, "%s: chunk of %d x %d is empty", family->name,
                          choice->chunk_rows, choice->chunk_vocab);
    if (!splits_cover(choice, chunked ? choice->chunk_vocab : problem->valid_vocab))
        return dllm__fail(DLLM_UNSUPPORTED, "%s: %d splits of %d columns do not cut the vocabulary",
                          family->name, choice->splits, choice->split_columns);
    return family->legal(problem, device, choice);
}

static dllm_status unknown_family(const dllm_problem *problem)
{
    char names[128] = "";
    for (int i = 0; i < FAMILY_COUNT; i++) {
        const size_t used = strlen(names);
        if (table[i]->operation == problem->operation)
            (void)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                           table[i]->name);
    }
    return dllm__fail(DLLM_INVALID_ARGUMENT, "family \"%s\" is not one of %s", problem->family,
                      names);
}

dllm_status dllm__choose(dllm_choice *out, char *why, const dllm_problem *problem,
                         const dllm_device *device)
{
    const char *names[PREFERENCES_MAX], *reason = "";
    if (problem->family[0]) {
        const dllm_family *family = dllm__family_find(problem->family, problem->operation);
        if (!family) return unknown_family(problem);
        (void)snprintf(why, 192, "asked for by name");
        return dllm__propose(out, family, problem, device);
    }
    dllm_status status = dllm__fail(DLLM_UNSUPPORTED, "no family does this operation here");
    dllm_problem seen = seen_problem(problem);
    seen.rows_max *= dllm__copies(problem);
    const int count = preference(names, &seen, device, &reason);
    for (int i = 0; i < count && status != DLLM_OK; i++) {
        const dllm_family *family = dllm__family_find(names[i], problem->operation);
        if (family) status = dllm__propose(out, family, problem, device);
    }
    if (status == DLLM_OK) {
        dllm__clear_error();
        (void)snprintf(why, 192, "%s", reason);
    }
    return status;
}

bool dllm__wants_cublas(const dllm_problem *problem, const dllm_device *device)
{
    dllm_device with_cublas = *device;
    dllm_choice choice = {0};
    char why[192];
    with_cublas.has_cublas = true;
    const dllm_status status = dllm__choose(&choice, why, problem, &with_cublas);
    dllm__clear_error();
    return status == DLLM_OK && choice.family == &dllm__family_gemm_chunk;
}
