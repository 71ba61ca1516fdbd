/* status.c - names of the statuses and the thread's message */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

dllm_status dllm__fail(dllm_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return status;
}

void dllm__clear_error(void)
{
    message[0] = '\0';
}

const char *dllm_last_error(void)
{
    return message;
}

const char *dllm_status_text(dllm_status status)
{
#define STATUS_ROW(name, number, text) {number, text},
    static const struct {
        int number;
        const char *text;
    } table[] = {DLLM_STATUS_LIST(STATUS_ROW)};
#undef STATUS_ROW
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].number == (int)status) return table[i].text;
    return "unknown status";
}

#define VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define VERSION_TEXT(major, minor, patch) VERSION_TEXT_(major, minor, patch)

const char *dllm_version(void)
{
    return VERSION_TEXT(DLLM_VERSION_MAJOR, DLLM_VERSION_MINOR, DLLM_VERSION_PATCH);
}
