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

/** The program's name, which begins its last message; the file with its main defines it. */
extern const char bench_program[];

/** Prints bench_program, ": ..." on stderr and ends the process with `code`. */
_Noreturn void bench_fatal(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
