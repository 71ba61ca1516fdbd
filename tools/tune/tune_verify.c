/*
 * tune_verify.c - verify: every kernel and tuned choice of the user's cache folder, read whole
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "entry_bad.h"
#include "entry_store.h"
#include "entry_walk.h"
#include "plan_walk.h"
#include "tune.h"
#include "tune_store.h"

typedef struct entry_tally {
    const tune_options *options;
    dllm_entry_store *store; /* with --repair: moves bad entries aside */
    const dllm_cache_dir *dir;
    json_t *rows; /* with --json */
    int tuned;
    int entries;
    int bad;
    int moved;
    int ignored;
    int refused; /* folders */
    int status;  /* TUNE_NO_CACHE when nothing could be read, TUNE_SOME_FAILED when a part */
} entry_tally;

static void count_entry(entry_tally *tally, const dllm_entry_report *report)
{
    tally->entries++;
    tally->ignored += report->ignored;
    tally->bad += report->reason && !report->ignored;
}

static void refuse_folder(entry_tally *tally, const dllm_entry_report *report)
{
    tally->refused++;
    tally->status = tune_store_refused(report);
}

static const char *outcome_of(const entry_tally *tally, const dllm_entry_report *report)
{
    if (!report->reason) return "GOOD";
    if (report->ignored) return "IGNORED";
    if (!tally->store) return "BAD";
    return dllm__entry_store_quarantine(tally->store, report->folder, report->name, report->reason)
               ? "MOVED"
               : "STUCK";
}

static void verify_entry(void *user, const dllm_entry_report *report)
{
    entry_tally *tally = user;
    if (report->refused) {
        refuse_folder(tally, report);
        return;
    }
    const char *outcome = outcome_of(tally, report);
    count_entry(tally, report);
    tally->moved += strcmp(outcome, "MOVED") == 0;
    if (tally->options->json && report->reason)
        (void)json_array_append_new(tally->rows,
                                    json_pack("{so so ss ss}", "file", tune_json_text(report->name),
                                              "path", tune_json_text(report->path), "outcome",
                                              outcome, "reason", report->reason));
    else if (!tally->options->json && (report->reason || tally->options->verbose))
        (void)printf("%s %s%s%s\n", outcome, report->path, report->reason ? ": " : "",
                     report->reason ? report->reason : "");
}

/* ---- tuned choices ---- */

static void refuse_plans(entry_tally *tally, const dllm_plan_report *report)
{
    const int status = tune_store_refused_plans(tally->dir, report);
    tally->refused++;
    if (!tally->status) tally->status = status;
}

static bool move_plan(const entry_tally *tally, const dllm_plan_report *report)
{
    dllm_cache_folder folder;
    if (!dllm__cache_folder_open(&folder, tally->dir, report->folder, false)) return false;
    const bool moved = dllm__entry_move_aside(tally->dir, &folder, report->name);
    dllm__cache_folder_close(&folder);
    return moved;
}

static void verify_plan(void *user, const dllm_plan_report *report)
{
    entry_tally *tally = user;
    if (report->refused) {
        refuse_plans(tally, report);
        return;
    }
    const bool moved = report->reason && tally->store && move_plan(tally, report);
    const char *outcome = !report->reason ? "GOOD"
                          : !tally->store ? "BAD"
                          : moved         ? "MOVED"
                                          : "STUCK";
    tally->tuned++;
    tally->bad += report->reason != NULL;
    tally->moved += moved;
    if (tally->options->json && report->reason)
        (void)json_array_append_new(tally->rows,
                                    json_pack("{so so ss ss}", "file", tune_json_text(report->name),
                                              "path", tune_json_text(report->folder), "outcome",
                                              outcome, "reason", report->reason));
    else if (!tally->options->json && (report->reason || tally->options->verbose))
        (void)printf("%s %s/%s/%s%s%s\n", outcome, tally->dir->path, report->folder, report->name,
                     report->reason ? ": " : "", report->reason ? report->reason : "");
}

/* ---- the whole ---- */

static int report_verified(const entry_tally *tally, const dllm_cache_dir *dir)
{
    const tune_options *options = tally->options;
    if (options->json) {
        return tune_print_json(json_pack(
            "{so sO si si si si si si}", "folder", tune_json_text(dir->path), "bad_entries",
            tally->rows, "entries", tally->entries, "tuned", tally->tuned, "bad", tally->bad,
            "ignored", tally->ignored, "moved", tally->moved, "refused_folders", tally->refused));
    }
    (void)printf("%d entries, ", tally->entries);
    if (tally->tuned) (void)printf("%d tuned choices, ", tally->tuned);
    (void)printf("%d bad", tally->bad);
    if (tally->ignored > 0) (void)printf(", %d ignored", tally->ignored);
    if (options->repair && options->dry_run)
        (void)printf(", %d would be moved aside", tally->bad);
    else if (options->repair)
        (void)printf(", %d moved aside", tally->moved);
    (void)putchar('\n');
    return TUNE_DONE;
}

int tune_verify(const tune_options *options)
{
    dllm_cache_dir dir;
    const dllm_log log = tune_log(options);
    entry_tally tally = {.options = options, .dir = &dir};
    int status = tune_store_find(&dir);
    if (status != TUNE_DONE) return status;
    if (options->repair && !options->dry_run &&
        dllm__entry_store_create(&tally.store, &dir, 1, &log, NULL) != DLLM_OK)
        return tune_fail(TUNE_NO_CACHE, "%s", dllm_last_error());
    tally.rows = json_array();
    dllm__entry_walk(&dir, verify_entry, &tally);
    dllm__plan_walk(&dir, verify_plan, &tally);
    status = report_verified(&tally, &dir);
    json_decref(tally.rows);
    dllm__entry_store_destroy(tally.store);
    if (tally.status) return tally.status;
    return tally.moved < tally.bad ? TUNE_SOME_FAILED : status;
}
