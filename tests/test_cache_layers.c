/* test_cache_layers.c - which folders are asked, in which order */
#include "check_suite.h"

#include "cache_layers.h"

#include <stdlib.h>
#include <string.h>

static void find(dllm_cache_layers *out, const char *list)
{
    ck_assert_int_eq(setenv("DLLM_CACHE_DIR", "/own", 1), 0);
    ck_assert_int_eq(
        list ? setenv("DLLM_SYSTEM_CACHE_PATH", list, 1) : unsetenv("DLLM_SYSTEM_CACHE_PATH"), 0);
    dllm__cache_layers_find(out);
    ck_assert_int_eq(unsetenv("DLLM_SYSTEM_CACHE_PATH"), 0);
    ck_assert_int_eq(unsetenv("DLLM_CACHE_DIR"), 0);
}

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

START_TEST(own_then_beside_the_library_then_the_systems)
{
    dllm_cache_layers layers;
    find(&layers, NULL);
    ck_assert_int_eq(layers.count, 3);
    ck_assert_str_eq(layers.dirs[0].path, "/own");
    ck_assert(ends_with(layers.dirs[1].path, "/tests/dllm-cache"));
    ck_assert_str_eq(layers.dirs[2].path, "/usr/share/dllm/cache");
}
END_TEST

START_TEST(the_list_comes_in_its_order_before_the_built_in_ones)
{
    dllm_cache_layers layers;
    find(&layers, "/one::/two:");
    ck_assert_int_eq(layers.count, 5);
    ck_assert_str_eq(layers.dirs[1].path, "/one");
    ck_assert_str_eq(layers.dirs[2].path, "/two");
    ck_assert(layers.dirs[2].usable);
}
END_TEST

START_TEST(a_relative_path_is_not_usable_and_says_so)
{
    dllm_cache_layers layers;
    find(&layers, "here");
    ck_assert(!layers.dirs[1].usable);
    ck_assert_ptr_nonnull(strstr(layers.dirs[1].why, "DLLM_SYSTEM_CACHE_PATH is \"here\""));
}
END_TEST

START_TEST(a_list_too_long_is_cut)
{
    dllm_cache_layers layers;
    find(&layers, "/1:/2:/3:/4:/5:/6:/7:/8:/9:/10:/11:/12:/13:/14");
    ck_assert_int_eq(layers.count, DLLM_CACHE_LAYERS_MAX);
    ck_assert_str_eq(layers.dirs[DLLM_CACHE_LAYERS_MAX - 1].path, "/11");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache_layers");
    TCase *order = tcase_create("order");
    tcase_add_test(order, own_then_beside_the_library_then_the_systems);
    tcase_add_test(order, the_list_comes_in_its_order_before_the_built_in_ones);
    tcase_add_test(order, a_relative_path_is_not_usable_and_says_so);
    tcase_add_test(order, a_list_too_long_is_cut);
    suite_add_tcase(suite, order);
    return check_suite_run(suite);
}
