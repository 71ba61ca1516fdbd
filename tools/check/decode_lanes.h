/* decode_lanes.h - the sequences of a `loop` case: canvas, table of logits, parameters */
#ifndef DECODE_LANES_H
#define DECODE_LANES_H

#include "check_decode.h"
#include "decode_fields.h"

enum { LANES_MAX = 4 };

/** One sequence. */
typedef struct decode_lane {
    json_t *run; /* the run's fields, overlaid by its own; a new reference */
    field_list canvas;
    dllm_sequence sequence;
} decode_lane;

typedef struct decode_lanes {
    int count;
    int length; /* of every canvas on the device: the longest one's */
    int vocab;
    dllm_decode_options options; /* but trunk */
    decode_lane lanes[LANES_MAX];
} decode_lanes;

/** Reads a run. Release it whatever is answered. */
bool decode_lanes_read(decode_lanes *out, const json_t *run, dllm_message *why);
void decode_lanes_release(decode_lanes *lanes);

/** Row q of a lane's logits in forward i, with guidance of copy 0 or 1; NULL: there is none. */
const json_t *decode_lane_row(const decode_lane *lane, int forward, int copy, int q);

#endif
