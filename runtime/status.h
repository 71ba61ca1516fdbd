/*
 * status.h - the thread's error message, and how a function passes a failure on
 *
 * A function that fails calls dllm__fail once, where the fault is known; everyone above passes the
 * status on with DLLM_TRY and leaves the message alone. Public entries clear it first.
 */
#ifndef DLLM_STATUS_H
#define DLLM_STATUS_H

#include "dllm.h"

/** Stores the message of the calling thread and returns `status`; control characters, which a name may
 * hold, as escapes. */
dllm_status dllm__fail(dllm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Empties the calling thread's message. */
void dllm__clear_error(void);

#define DLLM_TRY(call)                                                                             \
    do {                                                                                           \
        const dllm_status dllm_try_status_ = (call);                                               \
        if (dllm_try_status_ != DLLM_OK) return dllm_try_status_;                                  \
    } while (0)

#endif
