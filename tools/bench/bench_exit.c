/*
 * bench_exit.c - the last message
 */
#include "bench_exit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bench_fatal(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fflush(stdout);
    (void)fputs("bench: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}
