/* row_answer.c - right values of a row, and whether what came out matches them */
#include "row_answer.h"

#include <math.h>

bool value_matches(double got, double wanted, double tolerance)
{
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got)) return got == wanted;
    return fabs(got - wanted) <= tolerance;
}

/* d holds exp(0) = 1, so these hold without clamping; they catch most mask errors. */
static bool sign_holds(int output, double value)
{
    if (output == ROW_CONFIDENCE) return !(value > 1 || value < 0);
    if (output == ROW_ENTROPY || output == ROW_MARGIN) return !(value < 0);
    if (output == ROW_TARGET_LOGPROB || output == ROW_GUMBEL_LOGPROB) return !(value > 0);
    return true;
}

bool row_answer_matches(const row_answer *answer, const double value[ROW_OUTPUTS], uint32_t outputs,
                        uint32_t flags_mask, dllm_message *message)
{
    for (int i = 0; i < ROW_OUTPUTS; i++) {
        double got = value[i];
        double wanted = answer->value[i];
        double tolerance = answer->tolerance[i];
        if (!(outputs & answer->present & 1u << i)) continue;
        if (i == ROW_CONFIDENCE) tolerance *= wanted;
        if (i == ROW_FLAGS) {
            got = (uint32_t)got & flags_mask;
            wanted = (uint32_t)wanted & flags_mask;
        }
        if (!value_matches(got, wanted, tolerance) && tolerance > 0)
            return DLLM_REFUSE(message, "got %.10g, wanted %.10g within %.3g for %s", got, wanted,
                               tolerance, row_output_name(i));
        if (!value_matches(got, wanted, tolerance))
            return DLLM_REFUSE(message, "got %.10g, wanted %.10g for %s", got, wanted,
                               row_output_name(i));
        if (!sign_holds(i, got))
            return DLLM_REFUSE(message, "got %.10g, wanted its sign and bound to hold for %s", got,
                               row_output_name(i));
    }
    return true;
}
