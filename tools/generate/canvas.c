/*
 * canvas.c - see canvas.h
 */
#include "canvas.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CURSOR_HIDE "\033[?25l"
#define CURSOR_SHOW "\033[?25h"
#define CLEAR_BELOW "\033[J"
#define DIM_BLOCK "\033[2m\u2588\033[0m"

/** A drawing while it is made. */
typedef struct drawing {
    char *text; /* lines, one after the other, each ended by a newline but the last */
    size_t used;
    size_t capacity;
    int columns;
    int column; /* where the next character goes */
    int lines;
    bool failed;
} drawing;

static void read_size(int *columns, int *rows)
{
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *columns = known && size.ws_col > 1 ? size.ws_col : 80;
    *rows = known && size.ws_row > 1 ? size.ws_row : 24;
}

static void append(drawing *out, const char *text, size_t bytes)
{
    if (out->failed) return;
    if (bytes > out->capacity - out->used) {
        const size_t capacity = 2 * out->capacity + bytes + 1024;
        char *larger = realloc(out->text, capacity);
        out->failed = larger == NULL;
        if (!larger) return;
        out->text = larger;
        out->capacity = capacity;
    }
    memcpy(out->text + out->used, text, bytes);
    out->used += bytes;
}

static void begin_line(drawing *out)
{
    append(out, "\n", 1);
    out->lines++;
    out->column = 0;
}

/** Appends what fills one cell; the last column stays free, or some terminals wrap too early. */
static void append_cell(drawing *out, const char *text, size_t bytes)
{
    if (out->column >= out->columns - 1) begin_line(out);
    append(out, text, bytes);
    out->column++;
}

static void append_token(drawing *out, const char *token, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)token[i];
        if (byte == '\n')
            begin_line(out);
        else if ((byte & 0xc0u) == 0x80u) /* goes on with the character before it */
            append(out, &token[i], 1);
        else if (byte < ' ' || byte == 0x7f) /* would move the cursor */
            append_cell(out, "?", 1);
        else
            append_cell(out, &token[i], 1);
    }
}

/** The part of the text that begins `lines` lines before its end. */
static const char *last_lines(const drawing *out, int lines)
{
    const char *from = out->text;
    for (int skip = out->lines - lines; skip > 0; skip--)
        from = (const char *)memchr(from, '\n', out->used) + 1;
    return from;
}

/** Puts the cursor where the last drawing began, ready for the next one. */
static void go_back(const dllm_canvas *canvas)
{
    if (canvas->lines > 1)
        (void)printf("\r\033[%dA" CLEAR_BELOW, canvas->lines - 1);
    else
        (void)fputs("\r" CLEAR_BELOW, stdout);
}

bool dllm_canvas_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

/** Does only what a signal handler may; the handler is gone by now, so the signal ends us. */
static void restore_terminal(int signal_number)
{
    static const char text[] = "\033[0m" CURSOR_SHOW "\n";
    const ssize_t written = write(STDOUT_FILENO, text, sizeof text - 1);
    (void)written;
    (void)raise(signal_number);
}

void dllm_canvas_open(dllm_canvas *canvas, const dllm_tokenizer *tokenizer, int32_t mask_id)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    *canvas = (dllm_canvas){tokenizer, mask_id, 0};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = restore_terminal;
        action.sa_flags = (int)SA_RESETHAND;
        (void)sigaction(signals[i], &action, NULL);
    }
    (void)fputs(CURSOR_HIDE, stdout);
    (void)fflush(stdout);
}

void dllm_canvas_draw(dllm_canvas *canvas, const int32_t *ids, int64_t length)
{
    int rows;
    drawing out = {.lines = 1};
    read_size(&out.columns, &rows);
    for (int64_t i = 0; i < length; i++) {
        if (ids[i] == canvas->mask_id) {
            append_cell(&out, DIM_BLOCK, sizeof DIM_BLOCK - 1);
            continue;
        }
        size_t bytes;
        const char *token = dllm_tokenizer_token(canvas->tokenizer, ids[i], &bytes);
        append_token(&out, token, bytes);
    }
    append(&out, "", 1);
    if (!out.failed) {
        go_back(canvas);
        canvas->lines = out.lines < rows ? out.lines : rows - 1;
        (void)fputs(last_lines(&out, canvas->lines), stdout);
        (void)fflush(stdout);
    }
    free(out.text);
}

void dllm_canvas_close(dllm_canvas *canvas)
{
    go_back(canvas);
    canvas->lines = 0;
    (void)fputs(CURSOR_SHOW, stdout);
    (void)fflush(stdout);
}
