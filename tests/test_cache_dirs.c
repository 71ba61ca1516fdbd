/* test_cache_dirs.c - which folder, whose, and that nothing is made where nothing may be */
#include "check_suite.h"

#include "cache_fixture.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_or_unset(const char *name, const char *value)
{
    ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static dllm_cache_dir find_with(const char *own, const char *xdg, const char *home)
{
    dllm_cache_dir dir;
    set_or_unset("DLLM_CACHE_DIR", own);
    set_or_unset("XDG_CACHE_HOME", xdg);
    set_or_unset("HOME", home);
    dllm__cache_dir_find(&dir);
    set_or_unset("DLLM_CACHE_DIR", NULL);
    return dir;
}

static const struct {
    const char *own;
    const char *xdg;
    const char *home;
    const char *variable;
    const char *path;
} places[] = {
    {"/own", "/xdg", "/home/a", "DLLM_CACHE_DIR", "/own"},
    {NULL, "/xdg", "/home/a", "XDG_CACHE_HOME", "/xdg/dllm"},
    {NULL, NULL, "/home/a", "HOME", "/home/a/.cache/dllm"},
    {"", "", "/home/a", "HOME", "/home/a/.cache/dllm"},
    {NULL, "relative", "/home/a", "HOME", "/home/a/.cache/dllm"},
    /* the first that is set is the folder, usable or not */
    {"relative", "/xdg", "/home/a", "DLLM_CACHE_DIR", ""},
    {"/", "/xdg", "/home/a", "DLLM_CACHE_DIR", ""},
    {NULL, "/", "/home/a", "XDG_CACHE_HOME", ""},
    {NULL, NULL, "/", "HOME", ""},
    {NULL, NULL, "///", "HOME", ""},
    {NULL, NULL, "/.", "HOME", ""},
    {NULL, NULL, "/..", "HOME", ""},
    {"//", "/xdg", "/home/a", "DLLM_CACHE_DIR", ""},
    {"/.././/", "/xdg", "/home/a", "DLLM_CACHE_DIR", ""},
    {NULL, "/./", "/home/a", "XDG_CACHE_HOME", ""},
    {"/.own", "/xdg", "/home/a", "DLLM_CACHE_DIR", "/.own"},
    {"/..a", "/xdg", "/home/a", "DLLM_CACHE_DIR", "/..a"},
    {"/...", "/xdg", "/home/a", "DLLM_CACHE_DIR", "/..."},
    {NULL, NULL, "relative", "HOME", ""},
    {NULL, NULL, ".", "HOME", ""},
};

START_TEST(first_variable_that_is_set_names_the_folder)
{
    const dllm_cache_dir dir = find_with(places[_i].own, places[_i].xdg, places[_i].home);
    ck_assert_str_eq(dir.variable, places[_i].variable);
    ck_assert_str_eq(dir.path, places[_i].path);
    ck_assert_int_eq(dir.usable, places[_i].path[0] != '\0');
    ck_assert_int_eq(dir.why[0] == '\0', dir.usable);
}
END_TEST

START_TEST(without_variables_the_passwd_entry_is_asked)
{
    const dllm_cache_dir dir = find_with(NULL, NULL, NULL);
    const struct passwd *entry = getpwuid(geteuid());
    char path[PATH_MAX] = "";
    if (entry) (void)snprintf(path, sizeof path, "%s/.cache/dllm", entry->pw_dir);
    ck_assert_str_eq(dir.variable, entry ? "passwd" : "none");
    ck_assert_str_eq(dir.path, path);
}
END_TEST

START_TEST(a_path_too_long_is_not_usable)
{
    char home[PATH_MAX];
    memset(home, 'x', sizeof home - 1);
    home[0] = '/';
    home[sizeof home - 1] = '\0';
    const dllm_cache_dir dir = find_with(NULL, NULL, home);
    ck_assert(!dir.usable);
    ck_assert_ptr_nonnull(strstr(dir.why, "HOME"));
}
END_TEST

/* ---- whose */

static const struct {
    mode_t mode;
    uid_t owner;
    gid_t group;
    bool shared;
    bool trusted;
} owners[] = {
    {0700, 1000, 1000, false, true}, {0775, 1000, 1000, false, true},
    {0644, 0, 0, false, true},       {0702, 1000, 1000, false, false},
    {01777, 0, 0, false, false},     {0700, 1001, 1000, false, false},
    {0700, 1001, 50, true, true},    {0700, 1001, 51, true, false},
    {0702, 1000, 50, true, false},
};

START_TEST(only_own_roots_and_shared_things_are_trusted)
{
    const dllm_trust trust = {owners[_i].shared, 1000, 50};
    struct stat status = {0};
    status.st_mode = owners[_i].mode;
    status.st_uid = owners[_i].owner;
    status.st_gid = owners[_i].group;
    ck_assert_int_eq(dllm__trust_refusal(&trust, &status) == NULL, owners[_i].trusted);
}
END_TEST

/* ---- opening */

static mode_t mode_of(const cache_fixture *f, const char *below)
{
    char path[FIXTURE_PATH_BYTES];
    struct stat status;
    fixture_path(path, f, below);
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static bool can_open(cache_fixture *f, const char *below, bool create)
{
    dllm_cache_folder folder;
    const bool open = dllm__cache_folder_open(&folder, &f->dir, below, create);
    (void)snprintf(f->last_line, sizeof f->last_line, "%s", folder.why);
    dllm__cache_folder_close(&folder);
    return open;
}

START_TEST(looking_makes_nothing)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert(!can_open(&f, "v1/k/00", false));
    ck_assert_str_eq(f.last_line, "");
    ck_assert_int_eq(access(f.folder, F_OK), -1);
    fixture_remove(&f);
}
END_TEST

START_TEST(folders_are_made_for_the_owner_alone)
{
    cache_fixture f;
    fixture_make(&f);
    const mode_t before = umask(0);
    ck_assert(can_open(&f, "v1/k/00", true));
    (void)umask(before);
    ck_assert_int_eq(mode_of(&f, ""), 0700);
    ck_assert_int_eq(mode_of(&f, "v1"), 0700);
    ck_assert_int_eq(mode_of(&f, "v1/k/00"), 0700);
    fixture_remove(&f);
}
END_TEST

START_TEST(an_existing_folder_keeps_its_mode)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert_int_eq(mkdir(f.folder, 0755), 0);
    ck_assert(can_open(&f, "v1", true));
    ck_assert_int_eq(mode_of(&f, ""), 0755);
    fixture_remove(&f);
}
END_TEST

START_TEST(a_shared_folder_is_made_for_its_group)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert_int_eq(mkdir(f.folder, 0700), 0);
    ck_assert_int_eq(chmod(f.folder, 02770), 0);
    ck_assert(can_open(&f, "v1/tmp", true));
    ck_assert_int_eq(mode_of(&f, "v1/tmp"), 02770);
    fixture_remove(&f);
}
END_TEST

START_TEST(a_folder_the_world_may_write_is_refused)
{
    static const char *const folders[] = {"", "v1", "v1/k", "v1/k/00"};
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    ck_assert(can_open(&f, "v1/k/00", true));
    fixture_path(path, &f, folders[_i]);
    ck_assert_int_eq(chmod(path, 01777), 0);
    ck_assert(!can_open(&f, "v1/k/00", false));
    ck_assert_ptr_nonnull(strstr(f.last_line, "the world may write it"));
    fixture_remove(&f);
}
END_TEST

START_TEST(a_link_below_the_cache_folder_is_not_followed)
{
    char path[FIXTURE_PATH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    ck_assert(can_open(&f, "", true));
    fixture_path(path, &f, "v1");
    ck_assert_int_eq(symlink(f.top, path), 0);
    ck_assert(!can_open(&f, "v1/k", true));
    ck_assert_str_ne(f.last_line, "");
    (void)snprintf(path, sizeof path, "%s/k", f.top);
    ck_assert_int_eq(access(path, F_OK), -1);
    fixture_remove(&f);
}
END_TEST

START_TEST(another_users_folder_is_refused)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert(can_open(&f, "v1", true));
    ck_assert_int_eq(chown(f.folder, 65534, 65534), 0);
    ck_assert(!can_open(&f, "v1", false));
    ck_assert_ptr_nonnull(strstr(f.last_line, "another user"));
    fixture_remove(&f);
}
END_TEST

START_TEST(a_home_that_does_not_exist_is_not_made)
{
    char home[2 * SCRATCH_BYTES];
    cache_fixture f;
    fixture_make(&f);
    (void)snprintf(home, sizeof home, "%s/nobody", f.top);
    f.dir = find_with(NULL, NULL, home);
    ck_assert(f.dir.usable);
    ck_assert(!can_open(&f, "v1", true));
    ck_assert_int_eq(access(home, F_OK), -1);
    ck_assert_int_eq(mkdir(home, 0755), 0);
    ck_assert(can_open(&f, "v1", true));
    fixture_remove(&f);
}
END_TEST

static int finds_no_folder(void *user)
{
    dllm_cache_dir dir;
    (void)user;
    if (setuid(getuid()) != 0) return 1;
    dllm__cache_dir_find(&dir);
    return dir.usable ? 2 : 0;
}

START_TEST(a_user_without_home_has_no_folder)
{
    ck_assert_int_eq(unsetenv("XDG_CACHE_HOME"), 0);
    ck_assert_int_eq(setenv("HOME", "/", 1), 0);
    ck_assert_int_eq(fixture_run_as_nobody(finds_no_folder, NULL), 0);
}
END_TEST

/* ---- probing */

START_TEST(probe_tells_an_absent_folder_that_can_be_made)
{
    cache_fixture f;
    fixture_make(&f);
    dllm__cache_dir_probe(&f.dir);
    ck_assert(!f.dir.exists);
    ck_assert(f.dir.writable);
    ck_assert_str_eq(f.dir.why, "");
    ck_assert_int_eq(access(f.folder, F_OK), -1);
    fixture_remove(&f);
}
END_TEST

START_TEST(probe_writes_and_leaves_nothing)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert(can_open(&f, "", true));
    dllm__cache_dir_probe(&f.dir);
    ck_assert(f.dir.exists);
    ck_assert(f.dir.writable);
    ck_assert_int_eq(fixture_count(&f, ""), 0);
    fixture_remove(&f);
}
END_TEST

START_TEST(probe_says_why_not)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert(can_open(&f, "", true));
    ck_assert_int_eq(chmod(f.folder, 0777), 0);
    dllm__cache_dir_probe(&f.dir);
    ck_assert(!f.dir.writable);
    ck_assert_ptr_nonnull(strstr(f.dir.why, "the world may write it"));
    fixture_remove(&f);
}
END_TEST

static const char *const inner_folders[] = {"v1", "v1/k", "v1/tmp"};

START_TEST(probe_looks_into_the_inner_folders)
{
    cache_fixture f;
    char inner[FIXTURE_PATH_BYTES];
    fixture_make(&f);
    for (size_t i = 0; i < 3; i++)
        ck_assert(can_open(&f, inner_folders[i], true));
    dllm__cache_dir_probe(&f.dir);
    ck_assert(f.dir.writable);
    fixture_path(inner, &f, inner_folders[_i]);
    ck_assert_int_eq(chmod(inner, 0777), 0);
    dllm__cache_dir_probe(&f.dir);
    ck_assert(f.dir.exists);
    ck_assert(!f.dir.writable);
    ck_assert_ptr_nonnull(strstr(f.dir.why, "the world may write it"));
    fixture_remove(&f);
}
END_TEST

START_TEST(probe_sees_a_file_in_the_way)
{
    cache_fixture f;
    fixture_make(&f);
    fixture_write(f.folder, "x", 1);
    dllm__cache_dir_probe(&f.dir);
    ck_assert(!f.dir.writable);
    ck_assert_str_ne(f.dir.why, "");
    fixture_remove(&f);
}
END_TEST

static int probes_read_only(void *user)
{
    dllm_cache_dir *dir = user;
    dllm__cache_dir_probe(dir);
    return dir->writable || !dir->why[0];
}

START_TEST(probe_says_that_a_folder_is_read_only)
{
    cache_fixture f;
    fixture_make(&f);
    ck_assert_int_eq(chmod(f.top, 0755), 0);
    ck_assert_int_eq(fixture_run_as_nobody(probes_read_only, &f.dir), 0);
    ck_assert_int_eq(mkdir(f.folder, 0755), 0);
    ck_assert_int_eq(fixture_run_as_nobody(probes_read_only, &f.dir), 0);
    fixture_remove(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_dirs");
    TCase *which = tcase_create("which");
    tcase_add_loop_test(which, first_variable_that_is_set_names_the_folder, 0,
                        (int)(sizeof places / sizeof places[0]));
    tcase_add_test(which, without_variables_the_passwd_entry_is_asked);
    tcase_add_test(which, a_path_too_long_is_not_usable);
    suite_add_tcase(suite, which);
    TCase *whose = tcase_create("whose");
    tcase_add_loop_test(whose, only_own_roots_and_shared_things_are_trusted, 0,
                        (int)(sizeof owners / sizeof owners[0]));
    suite_add_tcase(suite, whose);
    TCase *opening = tcase_create("opening");
    tcase_add_test(opening, looking_makes_nothing);
    tcase_add_test(opening, folders_are_made_for_the_owner_alone);
    tcase_add_test(opening, an_existing_folder_keeps_its_mode);
    tcase_add_test(opening, a_shared_folder_is_made_for_its_group);
    tcase_add_loop_test(opening, a_folder_the_world_may_write_is_refused, 0, 4);
    tcase_add_test(opening, a_link_below_the_cache_folder_is_not_followed);
    tcase_add_test(opening, a_home_that_does_not_exist_is_not_made);
    suite_add_tcase(suite, opening);
    TCase *probing = tcase_create("probing");
    tcase_add_test(probing, probe_tells_an_absent_folder_that_can_be_made);
    tcase_add_test(probing, probe_writes_and_leaves_nothing);
    tcase_add_test(probing, probe_says_why_not);
    tcase_add_loop_test(probing, probe_looks_into_the_inner_folders, 0, 3);
    tcase_add_test(probing, probe_sees_a_file_in_the_way);
    suite_add_tcase(suite, probing);
    if (geteuid() == 0) { /* what takes a second user */
        tcase_add_test(opening, another_users_folder_is_refused);
        tcase_add_test(opening, a_user_without_home_has_no_folder);
        tcase_add_test(probing, probe_says_that_a_folder_is_read_only);
    }
    return check_suite_run(suite);
}
