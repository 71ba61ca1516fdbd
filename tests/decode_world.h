/*
 * decode_world.h - a small model for tests of the decode loop, and a run of it
 *
 * The trunk's hidden row of a position is its row of logits: numbers in eighths that follow from the
 * position and the sequence's canvas as it stands, so that every commit changes what comes next. The
 * weight is the identity, so logits are exact. Hidden rows that are not to be read are NaN. Where the loop
 * guides, those of a sequence's second canvas follow from that canvas, and are NaN without a scale.
 */
#ifndef DECODE_WORLD_H
#define DECODE_WORLD_H

#include "dllm.h"

#include <stdbool.h>

enum {
    WORLD_VOCAB = 24,
    WORLD_MASK = 23,
    WORLD_EOS = 22,
    WORLD_SEQUENCES = 4,
    WORLD_LENGTH = 40, /* of a canvas */
    WORLD_TRACE = 4096
};

typedef struct decode_world {
    dllm_context *context;
    dllm_decode *decode;
    void (*prepared)(dllm_decode *decode); /* called between prepare and begin; NULL: nothing is */
    void (*looked)(struct decode_world *world, const dllm_trunk_call *call); /* in each forward */
    dllm_decode_options options;
    dllm_sequence sequences[WORLD_SEQUENCES];
    int count;
    dllm_decode_buffers buffers;
    int64_t canvas[WORLD_SEQUENCES * WORLD_LENGTH];
    int32_t narrow[WORLD_SEQUENCES * WORLD_LENGTH]; /* used if options.id_type is INT32 */
    _Alignas(16) float hidden[2 * WORLD_SEQUENCES * WORLD_LENGTH * WORLD_VOCAB];
    _Alignas(16) float weight[WORLD_VOCAB * WORLD_VOCAB];
    int64_t unconditional[WORLD_SEQUENCES * WORLD_LENGTH]; /* second canvases of the last forward */
    int forwards;                                          /* that the trunk was asked for */
    int fails_at;     /* the trunk returns 7 in this forward; -1: never */
    int cancels_at;   /* and asks for the end in this one */
    int nan_position; /* this position's row is NaN; -1: none */
    int nan_sequence;
} decode_world;

/** Logit of id v at row q of a sequence of so many positions. */
float world_logit(const int64_t *canvas, int length, int q, int v);

/** A world of one preset; options and sequences[0] may be changed before world_begin. */
void world_create(decode_world *out, const char *preset);
void world_release(decode_world *world);

/** Prompt of so many ids, masks behind it. */
void world_set_canvas(decode_world *world, int sequence, int prompt, int generate);

/** Prepares (once) and begins. */
dllm_status world_begin(decode_world *world);

/** A canvas as 64-bit ids, whatever it is kept in. */
const int64_t *world_canvas(decode_world *world, int sequence);

dllm_sequence_status world_status(decode_world *world, int sequence);

#endif
