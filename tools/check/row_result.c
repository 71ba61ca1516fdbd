/* row_result.c - the outputs of a call on the host */
#include "row_run.h"

#include <stdlib.h>

double row_result_value(const row_result *result, int output, int64_t row)
{
    return row_output_value(output, result->id_type, result->data[output], row);
}

double row_result_candidate(const row_result *result, int output, int64_t row, int64_t k)
{
    return row_output_value(output, result->id_type, result->data[output],
                            row * result->candidates + k);
}

void row_result_release(row_result *result)
{
    for (int i = 0; i < ROW_BUFFERS; i++) {
        free(result->data[i]);
        result->data[i] = NULL;
    }
}
