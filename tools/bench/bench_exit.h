/*
 * bench_exit.h - how bench ends: its exit codes, and the way out when nothing can be measured
 */
#ifndef BENCH_EXIT_H
#define BENCH_EXIT_H

enum {
    BENCH_DONE = 0,
    BENCH_USAGE = 1,
    BENCH_FAILED = 2, /* a wrong result, or a call that failed */
    BENCH_NO_DEVICE = 3
};

/** Prints "bench: ..." on stderr and ends the process with `code`. */
_Noreturn void bench_fatal(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
