/* kernel_cache.c - the list of slots, and the calls that lock one and have it filled */
#include "kernel_cache.h"

#include "cache_layers.h"
#include "kernel_fetch.h"
#include "status.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- create and destroy */

dllm_status dllm__kernel_cache_create(dllm_kernel_cache **out, const dllm_driver *driver,
                                      const dllm_log *log)
{
    dllm_cache_layers layers;
    dllm_kernel_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a kernel cache");
    if (pthread_mutex_init(&cache->lock, NULL) != 0) {
        free(cache);
        return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a kernel cache's lock");
    }
    cache->driver = driver;
    cache->log = *log;
    dllm__cache_layers_find(&layers);
    dllm_status status = dllm__entry_store_create(&cache->store, layers.dirs,
                                                  driver ? layers.count : 1, &cache->log, NULL);
    if (status != DLLM_OK) goto done;
    status =
        dllm__compiler_create(&cache->compiler, dllm__entry_store_path(cache->store), &cache->log);
    if (status != DLLM_OK) goto done;
    *out = cache;
    cache = NULL;
done:
    dllm__kernel_cache_destroy(cache);
    return status;
}

static void destroy_slot(dllm_kernel_slot *slot, const dllm_kernel_cache *cache)
{
    if (slot->module) {
        const dllm_cu_result result = cache->driver->module_unload(slot->module);
        if (result != DLLM_CU_SUCCESS)
            dllm__log(&cache->log, "cuModuleUnload of kernel %.12s failed with %d", slot->hex,
                      result);
    }
    dllm__compiled_release(&slot->compiled);
    free(slot->message);
    free(slot->key_text);
    (void)pthread_mutex_destroy(&slot->lock);
    free(slot);
}

void dllm__kernel_cache_destroy(dllm_kernel_cache *cache)
{
    if (!cache) return;
    while (cache->slots) {
        dllm_kernel_slot *slot = cache->slots;
        cache->slots = slot->next;
        destroy_slot(slot, cache);
    }
    dllm__compiler_destroy(cache->compiler);
    dllm__entry_store_destroy(cache->store);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* ---- slots */

static dllm_kernel_slot *new_slot(const dllm_kernel_key *key)
{
    dllm_kernel_slot *slot = calloc(1, sizeof *slot);
    if (!slot) return NULL;
    slot->key_text = strdup(key->text);
    if (!slot->key_text || pthread_mutex_init(&slot->lock, NULL) != 0) {
        free(slot->key_text);
        free(slot);
        return NULL;
    }
    memcpy(slot->hex, key->hex, sizeof slot->hex);
    return slot;
}

/* The slot of a key, locked, NULL without memory; slots live as long as the cache. */
static dllm_kernel_slot *lock_slot(dllm_kernel_cache *cache, const dllm_kernel_key *key)
{
    (void)pthread_mutex_lock(&cache->lock);
    dllm_kernel_slot *slot = cache->slots;
    while (slot && strcmp(slot->hex, key->hex) != 0)
        slot = slot->next;
    if (!slot) {
        slot = new_slot(key);
        if (slot) {
            slot->next = cache->slots;
            cache->slots = slot;
        }
    }
    (void)pthread_mutex_unlock(&cache->lock);
    if (slot) (void)pthread_mutex_lock(&slot->lock);
    return slot;
}

/* ---- requests */

/* Launches with less than the limit are as good, so it only ever rises. */
static dllm_status raise_shared_limit(dllm_kernel_slot *slot, const dllm_kernel_request *r,
                                      int shared_bytes)
{
    if (shared_bytes <= slot->shared_bytes) return DLLM_OK;
    DLLM_TRY(
        dllm__driver_check(r->driver,
                           r->driver->function_set_attribute(
                               slot->function, DLLM_CU_FUNCTION_DYNAMIC_SHARED_BYTES, shared_bytes),
                           "cuFuncSetAttribute of the dynamic shared memory"));
    slot->shared_bytes = shared_bytes;
    return DLLM_OK;
}

dllm_status dllm__kernel_get(dllm_cu_function *out, dllm_kernel_origin *origin,
                             dllm_kernel_cache *cache, const dllm_kernel_spec *spec,
                             uint32_t prepare, int shared_bytes)
{
    dllm_kernel_request r = {
        .cache = cache, .driver = cache->driver, .spec = spec, .prepare = prepare};
    assert(cache->driver);
    DLLM_TRY(dllm__kernel_key(&r.key, spec));
    dllm_kernel_slot *slot = lock_slot(cache, &r.key);
    if (!slot) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for kernel %s", spec->file);
    dllm_status status = DLLM_OK;
    if (slot->function) {
        r.origin.source = DLLM_KERNEL_MEMORY;
        (void)atomic_fetch_add(&cache->loaded_memory, 1);
    } else {
        status = dllm__kernel_fetch(slot, &r);
    }
    if (status == DLLM_OK) status = raise_shared_limit(slot, &r, shared_bytes);
    if (status == DLLM_OK) *out = slot->function;
    (void)pthread_mutex_unlock(&slot->lock);
    if (origin) *origin = r.origin;
    return status;
}

dllm_status dllm__kernel_prebuild(dllm_kernel_origin *origin, dllm_kernel_cache *cache,
                                  const dllm_kernel_spec *spec)
{
    dllm_kernel_request r = {.cache = cache, .spec = spec};
    const char *folder = dllm__entry_store_path(cache->store);
    if (!folder)
        return dllm__fail(DLLM_UNSUPPORTED,
                          "no cache folder can be used to compile kernels into: %s",
                          dllm__entry_store_off(cache->store));
    DLLM_TRY(dllm__kernel_key(&r.key, spec));
    dllm_kernel_slot *slot = lock_slot(cache, &r.key);
    if (!slot) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for kernel %s", spec->file);
    dllm_status status = DLLM_OK;
    if (slot->on_disk) {
        r.origin.source = DLLM_KERNEL_DISK;
    } else {
        status = dllm__kernel_fetch(slot, &r);
    }
    if (status == DLLM_OK && !slot->on_disk)
        status = dllm__fail(DLLM_UNSUPPORTED, "kernel %s was not stored in %s: %s", spec->file,
                            folder, r.why);
    (void)pthread_mutex_unlock(&slot->lock);
    if (origin) *origin = r.origin;
    return status;
}

/* ---- bytes in and out */

dllm_status dllm__kernel_cache_give(dllm_gift *out, dllm_kernel_cache *cache,
                                    const dllm_kernel_key *key, const char *build,
                                    const dllm_entry *entry)
{
    dllm_kernel_slot *slot = lock_slot(cache, key);
    if (!slot) return dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for kernel %.12s", key->hex);
    *out = DLLM_GIFT_HAD;
    if (!slot->function && !slot->compiled.cubin) {
        slot->compiled.cubin = malloc(entry->payload_bytes);
        *out = DLLM_GIFT_TAKEN;
    }
    const bool taken = *out == DLLM_GIFT_TAKEN && slot->compiled.cubin;
    if (taken) {
        memcpy(slot->compiled.cubin, entry->payload, entry->payload_bytes);
        slot->compiled.cubin_bytes = entry->payload_bytes;
        (void)snprintf(slot->compiled.build, sizeof slot->compiled.build, "%s", build);
        slot->imported = true;
    }
    (void)pthread_mutex_unlock(&slot->lock);
    return taken || *out == DLLM_GIFT_HAD
               ? DLLM_OK
               : dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for kernel %.12s", key->hex);
}

/* Bytes in memory, else those of a folder: it may have lost them. */
static bool visit_slot(dllm_kernel_cache *cache, const dllm_kernel_slot *slot,
                       dllm_kernel_visit visit, void *user)
{
    dllm_kernel_key key = {.text_bytes = strlen(slot->key_text)};
    dllm_stored_entry entry;
    memcpy(key.hex, slot->hex, sizeof key.hex);
    memcpy(key.text, slot->key_text, key.text_bytes + 1);
    if (slot->compiled.cubin)
        return visit(user, &key, slot->compiled.build, slot->compiled.cubin,
                     slot->compiled.cubin_bytes);
    if (!slot->function || !dllm__entry_store_load(&entry, cache->store, &key, NULL, 0))
        return true;
    const bool further = visit(user, &key, entry.build, entry.cubin, entry.cubin_bytes);
    dllm__stored_entry_release(&entry);
    return further;
}

bool dllm__kernel_cache_visit(dllm_kernel_cache *cache, dllm_kernel_visit visit, void *user)
{
    bool further = true;
    (void)pthread_mutex_lock(&cache->lock);
    dllm_kernel_slot *slot = cache->slots; /* those that follow never change */
    (void)pthread_mutex_unlock(&cache->lock);
    for (; slot && further; slot = slot->next) {
        (void)pthread_mutex_lock(&slot->lock);
        further = visit_slot(cache, slot, visit, user);
        (void)pthread_mutex_unlock(&slot->lock);
    }
    return further;
}

void dllm__kernel_cache_statistics(const dllm_kernel_cache *cache, dllm_statistics *out)
{
    out->compiled += atomic_load(&cache->compiled);
    out->loaded_memory += atomic_load(&cache->loaded_memory);
    out->loaded_disk += atomic_load(&cache->loaded_disk);
    out->loaded_system += atomic_load(&cache->loaded_system);
    out->loaded_imported += atomic_load(&cache->loaded_imported);
    out->loaded_compiled += atomic_load(&cache->loaded_compiled);
    out->waited += atomic_load(&cache->waited);
    out->stored += atomic_load(&cache->stored);
    out->store_failures += atomic_load(&cache->store_failures);
    out->evicted += dllm__entry_store_evicted(cache->store);
    out->quarantined += dllm__entry_store_quarantined(cache->store);
    out->compile_ms += (double)atomic_load(&cache->compile_us) / 1000.0;
}
