/*
 * check_ability.h - the families a check can ask for, and what each of them implements
 *
 * The library is asked, by preparing a small problem with one thing more than argmax at a time, so
 * that what is built later is checked from then on.
 */
#ifndef CHECK_ABILITY_H
#define CHECK_ABILITY_H

#include "row_cases.h"

enum { CHECK_HEAD = 1, CHECK_SAMPLER = 2 }; /* operations, as bits */

typedef struct check_family {
    const char *name; /* NULL ends the table */
    bool on_cpu;
    unsigned operations;
} check_family;

const check_family *check_families(void);

/** True if a family of that name belongs to one of the operations on this kind of device. */
bool check_family_exists(const char *family, bool on_cpu, unsigned operations);

/** The names of those families as one text, for messages. */
void check_family_names(dllm_message *out, bool on_cpu, unsigned operations);

/** What a family implements for one operation and type. */
typedef struct check_ability {
    bool is_usable;  /* it can take the type here */
    bool is_missing; /* what it needs (a compiler, cuBLAS) was not found */
    uint32_t outputs;
    uint32_t inputs;
    bool scale;
    bool softcap;
    bool round_logits;
    bool tempered;
    bool merged; /* exports states, and they can be merged */
} check_ability;

/** Asks the library; nothing is compiled. */
void check_ability_probe(check_ability *out, dllm_context *context, const char *family,
                         bool is_head, dllm_type type);

/** The first transform of the case that is not built, NULL if all are. */
const char *check_missing_transform(const row_case *from, const check_ability *ability);

#endif
