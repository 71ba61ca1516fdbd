/*
 * bench_clock.c - NVML behind five symbols
 *
 * NVML numbers devices in an order of its own: the PCI address says which one is meant.
 */
#include "bench_clock.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { CLOCK_SM = 1, BUS_ID_BYTES = 32 };

static bool find(void *slot, void *library, const char *symbol)
{
    void *found = dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

/* "0000:65:00.0" of a CUDA device. libcuda is open already: the device is in use. */
static bool find_bus_id(char out[BUS_ID_BYTES], int device)
{
    int (*get)(int *, int) = NULL;
    int (*bus_id)(char *, int, int) = NULL;
    int handle = 0;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return cuda && find(&get, cuda, "cuDeviceGet") && find(&bus_id, cuda, "cuDeviceGetPCIBusId") &&
           get(&handle, device) == 0 && bus_id(out, BUS_ID_BYTES, handle) == 0;
}

bool bench_clock_open(bench_clock *out, int device)
{
    int (*init)(void) = NULL;
    int (*by_bus_id)(const char *, void **) = NULL;
    char bus_id[BUS_ID_BYTES];
    *out = (bench_clock){.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (out->library && find(&init, out->library, "nvmlInit_v2") &&
        find(&by_bus_id, out->library, "nvmlDeviceGetHandleByPciBusId_v2") &&
        find(&out->clock_info, out->library, "nvmlDeviceGetClockInfo") &&
        find(&out->power_usage, out->library, "nvmlDeviceGetPowerUsage") &&
        find(&out->shutdown, out->library, "nvmlShutdown") && init() == 0) {
        if (find_bus_id(bus_id, device) && by_bus_id(bus_id, &out->device) == 0) return true;
        (void)out->shutdown();
    }
    if (out->library) (void)dlclose(out->library);
    *out = (bench_clock){0};
    return false;
}

void bench_clock_close(bench_clock *clock)
{
    if (!clock->library) return;
    (void)clock->shutdown();
    (void)dlclose(clock->library);
    *clock = (bench_clock){0};
}

bench_clock_state bench_clock_read(const bench_clock *clock)
{
    bench_clock_state state = {0};
    unsigned mhz = 0;
    unsigned milliwatts = 0;
    if (!clock || !clock->library) return state;
    if (clock->clock_info(clock->device, CLOCK_SM, &mhz) == 0) state.sm_mhz = mhz;
    if (clock->power_usage(clock->device, &milliwatts) == 0) state.watts = milliwatts * 1e-3;
    return state;
}
