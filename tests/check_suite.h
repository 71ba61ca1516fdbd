/* check_suite.h - Check, and the one way a suite is run */
#ifndef CHECK_SUITE_H
#define CHECK_SUITE_H

#include <check.h>

/* Runs a suite and frees it; 0 if every test passed. */
static inline int check_suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* A case without a time limit whose tests share what `open` makes. Cases of names can be run side by
   side, by CK_RUN_CASE. */
static inline TCase *check_suite_case(Suite *suite, const char *name, SFun open, SFun close)
{
    TCase *added = tcase_create(name);
    tcase_add_unchecked_fixture(added, open, close);
    tcase_set_timeout(added, 0);
    suite_add_tcase(suite, added);
    return added;
}

#endif
