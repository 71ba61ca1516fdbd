/*
 * tuner_lock.h - one tuner a GPU: two at once would measure each other
 *
 * A lock that the kernel takes back from a holder that dies: flock on v1/lock/tune-<uuid> of the
 * cache folder. Where it cannot be had for another reason than a holder, it is done without.
 */
#ifndef DLLM_TUNER_LOCK_H
#define DLLM_TUNER_LOCK_H

#include "context.h"

/**
 * Takes the lock of the context's GPU, waiting for a holder until `goes_on` says no.
 * Returns  what to hand to dllm__tuner_unlock; -1: done without
 */
int dllm__tuner_lock(const dllm_context *context, bool (*goes_on)(void *user), void *user);
void dllm__tuner_unlock(int lock);

#endif
