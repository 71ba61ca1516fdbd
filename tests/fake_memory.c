/* fake_memory.c - a countdown in front of the allocator */
#include "fake_memory.h"

#include <stdatomic.h>

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
/* NOLINTEND(readability-identifier-naming) */

static atomic_int left; /* allocations until the one that fails; 0 and below: none to come */
static atomic_int failed;

void fake_memory_fail_allocation(int n)
{
    atomic_store(&failed, 0);
    atomic_store(&left, n);
}

int fake_memory_has_failed(void)
{
    return atomic_load(&failed);
}

static int fails(void)
{
    if (atomic_fetch_sub(&left, 1) != 1) return 0;
    atomic_store(&failed, 1);
    return 1;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}
