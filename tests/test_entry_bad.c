/* test_entry_bad.c - a folder in place of an entry, a tuned choice or the tag: it makes way */
#include "check_suite.h"

#include "cache_fixture.h"
#include "cache_trim.h"
#include "entry_publish.h"
#include "entry_store.h"
#include "plan_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char build[] = "13.0.88";
static const char cubin[] = "\177ELF and what follows";

static cache_fixture cache;
static dllm_entry_store *store;

static void start(void)
{
    fixture_make(&cache);
    ck_assert_int_eq(dllm__entry_store_create(&store, &cache.dir, 1, &cache.log, NULL), DLLM_OK);
}

static void end(void)
{
    dllm__entry_store_destroy(store);
    fixture_remove(&cache);
}

static void publish(const dllm_kernel_key *key)
{
    char why[DLLM_WHY_BYTES] = "";
    ck_assert_msg(dllm__entry_store_publish(store, key, build, (const unsigned char *)cubin,
                                            sizeof cubin, why),
                  "%s", why);
}

static bool finds(const dllm_kernel_key *key)
{
    dllm_stored_entry entry;
    const bool found = dllm__entry_store_load(&entry, store, key, build, 0);
    dllm__stored_entry_release(&entry);
    return found;
}

/* A folder at this path, with a file in it or without. */
static void plant(const char *path, bool filled)
{
    char inner[FIXTURE_PATH_BYTES + 8];
    (void)unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(inner, sizeof inner, "%s/file", path);
    if (filled) fixture_write(inner, "x", 1);
}

/* An empty folder is removed; what is in one is kept. */
START_TEST(a_lookup_moves_it_aside)
{
    char path[FIXTURE_PATH_BYTES];
    const dllm_kernel_key key = fixture_key(1);
    const bool filled = _i;
    publish(&key);
    fixture_entry_path(path, &cache, &key, build);
    plant(path, filled);
    ck_assert(!finds(&key));
    ck_assert_ptr_nonnull(strstr(cache.last_line, "it is a folder; moved aside"));
    ck_assert_uint_eq(dllm__entry_store_quarantined(store), 1);
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), filled);
    publish(&key);
    ck_assert(finds(&key));
}
END_TEST

/* An entry that was bad before lies there under the same name. */
START_TEST(a_file_of_its_name_gives_way)
{
    char path[FIXTURE_PATH_BYTES];
    const dllm_kernel_key key = fixture_key(1);
    publish(&key);
    fixture_entry_path(path, &cache, &key, build);
    ck_assert_int_eq(truncate(path, 50), 0);
    ck_assert(!finds(&key));
    plant(path, true);
    ck_assert(!finds(&key));
    ck_assert_uint_eq(dllm__entry_store_quarantined(store), 2);
    publish(&key);
    ck_assert(finds(&key));
}
END_TEST

/* Sixteen of a name have a place in v1/bad; the next stays, and nothing is lost. */
START_TEST(others_of_its_name_move_under_another)
{
    enum { PLACES = 16 };
    char path[FIXTURE_PATH_BYTES], bad[2 * FIXTURE_PATH_BYTES];
    char why[DLLM_WHY_BYTES] = "";
    const dllm_kernel_key key = fixture_key(1);
    publish(&key);
    fixture_entry_path(path, &cache, &key, build);
    for (int i = 0; i < PLACES; i++) {
        plant(path, true);
        ck_assert(!finds(&key));
        ck_assert_int_eq(fixture_count(&cache, "v1/bad"), i + 1);
    }
    (void)snprintf(bad, sizeof bad, "%s/v1/bad%s.15/file", cache.folder, strrchr(path, '/'));
    ck_assert_int_eq(access(bad, F_OK), 0);
    plant(path, true);
    ck_assert(!finds(&key));
    ck_assert_uint_eq(dllm__entry_store_quarantined(store), PLACES);
    ck_assert(!dllm__entry_store_publish(store, &key, build, (const unsigned char *)cubin,
                                         sizeof cubin, why));
    ck_assert_ptr_nonnull(strstr(why, "rename of "));
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), PLACES);
}
END_TEST

/* So is a file that comes after a folder. */
START_TEST(a_file_after_a_folder_is_kept)
{
    char path[FIXTURE_PATH_BYTES];
    const dllm_kernel_key key = fixture_key(1);
    publish(&key);
    fixture_entry_path(path, &cache, &key, build);
    plant(path, true);
    ck_assert(!finds(&key));
    publish(&key);
    ck_assert_int_eq(truncate(path, 50), 0);
    ck_assert(!finds(&key));
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), 2);
}
END_TEST

/* Folders are not among the sixteen that are kept: the oldest file gives way, not a folder. */
START_TEST(files_beside_it_still_give_way)
{
    char path[FIXTURE_PATH_BYTES];
    for (int i = 0; i < 20; i++) {
        const dllm_kernel_key key = fixture_key(i);
        publish(&key);
        fixture_entry_path(path, &cache, &key, build);
        if (i == 0)
            plant(path, true);
        else
            ck_assert_int_eq(truncate(path, 50), 0);
        ck_assert(!finds(&key));
    }
    ck_assert_uint_eq(dllm__entry_store_quarantined(store), 20);
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), 17);
}
END_TEST

/* Nobody looks for a choice before it is published again. */
START_TEST(a_tuned_choice_takes_its_place)
{
    static const dllm_plan_file plan = {.key = "operation head\n", .choice = "family naive\n"};
    char below[DLLM_PLAN_FOLDER_BYTES], name[DLLM_PLAN_NAME_BYTES];
    char inner[FIXTURE_PATH_BYTES / 2], path[FIXTURE_PATH_BYTES];
    char why[DLLM_WHY_BYTES] = "";
    dllm_plan_file found;
    dllm__plan_folder(below, "gpu");
    dllm__plan_name(name, plan.key);
    (void)snprintf(inner, sizeof inner, "%s/%s", below, name);
    fixture_path(path, &cache, inner);
    ck_assert(dllm__plan_file_publish(&cache.dir, &dllm__file_calls, "gpu", &plan, why));
    plant(path, true);
    ck_assert(!dllm__plan_file_find(&found, &cache.dir, "gpu", plan.key, why));
    ck_assert_str_eq(why, "it is a folder");
    ck_assert_msg(dllm__plan_file_publish(&cache.dir, &dllm__file_calls, "gpu", &plan, why), "%s",
                  why);
    ck_assert(dllm__plan_file_find(&found, &cache.dir, "gpu", plan.key, why));
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), 1);
}
END_TEST

/* What stands in the tag's place is no tag: without one the folder is no cache to trim. */
START_TEST(the_tag_takes_its_place)
{
    char path[FIXTURE_PATH_BYTES];
    const dllm_kernel_key key = fixture_key(1);
    publish(&key);
    fixture_path(path, &cache, "v1/CACHEDIR.TAG");
    plant(path, _i);
    ck_assert(!dllm__cache_is_tagged(&cache.dir));
    publish(&key);
    ck_assert(dllm__cache_is_tagged(&cache.dir));
    ck_assert_int_eq(fixture_count(&cache, "v1/bad"), _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entry_bad");
    TCase *folder = tcase_create("folder");
    tcase_add_checked_fixture(folder, start, end);
    tcase_add_loop_test(folder, a_lookup_moves_it_aside, 0, 2);
    tcase_add_test(folder, a_file_of_its_name_gives_way);
    tcase_add_test(folder, others_of_its_name_move_under_another);
    tcase_add_test(folder, a_file_after_a_folder_is_kept);
    tcase_add_test(folder, files_beside_it_still_give_way);
    tcase_add_test(folder, a_tuned_choice_takes_its_place);
    tcase_add_loop_test(folder, the_tag_takes_its_place, 0, 2);
    suite_add_tcase(suite, folder);
    return check_suite_run(suite);
}
