/* cache_fixture.c - folders, keys and files of the cache's tests */
#include "cache_fixture.h"

#include "check_suite.h"
#include "entry_store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void count_line(void *user, const char *line)
{
    cache_fixture *f = user;
    (void)pthread_mutex_lock(&f->lock);
    f->lines++;
    (void)snprintf(f->last_line, sizeof f->last_line, "%s", line);
    (void)pthread_mutex_unlock(&f->lock);
}

static int count_in(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(folder);
    return count;
}

void fixture_make(cache_fixture *f)
{
    memset(f, 0, sizeof *f);
    f->descriptors = count_in("/proc/self/fd");
    scratch_make(f->top);
    (void)snprintf(f->folder, sizeof f->folder, "%s/cache", f->top);
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", f->folder, 1), 0);
    dllm__cache_dir_find(&f->dir);
    ck_assert_int_eq(pthread_mutex_init(&f->lock, NULL), 0);
    f->log = (dllm_log){count_line, f};
}

void fixture_remove(cache_fixture *f)
{
    ck_assert_int_eq(unsetenv("DLLM_CACHE_DIR"), 0);
    (void)pthread_mutex_destroy(&f->lock);
    scratch_remove(f->top);
    ck_assert_int_eq(count_in("/proc/self/fd"), f->descriptors);
}

dllm_kernel_key fixture_key(int number)
{
    dllm_kernel_spec spec = {.file = "head_test.cu", .entry = "head_test", .arch = "sm_90a"};
    dllm_source_set sources = {.count = 1, .sources = {{.name = "head_test.cu"}}};
    const dllm_kernel_identity identity = {&spec, &sources, DLLM_KEY_SCHEMA};
    dllm_kernel_key key;
    dllm__kernel_define(&spec, "DLLM_NUMBER", number);
    ck_assert_int_eq(dllm__kernel_key_make(&key, &identity), DLLM_OK);
    return key;
}

void fixture_entry_path(char path[FIXTURE_PATH_BYTES], const cache_fixture *f,
                        const dllm_kernel_key *key, const char *build)
{
    char name[DLLM_ENTRY_NAME_BYTES];
    dllm__entry_name(name, key->hex, build);
    (void)snprintf(path, FIXTURE_PATH_BYTES, "%s/v1/k/%.2s/%s", f->folder, name, name);
}

void fixture_path(char path[FIXTURE_PATH_BYTES], const cache_fixture *f, const char *below)
{
    (void)snprintf(path, FIXTURE_PATH_BYTES, "%s/%s", f->folder, below);
}

int fixture_count(const cache_fixture *f, const char *below)
{
    char path[FIXTURE_PATH_BYTES];
    fixture_path(path, f, below);
    return count_in(path);
}

unsigned char *fixture_read(size_t *size, const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(fstat(fileno(file), &status), 0);
    *size = (size_t)status.st_size;
    unsigned char *bytes = malloc(*size + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    (void)fclose(file);
    return bytes;
}

void fixture_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

int fixture_run_as_nobody(int (*body)(void *user), void *user)
{
    int status = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(100);
        _exit(body(user));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}
