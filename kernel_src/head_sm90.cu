/*
 * head_sm90.cu - head on Hopper: wgmma fed by the copy engine, warpgroups in turn or side by side
 *
 *     z[r,v] = sum over h of hidden[r,h] * weight[v,h]      states[split,r] = fold of z[r,v] over
 *                                                           the split's v < valid_vocab
 * hidden   (rows, depth), type DLLM_HIDDEN_TYPE, through a tensor map: 16-byte aligned rows
 * weight   (valid_vocab, depth), the same type, through a tensor map
 * states   (splits, rows) at state_stride
 *
 * With guidance hidden has the lines of pairs.cuh, which gather packs: a lane's rows g and g + 8 are a row
 * and its unconditional one.
 *
 * Grid     persistent, one block a multiprocessor. A unit of work is a row tile and a split; block b
 *          has units b, b + blocks, ... in the order of place_unit.
 * Warps    all warpgroups but the last consume tiles of tile_rows x tile_vocab logits. Two take
 *          turns, so that one folds its tile while the other's products keep the tensor cores busy.
 *          Three share a tile of 192 rows side by side: none of its rows is multiplied in vain when
 *          there are no more, which is worth more than hiding the fold. Rows of hidden are M, rows
 *          of weight N: a lane keeps the same rows from tile to tile, its running states stay in
 *          registers, and lanes and warpgroups meet once, at the end of a unit.
 *          Of the last warpgroup one warp produces, of which one lane starts the copies; the others
 *          leave at once.
 * Pipeline a flat walk over (unit, tile, depth step) through a ring of stages. A stage is 64
 *          elements of depth of hidden_rows rows of hidden and tile_vocab rows of weight. The
 *          warpgroups know from the number of a tile which stage it begins at.
 * Shared   dynamic, bytes
 *              0         barriers, see below, and the row count
 *              512       tile_rows states: what one warpgroup hands to the other; the lowest NaN
 *                        columns; what a lane keeps of its rows beyond max, sum and column
 *              ring_at   stages x [hidden_rows lines | tile_vocab lines] of 128 bytes, swizzled
 *          The products read tile_rows lines of hidden whatever a stage has of them: the lines that
 *          follow then stand in for rows that do not exist, and nothing looks at their logits.
 * Barriers (mbarrier)        arrivals                         waited for by
 *              full[stage]   producer, and the stage's bytes  the warpgroups whose tile it is
 *              empty[stage]  those warpgroups, once a warp    producer
 *              with turns alone:
 *              turn[group]   the other group, once a warp,    that group, before its products
 *                            after its last product's issue
 *              shares_full   the group that did not fold a    the other, to write the states
 *                            unit's last tile, 128
 *              shares_empty  the other, 128, after reading    that group, before the next shares
 * Limits   (the host's) rows and valid_vocab at most 2^31 - 1 - 256; units and steps below 2^32; a
 *          split has at most 1,024 tiles, so that a lane adds at most 1,024 tile sums into one.
 */
#include "base.cuh"
#include "griddepcontrol.cuh"
#include "mbarrier.cuh"
#include "reduce.cuh"
#include "sm90_block.cuh"
#include "state.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

/* ---- producer -----------------------------------------------------------------------------------
 */

/* Where a tile is read: its rows, its first column, its boxes of columns. A box of the last row tile ends
 * with the rows: the copy engine is slow where it has zeros to write (autotune/facts.md). */
struct tile_source {
    const dllm_tensor_map &hidden;
    int32_t row;
    int32_t rows;
    int32_t column;
    int boxes;
};

DLLM_DEVICE tile_source find_source(const dllm_sm90_params &params, const unit_place &work,
                                    int32_t column)
{
    const bool last = work.row >= params.last_tile;
    const int32_t boxes = ceil_div(work.column_end - column, int32_t{DLLM_SM90_BOX_ROWS});
    return {last ? params.last_hidden : params.hidden, work.row,
            last ? params.last_rows : params.hidden_rows, column,
            smaller(boxes, tile_vocab / DLLM_SM90_BOX_ROWS)};
}

/* Waits until a stage is free and says what it will receive; returns its barrier. */
DLLM_DEVICE uint32_t claim_stage(ring_place place, const tile_source &source, bool elected)
{
    const uint32_t full = shared_base() + 8 * place.stage;
    const auto lines = static_cast<uint32_t>(source.rows + source.boxes * DLLM_SM90_BOX_ROWS);
    mbarrier_wait(full + empty_at, place.parity ^ 1);
    if (elected) mbarrier_arrive_expect_tx(full, lines * line_bytes);
    return full;
}

/* Fills the next STEPS stages. Two at a time the copies ask for 256 bytes in sequence of each row,
 * which memory gives 2 % faster than 128 bytes here and there. */
template <int STEPS, bool ONCE>
DLLM_DEVICE void load_steps(const dllm_sm90_params &params, ring_place &place,
                            const tile_source &source, int32_t depth, bool elected)
{
    uint32_t full[STEPS];
    uint32_t target[STEPS];
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        full[step] = claim_stage(place, source, elected);
        target[step] = shared_base() + ring_at + place.stage * stage_bytes(params);
        tma_load(target[step], source.hidden, source.row, depth + step * step_depth, full[step],
                 elected);
        target[step] += static_cast<uint32_t>(params.hidden_rows) * line_bytes;
        next_stage(place, params);
    }
    int32_t column = source.column;
    for (int box = 0; box < source.boxes; box++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            tma_load<ONCE>(target[step], params.weight, column, depth + step * step_depth,
                           full[step], elected);
            target[step] += box_bytes;
        }
        column += DLLM_SM90_BOX_ROWS;
    }
}

/* STEPS: stages at a time; ONCE: no other block reads this weight. */
template <int STEPS, bool ONCE> DLLM_DEVICE void produce(const dllm_sm90_params &params)
{
    const bool elected = elect_lane();
    ring_place place = {0, 0};
    for (uint32_t unit = blockIdx.x; unit < unit_count(params); unit += gridDim.x) {
        const unit_place work = place_unit(params, unit);
        for (int32_t column = work.column_begin; column < work.column_end; column += tile_vocab) {
            const tile_source source = find_source(params, work, column);
            int32_t depth = 0;
            for (; depth + (STEPS - 1) * step_depth < params.depth; depth += STEPS * step_depth) {
                load_steps<STEPS, ONCE>(params, place, source, depth, elected);
            }
            if (depth < params.depth) load_steps<1, ONCE>(params, place, source, depth, elected);
        }
    }
}

/* ---- consumers ----------------------------------------------------------------------------------
 */

/* The calling warp arrives; what its lanes did before is done. */
DLLM_DEVICE void warp_arrive(uint32_t barrier)
{
    if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(barrier);
}

/* Has the accumulators in their registers here, not only where the first product wants them: moved
 * in between the products, their zeros would make the assembler serialise all of these. */
DLLM_DEVICE void pin(accumulators &sums)
{
#pragma unroll
    for (int block = 0; block < row_blocks; block++) {
#pragma unroll
        for (float &value : sums.value[block]) {
            asm volatile("" : "+f"(value)::"memory");
        }
    }
}

/* The first row of the tile that is the calling warpgroup's. */
DLLM_DEVICE int32_t part_row()
{
    if (parts == 1) return 0;
    return static_cast<int32_t>(warp_group() / turns) * part_rows;
}

/* One tile's products, of the first BLOCKS blocks of the part's 64 rows. A stage is given back when
 * the products of the stage after it have been issued. */
template <int BLOCKS>
DLLM_DEVICE void multiply_tile(accumulators &sums, const dllm_sm90_params &params, ring_place place)
{
    const uint32_t hidden_bytes = static_cast<uint32_t>(params.hidden_rows) * line_bytes;
    const uint32_t part_bytes = static_cast<uint32_t>(part_row()) * line_bytes;
    uint32_t before = 0;
    for (int32_t depth = 0; depth < params.depth; depth += step_depth) {
        const uint32_t full = shared_base() + 8 * place.stage;
        const uint32_t stage = shared_base() + ring_at + place.stage * stage_bytes(params);
        mbarrier_wait(full, place.parity);
        const uint64_t hidden = wgmma_descriptor(stage + part_bytes);
        const uint64_t weight = wgmma_descriptor(stage + hidden_bytes);
        wgmma_fence();
#pragma unroll
        for (int inner = 0; inner < inner_steps; inner++) {
#pragma unroll
            for (int block = 0; block < BLOCKS; block++) {
                wgmma_k16<operand_type>(sums.value[block], hidden + 2 * inner + 512 * block,
                                        weight + 2 * inner);
            }
        }
        wgmma_commit_group();
        wgmma_wait_group<1>();
        if (depth > 0) warp_arrive(before);
        before = full + empty_at;
        next_stage(place, params);
    }
}

/* Gives back the last stage once its products are finished. */
DLLM_DEVICE void finish_tile(const dllm_sm90_params &params, uint32_t last_step)
{
    wgmma_wait_group<0>();
    warp_arrive(shared_base() + empty_at + 8 * place_step(params, last_step).stage);
}

/* Blocks of 64 rows beyond the last row are not multiplied. row: the part's first */
DLLM_DEVICE void multiply_rows(accumulators &sums, const dllm_sm90_params &params, int32_t row,
                               ring_place place)
{
    const int32_t rows = run_rows() - row;
    if (rows > 64 * (row_blocks - 1)) {
        multiply_tile<row_blocks>(sums, params, place);
    } else if (parts > 1 && rows <= 0) {
        multiply_tile<0>(sums, params, place);
    } else if (row_blocks <= 2 || rows <= 64) {
        multiply_tile<1>(sums, params, place);
    } else {
        multiply_tile<row_blocks == 3 ? 2 : 1>(sums, params, place);
    }
}

/* threadIdx.x, read here and now: what the fold makes of it would else be computed before the
 * loops and held, and the largest tile has no register left for it. */
DLLM_DEVICE int thread_index_again()
{
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* A lane's r-th row, counted in its warpgroup's part of the tile. */
DLLM_DEVICE int lane_row(int thread, int r)
{
    const int line = r * copies;
    thread %= group_threads;
    return line / 2 * 64 + thread / warp_lanes * 16 + line % 2 * 8 + thread % warp_lanes / 4;
}

/* The logits of a lane's line: every second of its rows with guidance. */
DLLM_DEVICE void take_line(float (&z)[lane_columns], const accumulators &sums, int line)
{
#pragma unroll
    for (int j = 0; j < lane_columns; j++) {
        z[j] = sums.value[line / 2][j / 2 * 4 + line % 2 * 2 + j % 2];
    }
}

/* A word of a lane's row in shared memory. Those of a warp's lanes are neighbours. */
template <typename T> DLLM_DEVICE T &lane_word(int thread, int r, int word)
{
    return reinterpret_cast<T *>(
        shared_memory + extras_at)[(word * lane_rows + r) * groups * group_threads + thread];
}

/* The state of a lane's r-th row, but for its NaN column. */
DLLM_DEVICE row_state take_state(const lane_state (&states)[lane_rows], int thread, int r)
{
    row_state state = {states[r].max, states[r].sum, states[r].column, DLLM_NO_COLUMN};
    int word = 0;
    extra_each(state, [&](auto &value) {
        value = lane_word<remove_reference<decltype(value)>>(thread, r, word++);
    });
    return state;
}

DLLM_DEVICE void put_state(lane_state (&states)[lane_rows], row_state state, int thread, int r)
{
    states[r] = {state.max, state.sum, state.column};
    int word = 0;
    extra_each(state, [&](auto &value) {
        lane_word<remove_reference<decltype(value)>>(thread, r, word++) = value;
    });
}

/* The context of a lane's r-th row; row: the part's first. Warpgroups that take turns each keep a list of
 * a row's candidates. */
DLLM_DEVICE row_context lane_context(const dllm_sm90_params &params, int32_t row, int32_t split,
                                     int thread, int r)
{
    const int turn = turns > 1 ? thread / group_threads : 0;
    return find_context(params, row_of_line(row + lane_row(thread, r)),
                        static_cast<int64_t>(split) * turns + turn);
}

/* row: the part's first; column: the tile's first */
DLLM_DEVICE void fold_tile(lane_state (&states)[lane_rows], const dllm_sm90_params &params,
                           const accumulators &sums, const unit_place &work, int32_t column)
{
    const int32_t row = work.row + part_row();
    const int32_t rows = run_rows() - row;
    const int thread = thread_index_again();
    const int32_t first = column + thread % 4 * 2;
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        if (lane_row(thread, r) >= rows) continue;
        float z[lane_columns];
        take_line(z, sums, r * copies);
        row_state state = take_state(states, thread, r);
        state_fold_lines<lane_columns, 2, 8>(
            state, z, first, work.column_end, lane_context(params, row, work.split, thread, r),
            [&](float(&u)[lane_columns]) { take_line(u, sums, r * copies + 1); });
        put_state(states, state, thread, r);
        if (state.nan_column != DLLM_NO_COLUMN) {
            atomicMin(&nan_columns(thread)[lane_row(thread, r)], state.nan_column);
        }
    }
}

/* Between two tiles: every lane of a warp is here, also those of rows that do not exist. */
DLLM_DEVICE void settle_lists(const dllm_sm90_params &params, const unit_place &work)
{
    if constexpr (!has_candidates) return;
    const int thread = thread_index_again();
#pragma unroll 1
    for (int r = 0; r < lane_rows; r++) {
        list_settle<4, tile_vocab>(
            lane_context(params, work.row + part_row(), work.split, thread, r));
    }
}

/* The state of a quad's row, from its four lanes; the row's NaN column is cleared. */
DLLM_DEVICE row_state quad_state(const lane_state (&states)[lane_rows], int thread, int r,
                                 const row_context &context)
{
    row_state part = take_state(states, thread, r);
    if (thread % 4 == 0) {
        part.nan_column = nan_columns(thread)[lane_row(thread, r)];
        nan_columns(thread)[lane_row(thread, r)] = DLLM_NO_COLUMN;
    }
    return lanes_merge<4>(part, context);
}

/* One lane of a quad hands over. */
DLLM_DEVICE void put_shares(const dllm_sm90_params &params, int32_t row,
                            const lane_state (&states)[lane_rows], uint32_t parity)
{
    const int thread = thread_index_again();
    mbarrier_wait(shared_base() + shares_empty_at, parity ^ 1);
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        const row_context context = find_context(params, row_of_line(row + lane_row(thread, r)), 0);
        const row_state merged = quad_state(states, thread, r, context);
        if (thread % 4 == 0) shares()[lane_row(thread, r)] = merged;
    }
    mbarrier_arrive(shared_base() + shares_full_at);
}

/* Rows of the run that there are states of; run_rows() are lines with guidance. */
DLLM_DEVICE int32_t stored_rows(const dllm_sm90_params &params)
{
    return has_guidance ? static_cast<int32_t>(row_count(params)) : run_rows();
}

DLLM_DEVICE void store_states(const dllm_sm90_params &params, const unit_place &work,
                              const lane_state (&states)[lane_rows], bool shared, uint32_t parity)
{
    const int thread = thread_index_again();
    const int32_t rows = stored_rows(params);
    if (shared) mbarrier_wait(shared_base() + shares_full_at, parity);
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        const int32_t row = row_of_line(work.row + part_row() + lane_row(thread, r));
        const row_context context = find_context(params, row, 0);
        row_state merged = quad_state(states, thread, r, context);
        if (shared) merged = state_merge(merged, shares()[lane_row(thread, r)], context);
        if (thread % 4 == 0 && row < rows) {
            store_state(params, work.split * params.state_stride + row, merged);
        }
    }
    if (shared) mbarrier_arrive(shared_base() + shares_empty_at);
}

/* The accumulators of one tile of a unit: the products wait for their turn, if there are turns. */
DLLM_DEVICE void multiply_turn(accumulators &sums, const dllm_sm90_params &params, int32_t row,
                               uint32_t tile)
{
    const uint32_t group = warp_group();
    const uint32_t turn = shared_base() + turn_at;
    const auto steps = static_cast<uint32_t>(ceil_div(params.depth, step_depth));
    if (turns > 1) mbarrier_wait(turn + 8 * group, (tile / 2 + group + 1) % 2);
    multiply_rows(sums, params, row, place_step(params, tile * steps));
    if (turns > 1) warp_arrive(turn + 8 * (group ^ 1));
    finish_tile(params, (tile + 1) * steps - 1);
}

/* The tiles of a unit that are this warpgroup's, folded. first_tile: number of the unit's first
 * tile among all tiles of the block. */
DLLM_DEVICE void fold_unit(lane_state (&states)[lane_rows], const dllm_sm90_params &params,
                           const unit_place &work, uint32_t first_tile)
{
    const uint32_t group = warp_group();
    const int32_t row = work.row + part_row();
#pragma unroll
    for (int r = 0; r < lane_rows; r++) {
        const int thread = static_cast<int>(threadIdx.x);
        put_state(states, state_neutral(), thread, r);
        list_begin(lane_context(params, row, work.split, thread, r));
    }
    uint32_t tile = first_tile + (turns > 1 ? (first_tile + group) % 2 : 0);
    int32_t column = work.column_begin + static_cast<int32_t>(tile - first_tile) * tile_vocab;
    for (; column < work.column_end; column += turns * tile_vocab) {
        accumulators sums = {};
        pin(sums);
        multiply_turn(sums, params, row, tile);
        fold_tile(states, params, sums, work, column);
        settle_lists(params, work);
        tile += turns;
    }
}

/* Whole rows of a unit, from one warpgroup or from two that took turns. The one that folded the last
 * tile writes. handed: units that were handed over before. */
DLLM_DEVICE void finish_unit(const dllm_sm90_params &params, const unit_place &work,
                             const lane_state (&states)[lane_rows], bool last, uint32_t handed)
{
    const bool shared = turns > 1 && work.column_end - work.column_begin > tile_vocab;
    if (turns == 1 || last) {
        store_states(params, work, states, shared, handed % 2);
    } else if (shared) {
        put_shares(params, work.row + part_row(), states, handed % 2);
    }
}

DLLM_DEVICE void consume(const dllm_sm90_params &params)
{
    const uint32_t group = warp_group();
    uint32_t tile = 0;
    uint32_t handed = 0;
    for (uint32_t unit = blockIdx.x; unit < unit_count(params); unit += gridDim.x) {
        const unit_place work = place_unit(params, unit);
        const auto tiles = static_cast<uint32_t>(
            ceil_div(work.column_end - work.column_begin, int32_t{tile_vocab}));
        lane_state states[lane_rows];
        fold_unit(states, params, work, tile);
        tile += tiles;
        __syncwarp(); /* the lanes' NaN columns */
        if (unit + gridDim.x >= unit_count(params)) griddepcontrol_launch_dependents();
        finish_unit(params, work, states, (tile - 1) % 2 == group, handed);
        __syncwarp();
        if (tiles > 1) handed++;
    }
}

DLLM_DEVICE void prepare_shared(const dllm_sm90_params &params)
{
    for (int r = static_cast<int>(threadIdx.x); r < turns * tile_rows; r += block_threads) {
        nan_columns(0)[r] = DLLM_NO_COLUMN;
    }
    if (threadIdx.x == 0) {
        constexpr uint32_t warps = group_threads / warp_lanes; /* of a warpgroup */
        const uint32_t barriers = shared_base();
        found_rows() = static_cast<int32_t>(line_count(row_count(params)));
        for (int stage = 0; stage < params.stages; stage++) {
            mbarrier_init(barriers + 8 * stage, 1);
            mbarrier_init(barriers + empty_at + 8 * stage, parts * warps);
        }
        mbarrier_init(barriers + turn_at, warps);
        mbarrier_init(barriers + turn_at + 8, warps);
        mbarrier_init(barriers + shares_full_at, group_threads);
        mbarrier_init(barriers + shares_empty_at, group_threads);
        fence_mbarrier_init();
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(block_threads, 1)
    head_sm90(const __grid_constant__ dllm_sm90_params params)
{
    if (threadIdx.x == 0) {
        tma_prefetch_map(params.hidden);
        tma_prefetch_map(params.last_hidden);
        tma_prefetch_map(params.weight);
    }
    prepare_shared(params);
    if (warp_group() == groups) {
        setmaxnreg_dec<producer_registers>();
        if (uniform(threadIdx.x / warp_lanes) % (group_threads / warp_lanes) == 0) {
            if (params.pairs) {
                produce<2, true>(params);
            } else if (row_tile_count() == 1) {
                produce<1, true>(params);
            } else {
                produce<1, false>(params);
            }
        }
    } else {
        setmaxnreg_inc<consumer_registers>();
        consume(params);
    }
}
