/* decode_cpu.c - what kernels do in a decode step, on the CPU: one sequence after the other */
#include "decode_stages.h"

#include "decode_step.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

static dllm_status open_host(dllm_decode *decode)
{
    decode->view = calloc(1, sizeof *decode->view);
    return decode->view ? DLLM_OK : dllm__fail(DLLM_OUT_OF_MEMORY, "no memory for a decode loop");
}

static void close_host(dllm_decode *decode)
{
    free(decode->view);
}

static dllm_status take_all(dllm_decode *decode, void (*take)(const dllm_step *step))
{
    decode->params.cancel = &decode->cancel_seen;
    decode->cancel_seen = atomic_load(&decode->view->cancel);
    for (int32_t s = 0; s < decode->params.sequences; s++) {
        const dllm_step step = dllm_step_of(&decode->params, s);
        take(&step);
    }
    return DLLM_OK;
}

static dllm_status start(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return take_all(decode, dllm_step_start);
}

static dllm_status list(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return take_all(decode, dllm_step_list);
}

static dllm_status select_tokens(dllm_decode *decode, dllm_stream stream)
{
    (void)stream;
    return take_all(decode, dllm_step_select);
}

static dllm_status copy(dllm_decode *decode, void *to, const void *from, size_t bytes,
                        dllm_stream stream)
{
    (void)decode;
    (void)stream;
    if (bytes > 0) memcpy(to, from, bytes);
    return DLLM_OK;
}

static dllm_status note(dllm_decode *decode, int slot, dllm_stream stream)
{
    (void)stream;
    decode->view->batch[slot] = *decode->params.batch;
    return DLLM_OK;
}

static dllm_status see(dllm_decode *decode, int slot)
{
    (void)decode;
    (void)slot;
    return DLLM_OK;
}

static bool is_over(const dllm_decode *decode)
{
    return decode->params.batch->unfinished == 0;
}

const dllm_decode_stages dllm__decode_cpu = {open_host, close_host, start, list, select_tokens,
                                             copy,      copy,       note,  see,  is_over};
