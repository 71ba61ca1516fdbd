/* decode_stepping.h - the kind `step` of a decode case: rows, keys, selection, commit */
#ifndef DECODE_STEPPING_H
#define DECODE_STEPPING_H

#include "check_decode.h"

bool decode_stepping_run(decode_checker *checker, const json_t *run, const json_t *expected,
                         dllm_message *why);

#endif
