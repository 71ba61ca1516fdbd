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

#endif
