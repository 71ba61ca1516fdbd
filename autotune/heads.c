/*
 * heads.c - the table of heads
 *
 * A model whose vocabulary or depth is not recorded (Qwen3.5, iLLaDA, Nemotron-Labs-Diffusion,
 * GFusion, Aya) has no row. A head bias (SEDD, MDLM) is a column more of the weight or the `bias`
 * input.
 */
#include "heads.h"

#include <string.h>

#define NONE DLLM_NO_ID
#define BF16 DLLM_BF16
#define FP32 DLLM_FP32

/* clang-format off */
static const dllm_head_set sets[] = {
    /* set                 models                              V       H      valid   mask    eos     shift  scale    cap    type */
    {"llada-8b",           "LLaDA-8B, LLaDA-1.5-8B, LLaDA-V",  126464, 4096,  0,      126336, 126081, false, 0.0f,    0.0f,  BF16},
    {"llada-moe-7b-a1b",   "LLaDA-MoE-7B-A1B",                 157184, 2048,  0,      156895, 156892, false, 0.0f,    0.0f,  BF16},
    {"llada2-mini",        "LLaDA2.0-mini, LLaDA2.1-mini",     157184, 2048,  0,      156895, 156892, false, 0.0f,    0.0f,  BF16},
    {"llada2-flash",       "LLaDA2.0-flash, LLaDA2.1-flash",   157184, 4096,  0,      156895, 156892, false, 0.0f,    0.0f,  BF16},
    {"dream-7b",           "Dream-7B, Dream-Coder, DiffuCoder", 152064, 3584, 0,      151666, 151643, true,  0.0f,    0.0f,  BF16},
    {"mmada-8b",           "MMaDA-8B (its text ids)",          134656, 4096,  126464, 126336, NONE,   false, 0.0f,    0.0f,  BF16},
    {"fast-dllm-v2-7b",    "Fast-dLLM v2 7B",                  152064, 3584,  0,      151665, 151645, true,  0.0f,    0.0f,  BF16},
    {"fast-dllm-v2-1-5b",  "Fast-dLLM v2 1.5B",                151936, 1536,  0,      151665, 151645, true,  0.0f,    0.0f,  BF16},
    {"rnd1-30b-a3b",       "RND1-30B-A3B",                     151936, 2048,  0,      151669, 151645, true,  0.0f,    0.0f,  BF16},
    {"sdar-8b",            "SDAR-8B",                          151936, 4096,  0,      151669, 151643, false, 0.0f,    0.0f,  BF16},
    {"diffusiongemma-26b-a4b", "DiffusionGemma-26B-A4B",       262144, 2816,  0,      NONE,   NONE,   false, 0.0f,    30.0f, BF16},
    {"sedd",               "SEDD, MDLM (GPT-2 ids and the mask)", 50258, 768, 50257,  50257,  NONE,   false, 0.0f,    0.0f,  BF16},
    {"sedd-fp32",          "SEDD, MDLM in fp32",               50258,  768,   50257,  50257,  NONE,   false, 0.0f,    0.0f,  FP32},
    {"gpt2",               "GPT-2 ids alone: an odd V",        50257,  768,   0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"llama-3-8b",         "Llama 3.x 8B",                     128256, 4096,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"llama-3-70b",        "Llama 3.x 70B",                    128256, 8192,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"llama-3-1b",         "Llama 3.2 1B",                     128256, 2048,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen2-5-7b",         "Qwen2.5-7B",                       152064, 3584,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen2-5-3b",         "Qwen2.5-3B, Qwen3-1.7B",           151936, 2048,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen2-5-1-5b",       "Qwen2.5-1.5B",                     151936, 1536,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen2-5-0-5b",       "Qwen2.5-0.5B",                     151936, 896,   0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen3-8b",           "Qwen3-8B",                         151936, 4096,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen3-4b",           "Qwen3-4B",                         151936, 2560,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"qwen3-0-6b",         "Qwen3-0.6B",                       151936, 1024,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"gemma-2-2b",         "Gemma 2 2B",                       256000, 2304,  0,      NONE,   NONE,   false, 0.0f,    30.0f, BF16},
    {"gemma-2-9b",         "Gemma 2 9B",                       256000, 3584,  0,      NONE,   NONE,   false, 0.0f,    30.0f, BF16},
    {"gemma-2-27b",        "Gemma 2 27B",                      256000, 4608,  0,      NONE,   NONE,   false, 0.0f,    30.0f, BF16},
    {"gemma-3-1b",         "Gemma 3 1B",                       262144, 1152,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"gemma-3-4b",         "Gemma 3 4B",                       262208, 2560,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"gemma-3-12b",        "Gemma 3 12B",                      262208, 3840,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"gemma-3-27b",        "Gemma 3 27B",                      262208, 5376,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"mistral-7b-v0-3",    "Mistral 7B v0.3",                  32768,  4096,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"mistral-nemo",       "Mistral Nemo",                     131072, 5120,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"gpt-oss",            "gpt-oss-20b, gpt-oss-120b",        201088, 2880,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"deepseek-v3",        "DeepSeek-V3",                      129280, 7168,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"deepseek-v4-flash",  "DeepSeek-V4-Flash",                129280, 4096,  0,      NONE,   NONE,   false, 0.0f,    0.0f,  BF16},
    {"command-r",          "Command-R",                        256000, 8192,  0,      NONE,   NONE,   false, 0.0625f, 0.0f,  BF16},
    {"command-r-plus",     "Command-R+",                       256000, 12288, 0,      NONE,   NONE,   false, 0.8333f, 0.0f,  BF16},
    {"austen",             "the model in tests/data/austen",   4096,   256,   4095,   4095,   4094,   false, 0.0f,    0.0f,  BF16},
};
/* clang-format on */

const dllm_head_set *dllm__head_sets(int *count)
{
    *count = (int)(sizeof sets / sizeof sets[0]);
    return sets;
}

const dllm_head_set *dllm__head_set_find(const char *name)
{
    int count;
    const dllm_head_set *table = dllm__head_sets(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(table[i].set, name) == 0) return &table[i];
    }
    return NULL;
}
