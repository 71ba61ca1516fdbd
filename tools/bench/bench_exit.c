/*
 * bench_exit.c - the last message
 */
#include "bench_exit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "message.h"

void bench_fatal(int code, const char *format, ...)
{
    char line[DLLM_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    dllm_message_line(line, sizeof line, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: %s\n", bench_program, line);
    exit(code);
}
