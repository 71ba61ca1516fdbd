/*
 * fake_driver.h - a driver table without a GPU: one device, calls counted, the n-th made to fail
 *
 * State is global and behind a mutex, so that tests may use threads. What a real driver refuses for
 * want of a current context is refused here too. A test linked with -Wl,--wrap=dllm__driver_open
 * has the library open this driver instead of libcuda.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "driver.h"

#include <stdbool.h>
#include <stddef.h>

/** What cuLaunchKernelEx was told. */
typedef struct fake_launch_record {
    const char *entry; /* the kernel's name */
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    dllm_stream stream;
    unsigned cluster;  /* blocks of a cluster, 0: there are none */
    bool dependent;    /* may start before the kernel in front has ended */
    void **parameters; /* valid during the hook alone */
} fake_launch_record;

/** What a tensor map was made of; the fake's maps hold it in the clear. */
typedef struct fake_tensor {
    uint64_t base;
    uint64_t columns;
    uint64_t rows;
    uint64_t stride_bytes;
    uint32_t box_columns;
    uint32_t box_rows;
    int type;
    int swizzle;
    int promotion;
} fake_tensor;

/** Decides about an image: DLLM_CU_SUCCESS loads it. */
typedef dllm_cu_result (*fake_image_hook)(void *user, const void *image);
typedef void (*fake_launch_hook)(void *user, const fake_launch_record *launch);

/** Forgets everything, frees what is still live, and fills the table. Compute 9.0, 132 SMs. */
void fake_driver_start(dllm_driver *out);

/** Makes the n-th counted call from now on return `code`; 0 = none. A call that releases does so.
 */
void fake_driver_fail_call(int n, dllm_cu_result code);

/** Counted calls since the start: all but cuGetErrorName. */
int fake_driver_calls(void);

/** Calls of one entry point since the start, by its symbol: "cuModuleLoadData". */
int fake_driver_calls_of(const char *symbol);

/** Retained contexts, loaded modules and allocations that were not released. */
int fake_driver_live(void);

/** The primary context pushed by hand, for tests below dllm_context. */
void fake_driver_enter(void);
void fake_driver_leave(void);

void fake_driver_set_attribute(int attribute, int value);
void fake_driver_on_image(fake_image_hook hook, void *user);
void fake_driver_on_launch(fake_launch_hook hook, void *user);

/** Microseconds that a launch takes; a captured one is asked about at each replay of its graph. */
typedef double (*fake_time_hook)(void *user, const fake_launch_record *launch);

/** The clock of events stands still but for launches: what the hook says, else 1 us each. */
void fake_driver_on_time(fake_time_hook hook, void *user);
double fake_driver_clock_us(void);

/** Launches since the start, and the last one (zero if there was none). */
int fake_driver_launches(void);
fake_launch_record fake_driver_last_launch(void);

fake_tensor fake_driver_tensor(const dllm_tensor_map *map);

/** The limit of dynamic shared memory set on a function. */
int fake_driver_shared_limit(dllm_cu_function function);

/** What --wrap calls: the fake's table as it is; DLLM_LIBRARY_MISSING after fake_driver_hide. */
/* NOLINTNEXTLINE(readability-identifier-naming): the linker's name */
dllm_status __wrap_dllm__driver_open(dllm_driver *out);
void fake_driver_hide(void);

#endif
