/*
 * canvas.h - shows a canvas of tokens filling in on a terminal
 *
 * The text is drawn in place of the one before it; a masked position is a dim block. The drawing is
 * wrapped here and not by the terminal, so that the number of its lines is known; of a text that is
 * higher than the terminal the end is shown.
 */
#ifndef DLLM_TOOL_CANVAS_H
#define DLLM_TOOL_CANVAS_H

#include "tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct dllm_canvas {
    const dllm_tokenizer *tokenizer;
    int32_t mask_id;
    int lines; /* of the last drawing, 0: nothing is drawn */
} dllm_canvas;

/** True if standard output is a terminal that understands cursor movement. */
bool dllm_canvas_possible(void);

/**
 * Begins: hides the cursor; SIGINT, SIGTERM and SIGHUP bring it back before they end the program.
 * The tokenizer stays the caller's.
 */
void dllm_canvas_open(dllm_canvas *canvas, const dllm_tokenizer *tokenizer, int32_t mask_id);

/** Draws the ids; what cannot be drawn, for want of memory, is left out. */
void dllm_canvas_draw(dllm_canvas *canvas, const int32_t *ids, int64_t length);

/** Wipes the drawing and brings the cursor back. */
void dllm_canvas_close(dllm_canvas *canvas);

#endif
