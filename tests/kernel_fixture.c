/* kernel_fixture.c - a kernel cache that is opened again and again, and what its driver is shown */
#include "kernel_fixture.h"

#include "check_suite.h"
#include "entry_store.h"
#include "fake_compiler.h"

#include <stdatomic.h>
#include <string.h>

dllm_kernel_spec kernel_fixture_spec(int number)
{
    dllm_kernel_spec spec = {.file = "head_test.cu", .entry = "head_test", .arch = "sm_90a"};
    dllm__kernel_define(&spec, "DLLM_NUMBER", number);
    return spec;
}

static dllm_cu_result judge_image(void *user, const void *image)
{
    kernel_fixture *f = user;
    if (strncmp(image, "cubin of head_test.cu head_test ", 32) != 0) f->wrong_images++;
    if (f->refusals == 0) return DLLM_CU_SUCCESS;
    f->refusals--;
    return f->refusal;
}

void kernel_fixture_open(kernel_fixture *f)
{
    ck_assert_int_eq(dllm__kernel_cache_create(&f->cache, &f->driver, &f->folder.log), DLLM_OK);
}

void kernel_fixture_make(kernel_fixture *f)
{
    memset(f, 0, sizeof *f);
    fixture_make(&f->folder);
    fake_compiler_start();
    fake_driver_start(&f->driver);
    fake_driver_on_image(judge_image, f);
    fake_driver_enter();
    f->spec = kernel_fixture_spec(1);
    kernel_fixture_open(f);
}

/* What another process would see: nothing in memory, nothing counted. */
void kernel_fixture_restart(kernel_fixture *f)
{
    dllm__kernel_cache_destroy(f->cache);
    ck_assert_int_eq(fake_driver_live(), 0);
    fake_compiler_start();
    f->folder.lines = 0;
    kernel_fixture_open(f);
}

void kernel_fixture_unmake(kernel_fixture *f)
{
    dllm__kernel_cache_destroy(f->cache);
    ck_assert_int_eq(fake_driver_live(), 0);
    ck_assert_int_eq(f->wrong_images, 0);
    fake_driver_leave();
    fixture_remove(&f->folder);
}

dllm_status kernel_fixture_get(kernel_fixture *f, uint32_t prepare)
{
    return dllm__kernel_get(&f->function, &f->origin, f->cache, &f->spec, prepare,
                            FIXTURE_SHARED_BYTES);
}

dllm_statistics kernel_fixture_statistics(const kernel_fixture *f)
{
    dllm_statistics statistics = DLLM_STATISTICS_INIT;
    dllm__kernel_cache_statistics(f->cache, &statistics);
    return statistics;
}

int kernel_fixture_compiles(void)
{
    return atomic_load(&fake_compiler.compiles);
}

void kernel_fixture_check_origin(const kernel_fixture *f, dllm_kernel_source source, bool stored)
{
    ck_assert_int_eq(f->origin.source, source);
    ck_assert_int_eq(f->origin.stored, stored);
}

void kernel_fixture_path(char path[FIXTURE_PATH_BYTES], const kernel_fixture *f, const char *build)
{
    dllm_kernel_key key;
    ck_assert_int_eq(dllm__kernel_key(&key, &f->spec), DLLM_OK);
    fixture_entry_path(path, &f->folder, &key, build);
}
