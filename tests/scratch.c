/* scratch.c - makes, fills and removes the folder of a test; a failure fails the test */
#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_suite.h"

void scratch_make(char folder[SCRATCH_BYTES])
{
    const int length = snprintf(folder, SCRATCH_BYTES, "%s/scratch-XXXXXX", DLLM_BINARY_DIR);
    ck_assert_int_lt(length, SCRATCH_BYTES);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void scratch_write(const char *folder, const char *name, const char *text)
{
    char path[2 * SCRATCH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    ck_assert_int_eq(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *place)
{
    (void)facts;
    (void)type;
    (void)place;
    return remove(path);
}

void scratch_remove(const char *folder)
{
    ck_assert_int_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
