/* decode_looping.h - the kind `loop` of a decode case: a whole decode, forward by forward */
#ifndef DECODE_LOOPING_H
#define DECODE_LOOPING_H

#include "check_decode.h"

bool decode_looping_run(decode_checker *checker, const json_t *run, const json_t *expected,
                        dllm_message *why);

#endif
