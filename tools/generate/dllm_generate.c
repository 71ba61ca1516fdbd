/*
 * dllm_generate.c - dllm-generate: continues a text with a masked-diffusion language model
 *
 * The trunk (trunk.h) turns the canvas into hidden states, the head (model_head.h) into tokens and
 * confidences, the loop (llada.h) commits the surest; what is seen meanwhile is canvas.h.
 */
#include "canvas.h"
#include "dllm.h"
#include "generate_options.h"
#include "llada.h"
#include "model.h"
#include "model_head.h"
#include "parallel.h"
#include "tokenizer.h"
#include "trunk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_FAILED = 2, EXIT_NO_DEVICE = 3 };

/** All that a run holds; zero is empty. */
typedef struct generation {
    dllm_generate_options options;
    dllm_model *model;
    dllm_tokenizer *tokenizer;
    dllm_context *context;
    dllm_model_head *head;
    dllm_trunk *trunk;
    int32_t *ids; /* prompt, then what is generated */
    int64_t prompt_length;
    int64_t steps; /* made */
    bool live;
    dllm_canvas canvas;
    dllm_message message;
} generation;

static int64_t length_of(const generation *work)
{
    return work->prompt_length + work->options.decode.gen_length;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool open_tokenizer(generation *work)
{
    char path[PATH_MAX];
    const int written = snprintf(path, sizeof path, "%s/vocab.txt", work->options.model);
    if (written < 0 || (size_t)written >= sizeof path)
        return DLLM_REFUSE(&work->message, "the path of vocab.txt is too long");
    if (!dllm_tokenizer_open(&work->tokenizer, path, &work->message)) return false;
    const int64_t tokens = dllm_tokenizer_count(work->tokenizer);
    if (tokens != work->model->config.vocab)
        return DLLM_REFUSE(&work->message, "%s has %jd tokens, vocab_size is %jd", path,
                           (intmax_t)tokens, (intmax_t)work->model->config.vocab);
    return true;
}

/** Model, tokens of the prompt, and whether the lengths fit. */
static bool read_input(generation *work)
{
    dllm_generate_options *options = &work->options;
    if (!dllm_model_open(&work->model, options->model, &work->message) || !open_tokenizer(work))
        return false;
    options->decode.mask_id = (int32_t)work->model->config.mask_id;
    const size_t text_bytes = strlen(options->prompt);
    work->ids = calloc(text_bytes + (size_t)options->decode.gen_length, sizeof *work->ids);
    if (!work->ids) return DLLM_REFUSE(&work->message, "out of memory for the canvas");
    return dllm_tokenizer_encode(work->tokenizer, options->prompt, text_bytes, work->ids,
                                 &work->prompt_length, &work->message) &&
           dllm_llada_check(&options->decode, work->prompt_length, work->model->config.max_sequence,
                            &work->message);
}

static int open_device(generation *work)
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = work->options.device;
    options.threads = work->options.threads;
    const dllm_status status = dllm_context_create(&work->context, &options);
    if (status == DLLM_OK) return EXIT_DONE;
    dllm_message_set(&work->message, "%s", dllm_last_error());
    return status == DLLM_OUT_OF_MEMORY ? EXIT_FAILED : EXIT_NO_DEVICE;
}

static int make_parts(generation *work)
{
    const dllm_generate_options *options = &work->options;
    const dllm_model_head_options head = {options->device, options->family,
                                          options->decode.block_length};
    const dllm_status status =
        dllm_model_head_create(&work->head, work->context, work->model, &head, &work->message);
    if (status == DLLM_INVALID_ARGUMENT || status == DLLM_UNSUPPORTED) return EXIT_USAGE;
    if (status != DLLM_OK) return EXIT_FAILED;
    const int threads = options->threads ? options->threads : dllm_parallel_processors();
    return dllm_trunk_create(&work->trunk, work->model, length_of(work), threads, &work->message)
               ? EXIT_DONE
               : EXIT_FAILED;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool score(void *user, const int32_t *canvas, int64_t length, const int64_t *positions,
                  int64_t count, const dllm_row_scores *out, dllm_message *message)
{
    generation *work = user;
    const float *hidden = dllm_trunk_forward(work->trunk, canvas, length);
    return dllm_model_head_score(work->head, hidden, positions, count, out, message);
}

static void show(void *user, const int32_t *canvas, int64_t length)
{
    generation *work = user;
    dllm_canvas_draw(&work->canvas, canvas, length);
}

static bool decode(generation *work)
{
    const dllm_llada_calls calls = {work, score, work->live ? show : NULL};
    if (work->live) dllm_canvas_open(&work->canvas, work->tokenizer, work->options.decode.mask_id);
    const bool done = dllm_llada_decode(&work->options.decode, &calls, work->ids,
                                        work->prompt_length, &work->steps, &work->message);
    if (work->live) dllm_canvas_close(&work->canvas);
    return done;
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool write_text(generation *work)
{
    char *text;
    size_t text_bytes;
    if (!dllm_tokenizer_decode(work->tokenizer, work->ids, length_of(work), &text, &text_bytes,
                               &work->message))
        return false;
    bool written = fwrite(text, 1, text_bytes, stdout) == text_bytes && fputc('\n', stdout) != EOF;
    free(text);
    for (int64_t i = 0; work->options.ids && i < length_of(work); i++)
        written = printf("%s%d", i ? " " : "", (int)work->ids[i]) > 0 && written;
    if (work->options.ids) written = fputc('\n', stdout) != EOF && written;
    if (fflush(stdout) != 0 || !written)
        return DLLM_REFUSE(&work->message, "standard output cannot be written");
    return true;
}

static void write_report(const generation *work)
{
    dllm_model_head_report report;
    dllm_model_head_read_report(work->head, &report);
    (void)fprintf(stderr,
                  "dllm-generate: %jd steps, %jd rows scored, head (%s) %.1f ms, temporary memory "
                  "%.1f KiB where logits take %.1f KiB\n",
                  (intmax_t)work->steps, (intmax_t)report.rows, report.family, report.ms,
                  (double)report.workspace_bytes / 1024.0, (double)report.logits_bytes / 1024.0);
}

static int run(generation *work)
{
    if (!read_input(work)) return EXIT_USAGE;
    int code = open_device(work);
    if (code == EXIT_DONE) code = make_parts(work);
    if (code != EXIT_DONE) return code;
    work->live = dllm_canvas_possible();
    if (!decode(work) || !write_text(work)) return EXIT_FAILED;
    write_report(work);
    return EXIT_DONE;
}

int main(int count, char **arguments)
{
    static generation work; /* zero: everything absent */
    if (!dllm_generate_options_read(&work.options, count, arguments, &work.message)) {
        (void)fprintf(stderr, "dllm-generate: %s; see --help\n", work.message.text);
        return EXIT_USAGE;
    }
    if (work.options.help) return fputs(dllm_generate_help, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
    const int code = run(&work);
    if (code != EXIT_DONE) (void)fprintf(stderr, "dllm-generate: %s\n", work.message.text);
    dllm_trunk_destroy(work.trunk);
    dllm_model_head_destroy(work.head);
    dllm_context_destroy(work.context);
    dllm_tokenizer_close(work.tokenizer);
    dllm_model_close(work.model);
    free(work.ids);
    return code;
}
