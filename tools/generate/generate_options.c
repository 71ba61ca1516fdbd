/*
 * generate_options.c - see generate_options.h
 */
#include "generate_options.h"
#include "dllm.h"
#include "option_numbers.h"
#include "parallel.h"

#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_MODEL = 1, OPTION_PROMPT, OPTION_GEN, OPTION_BLOCK, OPTION_STEPS };
enum { OPTION_DEVICE = 16, OPTION_FAMILY, OPTION_THREADS, OPTION_IDS, OPTION_HELP };
enum { OPTION_PRESET = 32, OPTION_RULE, OPTION_EOS, OPTION_TRACE, OPTION_SEED, OPTION_TOP_K };
enum { OPTION_KEY = 40, OPTION_POST_STEPS, OPTION_SHIFTED, OPTION_CFG_ROUND };
/* those of request.numbers, in its order */
enum { OPTION_THRESHOLD = 48, OPTION_FACTOR, OPTION_GAMMA, OPTION_TEMPERATURE, OPTION_TOP_P };
enum { OPTION_ORDER_TEMPERATURE = OPTION_TOP_P + 1, OPTION_EDIT_THRESHOLD, OPTION_PENALTY };
enum { OPTION_LOW_THRESHOLD = OPTION_PENALTY + 1, OPTION_CFG_SCALE };
enum { NUMBERS = OPTION_CFG_SCALE + 1 - OPTION_THRESHOLD };

/* what the decode loop takes */
enum { LENGTH_MAX = 1 << 24, STEPS_MAX = 1 << 20 };

#define NUMBER_OF(option) ((option)-OPTION_THRESHOLD)

static const struct option table[] = {
    {"model", required_argument, NULL, OPTION_MODEL},
    {"prompt", required_argument, NULL, OPTION_PROMPT},
    {"gen-length", required_argument, NULL, OPTION_GEN},
    {"block-length", required_argument, NULL, OPTION_BLOCK},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"preset", required_argument, NULL, OPTION_PRESET},
    {"rule", required_argument, NULL, OPTION_RULE},
    {"key", required_argument, NULL, OPTION_KEY},
    {"threshold", required_argument, NULL, OPTION_THRESHOLD},
    {"low-threshold", required_argument, NULL, OPTION_LOW_THRESHOLD},
    {"factor", required_argument, NULL, OPTION_FACTOR},
    {"gamma", required_argument, NULL, OPTION_GAMMA},
    {"temperature", required_argument, NULL, OPTION_TEMPERATURE},
    {"order-temperature", required_argument, NULL, OPTION_ORDER_TEMPERATURE},
    {"edit-threshold", required_argument, NULL, OPTION_EDIT_THRESHOLD},
    {"max-post-steps", required_argument, NULL, OPTION_POST_STEPS},
    {"penalty", required_argument, NULL, OPTION_PENALTY},
    {"shifted", no_argument, NULL, OPTION_SHIFTED},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"top-k", required_argument, NULL, OPTION_TOP_K},
    {"top-p", required_argument, NULL, OPTION_TOP_P},
    {"cfg-scale", required_argument, NULL, OPTION_CFG_SCALE},
    {"cfg-round", required_argument, NULL, OPTION_CFG_ROUND},
    {"eos", required_argument, NULL, OPTION_EOS},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"family", required_argument, NULL, OPTION_FAMILY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"ids", no_argument, NULL, OPTION_IDS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/** What was said, before the preset is known. */
typedef struct request {
    const char *preset;
    const char *rule; /* NULL: the preset's; so are numbers that are NaN or 0 */
    const char *key;
    const char *eos;
    const char *cfg_round;
    int64_t gen_length, block_length, steps; /* 0: not said */
    int64_t seed, post_steps;
    int64_t top_k; /* -1: not said */
    bool shifted;
    float numbers[NUMBERS]; /* from OPTION_THRESHOLD on */
} request;

static bool read_device(int *out, const char *text, dllm_message *message)
{
    int64_t ordinal = 0;
    const bool cuda = strncmp(text, "cuda", 4) == 0;
    const bool numbered =
        cuda && text[4] == ':' && dllm_option_parse(&ordinal, text + 5, 0, INT32_MAX);
    if (strcmp(text, "cpu") == 0)
        *out = DLLM_DEVICE_CPU;
    else if (numbered || strcmp(text, "cuda") == 0)
        *out = (int)ordinal;
    else
        return DLLM_REFUSE(message, "--device %s is not cpu, cuda or cuda:N, N from 0 to %d",
                           dllm_option_shown(text), INT32_MAX);
    return true;
}

static bool read_path(const char **out, const char *name, const char *text, dllm_message *message)
{
    *out = text;
    return text[0] || DLLM_REFUSE(message, "--%s \"\" is not the name of a file or folder", name);
}

/* Options of how to decode. */
static bool take_rule(dllm_generate_options *out, request *asked, int option, char *value,
                      dllm_message *message)
{
    static const char *const names[NUMBERS] = {
        "threshold",         "factor",         "gamma",   "temperature",   "top-p",
        "order-temperature", "edit-threshold", "penalty", "low-threshold", "cfg-scale"};
    switch (option) {
    case OPTION_PRESET:
        asked->preset = value;
        return true;
    case OPTION_RULE:
        asked->rule = value;
        return true;
    case OPTION_KEY:
        asked->key = value;
        return true;
    case OPTION_EOS:
        asked->eos = value;
        return true;
    case OPTION_SHIFTED:
        asked->shifted = true;
        return true;
    case OPTION_CFG_ROUND:
        asked->cfg_round = value;
        return true;
    case OPTION_TRACE:
        return read_path(&out->trace, "trace", value, message);
    case OPTION_SEED:
        return dllm_option_integer(&asked->seed, "seed", value, 0, INT64_MAX, message);
    case OPTION_TOP_K:
        return dllm_option_integer(&asked->top_k, "top-k", value, 0, INT32_MAX, message);
    case OPTION_TOP_P:
        return dllm_option_share(&asked->numbers[NUMBER_OF(option)], "top-p", value, message);
    case OPTION_POST_STEPS:
        return dllm_option_integer(&asked->post_steps, "max-post-steps", value, 1, STEPS_MAX,
                                   message);
    case OPTION_EDIT_THRESHOLD:
        return dllm_option_real(&asked->numbers[NUMBER_OF(option)], "edit-threshold", value, 1,
                                message);
    default:
        option -= OPTION_THRESHOLD;
        return dllm_option_real(&asked->numbers[option], names[option], value, FLT_MAX, message);
    }
}

static bool take_option(dllm_generate_options *out, request *asked, int option, char *value,
                        dllm_message *message)
{
    int64_t threads = 0;
    switch (option) {
    case OPTION_MODEL:
        return read_path(&out->model, "model", value, message);
    case OPTION_PROMPT:
        out->prompt = value;
        return true;
    case OPTION_GEN:
        return dllm_option_integer(&asked->gen_length, "gen-length", value, 1, LENGTH_MAX, message);
    case OPTION_BLOCK:
        return dllm_option_integer(&asked->block_length, "block-length", value, 1, LENGTH_MAX,
                                   message);
    case OPTION_STEPS:
        return dllm_option_integer(&asked->steps, "steps", value, 1, STEPS_MAX, message);
    case OPTION_DEVICE:
        return read_device(&out->device, value, message);
    case OPTION_FAMILY:
        out->family = value;
        return true;
    case OPTION_THREADS:
        if (!dllm_option_integer(&threads, "threads", value, 1, DLLM_PARALLEL_THREADS_MAX, message))
            return false;
        out->threads = (int)threads;
        return true;
    case OPTION_IDS:
        out->ids = true;
        return true;
    case OPTION_HELP:
        out->help = true;
        return true;
    default:
        return take_rule(out, asked, option, value, message);
    }
}

/* ---- what it comes to --------------------------------------------------------------------- */

/* Place of a word in a list that ends with NULL; false with the list in the message. */
static bool find_word(int *out, const char *option, const char *word, const char *const *words,
                      dllm_message *message)
{
    for (*out = 0; words[*out]; (*out)++)
        if (strcmp(words[*out], word) == 0) return true;
    return DLLM_REFUSE(message, "--%s %s is none of those that --help lists", option,
                       dllm_option_shown(word));
}

/* A rule in place of the preset's would go by 0 where neither has its number: all at once. */
static bool has_number(const dllm_generate_options *out, const request *asked, int rule,
                       dllm_message *message)
{
    const dllm_selection *selection = &out->sequence.selection;
    const struct {
        int rule;
        const char *option;
        float asked, preset;
    } wanted[] = {
        {DLLM_SELECTION_THRESHOLD, "threshold", asked->numbers[0], selection->threshold},
        {DLLM_SELECTION_DYNAMIC, "threshold", asked->numbers[0], selection->threshold},
        {DLLM_SELECTION_HIERARCHY, "threshold", asked->numbers[0], selection->threshold},
        {DLLM_SELECTION_FACTOR, "factor", asked->numbers[1], selection->factor},
        {DLLM_SELECTION_ENTROPY_BOUND, "gamma", asked->numbers[2], selection->gamma},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (wanted[i].rule == rule && isnan(wanted[i].asked) && wanted[i].preset == 0.0f)
            return DLLM_REFUSE(message, "--rule %s wants --%s, preset %s has none", asked->rule,
                               wanted[i].option, asked->preset);
    return true;
}

/* By dllm_select_name; the last is a preset's alone. */
static const char *const rule_names[] = {"top_k",      "threshold",     "factor",    "dynamic",
                                         "sequential", "entropy_bound", "hierarchy", NULL};

static bool apply_rule(dllm_generate_options *out, const request *asked, dllm_message *message)
{
    int rule;
    if (!asked->rule) return true;
    if (!find_word(&rule, "rule", asked->rule, rule_names, message)) return false;
    const bool counts = rule == DLLM_SELECTION_TOP_K || rule == DLLM_SELECTION_SEQUENTIAL ||
                        rule == DLLM_SELECTION_DYNAMIC;
    out->sequence.selection.name = (dllm_select_name)rule;
    if (counts && out->sequence.schedule == DLLM_SCHEDULED_NONE)
        out->sequence.schedule = DLLM_SCHEDULED_EVEN;
    if (!counts) out->sequence.schedule = DLLM_SCHEDULED_NONE;
    out->decode.key =
        rule == DLLM_SELECTION_ENTROPY_BOUND ? DLLM_KEY_NEG_ENTROPY : DLLM_KEY_CONFIDENCE;
    return has_number(out, asked, rule, message);
}

static bool is_said(const request *asked, int number)
{
    return !isnan(asked->numbers[NUMBER_OF(number)]);
}

/* An option that nothing looks at: the first is refused. */
typedef struct use {
    bool is_asked, is_used;
    const char *option, *user, *what;
} use;

static bool refuse_unused(const use *uses, size_t count, const char *name, dllm_message *message)
{
    for (size_t i = 0; i < count; i++)
        if (uses[i].is_asked && !uses[i].is_used)
            return DLLM_REFUSE(message, "--%s wants a %s that %s, %s does not", uses[i].option,
                               uses[i].user, uses[i].what, name);
    return true;
}

/* Options that only some presets have a use for. */
static bool check_preset(const dllm_generate_options *out, const request *asked,
                         dllm_message *message)
{
    const dllm_decode_options *decode = &out->decode;
    const use uses[] = {
        {asked->top_k >= 0, decode->tempered, "top-k", "preset", "filters"},
        {is_said(asked, OPTION_TOP_P), decode->tempered, "top-p", "preset", "filters"},
        {is_said(asked, OPTION_EDIT_THRESHOLD), decode->edits, "edit-threshold", "preset", "edits"},
        {asked->post_steps > 0, decode->edits, "max-post-steps", "preset", "edits"},
        {is_said(asked, OPTION_PENALTY), decode->penalises, "penalty", "preset", "penalises"},
    };
    return refuse_unused(uses, sizeof uses / sizeof uses[0], asked->preset, message);
}

/* And those of a rule, the preset's or what was said in its place. */
static bool check_rule(const dllm_generate_options *out, const request *asked,
                       dllm_message *message)
{
    const dllm_select_name rule = out->sequence.selection.name;
    const bool compares = rule == DLLM_SELECTION_THRESHOLD || rule == DLLM_SELECTION_DYNAMIC ||
                          rule == DLLM_SELECTION_HIERARCHY;
    const bool orders = rule != DLLM_SELECTION_SEQUENTIAL;
    const use uses[] = {
        {is_said(asked, OPTION_THRESHOLD), compares, "threshold", "rule", "looks at it"},
        {is_said(asked, OPTION_LOW_THRESHOLD), rule == DLLM_SELECTION_HIERARCHY, "low-threshold",
         "rule", "looks at it"},
        {is_said(asked, OPTION_FACTOR), rule == DLLM_SELECTION_FACTOR, "factor", "rule",
         "looks at it"},
        {is_said(asked, OPTION_GAMMA), rule == DLLM_SELECTION_ENTROPY_BOUND, "gamma", "rule",
         "looks at it"},
        {asked->key != NULL, orders, "key", "rule", "looks at it"},
        {is_said(asked, OPTION_ORDER_TEMPERATURE), orders && rule != DLLM_SELECTION_COINS,
         "order-temperature", "rule", "looks at it"},
        {asked->steps > 0, out->sequence.schedule != DLLM_SCHEDULED_NONE, "steps", "rule",
         "counts them"},
    };
    char name[64];
    if (asked->rule)
        (void)snprintf(name, sizeof name, "%s", asked->rule);
    else
        (void)snprintf(name, sizeof name, "%s's %s", asked->preset,
                       rule_names[rule] ? rule_names[rule] : "coins");
    return refuse_unused(uses, sizeof uses / sizeof uses[0], name, message);
}

/* A key is a probability, or lies as a margin and a random number do within 0 .. 1: a threshold above
   says nothing. Not so an entropy, and keys that are divided and get noise. */
static bool check_thresholds(const dllm_generate_options *out, const request *asked,
                             dllm_message *message)
{
    const float order = asked->numbers[NUMBER_OF(OPTION_ORDER_TEMPERATURE)];
    const struct {
        const char *option;
        float value;
    } thresholds[] = {
        {"threshold", asked->numbers[NUMBER_OF(OPTION_THRESHOLD)]},
        {"low-threshold", asked->numbers[NUMBER_OF(OPTION_LOW_THRESHOLD)]},
    };
    if (out->decode.key == DLLM_KEY_ENTROPY || order > 0) return true;
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++)
        if (thresholds[i].value > 1)
            return DLLM_REFUSE(message, "--%s %.9g is not a number from 0 to 1",
                               thresholds[i].option, (double)thresholds[i].value);
    return true;
}

/* A filter changes draws, and what the likeliest token gets in presets that filter it too. */
static bool check_filter(const dllm_generate_options *out, const request *asked,
                         dllm_message *message)
{
    const bool is_used = out->decode.draws || out->sequence.filters_greedy;
    const bool is_asked = asked->top_k >= 0 || is_said(asked, OPTION_TOP_P);
    if (!is_asked || is_used) return true;
    return DLLM_REFUSE(message, "--%s wants a --temperature above 0, preset %s draws nothing",
                       asked->top_k >= 0 ? "top-k" : "top-p", asked->preset);
}

static bool apply_numbers(dllm_generate_options *out, const request *asked, dllm_message *message)
{
    dllm_sequence *sequence = &out->sequence;
    float *const places[NUMBERS] = {&sequence->selection.threshold,
                                    &sequence->selection.factor,
                                    &sequence->selection.gamma,
                                    &sequence->filter.temperature,
                                    &sequence->filter.top_p,
                                    &sequence->order_temperature,
                                    &sequence->edit_threshold,
                                    &sequence->penalty,
                                    &sequence->selection.low_threshold,
                                    &sequence->cfg_scale};
    if (!check_preset(out, asked, message) || !check_rule(out, asked, message) ||
        !check_thresholds(out, asked, message))
        return false;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!isnan(asked->numbers[i])) *places[i] = asked->numbers[i];
    if (asked->top_k >= 0) sequence->filter.top_k = (int32_t)asked->top_k;
    if (asked->post_steps > 0) sequence->max_post_steps = (int32_t)asked->post_steps;
    sequence->seed = (uint64_t)asked->seed;
    out->decode.draws = sequence->filter.temperature > 0;
    return check_filter(out, asked, message);
}

static bool apply_guidance(dllm_generate_options *out, const request *asked, dllm_message *message)
{
    static const char *const roundings[] = {"fp32", "bf16", NULL};
    int rounding = 0;
    out->decode.guides = out->sequence.cfg_scale > 0;
    if (!asked->cfg_round) return true;
    if (!out->decode.guides) return DLLM_REFUSE(message, "--cfg-round wants a --cfg-scale above 0");
    if (!find_word(&rounding, "cfg-round", asked->cfg_round, roundings, message)) return false;
    out->decode.head.cfg_round = rounding ? DLLM_BF16 : DLLM_TYPE_NONE;
    return true;
}

/* Lengths and steps, where the preset leaves them open. */
static void apply_lengths(dllm_generate_options *out, const request *asked)
{
    dllm_sequence *sequence = &out->sequence;
    const int64_t gen_length = asked->gen_length ? asked->gen_length : 64;
    const bool is_whole = sequence->schedule == DLLM_SCHEDULED_DREAM;
    const int64_t usual = sequence->block_length ? sequence->block_length : 32;
    int64_t block_length = asked->block_length;
    if (!block_length) block_length = is_whole || gen_length < usual ? gen_length : usual;
    const int64_t steps = asked->steps ? asked->steps : gen_length;
    const bool by_block = out->decode.aligned_blocks;
    const bool counts = sequence->schedule != DLLM_SCHEDULED_NONE;
    sequence->generate = gen_length;
    sequence->block_length = block_length;
    sequence->steps = counts && !by_block ? (int32_t)steps : 0;
    sequence->steps_per_block =
        counts && by_block ? (int32_t)(asked->steps ? asked->steps : block_length) : 0;
}

/* Lengths against each other; aligned blocks take any. */
static bool check_lengths(const dllm_generate_options *out, dllm_message *message)
{
    const dllm_sequence *sequence = &out->sequence;
    if (out->decode.aligned_blocks) return true;
    if (sequence->generate % sequence->block_length != 0)
        return DLLM_REFUSE(message, "block-length %jd does not divide gen-length %jd",
                           (intmax_t)sequence->block_length, (intmax_t)sequence->generate);
    const int64_t blocks = sequence->generate / sequence->block_length;
    if (sequence->steps % blocks == 0) return true;
    return DLLM_REFUSE(message, "the number of blocks, %jd, does not divide steps %jd",
                       (intmax_t)blocks, (intmax_t)sequence->steps);
}

static bool apply_key(dllm_generate_options *out, const request *asked, dllm_message *message)
{
    static const char *const keys[] = {"confidence", "margin", "neg_entropy",
                                       "entropy",    "random", NULL};
    int key;
    if (!asked->key) return true;
    if (!find_word(&key, "key", asked->key, keys, message)) return false;
    out->decode.key = (dllm_key_name)key;
    return true;
}

static bool apply(dllm_generate_options *out, const request *asked, dllm_message *message)
{
    static const char *const rules[] = {"never", "gap_closed", "after_block", "fill", "step", NULL};
    int eos = 0;
    if (dllm_decode_preset(&out->decode, &out->sequence, asked->preset) != DLLM_OK)
        return DLLM_REFUSE(message, "--%s", dllm_last_error());
    out->decode.shifted = asked->shifted; /* a model of LLaDA's layout is not by itself */
    if (!apply_rule(out, asked, message) || !apply_key(out, asked, message)) return false;
    if (asked->eos && !find_word(&eos, "eos", asked->eos, rules, message)) return false;
    if (asked->eos) out->sequence.eos_rule = (dllm_eos_rule)eos;
    if (!apply_numbers(out, asked, message) || !apply_guidance(out, asked, message)) return false;
    apply_lengths(out, asked);
    return check_lengths(out, message);
}

bool dllm_generate_options_read(dllm_generate_options *out, int count, char **arguments,
                                dllm_message *message)
{
    request asked = {.preset = "llada", .top_k = -1};
    for (int i = 0; i < NUMBERS; i++)
        asked.numbers[i] = NAN;
    *out = (dllm_generate_options){.device = DLLM_DEVICE_CPU};
    optind = 1;
    for (;;) {
        const int place = optind;
        const int option = getopt_long(count, arguments, ":", table, NULL);
        if (option == -1) break;
        if (option == '?') return DLLM_REFUSE(message, "option %s is unknown", arguments[place]);
        if (option == ':') return DLLM_REFUSE(message, "option %s wants a value", arguments[place]);
        if (!take_option(out, &asked, option, optarg, message)) return false;
        if (out->help) return true;
    }
    if (optind < count) return DLLM_REFUSE(message, "argument %s is no option", arguments[optind]);
    if (!out->model) return DLLM_REFUSE(message, "--model is missing");
    if (!out->prompt) return DLLM_REFUSE(message, "--prompt is missing");
    return apply(out, &asked, message);
}

/* Lists have 64, 128 or 256 entries, not any number: a GPU's kernel is compiled for each. */
bool dllm_generate_options_fit(dllm_generate_options *options, int64_t vocab, dllm_message *message)
{
    enum { LEAST = 64, MOST = 256 };
    dllm_filter_options *filter = &options->sequence.filter;
    int32_t list = LEAST;
    if (filter->top_k >= vocab) filter->top_k = 0;
    if (filter->top_k >= MOST)
        return DLLM_REFUSE(message,
                           "--top-k %d is neither below %d, the entries of the longest list, whose "
                           "end has to show what ties with the last, nor the vocabulary's %jd",
                           (int)filter->top_k, MOST, (intmax_t)vocab);
    while (list < MOST && (list <= filter->top_k || filter->top_k == 0))
        list *= 2;
    if (filter->top_k > 0 || filter->top_p < 1) options->decode.head.candidates = list;
    return true;
}
