/* kernel_fetch.c - a kernel from disk, else from the compiler, into the driver */
#include "kernel_fetch.h"

#include "status.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_BYTES = 160 };

/* A failure that would come again is not tried again. Without memory for its words it is. */
static void remember_failure(dllm_kernel_slot *slot, dllm_status status)
{
    slot->message = strdup(dllm_last_error());
    if (slot->message) slot->failure = status;
}

/* ---- loading */

static void describe(char out[NAME_BYTES], const dllm_kernel_request *r)
{
    (void)snprintf(out, NAME_BYTES, "kernel %s (%s, %s) %.12s", r->spec->file, r->spec->entry,
                   r->spec->arch, r->key.hex);
}

/* The driver read the bytes and will not have them, now or later. */
static bool is_refusal(dllm_cu_result result)
{
    return result == DLLM_CU_INVALID_IMAGE || result == DLLM_CU_NO_BINARY_FOR_GPU ||
           result == DLLM_CU_INVALID_PTX;
}

static dllm_status load_module(dllm_kernel_slot *slot, bool *refused, const dllm_kernel_request *r,
                               const void *image)
{
    char name[NAME_BYTES];
    char call[NAME_BYTES + 32];
    dllm_cu_module module = NULL;
    dllm_cu_function function = NULL;
    describe(name, r);
    (void)snprintf(call, sizeof call, "cuModuleLoadData of %s", name);
    dllm_cu_result result = r->driver->module_load(&module, image);
    *refused = is_refusal(result);
    DLLM_TRY(dllm__driver_check(r->driver, result, call));
    result = r->driver->module_function(&function, module, r->spec->entry);
    if (result != DLLM_CU_SUCCESS) {
        (void)snprintf(call, sizeof call, "cuModuleGetFunction of %s", name);
        (void)r->driver->module_unload(module);
        return dllm__driver_check(r->driver, result, call);
    }
    slot->module = module;
    slot->function = function;
    return DLLM_OK;
}

/* ---- bytes of the application */

static dllm_status load_imported(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    bool refused = false;
    if (!slot->imported) return DLLM_OK;
    const dllm_status status = load_module(slot, &refused, r, slot->compiled.cubin);
    if (status == DLLM_OK) {
        r->origin.source = DLLM_KERNEL_IMPORTED;
        (void)atomic_fetch_add(&r->cache->loaded_imported, 1);
    }
    if (!refused) return status;
    dllm__log(&r->cache->log, "imported kernel %.12s not used: %s", r->key.hex, dllm_last_error());
    dllm__clear_error();
    slot->imported = false;
    dllm__compiled_release(&slot->compiled);
    return DLLM_OK;
}

/* ---- disk */

/* With a compiler at hand its own build is asked for. Without one, or when it must not be used, a
   cubin of the same source key is valid whatever build made it. */
static void choose_build(dllm_kernel_request *r)
{
    r->build[0] = '\0';
    if (r->prepare & DLLM_PREPARE_CACHE_ONLY) return;
    if (dllm__compiler_build(r->cache->compiler, r->build) == DLLM_OK &&
        dllm__build_is_plain(r->build))
        return;
    dllm__clear_error();
    r->build[0] = '\0';
}

/* True when the entry is of no use and the search goes on, from `*layer`; else `*status` is the
   result. */
static bool use_entry(dllm_status *status, int *layer, dllm_kernel_slot *slot,
                      dllm_kernel_request *r, const dllm_stored_entry *entry)
{
    dllm_kernel_cache *cache = r->cache;
    const bool own = entry->layer == 0;
    bool refused = false;
    *status = r->driver ? load_module(slot, &refused, r, entry->cubin) : DLLM_OK;
    if (*status == DLLM_OK) {
        slot->on_disk = true;
        r->origin.source = own ? DLLM_KERNEL_DISK : DLLM_KERNEL_SYSTEM;
        if (r->driver) (void)atomic_fetch_add(own ? &cache->loaded_disk : &cache->loaded_system, 1);
    }
    if (!refused) return false;
    /* one that stays would be found again for ever */
    if (!dllm__entry_store_refuse(cache->store, entry, dllm_last_error())) {
        *layer = entry->layer + 1;
        r->stuck |= own;
    }
    dllm__clear_error();
    *status = DLLM_OK;
    return true;
}

static dllm_status load_from_disk(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    dllm_status status = DLLM_OK;
    bool again = true;
    int layer = 0;
    dllm_stored_entry entry;
    if (dllm__entry_store_path(r->cache->store)) choose_build(r);
    while (again && dllm__entry_store_load(&entry, r->cache->store, &r->key,
                                           r->build[0] ? r->build : NULL, layer)) {
        again = use_entry(&status, &layer, slot, r, &entry);
        dllm__stored_entry_release(&entry);
    }
    return status;
}

/* ---- compiler */

static uint64_t now_us(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static dllm_status compile_kernel(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    if (slot->compiled.cubin) return DLLM_OK;
    if (slot->failure != DLLM_OK) return dllm__fail(slot->failure, "%s", slot->message);
    const uint64_t start_us = now_us();
    const dllm_status status = dllm__compile(&slot->compiled, r->cache->compiler, r->spec);
    const uint64_t spent_us = now_us() - start_us;
    (void)atomic_fetch_add(&r->cache->compile_us, spent_us);
    r->origin.compile_ms = (double)spent_us / 1000.0;
    if (status == DLLM_OK) (void)atomic_fetch_add(&r->cache->compiled, 1);
    if (slot->compiled.rejected) remember_failure(slot, status);
    return status;
}

static void store_kernel(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    dllm_kernel_cache *cache = r->cache;
    if (r->prepare & DLLM_PREPARE_NO_DISK) return;
    /* under the name that the next lookup asks for, even if the compiler now calls itself otherwise
     */
    const char *build = r->build[0] ? r->build : slot->compiled.build;
    r->origin.stored = dllm__entry_store_publish(cache->store, &r->key, build, slot->compiled.cubin,
                                                 slot->compiled.cubin_bytes, r->why);
    slot->on_disk |= r->origin.stored;
    (void)atomic_fetch_add(r->origin.stored ? &cache->stored : &cache->store_failures, 1);
}

/* Bytes that the driver refuses are not stored: they would be refused in the next process as well.
 */
static dllm_status load_from_compiler(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    bool refused = false;
    DLLM_TRY(compile_kernel(slot, r));
    const dllm_status status =
        r->driver ? load_module(slot, &refused, r, slot->compiled.cubin) : DLLM_OK;
    if (refused)
        remember_failure(slot, status);
    else
        store_kernel(slot, r);
    if (status == DLLM_OK) {
        r->origin.source = DLLM_KERNEL_COMPILED;
        if (r->driver) (void)atomic_fetch_add(&r->cache->loaded_compiled, 1);
    }
    return status;
}

/* ---- all of it */

/* What another process stored between the look at the disk and the lock. */
static dllm_status load_made_meanwhile(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    dllm_status status = DLLM_OK;
    int layer = 0;
    dllm_stored_entry entry;
    if (r->stuck) return DLLM_OK;
    if (!dllm__entry_store_load_again(&entry, r->cache->store, &r->key, r->build)) return DLLM_OK;
    (void)use_entry(&status, &layer, slot, r, &entry);
    dllm__stored_entry_release(&entry);
    return status;
}

/* One process compiles, the others wait for what it stores. */
static dllm_status compile_alone(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    dllm_entry_lock lock;
    dllm__entry_store_lock(&lock, r->cache->store, &r->key);
    if (lock.waited) (void)atomic_fetch_add(&r->cache->waited, 1);
    dllm_status status = load_made_meanwhile(slot, r);
    if (status == DLLM_OK && r->origin.source == DLLM_KERNEL_NONE)
        status = load_from_compiler(slot, r);
    dllm__entry_lock_release(&lock);
    return status;
}

static dllm_status not_cached(const dllm_kernel_request *r)
{
    const char *folder = dllm__entry_store_path(r->cache->store);
    char name[NAME_BYTES];
    describe(name, r);
    return dllm__fail(DLLM_NOT_CACHED, "%s is not in the cache (%s) and must not be compiled", name,
                      r->prepare & DLLM_PREPARE_NO_DISK ? "disk not used"
                      : folder                          ? folder
                                                        : "no cache folder");
}

static dllm_status look_everywhere(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    const bool disk = !(r->prepare & DLLM_PREPARE_NO_DISK);
    DLLM_TRY(load_imported(slot, r));
    if (r->origin.source != DLLM_KERNEL_NONE) return DLLM_OK;
    if (disk) {
        DLLM_TRY(load_from_disk(slot, r));
        if (r->origin.source != DLLM_KERNEL_NONE) return DLLM_OK;
    }
    if (r->prepare & DLLM_PREPARE_CACHE_ONLY) return not_cached(r);
    /* nobody else is waited for when there is nothing to compile, or nothing to compile with */
    const bool compiles = !slot->compiled.cubin && slot->failure == DLLM_OK && r->build[0];
    return disk && compiles ? compile_alone(slot, r) : load_from_compiler(slot, r);
}

dllm_status dllm__kernel_fetch(dllm_kernel_slot *slot, dllm_kernel_request *r)
{
    const dllm_status status = look_everywhere(slot, r);
    /* bytes are kept for a load that may be repeated, refused now by a capture or for memory, and for
       an export, where no folder keeps them */
    const bool again = status == DLLM_CAPTURING || status == DLLM_OUT_OF_MEMORY;
    const bool only_here = status == DLLM_OK && !slot->on_disk;
    if (!again && !only_here && !slot->imported) dllm__compiled_release(&slot->compiled);
    return status;
}
