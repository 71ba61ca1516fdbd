/*
 * message.c - see message.h
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void dllm_message_line(char *out, size_t bytes, const char *format, va_list arguments)
{
    char text[DLLM_LINE_BYTES];
    size_t used = 0;
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
    for (const char *next = text; *next; next++) {
        char piece[5];
        write_piece(piece, (unsigned char)*next);
        const size_t length = strlen(piece);
        if (used + length >= bytes) break;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
}

void dllm_message_set(dllm_message *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dllm_message_line(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
}
