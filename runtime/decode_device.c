/*
 * decode_device.c - a decode loop on a GPU: its three kernels, copies, and the view that is polled
 *
 * A step launches and copies, and waits for nothing: what the host wants to know of it lies in pinned
 * memory, behind an event that is asked about and never waited for.
 */
#include "decode_stages.h"

#include "status.h"

#include <sched.h>
#include <string.h>

enum { TEAM_THREADS = 128, START = 0, LIST = 1, SELECT = 2 };

enum { EVENT_WITHOUT_TIMING = 2, HOST_PORTABLE_MAPPED = 3 };

static const dllm_driver *driver_of(const dllm_decode *decode)
{
    return &decode->context->driver;
}

static dllm_status check(const dllm_decode *decode, dllm_cu_result result, const char *call)
{
    return dllm__driver_check(driver_of(decode), result, call);
}

static dllm_cu_pointer address(const void *pointer)
{
    return (dllm_cu_pointer)(uintptr_t)pointer;
}

/* ---- open and close ----------------------------------------------------------------------- */

void dllm__decode_kernels(dllm_kernel_spec out[DLLM_DECODE_KERNELS])
{
    out[START] = (dllm_kernel_spec){.file = "decode_start.cu", .entry = "decode_start"};
    out[LIST] = (dllm_kernel_spec){.file = "decode_list.cu", .entry = "decode_list"};
    out[SELECT] = (dllm_kernel_spec){.file = "decode_select.cu", .entry = "decode_select"};
}

static dllm_status get_kernels(dllm_decode *decode)
{
    dllm_kernel_spec specs[DLLM_DECODE_KERNELS];
    dllm__decode_kernels(specs);
    for (int i = 0; i < DLLM_DECODE_KERNELS; i++) {
        memcpy(specs[i].arch, decode->context->device.arch, sizeof specs[i].arch);
        DLLM_TRY(dllm__kernel_get(&decode->kernels[i], NULL, decode->context->kernels, &specs[i],
                                  decode->head.prepare, 0));
    }
    return DLLM_OK;
}

static dllm_status open_inside(dllm_decode *decode)
{
    const dllm_driver *driver = driver_of(decode);
    void *view = NULL;
    DLLM_TRY(get_kernels(decode));
    DLLM_TRY(check(decode, driver->host_allocate(&view, sizeof *decode->view, HOST_PORTABLE_MAPPED),
                   "cuMemHostAlloc"));
    memset(view, 0, sizeof *decode->view);
    decode->view = view;
    for (int i = 0; i <= decode->options.lookahead; i++)
        DLLM_TRY(check(decode, driver->event_create(&decode->events[i], EVENT_WITHOUT_TIMING),
                       "cuEventCreate"));
    return DLLM_OK;
}

static dllm_status open_device(dllm_decode *decode)
{
    DLLM_TRY(dllm__context_enter(decode->context));
    const dllm_status status = open_inside(decode);
    dllm__context_leave(decode->context);
    return status;
}

static void close_device(dllm_decode *decode)
{
    const dllm_driver *driver = driver_of(decode);
    if (dllm__context_enter(decode->context) != DLLM_OK) return;
    for (int i = 0; i <= DLLM_DECODE_LOOKAHEAD_MAX; i++)
        if (decode->events[i]) (void)driver->event_destroy(decode->events[i]);
    if (decode->view) (void)driver->host_free(decode->view);
    dllm__context_leave(decode->context);
}

/* ---- kernels ------------------------------------------------------------------------------ */

static dllm_status launch(dllm_decode *decode, int kernel, dllm_stream stream)
{
    void *arguments[] = {&decode->params};
    const dllm_cu_launch_config config = {.grid_x = (unsigned)decode->count,
                                          .grid_y = 1,
                                          .grid_z = 1,
                                          .block_x = TEAM_THREADS,
                                          .block_y = 1,
                                          .block_z = 1,
                                          .stream = stream};
    decode->params.cancel = (const int32_t *)(const void *)&decode->view->cancel;
    DLLM_TRY(dllm__context_enter(decode->context));
    const dllm_status status =
        check(decode, driver_of(decode)->launch(&config, decode->kernels[kernel], arguments, NULL),
              "cuLaunchKernelEx");
    dllm__context_leave(decode->context);
    return status;
}

static dllm_status start(dllm_decode *decode, dllm_stream stream)
{
    return launch(decode, START, stream);
}

static dllm_status list(dllm_decode *decode, dllm_stream stream)
{
    return launch(decode, LIST, stream);
}

static dllm_status select_tokens(dllm_decode *decode, dllm_stream stream)
{
    return launch(decode, SELECT, stream);
}

/* ---- copies ------------------------------------------------------------------------------- */

/* Pageable memory has been read when the driver's call returns. */
static dllm_status write_device(dllm_decode *decode, void *to, const void *from, size_t bytes,
                                dllm_stream stream)
{
    if (bytes == 0) return DLLM_OK;
    DLLM_TRY(dllm__context_enter(decode->context));
    const dllm_status status =
        check(decode, driver_of(decode)->memory_send(address(to), from, bytes, stream),
              "cuMemcpyHtoDAsync");
    dllm__context_leave(decode->context);
    return status;
}

static dllm_status read_device(dllm_decode *decode, void *to, const void *from, size_t bytes,
                               dllm_stream stream)
{
    const dllm_driver *driver = driver_of(decode);
    if (bytes == 0) return DLLM_OK;
    DLLM_TRY(dllm__context_enter(decode->context));
    dllm_status status =
        check(decode, driver->memory_fetch(to, address(from), bytes, stream), "cuMemcpyDtoHAsync");
    if (status == DLLM_OK)
        status = check(decode, driver->stream_synchronize(stream), "cuStreamSynchronize");
    dllm__context_leave(decode->context);
    return status;
}

static dllm_status note(dllm_decode *decode, int slot, dllm_stream stream)
{
    const dllm_driver *driver = driver_of(decode);
    dllm_batch_record *seen = &decode->view->batch[slot];
    DLLM_TRY(dllm__context_enter(decode->context));
    dllm_status status = check(
        decode, driver->memory_fetch(seen, address(decode->params.batch), sizeof *seen, stream),
        "cuMemcpyDtoHAsync");
    if (status == DLLM_OK)
        status = check(decode, driver->event_record(decode->events[slot], stream), "cuEventRecord");
    dllm__context_leave(decode->context);
    return status;
}

static dllm_status see(dllm_decode *decode, int slot)
{
    DLLM_TRY(dllm__context_enter(decode->context));
    dllm_cu_result result;
    while ((result = driver_of(decode)->event_query(decode->events[slot])) == DLLM_CU_NOT_READY)
        (void)sched_yield();
    const dllm_status status = check(decode, result, "cuEventQuery");
    dllm__context_leave(decode->context);
    return status;
}

static bool is_over(const dllm_decode *decode)
{
    (void)decode;
    return false;
}

const dllm_decode_stages dllm__decode_device = {open_device,   close_device, start,       list,
                                                select_tokens, write_device, read_device, note,
                                                see,           is_over};
