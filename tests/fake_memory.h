/*
 * fake_memory.h - makes the n-th allocation of the code under test fail
 *
 * For tests linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=strdup: calls from the objects of the
 * program are counted, those from shared libraries are not.
 */
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H

#include <stddef.h>

/** The n-th allocation from now on returns NULL; 0 = none. */
void fake_memory_fail_allocation(int n);

/** True if that allocation was reached. */
int fake_memory_has_failed(void);

/* NOLINTBEGIN(readability-identifier-naming): the linker's names */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);
/* NOLINTEND(readability-identifier-naming) */

#endif
