/*
 * decode_keys.c - the keys of a block's positions and the commit of a step, on host memory
 *
 * Checks arguments; the rules themselves are in decode_rules.h, which the kernels compile as well.
 */
#include "argument.h"
#include "decode_rules.h"
#include "status.h"

enum { LATE_MAX = 64 };

_Static_assert((int)DLLM_KEY_ENTROPY == (int)DLLM_SCORE_ENTROPY &&
                   (int)DLLM_KEY_MARGIN == (int)DLLM_SCORE_MARGIN,
               "one numbering of keys");
_Static_assert((int)DLLM_UNUSABLE_FLAGS ==
                       (DLLM_FLAG_NONFINITE | DLLM_FLAG_EMPTY | DLLM_FLAG_ROW) &&
                   (int)DLLM_ROW_FLAG == (int)DLLM_FLAG_ROW,
               "one numbering of flags");
_Static_assert((int)DLLM_BLOCK_UNUSABLE_ROW == (int)DLLM_LEFT_UNUSABLE_ROW &&
                   (int)DLLM_BLOCK_DONE == (int)DLLM_LEFT_DONE,
               "one numbering of states");

static uint32_t unusable(const uint32_t *flags, int64_t q)
{
    return flags ? flags[q] & (uint32_t)DLLM_UNUSABLE_FLAGS : 0;
}

/* ---- keys --------------------------------------------------------------------------------- */

static dllm_status check_options(const dllm_key_options *options)
{
    DLLM_TRY(dllm__check_range("key name", (int64_t)options->name, 0, DLLM_KEY_ENTROPY));
    DLLM_TRY(dllm__check_range("late_count", options->late_count, 0, LATE_MAX));
    if (options->late_count > 0 && !options->late)
        return dllm__fail(DLLM_INVALID_ARGUMENT, "late is NULL with late_count %d",
                          options->late_count);
    return DLLM_OK;
}

/* The statistic that a key is made of. */
static const float *source_of(const dllm_key_rows *rows, dllm_key_name name)
{
    if (name == DLLM_KEY_CONFIDENCE) return rows->confidence;
    return name == DLLM_KEY_MARGIN ? rows->margin : rows->entropy;
}

static dllm_status check_rows(const dllm_key_rows *rows, dllm_key_name name)
{
    DLLM_TRY(dllm__check_range("positions", rows->positions, 0, DLLM_BLOCK_POSITIONS_MAX));
    if (rows->positions == 0) return DLLM_OK;
    if (!rows->token) return dllm__fail(DLLM_INVALID_ARGUMENT, "token is NULL");
    if (!source_of(rows, name))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL, and the key needs it",
                          name == DLLM_KEY_CONFIDENCE ? "confidence"
                          : name == DLLM_KEY_MARGIN   ? "margin"
                                                      : "entropy");
    return DLLM_OK;
}

dllm_status dllm_decode_keys(float *key, uint8_t *usable, const dllm_key_options *options,
                             const dllm_key_rows *rows)
{
    dllm_key_options wanted;
    dllm_key_rows given;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&wanted, sizeof wanted, options, "options"));
    DLLM_TRY(dllm__take_struct(&given, sizeof given, rows, "rows"));
    DLLM_TRY(check_options(&wanted));
    DLLM_TRY(check_rows(&given, wanted.name));
    if (given.positions > 0 && (!key || !usable))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", key ? "usable" : "key");
    const dllm_key_rule rule = {(int32_t)wanted.name, wanted.round_bf16, wanted.excludes_mask,
                                wanted.late_count,    wanted.mask_id,    wanted.late};
    for (int64_t q = 0; q < given.positions; q++) {
        const dllm_key_row row = {given.token[q],
                                  given.confidence ? given.confidence[q] : NAN,
                                  given.margin ? given.margin[q] : NAN,
                                  given.entropy ? given.entropy[q] : NAN,
                                  NAN,
                                  unusable(given.flags, q)};
        usable[q] = (uint8_t)dllm_position_is_usable(&rule, &row);
        key[q] = row.unusable ? NAN : dllm_position_key(&rule, &row);
    }
    return DLLM_OK;
}

/* ---- commit ------------------------------------------------------------------------------- */

static dllm_status check_commit(const dllm_commit *commit)
{
    DLLM_TRY(dllm__check_range("positions", commit->positions, 0, DLLM_BLOCK_POSITIONS_MAX));
    DLLM_TRY(dllm__check_range("selection", (int64_t)commit->selection, 0, DLLM_SELECTION_COINS));
    if (commit->positions > 0 && (!commit->chosen || !commit->token))
        return dllm__fail(DLLM_INVALID_ARGUMENT, "%s is NULL", commit->chosen ? "token" : "chosen");
    return DLLM_OK;
}

dllm_status dllm_decode_commit(dllm_commit_result *out, int64_t *ids, const dllm_commit *commit)
{
    dllm_commit given;
    dllm__clear_error();
    DLLM_TRY(dllm__take_struct(&given, sizeof given, commit, "commit"));
    DLLM_TRY(check_commit(&given));
    if (given.positions > 0 && !ids) return dllm__fail(DLLM_INVALID_ARGUMENT, "ids is NULL");
    const dllm_commit_result nothing = {0};
    DLLM_TRY(dllm__give_struct(out, &nothing, sizeof nothing)); /* before anything is written */
    const dllm_select_rule rule = {.name = (int32_t)given.selection};
    int64_t committed = 0, masks = 0, usable = 0;
    for (int64_t q = 0; q < given.positions; q++) {
        if (ids[q] != given.mask_id) continue;
        const int32_t is_usable = !unusable(given.flags, q);
        const int32_t takes = is_usable && given.chosen[q] && given.token[q] != given.mask_id;
        if (takes) ids[q] = given.token[q];
        committed += takes;
        masks += !takes;
        usable += !takes && is_usable;
    }
    const dllm_commit_result result = {
        sizeof result, committed, masks,
        (dllm_block_state)dllm_left_by(committed, masks, usable, dllm_is_data_driven(&rule))};
    return dllm__give_struct(out, &result, sizeof result);
}
