/*
 * kernel_fixture.h - a kernel cache with a folder of its own, over the fake driver and compiler
 */
#ifndef KERNEL_FIXTURE_H
#define KERNEL_FIXTURE_H

#include "cache_fixture.h"
#include "fake_driver.h"
#include "kernel_cache.h"

enum { FIXTURE_SHARED_BYTES = 100 << 10 };

typedef struct kernel_fixture {
    cache_fixture folder;
    dllm_driver driver;
    dllm_kernel_cache *cache;
    dllm_kernel_spec spec;
    dllm_cu_function function;
    dllm_kernel_origin origin;
    /* the driver's side */
    dllm_cu_result refusal; /* what it says to the next `refusals` images */
    int refusals;
    int wrong_images; /* images that no compile made */
} kernel_fixture;

/** The CUDA context is current from make to unmake. */
void kernel_fixture_make(kernel_fixture *f);
void kernel_fixture_unmake(kernel_fixture *f);

/** What another process would see: nothing in memory, nothing counted. */
void kernel_fixture_restart(kernel_fixture *f);
/** A cache more, in place of one that was destroyed or never made. */
void kernel_fixture_open(kernel_fixture *f);

dllm_kernel_spec kernel_fixture_spec(int number);
/** Asks for f->spec; fills function and origin. */
dllm_status kernel_fixture_get(kernel_fixture *f, uint32_t prepare);
dllm_statistics kernel_fixture_statistics(const kernel_fixture *f);
/** Compiles since the start. */
int kernel_fixture_compiles(void);
void kernel_fixture_check_origin(const kernel_fixture *f, dllm_kernel_source source, bool stored);
/** Path of the entry of f->spec. */
void kernel_fixture_path(char path[FIXTURE_PATH_BYTES], const kernel_fixture *f, const char *build);

#endif
