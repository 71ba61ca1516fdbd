/* compiler_fixture.c - see compiler_fixture.h */
#include "compiler_fixture.h"

#include "check_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const compiler_ways[] = {"helper", "inproc"};

char compiler_folder[SCRATCH_BYTES];
char compiler_lines[8192];
dllm_compiler *compiler;

static void take_line(void *user, const char *line)
{
    (void)user;
    const size_t used = strlen(compiler_lines);
    (void)snprintf(compiler_lines + used, sizeof compiler_lines - used, "%s\n", line);
}

const dllm_log compiler_log = {take_line, NULL};

void compiler_make(const char *jit, const char *library, const char *cache_folder)
{
    ck_assert_int_eq(setenv("DLLM_NVRTC", library, 1), 0);
    ck_assert_int_eq(setenv("DLLM_JIT", jit, 1), 0);
    ck_assert_int_eq(dllm__compiler_create(&compiler, cache_folder, &compiler_log), DLLM_OK);
    if (strcmp(jit, "helper") == 0)
        ck_assert_int_eq(dllm__compiler_use_helper(compiler, REAL_HELPER, PATIENT_MS), DLLM_OK);
}

void compiler_remake(const char *jit, const char *library, const char *cache_folder)
{
    dllm__compiler_destroy(compiler);
    compiler = NULL;
    compiler_make(jit, library, cache_folder);
}

static void set_up(void)
{
    scratch_make(compiler_folder);
    ck_assert_int_eq(setenv("DLLM_KERNEL_DIR", compiler_folder, 1), 0);
    scratch_write(compiler_folder, "good.cu", "#include \"good.cuh\"\nint good;");
    scratch_write(compiler_folder, "good.cuh", "int header;");
    compiler_lines[0] = '\0';
    compiler = NULL;
}

static void tear_down(void)
{
    dllm__compiler_destroy(compiler);
    ck_assert_int_eq(unsetenv("DLLM_NVRTC"), 0);
    ck_assert_int_eq(unsetenv("DLLM_JIT"), 0);
    ck_assert_int_eq(unsetenv("DLLM_KERNEL_DIR"), 0);
    scratch_remove(compiler_folder);
}

static dllm_kernel_spec spec_of(const char *file)
{
    dllm_kernel_spec spec = {.file = file, .entry = "kernel", .arch = "sm_80"};
    dllm__kernel_define(&spec, "DLLM_B", 2);
    dllm__kernel_define(&spec, "DLLM_A", 1);
    return spec;
}

dllm_status compiler_compile(dllm_compiled *out, const char *file)
{
    const dllm_kernel_spec spec = spec_of(file);
    return dllm__compile(out, compiler, &spec);
}

void compiler_expect_failure(const char *file, dllm_status status, const char *message)
{
    dllm_compiled compiled;
    const dllm_status got = compiler_compile(&compiled, file);
    ck_assert_msg(got == status, "%d: %s", (int)got, dllm_last_error());
    ck_assert_msg(strstr(dllm_last_error(), message) != NULL, "%s", dllm_last_error());
    ck_assert_ptr_null(compiled.cubin);
}

TCase *compiler_group(Suite *suite, const char *name)
{
    TCase *group = tcase_create(name);
    tcase_add_checked_fixture(group, set_up, tear_down);
    suite_add_tcase(suite, group);
    return group;
}
