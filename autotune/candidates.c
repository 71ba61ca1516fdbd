/* candidates.c - tiles x stages x splits of every family, the best few splits of each tile */
#include "candidates.h"

#include "estimate.h"
#include "integers.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

enum { STAGES_MAX = 32, WAVES_MAX = 4, SPLITS_KEPT = 6, TARGETS_MAX = 64 };
static const double hopeless = 2.0; /* times the best estimate */

/* What a choice may ask the caller for, unless the rule of thumb does too. */
static const size_t workspace_most = (size_t)16 << 20, workspace_most_chunked = (size_t)64 << 20;

typedef struct enumeration {
    dllm_candidate *out;
    int count;
    const dllm_problem *problem;
    const dllm_device *device;
} enumeration;

static int by_estimate(const void *left, const void *right)
{
    const dllm_candidate *a = left, *b = right;
    return (a->estimate_us > b->estimate_us) - (a->estimate_us < b->estimate_us);
}

/* The columns that splits share. */
static int64_t split_space(const enumeration *all, const dllm_choice *choice)
{
    return choice->family->space->chunked ? choice->chunk_vocab : all->problem->valid_vocab;
}

static void set_splits(dllm_choice *choice, int64_t columns, int64_t wanted)
{
    const int given = choice->family->space->columns_step;
    const int64_t step = given ? given : choice->tile_vocab;
    choice->split_columns = (int)(ceil_div(ceil_div(columns, wanted), step) * step);
    choice->splits = (int)ceil_div(columns, choice->split_columns);
}

/* Split counts worth a thought: few, many, and those that fill whole waves of blocks. */
static int split_targets(int64_t out[TARGETS_MAX], const enumeration *all,
                         const dllm_choice *choice)
{
    static const int64_t counts[] = {1, 2, 3, 4, 6, 8, 11, 12, 16, 22, 24, 33, 44, 66, 88, 132};
    const int64_t rows = all->problem->rows_max > 0 ? all->problem->rows_max : 1;
    const int64_t row_tiles = ceil_div(rows, choice->tile_rows);
    const int64_t slots = (int64_t)all->device->multiprocessors * dllm__blocks_an_sm(choice);
    int count = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        out[count++] = counts[i];
    for (int64_t waves = 1; waves <= WAVES_MAX; waves++) {
        out[count++] = ceil_div(waves * slots, row_tiles);
        if (waves * slots >= row_tiles) out[count++] = waves * slots / row_tiles;
    }
    return count;
}

static bool is_listed(const dllm_candidate *list, int count, const dllm_choice *choice)
{
    for (int i = 0; i < count; i++)
        if (dllm__choice_equal(&list[i].choice, choice)) return true;
    return false;
}

static void add(enumeration *all, const dllm_candidate *candidate)
{
    if (all->count == DLLM_CANDIDATES_MAX) return;
    if (!is_listed(all->out, all->count, &candidate->choice)) all->out[all->count++] = *candidate;
}

/* Splits that gain a per cent are not worth any amount of memory. */
static bool is_modest(const enumeration *all, const dllm_choice *choice)
{
    const dllm_choice *rule = &all->out[0].choice;
    const size_t of_rule = rule->family->workspace_bytes(all->problem, rule);
    const size_t most = choice->family->space->chunked ? workspace_most_chunked : workspace_most;
    const size_t bytes = choice->family->workspace_bytes(all->problem, choice);
    return bytes + DLLM_WORKSPACE_ALIGNMENT <= most || bytes <= of_rule;
}

/* The legal splits of a tile with its stages, the best few by estimate; returns how many. */
static int add_splits(enumeration *all, const dllm_choice *tile)
{
    int64_t targets[TARGETS_MAX];
    dllm_candidate found[TARGETS_MAX];
    const int target_count = split_targets(targets, all, tile);
    int count = 0;
    for (int i = 0; i < target_count; i++) {
        dllm_choice choice = *tile;
        set_splits(&choice, split_space(all, tile), targets[i]);
        if (is_listed(found, count, &choice)) continue;
        if (dllm__check_choice(&choice, all->problem, all->device) != DLLM_OK ||
            !is_modest(all, &choice))
            continue;
        found[count++] = (dllm_candidate){
            .choice = choice, .estimate_us = dllm__estimate_us(all->problem, all->device, &choice)};
    }
    qsort(found, (size_t)count, sizeof found[0], by_estimate);
    if (count > SPLITS_KEPT) count = SPLITS_KEPT;
    for (int i = 0; i < count; i++)
        add(all, &found[i]);
    return count;
}

/* Stages that are an argument: as many as are legal, and half of them. */
static void add_stages(enumeration *all, dllm_choice choice)
{
    int stages = STAGES_MAX;
    for (; stages > 0; stages--) {
        choice.stages = stages;
        if (add_splits(all, &choice) > 0) break;
    }
    choice.stages = stages / 2;
    if (choice.stages > 1) (void)add_splits(all, &choice);
}

/* A chunk of a size that the problem has: a tile's, but no more than all of it. */
static void place_chunk(dllm_choice *choice, const enumeration *all)
{
    const dllm_problem *problem = all->problem;
    const int64_t rows = problem->rows_max > 0 ? problem->rows_max : 1;
    const int64_t columns = (int64_t)choice->tile_vocab * all->device->multiprocessors;
    choice->chunk_rows = (int)(rows < choice->tile_rows ? rows : choice->tile_rows);
    choice->chunk_vocab = (int)(columns < problem->valid_vocab ? columns : problem->valid_vocab);
    choice->tile_rows = choice->chunk_rows;
    choice->tile_vocab = choice->chunk_vocab;
    choice->tile_depth = (int)problem->depth;
}

/* A tile that is mostly padding is left to problems with more rows, but for the family's smallest. */
static bool is_padding(const dllm_space *space, const dllm_tile *tile, int64_t rows)
{
    int smallest = tile->rows;
    for (int i = 0; i < space->tile_count; i++)
        if (space->tiles[i].rows < smallest) smallest = space->tiles[i].rows;
    return tile->rows > smallest && tile->rows >= 2 * rows;
}

static void add_family(enumeration *all, const dllm_family *family)
{
    const dllm_space *space = family->space;
    for (int i = 0; i < space->tile_count; i++) {
        const dllm_tile *tile = &space->tiles[i];
        dllm_choice choice = {.family = family,
                              .tile_rows = tile->rows,
                              .tile_vocab = tile->vocab,
                              .tile_depth = tile->depth,
                              .stages = tile->stages};
        if (is_padding(space, tile, all->problem->rows_max)) continue;
        if (space->chunked) place_chunk(&choice, all);
        if (tile->stages)
            (void)add_splits(all, &choice);
        else
            add_stages(all, choice);
        choice.finishes = space->finishes;
        if (choice.finishes) (void)add_splits(all, &choice);
    }
}

/* Sorts all but the first, and cuts off the hopeless. */
static void cut(enumeration *all)
{
    qsort(all->out + 1, (size_t)all->count - 1, sizeof *all->out, by_estimate);
    double best = all->out[0].estimate_us;
    if (all->count > 1 && all->out[1].estimate_us < best) best = all->out[1].estimate_us;
    while (all->count > 1 && all->out[all->count - 1].estimate_us > hopeless * best)
        all->count--;
}

dllm_status dllm__candidates(dllm_candidate *out, int *count, const dllm_problem *problem,
                             const dllm_device *device)
{
    enumeration all = {.out = out, .count = 1, .problem = problem, .device = device};
    char why[192];
    *count = 0;
    DLLM_TRY(dllm__choose(&out[0].choice, why, problem, device));
    DLLM_TRY(dllm__check_choice(&out[0].choice, problem, device));
    out[0].estimate_us = dllm__estimate_us(problem, device, &out[0].choice);
    for (int f = 0; dllm__family_at(f); f++) {
        const dllm_family *family = dllm__family_at(f);
        if (family->operation == problem->operation && family->space) add_family(&all, family);
    }
    dllm__clear_error();
    cut(&all);
    *count = all.count;
    return DLLM_OK;
}
