/*
 * sampler.cc - the statistics of rows of logits, from C++: handles that release themselves, errors
 * as exceptions
 */
#include <dllm.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

void need(dllm_status status)
{
    if (status == DLLM_OK) return;
    throw std::runtime_error(std::string(dllm_status_text(status)) + ": " + dllm_last_error());
}

struct release {
    void operator()(dllm_context *context) const
    {
        dllm_context_destroy(context);
    }
    void operator()(dllm_plan *plan) const
    {
        dllm_plan_destroy(plan);
    }
};
using context_handle = std::unique_ptr<dllm_context, release>;
using plan_handle = std::unique_ptr<dllm_plan, release>;

context_handle cpu_context()
{
    dllm_context_options options = DLLM_CONTEXT_OPTIONS_INIT;
    options.device = DLLM_DEVICE_CPU;
    dllm_context *context = nullptr;
    need(dllm_context_create(&context, &options));
    return context_handle(context);
}

plan_handle sampler_plan(dllm_context *context, int64_t rows, int64_t vocab)
{
    dllm_sampler_options options = DLLM_SAMPLER_OPTIONS_INIT;
    options.vocab = vocab;
    options.rows_max = rows;
    options.logits_type = DLLM_FP32;
    options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
    dllm_plan *plan = nullptr;
    need(dllm_sampler_prepare(&plan, context, &options));
    return plan_handle(plan);
}

void print_statistics(const std::vector<float> &logits, size_t rows)
{
    const context_handle context = cpu_context();
    const plan_handle plan = sampler_plan(context.get(), static_cast<int64_t>(rows),
                                          static_cast<int64_t>(logits.size() / rows));
    std::vector<char> workspace(dllm_plan_workspace_bytes(plan.get()));
    std::vector<int32_t> token(rows);
    std::vector<float> lse(rows), confidence(rows);

    dllm_sampler_buffers buffers = DLLM_SAMPLER_BUFFERS_INIT;
    buffers.rows = static_cast<int64_t>(rows);
    buffers.logits = logits.data();
    buffers.workspace = workspace.data();
    buffers.workspace_bytes = workspace.size();
    buffers.argmax = token.data();
    buffers.lse = lse.data();
    buffers.confidence = confidence.data();
    need(dllm_sampler_run(plan.get(), &buffers, nullptr));
    for (size_t r = 0; r < rows; r++)
        std::printf("row %zu: token %d, lse %.4f, confidence %.4f\n", r, static_cast<int>(token[r]),
                    static_cast<double>(lse[r]), static_cast<double>(confidence[r]));
}

} // namespace

int main()
{
    try {
        print_statistics({1, 4, 2, 0, 3, 3, 3, 1}, 2); /* the second row is a tie: lowest id wins */
    } catch (const std::exception &error) {
        (void)std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
