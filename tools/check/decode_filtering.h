/* decode_filtering.h - the kind `filter` of a decode case: candidates from the sampler, then a filter */
#ifndef DECODE_FILTERING_H
#define DECODE_FILTERING_H

#include "check_decode.h"

/** False with the reason. */
bool decode_filtering_run(decode_checker *checker, const json_t *run, const json_t *expected,
                          dllm_message *why);

#endif
