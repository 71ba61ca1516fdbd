/*
 * families.h - the table of kernel families, and what a family must answer
 *
 * Adding a family is one kernel file, one row in the table and its functions. The CPU backend is a
 * row like the others, legal on CPU devices alone.
 */
#ifndef DLLM_FAMILIES_H
#define DLLM_FAMILIES_H

#include "ability.h"
#include "plan.h"

/** A tile that a family has a kernel for. */
typedef struct dllm_tile {
    int rows;
    int vocab;  /* chunked: columns of a chunk a multiprocessor */
    int depth;  /* of a pipeline stage; 0: there is none */
    int stages; /* 0: an argument of the launch, any number that is legal */
} dllm_tile;

/** The choices that a family knows, as data; legal() says which of them a problem may have. */
typedef struct dllm_space {
    int revision; /* of tuned choices: raised when a field of a choice means another thing */
    const dllm_tile *tiles;
    int tile_count;
    int columns_step;     /* a split is a multiple of it; 0: of the tile's vocab */
    int blocks_an_sm;     /* that run at once, for estimates */
    int products_a_clock; /* multiply-adds of a multiprocessor; 0: tensor_percent of what it has */
    int tensor_percent;
    bool wide_blocks; /* threads follow the tile's vocab: blocks_an_sm is of the first tile */
    bool finishes;    /* a choice may end rows without combine */
    bool chunked;     /* a tile is a chunk of logits in memory; its splits are those of the chunk */
} dllm_space;

/** Lists of candidates of a row and split: how many, and what one fold may add to each. */
typedef struct dllm_list_shape {
    int sharers;
    int span;
} dllm_list_shape;

typedef struct dllm_family {
    const char *name;
    dllm_operation operation;
    bool is_cpu;              /* runs on CPU contexts, and there alone */
    const dllm_ability *able; /* what it implements; the rest is refused before legal is asked */
    /* DLLM_OK if this family can do the problem on the device with this choice; else
       DLLM_UNSUPPORTED with the reason. */
    dllm_status (*legal)(const dllm_problem *, const dllm_device *, const dllm_choice *);
    /* Rule of thumb: fills a choice; what it fills is legal whenever anything is. */
    void (*propose)(const dllm_problem *, const dllm_device *, dllm_choice *);
    /* The kernels a choice needs, in order; returns their number (0 on the CPU). */
    int (*kernels)(const dllm_problem *, const dllm_choice *, dllm_kernel_spec *);
    /* Most dynamic shared memory of a launch of kernel number i, bytes; NULL for none. */
    int (*shared_bytes)(const dllm_problem *, const dllm_choice *, int i);
    /* Workspace for rows_max rows, without slack; every part 256-byte aligned. */
    size_t (*workspace_bytes)(const dllm_problem *, const dllm_choice *);
    /* How lanes share lists of candidates; NULL where none are kept. */
    dllm_list_shape (*lists)(const dllm_choice *);
    /* What else prepare must do (cuBLAS), NULL for nothing. */
    dllm_status (*prepare)(dllm_plan *, dllm_plan_entry *);
    dllm_status (*run)(const dllm_plan *, const dllm_plan_entry *, const dllm_row_call *,
                       dllm_stream);
    const dllm_space *space; /* NULL on the CPU: there is one choice */
} dllm_family;

/** Family number `index` of the table, NULL behind the last. */
const dllm_family *dllm__family_at(int index);

/**
 * The rule of thumb of one family, held against its own legality and the kind of device.
 * Status   DLLM_UNSUPPORTED with the reason
 */
dllm_status dllm__propose(dllm_choice *out, const dllm_family *family, const dllm_problem *problem,
                          const dllm_device *device);

/**
 * Holds a choice, wherever it came from, against the family's space and legality.
 * Status   DLLM_UNSUPPORTED with the reason
 */
dllm_status dllm__check_choice(const dllm_choice *choice, const dllm_problem *problem,
                               const dllm_device *device);

/** Blocks of a choice that a multiprocessor runs at once, for estimates. */
int dllm__blocks_an_sm(const dllm_choice *choice);

/** The family of that name and operation, or NULL. */
const dllm_family *dllm__family_find(const char *name, dllm_operation operation);

/**
 * Chooses a family for a problem: the one asked for by name, or by rule of thumb.
 * why      receives one line (192 bytes).
 * Status   DLLM_UNSUPPORTED when none can; the message has the reason of the one asked for.
 */
dllm_status dllm__choose(dllm_choice *out, char *why, const dllm_problem *problem,
                         const dllm_device *device);

/** True if the problem would be given to cuBLAS, were it there: opening it is slow. */
bool dllm__wants_cublas(const dllm_problem *problem, const dllm_device *device);

#endif
