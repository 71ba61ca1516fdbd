/*
 * message.c - see message.h
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

void dllm_message_set(dllm_message *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(message->text, sizeof message->text, format, arguments) < 0)
        message->text[0] = '\0';
    va_end(arguments);
}
