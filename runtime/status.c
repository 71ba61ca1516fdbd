/* status.c - names of the statuses and the thread's message */
#include "status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

/* The escape of a control character, or the character itself. */
static void write_piece(char piece[5], unsigned char character)
{
    const char *found = strchr("\nn\rr\tt", character);
    const bool is_plain = character >= 0x20 && character != 0x7f;
    if (is_plain)
        (void)snprintf(piece, 5, "%c", character);
    else if (found)
        (void)snprintf(piece, 5, "\\%c", found[1]);
    else
        (void)snprintf(piece, 5, "\\x%02x", character);
}

/* A message is one line, whatever a name in it holds. */
static void keep_line(char *out, size_t bytes, const char *text)
{
    size_t used = 0;
    for (; *text; text++) {
        char piece[5];
        write_piece(piece, (unsigned char)*text);
        const size_t length = strlen(piece);
        if (used + length >= bytes) break;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
}

dllm_status dllm__fail(dllm_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    keep_line(message, sizeof message, text);
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
