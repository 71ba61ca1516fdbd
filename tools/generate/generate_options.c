/*
 * generate_options.c - see generate_options.h
 */
#include "generate_options.h"
#include "dllm.h"
#include "parallel.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char dllm_generate_help[] =
    "usage: dllm-generate --model DIR --prompt TEXT [options]\n"
    "\n"
    "Continues a text with a masked-diffusion language model: LLaDA decoding at temperature 0,\n"
    "low-confidence remasking. The trunk runs on the CPU in fp32, the head through libdllm.\n"
    "On a terminal the text fills in live; in a pipe the finished text is written. The last line\n"
    "on standard error says what the head took.\n"
    "\n"
    "  --model DIR         folder with config.json, model.safetensors (LLaDA layout), vocab.txt\n"
    "  --prompt TEXT       the text to continue\n"
    "  --gen-length N      tokens to add (default 64)\n"
    "  --block-length N    tokens of a block, blocks fill from left to right; divides gen-length\n"
    "                      (default 32, or gen-length if that is less)\n"
    "  --steps N           forwards in all; the number of blocks divides it (default gen-length:\n"
    "                      one token a step)\n"
    "  --device WHERE      where the head runs: cpu, cuda or cuda:N (default cpu)\n"
    "  --family NAME       kernel family of the head (default: the library chooses)\n"
    "  --threads N         threads on the CPU (default: every processor of this process)\n"
    "  --ids               also write the token ids, on a line after the text\n"
    "  --help              this text\n"
    "\n"
    "exit: 0 done, 1 usage or a model that cannot be read, 2 failed while running,\n"
    "      3 no such device\n";

enum { OPTION_MODEL = 1, OPTION_PROMPT, OPTION_GEN, OPTION_BLOCK, OPTION_STEPS };
enum { OPTION_DEVICE = 16, OPTION_FAMILY, OPTION_THREADS, OPTION_IDS, OPTION_HELP };

static const struct option table[] = {
    {"model", required_argument, NULL, OPTION_MODEL},
    {"prompt", required_argument, NULL, OPTION_PROMPT},
    {"gen-length", required_argument, NULL, OPTION_GEN},
    {"block-length", required_argument, NULL, OPTION_BLOCK},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"family", required_argument, NULL, OPTION_FAMILY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"ids", no_argument, NULL, OPTION_IDS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static bool parse_number(int64_t *out, const char *text, int64_t lowest, int64_t highest)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < lowest || value > highest)
        return false;
    *out = value;
    return true;
}

static bool read_number(int64_t *out, const char *name, const char *text, int64_t highest,
                        dllm_message *message)
{
    if (parse_number(out, text, 1, highest)) return true;
    return DLLM_REFUSE(message, "--%s %s is not a number from 1 to %jd", name, text,
                       (intmax_t)highest);
}

static bool read_device(int *out, const char *text, dllm_message *message)
{
    int64_t ordinal = 0;
    const bool cuda = strncmp(text, "cuda", 4) == 0;
    const bool numbered = cuda && text[4] == ':' && parse_number(&ordinal, text + 5, 0, INT32_MAX);
    if (strcmp(text, "cpu") == 0)
        *out = DLLM_DEVICE_CPU;
    else if (numbered || strcmp(text, "cuda") == 0)
        *out = (int)ordinal;
    else
        return DLLM_REFUSE(message, "--device %s is not cpu, cuda or cuda:N", text);
    return true;
}

static bool take_option(dllm_generate_options *out, int option, char *value, dllm_message *message)
{
    int64_t threads = 0;
    switch (option) {
    case OPTION_MODEL:
        out->model = value;
        return true;
    case OPTION_PROMPT:
        out->prompt = value;
        return true;
    case OPTION_GEN:
        return read_number(&out->decode.gen_length, "gen-length", value, INT32_MAX, message);
    case OPTION_BLOCK:
        return read_number(&out->decode.block_length, "block-length", value, INT32_MAX, message);
    case OPTION_STEPS:
        return read_number(&out->decode.steps, "steps", value, INT32_MAX, message);
    case OPTION_DEVICE:
        return read_device(&out->device, value, message);
    case OPTION_FAMILY:
        out->family = value;
        return true;
    case OPTION_THREADS:
        if (!read_number(&threads, "threads", value, DLLM_PARALLEL_THREADS_MAX, message))
            return false;
        out->threads = (int)threads;
        return true;
    case OPTION_IDS:
        out->ids = true;
        return true;
    default:
        out->help = true;
        return true;
    }
}

bool dllm_generate_options_read(dllm_generate_options *out, int count, char **arguments,
                                dllm_message *message)
{
    *out = (dllm_generate_options){.device = DLLM_DEVICE_CPU, .decode = {.gen_length = 64}};
    optind = 1;
    for (;;) {
        const int place = optind;
        const int option = getopt_long(count, arguments, ":", table, NULL);
        if (option == -1) break;
        if (option == '?') return DLLM_REFUSE(message, "option %s is unknown", arguments[place]);
        if (option == ':') return DLLM_REFUSE(message, "option %s wants a value", arguments[place]);
        if (!take_option(out, option, optarg, message)) return false;
        if (out->help) return true;
    }
    if (optind < count) return DLLM_REFUSE(message, "argument %s is no option", arguments[optind]);
    if (!out->model) return DLLM_REFUSE(message, "--model is missing");
    if (!out->prompt) return DLLM_REFUSE(message, "--prompt is missing");
    const int64_t gen_length = out->decode.gen_length;
    if (!out->decode.block_length) out->decode.block_length = gen_length < 32 ? gen_length : 32;
    if (!out->decode.steps) out->decode.steps = gen_length;
    return true;
}
