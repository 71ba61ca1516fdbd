/*
 * check_rows.h - runs row cases through the public interface and says which pass
 *
 * Outputs that are not implemented yet are not compared, a case with such a transform is skipped.
 */
#ifndef CHECK_ROWS_H
#define CHECK_ROWS_H

#include "check_ability.h"

enum { CHECK_KNOWN_MAX = 64 };

typedef enum check_verdict { CHECK_PASS, CHECK_FAIL, CHECK_SKIP } check_verdict;

typedef struct row_checker {
    device_memory memory;
    dllm_context *context;
    unsigned operations; /* CHECK_HEAD | CHECK_SAMPLER */
    const char *family;  /* NULL: every one that can take the case */
    bool large;          /* run the large cases */
    int64_t runs;        /* calls made so far */
    struct check_known {
        const check_family *family; /* NULL ends the list */
        bool is_head;
        dllm_type type;
        check_ability ability;
    } known[CHECK_KNOWN_MAX]; /* what has been asked */
} row_checker;

/** Opens a device. False with a message if there is none. */
bool row_checker_open(row_checker *out, int device, dllm_message *message);

void row_checker_close(row_checker *checker);

/**
 * Runs a case in every type, id type and family it may run in, up to the first failure.
 * why      FAIL: what came out and what was wanted; SKIP: what it needs.
 */
check_verdict row_checker_run(row_checker *checker, const row_case *from, dllm_message *why);

#endif
