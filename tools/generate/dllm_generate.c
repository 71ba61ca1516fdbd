/*
 * dllm_generate.c - dllm-generate: continues a text with a masked-diffusion language model
 *
 * The decoder (decoder.h) runs the library's loop around the model's trunk; what is seen meanwhile is
 * canvas.h, what is written of it trace_file.h.
 */
#include "canvas.h"
#include "decoder.h"
#include "dllm.h"
#include "generate_options.h"
#include "model.h"
#include "parallel.h"
#include "tokenizer.h"
#include "trace_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_MAX = 1 << 16 };

enum { EXIT_DONE = 0, EXIT_USAGE = 1, EXIT_FAILED = 2, EXIT_NO_DEVICE = 3 };

/** All that a run holds; zero is empty. */
typedef struct generation {
    dllm_generate_options options;
    dllm_model *model;
    dllm_tokenizer *tokenizer;
    dllm_context *context;
    dllm_decoder *decoder;
    FILE *trace;  /* NULL: not wanted, or written and closed */
    int32_t *ids; /* prompt, then what is generated */
    int64_t length;
    int64_t eos; /* what the sequence's list points to */
    bool live;
    dllm_canvas canvas;
    dllm_message message;
} generation;

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

/** Prompt and lengths against the model, in the words of the command line. */
static bool check_lengths(generation *work)
{
    const dllm_decoder_options decoder = {.decode = work->options.decode,
                                          .sequence = work->options.sequence};
    const dllm_sequence *sequence = &work->options.sequence;
    char blocks[64] = "";
    work->length = dllm_decoder_length(&decoder);
    if (work->length <= work->model->config.max_sequence) return true;
    if (work->options.decode.aligned_blocks)
        (void)snprintf(blocks, sizeof blocks, " in whole blocks of block-length %jd",
                       (intmax_t)sequence->block_length);
    return DLLM_REFUSE(&work->message,
                       "prompt of %jd tokens and gen-length %jd%s pass the model's "
                       "max_sequence_length %jd",
                       (intmax_t)sequence->prompt, (intmax_t)sequence->generate, blocks,
                       (intmax_t)work->model->config.max_sequence);
}

/** Model, tokens of the prompt, and whether the lengths fit. */
static bool read_input(generation *work)
{
    dllm_generate_options *options = &work->options;
    dllm_sequence *sequence = &options->sequence;
    if (!dllm_model_open(&work->model, options->model, &work->message) || !open_tokenizer(work))
        return false;
    if (!dllm_generate_options_fit(options, work->model->config.vocab, &work->message))
        return false;
    const size_t text_bytes = strlen(options->prompt);
    const size_t room = (size_t)(sequence->generate + sequence->block_length);
    work->ids = calloc(text_bytes + room, sizeof *work->ids);
    if (!work->ids) return DLLM_REFUSE(&work->message, "out of memory for the canvas");
    work->eos = work->model->config.eos_id;
    sequence->eos = &work->eos;
    sequence->eos_count = work->eos >= 0;
    return dllm_tokenizer_encode(work->tokenizer, options->prompt, text_bytes, work->ids,
                                 &sequence->prompt, &work->message) &&
           check_lengths(work);
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

static void show(void *user, const int32_t *canvas, int64_t length)
{
    generation *work = user;
    dllm_canvas_draw(&work->canvas, canvas, length);
}

static int make_decoder(generation *work)
{
    const dllm_generate_options *options = &work->options;
    dllm_decoder_options decoder = {.device = options->device,
                                    .threads = options->threads,
                                    .family = options->family,
                                    .decode = options->decode,
                                    .sequence = options->sequence,
                                    .show = work->live ? show : NULL,
                                    .user = work};
    if (decoder.threads == 0) decoder.threads = dllm_parallel_processors();
    if (options->trace) decoder.decode.trace_max = TRACE_MAX;
    const dllm_status status =
        dllm_decoder_create(&work->decoder, work->context, work->model, &decoder, &work->message);
    if (status == DLLM_INVALID_ARGUMENT || status == DLLM_UNSUPPORTED) return EXIT_USAGE;
    return status == DLLM_OK ? EXIT_DONE : EXIT_FAILED;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int decode(generation *work)
{
    if (work->live)
        dllm_canvas_open(&work->canvas, work->tokenizer, (int32_t)work->model->config.mask_id);
    const dllm_status status = dllm_decoder_run(work->decoder, work->ids, &work->message);
    if (work->live) dllm_canvas_close(&work->canvas);
    if (status == DLLM_INVALID_ARGUMENT) return EXIT_USAGE;
    return status == DLLM_OK ? EXIT_DONE : EXIT_FAILED;
}

/* ---- output ---------------------------------------------------------------------------------- */

static bool write_text(generation *work)
{
    char *text;
    size_t text_bytes;
    if (!dllm_tokenizer_decode(work->tokenizer, work->ids, work->length, &text, &text_bytes,
                               &work->message))
        return false;
    bool written = fwrite(text, 1, text_bytes, stdout) == text_bytes && fputc('\n', stdout) != EOF;
    free(text);
    for (int64_t i = 0; work->options.ids && i < work->length; i++)
        written = printf("%s%d", i ? " " : "", (int)work->ids[i]) > 0 && written;
    if (work->options.ids) written = fputc('\n', stdout) != EOF && written;
    if (fflush(stdout) != 0 || !written)
        return DLLM_REFUSE(&work->message, "standard output cannot be written");
    return true;
}

static bool write_trace(generation *work)
{
    int64_t count = 0;
    FILE *file = work->trace;
    if (!file) return true;
    const dllm_trace_record *records = dllm_decoder_trace(work->decoder, &count, &work->message);
    if (!records) return false;
    work->trace = NULL;
    return dllm_trace_file_write(file, work->options.trace, records, count, &work->message);
}

static int open_trace(generation *work)
{
    if (!work->options.trace) return EXIT_DONE;
    work->trace = dllm_trace_file_open(work->options.trace, &work->message);
    return work->trace ? EXIT_DONE : EXIT_FAILED;
}

static void write_report(const generation *work)
{
    dllm_decoder_report report;
    dllm_decoder_read_report(work->decoder, &report);
    if (report.uncovered > 0)
        (void)fprintf(
            stderr,
            "dllm-generate: in %jd of %jd rows the filter keeps more tokens than its list "
            "has, the %d likeliest: these alone took part\n",
            (intmax_t)report.uncovered, (intmax_t)report.rows,
            (int)work->options.decode.head.candidates);
    (void)fprintf(stderr,
                  "dllm-generate: %jd steps, %jd rows scored, head (%s) %.1f ms, temporary memory "
                  "%.1f KiB where logits take %.1f KiB\n",
                  (intmax_t)report.steps, (intmax_t)report.rows, report.family, report.ms,
                  (double)report.workspace_bytes / 1024.0, (double)report.logits_bytes / 1024.0);
}

static int run(generation *work)
{
    if (!read_input(work)) return EXIT_USAGE;
    int code = open_device(work);
    work->live = dllm_canvas_possible();
    if (code == EXIT_DONE) code = make_decoder(work);
    if (code == EXIT_DONE) code = open_trace(work);
    if (code == EXIT_DONE) code = decode(work);
    if (code != EXIT_DONE) return code;
    if (!write_text(work) || !write_trace(work)) return EXIT_FAILED;
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
    if (work.options.help) return dllm_generate_help(stdout) ? EXIT_DONE : EXIT_FAILED;
    const int code = run(&work);
    if (code != EXIT_DONE) (void)fprintf(stderr, "dllm-generate: %s\n", work.message.text);
    if (work.trace) (void)fclose(work.trace);
    dllm_decoder_destroy(work.decoder);
    dllm_context_destroy(work.context);
    dllm_tokenizer_close(work.tokenizer);
    dllm_model_close(work.model);
    free(work.ids);
    return code;
}
