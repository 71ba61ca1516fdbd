/* test_entry_store.c - what is looked up is valid; what is not is moved aside, counted, forgotten */
#include "check_suite.h"

#include "cache_fixture.h"
#include "entry_store.h"
#include "entry_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char build[] = "13.0.88";
static const char cubin[] = "\177ELF and what follows";

typedef struct store_fixture {
    cache_fixture cache;
    dllm_entry_store *store;
    dllm_kernel_key key;
} store_fixture;

static void make(store_fixture *f)
{
    fixture_make(&f->cache);
    f->key = fixture_key(1);
    ck_assert_int_eq(dllm__entry_store_create(&f->store, &f->cache.dir, 1, &f->cache.log, NULL),
                     DLLM_OK);
}

static void unmake(store_fixture *f)
{
    dllm__entry_store_destroy(f->store);
    fixture_remove(&f->cache);
}

static bool publish_as(store_fixture *f, int number, const char *with_build)
{
    char why[DLLM_WHY_BYTES] = "";
    const dllm_kernel_key key = fixture_key(number);
    return dllm__entry_store_publish(f->store, &key, with_build, (const unsigned char *)cubin,
                                     sizeof cubin, why);
}

/* True if the lookup finds the right bytes; any other bytes fail the test. */
static bool finds(store_fixture *f, const char *wanted_build)
{
    dllm_stored_entry entry;
    if (!dllm__entry_store_load(&entry, f->store, &f->key, wanted_build, 0)) return false;
    ck_assert_uint_eq(entry.cubin_bytes, sizeof cubin);
    ck_assert_mem_eq(entry.cubin, cubin, sizeof cubin);
    dllm__stored_entry_release(&entry);
    return true;
}

static void entry_path(char path[FIXTURE_PATH_BYTES], const store_fixture *f)
{
    fixture_entry_path(path, &f->cache, &f->key, build);
}

START_TEST(finds_what_was_published)
{
    store_fixture f;
    make(&f);
    ck_assert(!finds(&f, build));
    ck_assert(publish_as(&f, 1, build));
    ck_assert(finds(&f, build));
    ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), 0);
    ck_assert_int_eq(f.cache.lines, 0);
    unmake(&f);
}
END_TEST

START_TEST(asks_for_its_own_build_unless_any_will_do)
{
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, "12.9.86"));
    ck_assert(!finds(&f, build));
    ck_assert(finds(&f, NULL));
    ck_assert(publish_as(&f, 1, build));
    ck_assert(finds(&f, build));
    ck_assert(finds(&f, "12.9.86"));
    unmake(&f);
}
END_TEST

START_TEST(takes_the_newest_of_several_builds)
{
    static const char *const builds[] = {"13.0.9", "13.0.88", "9.2.1", "12.10.0"};
    dllm_stored_entry entry;
    store_fixture f;
    make(&f);
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++)
        ck_assert(publish_as(&f, 1, builds[i]));
    ck_assert(dllm__entry_store_load(&entry, f.store, &f.key, NULL, 0));
    ck_assert_ptr_nonnull(strstr(entry.name, "-13.0.88.dk"));
    dllm__stored_entry_release(&entry);
    unmake(&f);
}
END_TEST

START_TEST(a_bad_newest_build_gives_way_to_the_next)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, "12.9.86"));
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    fixture_write(path, "x", 1);
    ck_assert(finds(&f, NULL));
    ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), 1);
    unmake(&f);
}
END_TEST

START_TEST(refuses_a_build_that_is_no_file_name)
{
    store_fixture f;
    make(&f);
    ck_assert(!publish_as(&f, 1, "../../13"));
    ck_assert(!publish_as(&f, 1, ""));
    ck_assert_int_eq(access(f.cache.folder, F_OK), -1);
    unmake(&f);
}
END_TEST

/* ---- bad entries */

START_TEST(truncation_at_every_length_is_a_miss_that_is_overwritten)
{
    char path[FIXTURE_PATH_BYTES];
    size_t size = 0;
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    unsigned char *whole = fixture_read(&size, path);
    for (size_t length = 0; length < size; length++) {
        fixture_write(path, whole, length);
        ck_assert_msg(!finds(&f, build), "%zu of %zu bytes pass", length, size);
        ck_assert_int_eq(access(path, F_OK), -1);
        ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), length + 1);
    }
    ck_assert(publish_as(&f, 1, build));
    ck_assert(finds(&f, build));
    free(whole);
    unmake(&f);
}
END_TEST

START_TEST(flipped_bits_are_never_handed_out)
{
    char path[FIXTURE_PATH_BYTES];
    size_t size = 0;
    uint32_t random = 4242;
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    unsigned char *whole = fixture_read(&size, path);
    for (unsigned round = 0; round < 1000; round++) {
        random = random * 1664525 + 1013904223;
        const size_t bit = (random >> 8) % (8 * size);
        whole[bit / 8] ^= (unsigned char)(1 << bit % 8);
        fixture_write(path, whole, size);
        whole[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_msg(!finds(&f, build), "bit %zu flipped passes", bit);
        ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), round + 1);
    }
    free(whole);
    unmake(&f);
}
END_TEST

START_TEST(a_valid_entry_under_another_kernels_name_is_bad)
{
    char from[FIXTURE_PATH_BYTES];
    char to[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(to, &f);
    ck_assert(publish_as(&f, 1, "12.9.86"));
    fixture_entry_path(from, &f.cache, &f.key, "12.9.86");
    ck_assert_int_eq(rename(from, to), 0);
    ck_assert(!finds(&f, build));
    ck_assert_ptr_nonnull(strstr(f.cache.last_line, "key text of another kernel"));
    unmake(&f);
}
END_TEST

START_TEST(sixteen_bad_entries_are_kept_the_last_ones)
{
    char path[FIXTURE_PATH_BYTES];
    char bad[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    for (int i = 0; i < 20; i++) {
        f.key = fixture_key(i);
        ck_assert(publish_as(&f, i, build));
        entry_path(path, &f);
        ck_assert_int_eq(truncate(path, 50), 0);
        ck_assert(!finds(&f, build));
    }
    ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), 20);
    ck_assert_int_eq(fixture_count(&f.cache, "v1/bad"), 16);
    (void)snprintf(bad, sizeof bad, "%s/v1/bad%s", f.cache.folder, strrchr(path, '/'));
    ck_assert_int_eq(access(bad, F_OK), 0);
    unmake(&f);
}
END_TEST

/* ---- not ours */

START_TEST(a_link_in_place_of_an_entry_is_ignored_and_named)
{
    char path[FIXTURE_PATH_BYTES];
    char elsewhere[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", f.cache.top);
    ck_assert_int_eq(rename(path, elsewhere), 0);
    ck_assert_int_eq(symlink(elsewhere, path), 0);
    ck_assert(!finds(&f, build));
    ck_assert_ptr_nonnull(strstr(f.cache.last_line, "it is a link"));
    ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), 0);
    ck_assert(publish_as(&f, 1, build));
    ck_assert(finds(&f, build));
    unmake(&f);
}
END_TEST

START_TEST(an_entry_the_world_may_write_is_ignored)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    ck_assert_int_eq(chmod(path, 0646), 0);
    ck_assert(!finds(&f, build));
    ck_assert_ptr_nonnull(strstr(f.cache.last_line, "the world may write it"));
    unmake(&f);
}
END_TEST

START_TEST(a_fifo_in_place_of_an_entry_does_not_hold_the_caller)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(!finds(&f, build));
    ck_assert_ptr_nonnull(strstr(f.cache.last_line, "not a regular file"));
    unmake(&f);
}
END_TEST

START_TEST(another_users_entry_is_ignored)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    ck_assert_int_eq(chown(path, 65534, 65534), 0);
    ck_assert(!finds(&f, build));
    ck_assert_ptr_nonnull(strstr(f.cache.last_line, "another user"));
    unmake(&f);
}
END_TEST

START_TEST(a_member_of_the_shared_folders_group_is_read)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert_int_eq(mkdir(f.cache.folder, 0700), 0);
    ck_assert_int_eq(chmod(f.cache.folder, 02770), 0);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
    ck_assert(finds(&f, build));
    ck_assert_int_eq(chown(path, 65534, 65534), 0);
    ck_assert(!finds(&f, build));
    unmake(&f);
}
END_TEST

START_TEST(a_folder_that_is_not_trusted_is_switched_off_with_one_line)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    fixture_path(path, &f.cache, "v1");
    ck_assert_int_eq(chmod(path, 0777), 0);
    ck_assert(!finds(&f, build));
    ck_assert(!finds(&f, build));
    ck_assert(!publish_as(&f, 1, build));
    ck_assert_int_eq(f.cache.lines, 1);
    ck_assert_ptr_null(dllm__entry_store_path(f.store));
    unmake(&f);
}
END_TEST

START_TEST(failures_to_publish_are_logged_once)
{
    store_fixture f;
    make(&f);
    fixture_write(f.cache.folder, "a file in the way", 17);
    ck_assert(!publish_as(&f, 1, build));
    ck_assert(!publish_as(&f, 2, build));
    ck_assert_int_eq(f.cache.lines, 1);
    unmake(&f);
}
END_TEST

START_TEST(a_folder_deleted_while_in_use_is_made_again)
{
    store_fixture f;
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    scratch_remove(f.cache.folder);
    ck_assert(!finds(&f, build));
    ck_assert(publish_as(&f, 1, build));
    ck_assert(finds(&f, build));
    unmake(&f);
}
END_TEST

/* ---- listing */

typedef struct listing {
    int valid;
    int bad;
    int ignored;
    int refused;
    char last_refused[16]; /* its folder */
    char last_reason[128];
    dllm_entry_store *repair; /* moves bad ones aside */
} listing;

static void check_valid(const dllm_entry_report *report)
{
    ck_assert_ptr_nonnull(strstr(report->key_text, "program head_test.cu\n"));
    ck_assert_str_eq(report->build, build);
    ck_assert_uint_gt(report->file_bytes, sizeof cubin);
    ck_assert_int_eq(access(report->path, F_OK), 0);
}

static void list_entry(void *user, const dllm_entry_report *report)
{
    listing *l = user;
    if (!report->reason) {
        l->valid++;
        check_valid(report);
        return;
    }
    *(report->refused ? &l->refused : report->ignored ? &l->ignored : &l->bad) += 1;
    if (report->refused)
        (void)snprintf(l->last_refused, sizeof l->last_refused, "%s", report->folder);
    (void)snprintf(l->last_reason, sizeof l->last_reason, "%s", report->reason);
    if (l->repair)
        (void)dllm__entry_store_quarantine(l->repair, report->folder, report->name, report->reason);
}

static void publish_some(store_fixture *f)
{
    for (int i = 1; i <= 5; i++)
        ck_assert(publish_as(f, i, build));
}

START_TEST(listing_shows_every_entry_with_its_key)
{
    store_fixture f;
    listing l = {0};
    make(&f);
    dllm__entry_walk(&f.cache.dir, list_entry, &l);
    ck_assert_int_eq(l.valid, 0);
    publish_some(&f);
    dllm__entry_walk(&f.cache.dir, list_entry, &l);
    ck_assert_int_eq(l.valid, 5);
    ck_assert_int_eq(l.bad + l.ignored, 0);
    unmake(&f);
}
END_TEST

static const struct {
    const char *below; /* "" = that of an entry */
    const char *folder;
    int valid;
} refusals[] = {{"v1", "", 0}, {"v1/k", "", 0}, {"", NULL, 4}, {"v1/tmp", "tmp", 5}};

START_TEST(listing_names_a_folder_that_is_refused)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    listing l = {0};
    make(&f);
    publish_some(&f);
    entry_path(path, &f);
    *strrchr(path, '/') = '\0';
    if (refusals[_i].below[0]) fixture_path(path, &f.cache, refusals[_i].below);
    ck_assert_int_eq(chmod(path, 0777), 0);
    dllm__entry_walk(&f.cache.dir, list_entry, &l);
    ck_assert_int_eq(l.refused, 1);
    ck_assert_int_eq(l.valid, refusals[_i].valid);
    ck_assert_str_eq(l.last_refused,
                     refusals[_i].folder ? refusals[_i].folder : strrchr(path, '/') + 1);
    ck_assert_ptr_nonnull(strstr(l.last_reason, "the world may write it"));
    unmake(&f);
}
END_TEST

START_TEST(listing_says_what_is_wrong_and_repair_moves_it)
{
    char path[FIXTURE_PATH_BYTES];
    store_fixture f;
    listing l = {0};
    make(&f);
    publish_some(&f);
    entry_path(path, &f);
    ck_assert_int_eq(truncate(path, 95), 0);
    l.repair = f.store;
    dllm__entry_walk(&f.cache.dir, list_entry, &l);
    ck_assert_int_eq(l.valid, 4);
    ck_assert_int_eq(l.bad, 1);
    ck_assert_str_eq(l.last_reason, "shorter than a header");
    ck_assert_int_eq(access(path, F_OK), -1);
    ck_assert_uint_eq(dllm__entry_store_quarantined(f.store), 1);
    unmake(&f);
}
END_TEST

START_TEST(listing_sees_a_name_that_is_not_the_keys)
{
    char path[FIXTURE_PATH_BYTES];
    char wrong[FIXTURE_PATH_BYTES + 4];
    store_fixture f;
    listing l = {0};
    make(&f);
    ck_assert(publish_as(&f, 1, build));
    entry_path(path, &f);
    (void)snprintf(wrong, sizeof wrong, "%s.dk", path);
    ck_assert_int_eq(rename(path, wrong), 0);
    dllm__entry_walk(&f.cache.dir, list_entry, &l);
    ck_assert_int_eq(l.bad, 1);
    ck_assert_str_eq(l.last_reason, "name differs from its key text");
    unmake(&f);
}
END_TEST

static void add_not_ours(TCase *foreign)
{
    tcase_add_test(foreign, a_link_in_place_of_an_entry_is_ignored_and_named);
    tcase_add_test(foreign, an_entry_the_world_may_write_is_ignored);
    tcase_add_test(foreign, a_fifo_in_place_of_an_entry_does_not_hold_the_caller);
    tcase_add_test(foreign, a_folder_that_is_not_trusted_is_switched_off_with_one_line);
    tcase_add_test(foreign, failures_to_publish_are_logged_once);
    tcase_add_test(foreign, a_folder_deleted_while_in_use_is_made_again);
    if (geteuid() != 0) return; /* the others take a second user */
    tcase_add_test(foreign, another_users_entry_is_ignored);
    tcase_add_test(foreign, a_member_of_the_shared_folders_group_is_read);
}

int main(void)
{
    Suite *suite = suite_create("entry_store");
    TCase *lookup = tcase_create("lookup");
    tcase_add_test(lookup, finds_what_was_published);
    tcase_add_test(lookup, asks_for_its_own_build_unless_any_will_do);
    tcase_add_test(lookup, takes_the_newest_of_several_builds);
    tcase_add_test(lookup, a_bad_newest_build_gives_way_to_the_next);
    tcase_add_test(lookup, refuses_a_build_that_is_no_file_name);
    suite_add_tcase(suite, lookup);
    TCase *bad = tcase_create("bad");
    tcase_set_timeout(bad, 120);
    tcase_add_test(bad, truncation_at_every_length_is_a_miss_that_is_overwritten);
    tcase_add_test(bad, flipped_bits_are_never_handed_out);
    tcase_add_test(bad, a_valid_entry_under_another_kernels_name_is_bad);
    tcase_add_test(bad, sixteen_bad_entries_are_kept_the_last_ones);
    suite_add_tcase(suite, bad);
    TCase *foreign = tcase_create("not_ours");
    add_not_ours(foreign);
    suite_add_tcase(suite, foreign);
    TCase *list = tcase_create("listing");
    tcase_add_test(list, listing_shows_every_entry_with_its_key);
    tcase_add_loop_test(list, listing_names_a_folder_that_is_refused, 0, 4);
    tcase_add_test(list, listing_says_what_is_wrong_and_repair_moves_it);
    tcase_add_test(list, listing_sees_a_name_that_is_not_the_keys);
    suite_add_tcase(suite, list);
    return check_suite_run(suite);
}
