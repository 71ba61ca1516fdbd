/*
 * dllm.h - the last step of language-model inference, without the logits
 *
 *     dllm_context *context;
 *     dllm_context_create(&context, NULL);               the first GPU
 *     dllm_head_options options = DLLM_HEAD_OPTIONS_INIT;
 *     options.vocab = 126464; options.depth = 4096; options.rows_max = 64;
 *     options.hidden_type = options.weight_type = DLLM_BF16;
 *     options.outputs = DLLM_OUT_ARGMAX | DLLM_OUT_LSE | DLLM_OUT_CONFIDENCE;
 *     dllm_plan *plan;
 *     dllm_head_prepare(&plan, context, &options);       looks up, compiles, loads
 *     ... fill a dllm_head_buffers ...
 *     dllm_head_run(plan, &buffers, stream);             only launches
 *
 * Sections, in the order a user meets them: version, status, types, context, cache, partial states, plan,
 * head, models, sampler, merge, decode. Every function returns a dllm_status unless it says otherwise; the
 * words that go with it are in dllm_last_error(). Structs that begin with struct_size start from their
 * DLLM_..._INIT macro, also those that a call fills; those without one from zeros and struct_size = sizeof,
 * and the options and sequences of a decode loop from dllm_decode_preset, which sets it.
 *
 * Values, ties, NaN and tolerances are those of docs/numerics.md.
 */
#ifndef DLLM_H
#define DLLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DLLM_API __attribute__((visibility("default")))
#else
#define DLLM_API
#endif

/* ---- version --------------------------------------------------------------------------------- */

#define DLLM_VERSION_MAJOR 0
#define DLLM_VERSION_MINOR 1
#define DLLM_VERSION_PATCH 0

/** The version of the loaded library, "MAJOR.MINOR.PATCH"; static storage. */
DLLM_API const char *dllm_version(void);

/* ---- status ---------------------------------------------------------------------------------- */

/* name, number, text; numbers never change */
#define DLLM_STATUS_LIST(X)                                                                        \
    X(DLLM_OK, 0, "ok")                                                                            \
    X(DLLM_INVALID_ARGUMENT, -1, "invalid argument")                                               \
    X(DLLM_OUT_OF_MEMORY, -2, "out of memory")                                                     \
    X(DLLM_UNSUPPORTED, -3, "unsupported")                                                         \
    X(DLLM_LIBRARY_MISSING, -4, "library missing")                                                 \
    X(DLLM_COMPILE_FAILED, -5, "compile failed")                                                   \
    X(DLLM_DRIVER_FAILED, -6, "driver failed")                                                     \
    X(DLLM_NOT_CACHED, -7, "not cached")                                                           \
    X(DLLM_CAPTURING, -8, "stream capture in progress")                                            \
    X(DLLM_INCOMPLETE, -9, "incomplete")

#define DLLM_STATUS_ENUMERATOR(name, number, text) name = number,
typedef enum dllm_status { DLLM_STATUS_LIST(DLLM_STATUS_ENUMERATOR) } dllm_status;
#undef DLLM_STATUS_ENUMERATOR

/** The short text of a status, "unknown status" for any other number; static storage. */
DLLM_API const char *dllm_status_text(dllm_status status);

/**
 * The calling thread's message for its last failed call: one line with the name, the value and the
 * rule. "" when the last call of this thread succeeded.
 * Owner    static storage of the thread, valid until its next call into the library.
 */
DLLM_API const char *dllm_last_error(void);

/* ---- types ----------------------------------------------------------------------------------- */

/** Element types of hidden states, weights and logits. */
typedef enum dllm_type {
    DLLM_TYPE_NONE = 0,
    DLLM_BF16 = 1,
    DLLM_FP16 = 2,
    DLLM_FP32 = 3
} dllm_type;

/** Integer types of token ids, and of row indices. */
typedef enum dllm_id_type { DLLM_INT32 = 0, DLLM_INT64 = 1 } dllm_id_type;

/** The driver's CUstream without its header; NULL is the legacy default stream. Unused on the CPU. */
typedef struct CUstream_st *dllm_stream;

/**
 * Outputs of a row, as bits of options.outputs. z[g] is a row's logit of global id g after all
 * transforms, C the ids that are not masked, m = max z over C, d = sum over C of exp(z - m).
 * The buffer of an output bears its name; sizes are (rows).
 */
enum {
    DLLM_OUT_ARGMAX = 1 << 0,          /* id      lowest g in C with z[g] = m, or the first NaN */
    DLLM_OUT_MAX = 1 << 1,             /* float   m */
    DLLM_OUT_LSE = 1 << 2,             /* float   m + ln d */
    DLLM_OUT_CONFIDENCE = 1 << 3,      /* float   1 / d, the probability of argmax */
    DLLM_OUT_ENTROPY = 1 << 4,         /* float   ln d - s / d, s = sum exp(z - m)(z - m); nats */
    DLLM_OUT_SECOND = 1 << 5,          /* float   second entry by (larger z, lower id) */
    DLLM_OUT_SECOND_ID = 1 << 6,       /* id      its id, -1 if there is none */
    DLLM_OUT_MARGIN = 1 << 7,          /* float   probability of argmax less that of second */
    DLLM_OUT_TARGET_LOGPROB = 1 << 8,  /* float   (z[t] - m) - ln d for the row's target t */
    DLLM_OUT_GUMBEL_ID = 1 << 9,       /* id      argmax of z[g] + T * G[g] */
    DLLM_OUT_GUMBEL_LOGPROB = 1 << 10, /* float  (z[gumbel_id] - m) - ln d */
    DLLM_OUT_FLAGS = 1 << 11,          /* uint32  DLLM_FLAG_ bits, 0 for an ordinary row */
    DLLM_OUT_CANDIDATES = 1 << 12      /* (rows, candidates) float values and ids, in order */
};

/** Bits of the flags output: what is unusual about a row. */
enum {
    DLLM_FLAG_NONFINITE = 1 << 0, /* NaN among its candidates, or m = +inf: floats are NaN */
    DLLM_FLAG_EMPTY = 1 << 1,     /* no candidate, or all are -inf: lse -inf, confidence 0 */
    DLLM_FLAG_TARGET = 1 << 2,    /* its target is outside the vocabulary */
    DLLM_FLAG_PARAM = 1 << 3, /* its temperature or cfg_scale in device memory is NaN or infinite */
    DLLM_FLAG_ROW = 1 << 4,   /* its row_index is outside the source: nothing was read */
    DLLM_FLAG_COVER = 1 << 5  /* the nucleus does not end inside the candidate list */
};

/**
 * Device arrays of a run, as bits of options.inputs. A run of the plan must be given each of them
 * but row_index and rows_device, which may be NULL; one that no output needs is not read.
 */
enum {
    DLLM_IN_ROW_INDEX = 1 << 0,   /* row_index: rows to gather from source_rows */
    DLLM_IN_ROWS_DEVICE = 1 << 1, /* rows_device: the row count, clamped to 0..rows */
    DLLM_IN_TARGET = 1 << 2,      /* target: an id a row */
    DLLM_IN_TEMPERATURE = 1 << 3, /* temperature: a float a row, instead of the option */
    DLLM_IN_BIAS = 1 << 4,        /* bias: a float a column, added after the softcap */
    DLLM_IN_SUPPRESS = 1 << 5,    /* suppress: a list of global ids that leave every statistic */
    DLLM_IN_PENALTY = 1 << 6,     /* penalty_id, penalty: an id a row, its logit lowered last */
    DLLM_IN_ROW_KEY = 1 << 7,     /* row_key: a 64-bit noise key a row, else the row's number */
    DLLM_IN_NOISE = 1 << 8,       /* noise: two uint32 words a row and column, for tests */
    DLLM_IN_ROW_SEED = 1 << 9,    /* seed and draw have an entry a row */
    DLLM_IN_CFG_SCALE = 1 << 10   /* cfg_scale: a float a row, instead of the option */
};

/** Behaviour, as bits of options.behaviour. */
enum {
    DLLM_TEMPERED = 1 << 0,        /* lse, confidence, entropy, margin, logprobs of z / T */
    DLLM_BATCH_INVARIANT = 1 << 1, /* kernel, tile and split never depend on the row count */
    DLLM_PARTIAL_STATE = 1 << 2    /* write dllm_state instead of the outputs, for merge */
};

/**
 * How prepare may work, as bits of options.prepare. Nothing is measured on the CPU, for a family by name,
 * with DLLM_BATCH_INVARIANT and with guidance: the rule of thumb chooses, and the log says so of a GPU.
 */
enum {
    DLLM_PREPARE_MEASURE = 1 << 0,    /* tune row ranges that have no tuned choice; seconds each */
    DLLM_PREPARE_PATIENT = 1 << 1,    /* the same with a wider search */
    DLLM_PREPARE_CACHE_ONLY = 1 << 2, /* never compile: DLLM_NOT_CACHED instead */
    DLLM_PREPARE_NO_DISK = 1 << 3,    /* neither read nor write the cache folder */
    DLLM_PREPARE_DETERMINISTIC = 1 << 4 /* nothing measured here: built-in table and rules alone */
};

/* ---- context --------------------------------------------------------------------------------- */

/** One per device: facts of the device, loaded kernels, CPU worker threads. */
typedef struct dllm_context dllm_context;

enum {
    DLLM_DEVICE_CPU = -1,    /* host pointers, threads and vector instructions, no driver */
    DLLM_DEVICE_CURRENT = -2 /* the CUDA context that is current in the calling thread */
};

/** Receives one log line without its newline; may be called from any thread. */
typedef void (*dllm_log_function)(void *user, const char *line);

typedef struct dllm_context_options {
    size_t struct_size;
    int32_t device;        /* ordinal (its primary context), or DLLM_DEVICE_...; default 0 */
    int32_t threads;       /* CPU: worker threads, 1 .. 1024; 0 = all cores of the affinity mask */
    dllm_log_function log; /* NULL: lines go where DLLM_LOG says, or nowhere */
    void *log_user;
} dllm_context_options;

#define DLLM_CONTEXT_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(dllm_context_options), 0, 0, NULL, NULL                                             \
    }

/**
 * Creates a context.
 * options  NULL for the defaults.
 * Status   DLLM_LIBRARY_MISSING  libcuda cannot be opened; the message names what was looked for
 *          DLLM_DRIVER_FAILED    no such device, or the driver refused; the message has its code
 *          DLLM_INVALID_ARGUMENT an option is out of range, or no CUDA context is current
 *          DLLM_OUT_OF_MEMORY
 * Owner    release with dllm_context_destroy, after every plan made from it.
 * Threads  any; a context may be shared by all threads. It does not survive fork() into the child.
 */
DLLM_API dllm_status dllm_context_create(dllm_context **out, const dllm_context_options *options);

/** Releases a context and its loaded kernels; takes NULL. No plan of it may be alive. */
DLLM_API void dllm_context_destroy(dllm_context *context);

/** Counters since the context was made. */
typedef struct dllm_statistics {
    size_t struct_size;
    uint64_t compiled;        /* kernels compiled */
    uint64_t loaded_memory;   /* requests served by a kernel already loaded in this context */
    uint64_t loaded_disk;     /* kernels loaded from the user's cache folder */
    uint64_t loaded_compiled; /* kernels loaded from bytes just compiled */
    uint64_t stored;          /* entries published */
    uint64_t store_failures;  /* entries that could not be published; results are unaffected */
    uint64_t quarantined;     /* bad entries moved aside */
    uint64_t measurements;    /* candidates timed */
    double compile_ms;        /* time spent compiling */
    uint64_t loaded_system;   /* kernels loaded from a read-only cache folder */
    uint64_t loaded_imported; /* kernels loaded from an imported pack */
    uint64_t waited;          /* kernels that another process was making: waited for it */
    uint64_t evicted;         /* kernels removed from a folder above its limit */
} dllm_statistics;

#define DLLM_STATISTICS_INIT                                                                       \
    {                                                                                              \
        sizeof(dllm_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0                           \
    }

/** Copies the counters; out->struct_size says how much of them is wanted. Any thread. */
DLLM_API dllm_status dllm_context_statistics(const dllm_context *context, dllm_statistics *out);

/** What a context runs on. */
typedef struct dllm_device_info {
    size_t struct_size;
    char name[128];          /* the device's name, the processor's on the CPU */
    char arch[16];           /* "sm_90a", "cpu" */
    int32_t multiprocessors; /* of the GPU; worker threads on the CPU */
    int32_t driver_version;  /* 13000 for CUDA 13.0, 0 on the CPU */
    int64_t memory_bytes;    /* device memory, 0 on the CPU */
} dllm_device_info;

#define DLLM_DEVICE_INFO_INIT                                                                      \
    {                                                                                              \
        sizeof(dllm_device_info), "", "", 0, 0, 0                                                  \
    }

/** Describes the device of a context. Any thread. */
DLLM_API dllm_status dllm_context_device(const dllm_context *context, dllm_device_info *out);

/* ---- cache ----------------------------------------------------------------------------------- */

/**
 * Compiled kernels and tuned choices as bytes, for applications that carry them along: the first of
 * several processes prepares its plans and exports, the others import and prepare with
 * DLLM_PREPARE_CACHE_ONLY. A pack is an archive that tar can list; equal contents give equal bytes.
 */

/** What became of the entries of a pack. */
typedef struct dllm_cache_report {
    size_t struct_size;
    uint64_t added;        /* new here, or a tuned choice that is faster than the one it replaces */
    uint64_t same;         /* here already */
    uint64_t worse;        /* what is here was kept: as good a kernel, or a faster choice */
    uint64_t incompatible; /* for another device, or of a later library */
    uint64_t corrupt;      /* damaged, or not what its name says */
    uint64_t failed;       /* good, and could not be stored: the log has the reason */
} dllm_cache_report;

#define DLLM_CACHE_REPORT_INIT                                                                     \
    {                                                                                              \
        sizeof(dllm_cache_report), 0, 0, 0, 0, 0, 0                                                \
    }

/**
 * Packs every kernel that a context has loaded or imported and every tuned choice that it knows.
 * context  NULL: all valid entries of the user's cache folder
 * Status   DLLM_UNSUPPORTED  NULL, and there is no cache folder; DLLM_OUT_OF_MEMORY
 * Owner    the caller releases *out with dllm_cache_release.
 * Threads  any
 */
DLLM_API dllm_status dllm_cache_export(void **out, size_t *out_bytes, dllm_context *context);

/**
 * Takes the entries of a pack in. A context keeps them in memory, where they come before the cache
 * folders; each is checked as a file of the folder is, and nothing of a damaged one is used.
 * out      what became of each entry; may be NULL
 * context  NULL: they are published in the user's cache folder
 * Status   DLLM_INVALID_ARGUMENT  it is no pack, or cut off: nothing was taken in
 *          DLLM_UNSUPPORTED       context is NULL, and there is no cache folder; DLLM_OUT_OF_MEMORY
 * Owner    the pack is the caller's, and copied.
 * Threads  any
 */
DLLM_API dllm_status dllm_cache_import(dllm_cache_report *out, dllm_context *context,
                                       const void *pack, size_t pack_bytes);

/**
 * Makes one pack of two. Of a kernel in both the first one's is kept, of a tuned choice the faster.
 * report   the entries of both, first counted as added; may be NULL
 * Status   DLLM_INVALID_ARGUMENT  one is no pack; DLLM_OUT_OF_MEMORY
 * Owner    the caller releases *out with dllm_cache_release.
 */
DLLM_API dllm_status dllm_cache_merge(void **out, size_t *out_bytes, dllm_cache_report *report,
                                      const void *first, size_t first_bytes, const void *second,
                                      size_t second_bytes);

/** Releases a pack that this library made; takes NULL. */
DLLM_API void dllm_cache_release(void *pack);

/* ---- partial states -------------------------------------------------------------------------- */

/** Bits of dllm_state.bits. */
enum {
    DLLM_STATE_TARGET = 1 << 0, /* the row's target is an id of this shard */
    DLLM_STATE_PARAM = 1 << 1,  /* DLLM_FLAG_PARAM */
    DLLM_STATE_ROW = 1 << 2,    /* DLLM_FLAG_ROW; the rest is neutral */
    DLLM_STATE_ASKED = 1 << 3   /* a target was given, so that a missing one is a flag */
};

/**
 * The state of one row in one vocabulary shard: what a run with DLLM_PARTIAL_STATE writes and merge
 * reads. 64 bytes, little-endian, no padding, so that any transport can carry it. Ids are global, -1
 * is none. What the outputs of the run do not need keeps the neutral value said beside it; a shard
 * without candidates is neutral throughout. T is 1 without DLLM_TEMPERED.
 */
typedef struct dllm_state {
    float max;         /* m; -inf */
    float sum;         /* d = sum of exp((z - m) / T); 0 */
    int64_t id;        /* lowest id with z = m; -1 */
    int64_t nan_id;    /* lowest id with NaN; -1 */
    float weighted;    /* s = sum of exp((z - m) / T) (z - m) / T; 0 */
    float second;      /* z of the second entry; -inf */
    int64_t second_id; /* its id; -1 */
    float target;      /* z of the target, -inf if it is masked; -inf */
    uint32_t bits;     /* DLLM_STATE_ bits; 0 */
    float score;       /* largest z + T * G, none for a greedy row; -inf */
    float gumbel;      /* z of its id; -inf */
    int64_t gumbel_id; /* -1 */
} dllm_state;

/** With DLLM_OUT_CANDIDATES options.candidates of these follow each state, best first. */
typedef struct dllm_state_candidate {
    float value;   /* z; -inf behind the last */
    uint32_t zero; /* 0 */
    int64_t id;    /* -1 behind the last */
} dllm_state_candidate;

/* ---- plan ------------------------------------------------------------------------------------ */

/** A validated problem with the kernels chosen for it; immutable, for any number of threads. */
typedef struct dllm_plan dllm_plan;

/** Releases a plan; takes NULL. Work launched with it must have finished. */
DLLM_API void dllm_plan_destroy(dllm_plan *plan);

/** Bytes of workspace a run of up to rows_max rows needs, slack for alignment included; 0 for NULL and
 * where none is needed: then `workspace` may be NULL. */
DLLM_API size_t dllm_plan_workspace_bytes(const dllm_plan *plan);

/** Bytes of the state of one row that a plan writes or merges, its candidates included; 0 without
 * DLLM_PARTIAL_STATE and for NULL. */
DLLM_API size_t dllm_plan_state_bytes(const dllm_plan *plan);

/** What was chosen, and where it came from. */
typedef struct dllm_plan_information {
    size_t struct_size;
    char family[24];        /* cpu, naive, tiled, mma, sm90, gemm_chunk; sampler: cpu, stream */
    char kernel_source[16]; /* "memory", "disk", "system", "imported", "compiled" or "none" */
    char choice_source[16]; /* "asked", "tuned" here, from the "table", or "rule" of thumb */
    char why[192];          /* one line: the reason for the choice */
    int32_t tile_rows;      /* rows of a tile */
    int32_t tile_vocab;     /* vocabulary columns of a tile */
    int32_t tile_depth;     /* depth of a pipeline stage */
    int32_t stages;         /* pipeline stages, 1 = none */
    int32_t splits;         /* parts of the vocabulary at rows_max */
    int32_t stored;         /* 1 if a kernel compiled for this plan was published on disk */
    double compile_ms;      /* time prepare spent compiling */
} dllm_plan_information;

#define DLLM_PLAN_INFORMATION_INIT                                                                 \
    {                                                                                              \
        sizeof(dllm_plan_information), "", "", "", "", 0, 0, 0, 0, 0, 0, 0.0                       \
    }

/** Describes a plan. Any thread. */
DLLM_API dllm_status dllm_plan_info(const dllm_plan *plan, dllm_plan_information *out);

/* ---- head ------------------------------------------------------------------------------------ */

/**
 * What a head must do. A field that is 0 has the default said beside it.
 */
typedef struct dllm_head_options {
    size_t struct_size;
    int64_t vocab;        /* V, rows of the weight: columns of a row of logits; 1 .. 2^31 - 1 */
    int64_t depth;        /* H, >= 1 */
    int64_t rows_max;     /* most rows of a run, >= 0 */
    int64_t valid_vocab;  /* columns from here on are masked; 0 = vocab */
    int64_t vocab_offset; /* global id of column 0 (a vocabulary shard), >= 0 */
    dllm_type hidden_type;
    dllm_type weight_type;
    dllm_id_type id_type;    /* of argmax and every other id; INT32 needs offset + vocab < 2^31 */
    dllm_id_type index_type; /* of row_index */
    uint32_t outputs;        /* DLLM_OUT_ bits, at least one */
    uint32_t inputs;         /* DLLM_IN_ bits that a run may use */
    uint32_t behaviour;      /* DLLM_TEMPERED ... */
    uint32_t prepare;        /* DLLM_PREPARE_ bits */
    int32_t time_limit_ms;   /* for measuring, then the best so far is taken; 0 = none */
    int32_t alignment_bytes; /* kept by hidden and weight, base pointers and row starts; 0 = 16, or
                                less where a contiguous row of that depth keeps less; 1, 2, 4, 8 or
                                16. The CPU needs whole elements alone */
    float scale;             /* multiplies the product; 0 and 1 = none */
    float softcap;           /* c in c * tanh(z / c), after scale; 0 = none */
    dllm_type round_logits;  /* rounds the product first; DLLM_TYPE_NONE = no rounding */
    float temperature;       /* T of the draw and of DLLM_TEMPERED; <= 0 and subnormal = greedy */
    int32_t candidates;      /* K of DLLM_OUT_CANDIDATES, 1 .. 256 */
    int32_t suppress_max;    /* most entries of a run's suppress list, >= 0 */
    const char *family;      /* kernel family by name, one choice for every row count; NULL = the
                                library chooses, for each of a few ranges of row counts */
    float cfg_scale;         /* s of guidance, below; 0 = none. Never measured: rules of thumb */
    dllm_type cfg_round;     /* DLLM_BF16 rounds each of its three operations; NONE = fp32 */
} dllm_head_options;

#define DLLM_HEAD_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(dllm_head_options), 0, 0, 0, 0, 0, DLLM_TYPE_NONE, DLLM_TYPE_NONE, DLLM_INT32,      \
            DLLM_INT32, 0, 0, 0, 0, 0, 0, 0.0f, 0.0f, DLLM_TYPE_NONE, 0.0f, 0, 0, NULL, 0.0f,      \
            DLLM_TYPE_NONE                                                                         \
    }

/**
 * Validates a head problem, chooses a plan for it, compiles or loads its kernels.
 *     z[r, v] = sum over h of hidden[r, h] * weight[v, h], in fp32; then the row's statistics
 * Guidance (cfg_scale above 0, or DLLM_IN_CFG_SCALE): each row has an unconditional one, whose logits
 * u are made in the same way, rounding, scale, softcap and bias included, and
 *     z = u + (s + 1) * (c - u)
 * takes the place of its own logits c, before penalty and suppressed ids. s = 0 leaves z = c and looks
 * at no u; -inf in u makes NaN of a logit, and so do infinities of one sign in both.
 * out      set on success only.
 * Limits   those beside the fields of dllm_head_options.
 * Status   DLLM_INVALID_ARGUMENT  a limit is broken; the message has the name, value and rule
 *          DLLM_UNSUPPORTED       not implemented, or not by the family asked for, or not here
 *          DLLM_LIBRARY_MISSING   a compiler (or cuBLAS) is needed and none was found
 *          DLLM_NOT_CACHED        DLLM_PREPARE_CACHE_ONLY and no entry
 *          DLLM_COMPILE_FAILED, DLLM_DRIVER_FAILED, DLLM_CAPTURING, DLLM_OUT_OF_MEMORY
 * Owner    the plan belongs to the caller: dllm_plan_destroy. It must not outlive the context.
 * Threads  any; may take seconds when it compiles or measures, and allocates device memory for a
 *          moment when it prepares gemm_chunk, or measures: the size of the weight and more. Do not
 *          call while a stream of this context is being captured. A compile runs in a child process,
 *          dllm-jit, in a process group of its own.
 * Source   shared definitions of the outputs above; argmax is that of torch.argmax.
 */
DLLM_API dllm_status dllm_head_prepare(dllm_plan **out, dllm_context *context,
                                       const dllm_head_options *options);

/**
 * Buffers of one run. Device memory on a GPU, host memory on the CPU. Strides are in elements, at
 * least the width of a row; 0 = contiguous. Nothing between the end of a row and the next one is
 * read.
 */
typedef struct dllm_head_buffers {
    size_t struct_size;
    int64_t rows;           /* rows of this run, 0 .. rows_max; 0 touches nothing. With
                               rows_device, the most there may be */
    const void *hidden;     /* (source_rows, depth) hidden_type, row-major. With guidance twice as
                               many: the unconditional row of row i is row source_rows + i */
    const void *weight;     /* (vocab, depth) weight_type, row-major */
    int64_t hidden_stride;  /* elements from one hidden row to the next */
    int64_t weight_stride;  /* elements from one weight row to the next */
    const void *row_index;  /* (rows) index_type: the hidden row of each row; NULL = row r itself */
    int64_t source_rows;    /* rows that exist in hidden, wanted with row_index; else rows.
                               Conditional ones alone count */
    void *workspace;        /* dllm_plan_workspace_bytes(plan), any address */
    size_t workspace_bytes; /* its size; checked */
    /* outputs: one for each bit asked for, others are not looked at */
    void *argmax;            /* (rows) id_type */
    float *max;              /* (rows) */
    float *lse;              /* (rows) */
    float *confidence;       /* (rows) */
    float *entropy;          /* (rows) */
    float *second;           /* (rows) */
    void *second_id;         /* (rows) id_type */
    float *margin;           /* (rows) */
    float *target_logprob;   /* (rows) */
    void *gumbel_id;         /* (rows) id_type */
    float *gumbel_logprob;   /* (rows) */
    uint32_t *flags;         /* (rows) */
    float *candidate_values; /* (rows, candidates) */
    void *candidate_ids;     /* (rows, candidates) id_type */
    void *state;             /* (rows) of dllm_plan_state_bytes, with DLLM_PARTIAL_STATE: then the
                                outputs above are not looked at */
    /* further inputs: one for each bit of options.inputs */
    const int64_t *rows_device; /* (1) read when the kernels run; rows from it on are not written */
    const void *target;         /* (rows) id_type, global ids */
    const float *temperature;   /* (rows) NaN and infinity: greedy, DLLM_FLAG_PARAM */
    const float *bias;          /* (vocab) */
    const int64_t *suppress;    /* (suppress_count) global ids; those of other shards do nothing */
    const void *penalty_id;     /* (rows) id_type, global ids, -1 = none */
    const float *penalty;       /* (rows) subtracted from that logit after the bias */
    const uint64_t *row_key;    /* (rows) */
    const uint64_t *seed;       /* (1) wanted where a draw is not greedy and has no noise; (rows)
                                   with DLLM_IN_ROW_SEED */
    const uint32_t *draw;       /* as seed; NULL = 0 */
    const uint32_t *noise;      /* (rows, vocab, 2), the first word of a pair is the high one */
    int64_t suppress_count;     /* 0 .. suppress_max; 0 takes suppress = NULL */
    const float *cfg_scale;     /* (rows) s; not above 0: none. NaN and infinity: none, and
                                   DLLM_FLAG_PARAM */
} dllm_head_buffers;

#define DLLM_HEAD_BUFFERS_INIT                                                                     \
    {                                                                                              \
        sizeof(dllm_head_buffers), 0, NULL, NULL, 0, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL,  \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL                                \
    }

/**
 * Computes the statistics of each row's logits without writing the logits.
 *     z[r, v] = sum over h of hidden[index(r), h] * weight[v, h]
 * Tensors  those of dllm_head_buffers; every requested output of every row is written, nothing
 *          else. Outputs may not overlap each other, the workspace or an input.
 * Limits   0 <= rows <= rows_max; pointers and strides as aligned as the plan was prepared for.
 * Status   DLLM_INVALID_ARGUMENT  a limit is broken, a required pointer is NULL, an input was given
 *                                 that the plan was not prepared for, the workspace is too small;
 *                                 outputs are untouched
 *          DLLM_DRIVER_FAILED     the launch was refused
 * Owner    the caller owns all buffers; none is kept after the stream has passed this work. The
 *          workspace needs no initial value; plans may share one in stream order.
 * Threads  any thread, one plan from many at once (each with its own workspace and outputs);
 *          asynchronous on stream, safe in graph capture. On the CPU it returns when it is done;
 *          of several callers at once one has the worker threads, others compute in their own.
 * Values   NaN and infinities: DLLM_FLAG_NONFINITE and DLLM_FLAG_EMPTY. A row whose row_index is
 *          outside the source: argmax 0, floats NaN, DLLM_FLAG_ROW. A written id is in range, or -1
 *          where there is none: second_id, and candidates behind the last (value -inf) and of a row
 *          with DLLM_FLAG_NONFINITE or DLLM_FLAG_ROW (values NaN).
 */
DLLM_API dllm_status dllm_head_run(const dllm_plan *plan, const dllm_head_buffers *buffers,
                                   dllm_stream stream);

/* ---- models ---------------------------------------------------------------------------------- */

/** The head of a published model, and what decoding with it needs to know. */
typedef struct dllm_model_information {
    size_t struct_size;
    char name[32];         /* "llada-8b" */
    char models[96];       /* the models that share this head */
    int64_t vocab;         /* rows of the weight */
    int64_t depth;         /* columns of the weight */
    int64_t valid_vocab;   /* columns from here on are no real ids; 0 = all are, or not known */
    int64_t mask_id;       /* -1 = none */
    int64_t eos_id;        /* -1 = none, or not recorded */
    int32_t shifted;       /* 1: position q is read from hidden row q - 1 */
    float scale;           /* as in dllm_head_options */
    float softcap;         /* likewise */
    dllm_type weight_type; /* hidden states have the same type */
} dllm_model_information;

/**
 * Looks a head up by its name, as on the command lines of the tools.
 * out      out->struct_size says how much of it is wanted
 * Status   DLLM_INVALID_ARGUMENT  no such head
 */
DLLM_API dllm_status dllm_model_lookup(dllm_model_information *out, const char *name);

/** The name of head i, NULL behind the last; static storage. */
DLLM_API const char *dllm_model_name(int32_t i);

/* ---- sampler --------------------------------------------------------------------------------- */

/** The same statistics from logits that exist; fields as in dllm_head_options. */
typedef struct dllm_sampler_options {
    size_t struct_size;
    int64_t vocab;
    int64_t rows_max;
    int64_t valid_vocab;
    int64_t vocab_offset;
    dllm_type logits_type;
    dllm_id_type id_type;
    dllm_id_type index_type;
    uint32_t outputs;
    uint32_t inputs;
    uint32_t behaviour;
    uint32_t prepare;
    int32_t time_limit_ms;
    int32_t alignment_bytes; /* 0 = 16, or less where a contiguous row of that vocab keeps less */
    float scale;
    float softcap;
    dllm_type round_logits;
    float temperature;
    int32_t candidates;
    int32_t suppress_max;
    const char *family; /* NULL, "stream", or "cpu" on the CPU */
    float cfg_scale;
    dllm_type cfg_round;
} dllm_sampler_options;

#define DLLM_SAMPLER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(dllm_sampler_options), 0, 0, 0, 0, DLLM_TYPE_NONE, DLLM_INT32, DLLM_INT32, 0, 0, 0, \
            0, 0, 0, 0.0f, 0.0f, DLLM_TYPE_NONE, 0.0f, 0, 0, NULL, 0.0f, DLLM_TYPE_NONE            \
    }

/** As dllm_head_prepare, for rows of logits: limits, status, owner and threads are the same. */
DLLM_API dllm_status dllm_sampler_prepare(dllm_plan **out, dllm_context *context,
                                          const dllm_sampler_options *options);

/** Buffers of one run; fields as in dllm_head_buffers. */
typedef struct dllm_sampler_buffers {
    size_t struct_size;
    int64_t rows;
    const void
        *logits; /* (source_rows, vocab) logits_type, row-major; with guidance twice as many */
    int64_t logits_stride; /* elements from one row to the next, 0 = vocab */
    const void *row_index;
    int64_t source_rows;
    void *workspace;
    size_t workspace_bytes;
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    float *entropy;
    float *second;
    void *second_id;
    float *margin;
    float *target_logprob;
    void *gumbel_id;
    float *gumbel_logprob;
    uint32_t *flags;
    float *candidate_values;
    void *candidate_ids;
    void *state;
    const int64_t *rows_device;
    const void *target;
    const float *temperature;
    const float *bias;
    const int64_t *suppress;
    const void *penalty_id;
    const float *penalty;
    const uint64_t *row_key;
    const uint64_t *seed;
    const uint32_t *draw;
    const uint32_t *noise;
    int64_t suppress_count;
    const float *cfg_scale;
} dllm_sampler_buffers;

#define DLLM_SAMPLER_BUFFERS_INIT                                                                  \
    {                                                                                              \
        sizeof(dllm_sampler_buffers), 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL,  \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL                                      \
    }

/**
 * Computes the statistics of each row of logits in one pass.
 *     z[r, v] = logits[index(r), v]
 * Tensors, limits, status, owner, threads and values as dllm_head_run.
 */
DLLM_API dllm_status dllm_sampler_run(const dllm_plan *plan, const dllm_sampler_buffers *buffers,
                                      dllm_stream stream);

/* ---- merge ----------------------------------------------------------------------------------- */

/**
 * Statistics of whole rows from the states of vocabulary shards. outputs, behaviour, temperature and
 * candidates are those that the shards' plans were prepared with, or less of the outputs.
 */
typedef struct dllm_merge_options {
    size_t struct_size;
    int64_t vocab;      /* ids of the whole vocabulary are below it; INT32 ids need vocab < 2^31 */
    int64_t shards_max; /* most states of a row, >= 1 */
    int64_t rows_max;   /* most rows of a run, >= 0 */
    dllm_id_type id_type;
    uint32_t outputs;   /* DLLM_OUT_ bits, at least one */
    uint32_t inputs;    /* DLLM_IN_TEMPERATURE, where DLLM_TEMPERED needs it a row */
    uint32_t behaviour; /* DLLM_TEMPERED */
    uint32_t prepare;   /* DLLM_PREPARE_ bits */
    float temperature;
    int32_t
        candidates; /* records behind each state, 0 .. 256; DLLM_OUT_CANDIDATES writes so many */
    const char *family; /* NULL, "merge", or "cpu" on the CPU */
} dllm_merge_options;

#define DLLM_MERGE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(dllm_merge_options), 0, 0, 0, DLLM_INT32, 0, 0, 0, 0, 0.0f, 0, NULL                 \
    }

/** As dllm_head_prepare, for states: status, owner and threads are the same. */
DLLM_API dllm_status dllm_merge_prepare(dllm_plan **out, dllm_context *context,
                                        const dllm_merge_options *options);

/** Buffers of one run; outputs as in dllm_head_buffers. No workspace is needed. */
typedef struct dllm_merge_buffers {
    size_t struct_size;
    int64_t rows;               /* 0 .. rows_max; 0 touches nothing */
    int64_t shards;             /* 1 .. shards_max */
    const void *states;         /* (shards, rows) of dllm_plan_state_bytes(plan) bytes, 8-aligned */
    int64_t shard_stride_bytes; /* from one shard's first row to the next's; 0 = contiguous */
    const float *temperature;   /* (rows) */
    void *argmax;
    float *max;
    float *lse;
    float *confidence;
    float *entropy;
    float *second;
    void *second_id;
    float *margin;
    float *target_logprob;
    void *gumbel_id;
    float *gumbel_logprob;
    uint32_t *flags;
    float *candidate_values;
    void *candidate_ids;
} dllm_merge_buffers;

#define DLLM_MERGE_BUFFERS_INIT                                                                    \
    {                                                                                              \
        sizeof(dllm_merge_buffers), 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL                                               \
    }

/**
 * Merges the states of each row and finishes it, as one call over the whole vocabulary would have:
 * ids, max, second and flags exactly, from equal logits, the rest within docs/numerics.md 15.
 * Shards may be of any sizes and in any order, also neutral; equal order gives equal bits. States
 * are taken as a run wrote them: an id that stands in one is passed on unchecked.
 * Limits, status, owner and threads as dllm_head_run.
 */
DLLM_API dllm_status dllm_merge_run(const dllm_plan *plan, const dllm_merge_buffers *buffers,
                                    dllm_stream stream);

/* ---- decode ---------------------------------------------------------------------------------- */

/*
 * The rules of a step, one by one, on host memory: for an engine that has its own loop. What a
 * position's key is worth, ties and defaults are those of docs/decode.md.
 */

/** Which positions of a block a step commits. */
typedef enum dllm_select_name {
    DLLM_SELECTION_TOP_K = 0,         /* the `count` best */
    DLLM_SELECTION_THRESHOLD = 1,     /* all above the threshold, and always the best */
    DLLM_SELECTION_FACTOR = 2,        /* the largest n with (n + 1)(1 - c_n) < factor, at least 1 */
    DLLM_SELECTION_DYNAMIC = 3,       /* all above if they are `count` or more, else the best */
    DLLM_SELECTION_SEQUENTIAL = 4,    /* the `count` leftmost */
    DLLM_SELECTION_ENTROPY_BOUND = 5, /* in order, while the entropy before is at most gamma */
    DLLM_SELECTION_HIERARCHY = 6,     /* the best of each run of masks, all above, the best */
    DLLM_SELECTION_COINS = 7          /* all whose key, a uniform number, is below the threshold */
} dllm_select_name;

typedef struct dllm_selection {
    size_t struct_size;
    dllm_select_name name;
    int32_t count;     /* >= 0; clipped to what is eligible */
    int32_t inclusive; /* 1: equal to the threshold counts as above */
    int32_t variant;   /* factor: 0 as the paper, 1 first failure, 2 drop last */
    int32_t by_key;    /* entropy bound: 1 by descending key, 0 by ascending entropy */
    int32_t run_ties;  /* hierarchy: 1 takes all that tie with the best of their run */
    float threshold;   /* INFINITY: nothing is above */
    float near_tie;    /* above is also what is within this of the best; 0: off */
    float factor;
    float gamma;
    float low_threshold; /* hierarchy: the best of a run has to exceed it */
} dllm_selection;

/** A block of positions; host memory. */
typedef struct dllm_block_keys {
    size_t struct_size;
    int64_t positions;     /* 0 .. 8192 */
    const float *key;      /* (positions) larger is surer; NULL: minus the entropy */
    const float *entropy;  /* (positions) entropy bound alone, else may be NULL */
    const uint8_t *masked; /* (positions) 1: masked */
    const uint8_t *usable; /* (positions) 1: its row is usable; NULL: all are */
} dllm_block_keys;

/**
 * Marks the positions that a step commits: larger key first, equal keys by the lower position.
 * chosen   (positions) out: 1 for each, 0 for the others; none that is not masked and usable
 * Status   DLLM_INVALID_ARGUMENT  a parameter is NaN or out of range, a pointer is NULL
 */
DLLM_API dllm_status dllm_decode_select(uint8_t *chosen, const dllm_selection *selection,
                                        const dllm_block_keys *keys);

/** What the positions of a block are ordered by. */
typedef enum dllm_key_name {
    DLLM_KEY_CONFIDENCE = 0,
    DLLM_KEY_MARGIN = 1,
    DLLM_KEY_NEG_ENTROPY = 2, /* the least uncertain first */
    DLLM_KEY_ENTROPY = 3,     /* the most uncertain first */
    DLLM_KEY_RANDOM = 4       /* a number of the position's own: the loop alone */
} dllm_key_name;

typedef struct dllm_key_options {
    size_t struct_size;
    dllm_key_name name;
    int32_t round_bf16;    /* 1: keys are rounded to bf16 before they are compared */
    int32_t excludes_mask; /* 1: a position whose token is mask_id is not eligible */
    int32_t late_count;    /* 0 .. 64 */
    int64_t mask_id;
    const int64_t *late; /* (late_count) ids whose positions come last: key -INFINITY */
} dllm_key_options;

/** Outputs of the rows of a block, one a position; host memory. */
typedef struct dllm_key_rows {
    size_t struct_size;
    int64_t positions;       /* 0 .. 8192 */
    const int64_t *token;    /* (positions) what would be committed */
    const float *confidence; /* (positions) its probability; a key alone, like the next two */
    const float *margin;     /* (positions) */
    const float *entropy;    /* (positions) */
    const uint32_t *flags;   /* (positions) DLLM_FLAG_ bits; NULL: no row has any */
} dllm_key_rows;

/**
 * The keys of a block's positions, as dllm_decode_select takes them.
 * key     (positions) out; NaN where the row is not usable
 * usable  (positions) out: 0 where the row is NONFINITE, EMPTY or ROW, or its token is excluded
 * Status  DLLM_INVALID_ARGUMENT  a parameter is out of range, a pointer that is needed is NULL
 */
DLLM_API dllm_status dllm_decode_keys(float *key, uint8_t *usable, const dllm_key_options *options,
                                      const dllm_key_rows *rows);

/** How a step leaves a block. */
typedef enum dllm_block_state {
    DLLM_BLOCK_RUNNING = 0,
    DLLM_BLOCK_DONE = 1,        /* no mask is left */
    DLLM_BLOCK_NO_PROGRESS = 2, /* nothing was committed by a selection that has to */
    DLLM_BLOCK_UNUSABLE_ROW = 3 /* nothing was, and no mask that is left has a usable row */
} dllm_block_state;

/** What a step commits to a block; host memory. */
typedef struct dllm_commit {
    size_t struct_size;
    int64_t positions;          /* 0 .. 8192 */
    const uint8_t *chosen;      /* (positions) as dllm_decode_select wrote it */
    const int64_t *token;       /* (positions) */
    const uint32_t *flags;      /* (positions) DLLM_FLAG_ bits; NULL: no row has any */
    int64_t mask_id;            /* a token that is the mask id is not committed */
    dllm_select_name selection; /* the one that chose: does it have to commit something? */
} dllm_commit;

typedef struct dllm_commit_result {
    size_t struct_size;
    int64_t committed;
    int64_t masks; /* left in the block */
    dllm_block_state state;
} dllm_commit_result;

/**
 * Commits the chosen tokens in place. Only masked positions with usable rows are ever written.
 * ids      (positions) of the block
 * Status   DLLM_INVALID_ARGUMENT  a parameter is out of range, a pointer is NULL; nothing is written
 */
DLLM_API dllm_status dllm_decode_commit(dllm_commit_result *out, int64_t *ids,
                                        const dllm_commit *commit);

/** How many positions each step of a block commits. */
typedef struct dllm_schedule {
    size_t struct_size;
    int32_t dream; /* 0: even shares; 1: Dream's, of what is left, from eps */
    int32_t steps; /* >= 1 */
    int64_t masks; /* at block entry, 0 .. 2^24 */
    float eps;     /* Dream: 0 < eps < 1 */
} dllm_schedule;

/**
 * Writes a schedule.
 * counts     (steps) positions of each step
 * fractions  (steps) Dream: the share of what is left, also the chance of a coin; NULL: not wanted
 */
DLLM_API dllm_status dllm_decode_schedule(int64_t *counts, float *fractions,
                                          const dllm_schedule *schedule);

/** A filter over the best candidates of a row. */
typedef struct dllm_filter_options {
    size_t struct_size;
    int32_t k_first;   /* 1: top_k, then top_p of what is left; 0: top_p, then top_k */
    int32_t top_k;     /* keeps what ties with the k-th; 0: off */
    float top_p;       /* keeps what has at most this mass before it; 1 and more: off */
    float temperature; /* <= 0: none */
} dllm_filter_options;

typedef struct dllm_filter_candidates {
    size_t struct_size;
    const float *logits; /* (count) as DLLM_OUT_CANDIDATES gives them */
    const float *gumbel; /* (count) noise, NULL: no draw */
    int64_t count;       /* >= 1 */
    int32_t complete;    /* 1: the row has no others */
    float confidence;    /* of the first among all the row's candidates, at that temperature */
} dllm_filter_candidates;

/** The distribution that a filter leaves, over the first `kept` candidates. */
typedef struct dllm_filter_result {
    size_t struct_size;
    int64_t kept;
    int32_t covered;  /* 0: the list ends before the filter does (DLLM_FLAG_COVER) */
    int32_t drawn;    /* place of the candidate drawn, 0 without temperature or noise */
    float confidence; /* of the first */
    float drawn_confidence;
    float entropy;
    float margin;
} dllm_filter_result;

/** Filters a row's candidates, and draws one of those that are left. */
DLLM_API dllm_status dllm_decode_filter(dllm_filter_result *out, const dllm_filter_options *options,
                                        const dllm_filter_candidates *candidates);

/** When a sequence ends at an end-of-sequence id. */
typedef enum dllm_eos_rule {
    DLLM_END_NEVER = 0,
    DLLM_END_GAP_CLOSED = 1,
    DLLM_END_AFTER_BLOCK = 2,
    DLLM_END_FILL = 3,
    DLLM_END_STEP = 4
} dllm_eos_rule;

/** A sequence after a step; host memory. */
typedef struct dllm_sequence_state {
    size_t struct_size;
    int64_t *canvas;       /* (length) ids; DLLM_END_FILL writes the first EOS behind itself */
    const uint8_t *chosen; /* (length) 1: committed in this step; DLLM_END_STEP alone */
    const int64_t *eos;    /* (eos_count) */
    int64_t eos_count;     /* 0 .. 64 */
    int64_t length;
    int64_t prompt; /* positions of it, 0 .. length */
    int64_t low;    /* the block is [low, high) */
    int64_t high;
    int64_t mask_id;
    dllm_eos_rule rule;
} dllm_sequence_state;

/**
 * Says whether a sequence has ended.
 * stop      out: 1 if it has
 * eligible  (length) out: 1 for each position of the block that may still be committed
 */
DLLM_API dllm_status dllm_decode_end(int32_t *stop, uint8_t *eligible,
                                     const dllm_sequence_state *state);

/**
 * The hidden rows of positions, counted from the first row of the window [window_from, window_to).
 * rows     (count) out
 * shifted  1: position q is read from row q - 1, position 0 from row 0
 * Status   DLLM_INVALID_ARGUMENT  a row lies outside the window; the message names the position
 */
DLLM_API dllm_status dllm_decode_rows(int64_t *rows, const int64_t *positions, int64_t count,
                                      int32_t shifted, int64_t window_from, int64_t window_to);

/* ---- decode: the loop ------------------------------------------------------------------------ */

/*
 * A decode holds canvases of ids and commits tokens in place of the mask id until each sequence is
 * done: list the rows that a step reads, call the trunk, run the head, select and commit. All of its
 * state lies in the caller's workspace, on the device of the context; no step waits for it there.
 *
 *     dllm_decode_options options;  dllm_sequence sequence;
 *     dllm_decode_preset(&options, &sequence, "llada");   then sizes, mask id, trunk
 *     dllm_decode_prepare(&decode, context, &options);
 *     dllm_decode_begin(decode, &buffers, &sequence, 1, stream);
 *     dllm_decode_run(decode, stream);
 *     dllm_decode_read(decode, &batch, &status, 1);
 */

/** A loop that has been prepared. One run at a time; dllm_decode_cancel from any thread. */
typedef struct dllm_decode dllm_decode;

/** How a sequence stands. */
typedef enum dllm_decode_state {
    DLLM_DECODE_RUNNING = 0,
    DLLM_DECODE_DONE = 1,         /* its last block is complete, as far as it can be */
    DLLM_DECODE_DONE_EOS = 2,     /* it ended at an EOS */
    DLLM_DECODE_NO_PROGRESS = 3,  /* masks are left that nothing will commit */
    DLLM_DECODE_UNUSABLE_ROW = 4, /* and no row of theirs is finite */
    DLLM_DECODE_NOT_COVERED = 5,  /* strict_filter: a list ended before its filter */
    DLLM_DECODE_BAD_ROW = 6,      /* a position is read from a row outside the window */
    DLLM_DECODE_CANCELLED = 7,    /* dllm_decode_begin or _resume goes on */
    DLLM_DECODE_INACTIVE = 8      /* was not to be decoded */
} dllm_decode_state;

/** What the next forward of a sequence is. */
typedef enum dllm_phase {
    DLLM_PHASE_REFRESH = 0, /* the first of a block: caches may be rebuilt */
    DLLM_PHASE_STEP = 1,
    DLLM_PHASE_PERSIST = 2 /* nothing will be read from it */
} dllm_phase;

/**
 * One sequence; all positions count from the start of its canvas. On a GPU it lies in device memory,
 * where the trunk may read it.
 */
typedef struct dllm_sequence_status {
    int32_t state; /* dllm_decode_state */
    int32_t phase; /* dllm_phase */
    int32_t low;   /* the block is [low, high) */
    int32_t high;
    int32_t block;          /* its number */
    int32_t step;           /* forwards that the block has had */
    int32_t masks;          /* left in the block */
    int32_t end;            /* of the result: behind the first EOS, or the last block's end */
    int32_t forwards;       /* while this sequence was unfinished */
    int32_t commits;        /* masks that became tokens */
    int32_t edits;          /* tokens that changed */
    int32_t uncovered;      /* rows whose list ended before the filter */
    int32_t unusable;       /* rows that could not be committed, each time they were read */
    int32_t error_position; /* of the three states that name one, and NO_PROGRESS; else -1 */
    int32_t error_step;     /* its forward, from 0 */
    int32_t reads;          /* rows of the next forward */
    int32_t internal[6];
} dllm_sequence_status;

/** The batch after some steps. */
typedef struct dllm_batch_status {
    size_t struct_size;
    int32_t unfinished;
    int32_t forwards;      /* that began with an unfinished sequence, also those refused */
    int32_t idle_forwards; /* launched ahead, for nobody */
    int32_t trunk_code;    /* what the trunk returned when it was not 0 */
    int64_t traced;        /* records, also those for which there was no room */
} dllm_batch_status;

/** Kinds of trace records. */
typedef enum dllm_trace_kind {
    DLLM_TRACE_COMMIT = 0,
    DLLM_TRACE_EDIT = 1,
    DLLM_TRACE_STEP = 2 /* the end of a sequence's step */
} dllm_trace_kind;

typedef struct dllm_trace_record {
    int32_t sequence;
    int32_t forward;  /* of the sequence, from 0 */
    int32_t kind;     /* dllm_trace_kind */
    int32_t position; /* STEP: rows read */
    int64_t old_id;   /* STEP: commits */
    int64_t new_id;   /* STEP: masks left in the block */
    float key; /* STEP: from the last chosen key to the first refused; INFINITY: no such pair */
    int32_t zero;
} dllm_trace_record;

/** Where hidden rows lie in the trunk's buffer. */
typedef enum dllm_hidden_layout {
    DLLM_HIDDEN_CANVAS = 0,           /* position q of sequence s in row s * hidden_rows + q */
    DLLM_HIDDEN_BLOCK = 1,            /* ... + q - low */
    DLLM_HIDDEN_BLOCK_AND_BEFORE = 2, /* ... + q - max(low - 1, 0), for shifted models */
    DLLM_HIDDEN_GATHERED = 3          /* row r of the list in row r */
} dllm_hidden_layout;

/** What the decode loop asks of the caller's trunk. Pointers are of the context's device. */
typedef struct dllm_trunk_call {
    size_t struct_size;
    const void *canvas; /* read only */
    int64_t sequences;
    const dllm_sequence_status *status; /* (sequences) before this forward */
    const int64_t *rows;                /* (1) how many rows will be read */
    const int32_t *row_position;        /* (*rows) by ascending sequence and position: status.reads
                                           of them belong to each sequence */
    int64_t rows_max;
    const void *hidden; /* the buffer that was given, or set to another of that shape */
    dllm_stream stream;
    int32_t copies; /* of each sequence: 2 with guidance, and hidden rows of the second canvases
                       follow those of all the first: behind sequences * hidden_rows rows, or
                       GATHERED behind rows_max. Those of a sequence whose cfg_scale is 0 need not
                       be written */
    int32_t zero;
    const void *unconditional; /* (sequences, unconditional_stride) ids, read only: each canvas with
                                  its prompt masked, and masks behind its end; masks alone of a
                                  sequence that is inactive; NULL without guidance */
    int64_t unconditional_stride;
} dllm_trunk_call;

/** Enqueues one forward on call->stream; anything but 0 ends the loop with DLLM_INCOMPLETE. */
typedef int (*dllm_trunk_function)(void *user, dllm_trunk_call *call);

/** May a model's mask id be predicted? (docs/decode.md 1) */
typedef enum dllm_mask_rule {
    DLLM_MASK_SUPPRESS = 0, /* it leaves every statistic */
    DLLM_MASK_EXCLUDE = 1,  /* its positions are not eligible */
    DLLM_MASK_ALLOW = 2     /* it may be chosen, and its position stays masked */
} dllm_mask_rule;

/**
 * What the confidence of late ids is: those of an end, which a model overrates (docs/decode.md 2.5).
 * PUBLISHED is what LLaDA's code does: late[0] is EOS, the others are EoT, and once the token is
 * chosen they leave the softmax of its confidence, EOS only where the sequence is greedy. It is a
 * second pass of the head a step.
 */
typedef enum dllm_eos_confidence {
    DLLM_EOS_INTENDED = 0, /* their positions are committed last */
    DLLM_EOS_PUBLISHED = 1 /* they leave the softmax */
} dllm_eos_confidence;

/** How many positions a step commits, where its selection counts. */
typedef enum dllm_schedule_name {
    DLLM_SCHEDULED_NONE = 0,       /* the selection's own count */
    DLLM_SCHEDULED_EVEN = 1,       /* even shares of the masks at block entry */
    DLLM_SCHEDULED_EVEN_BLOCK = 2, /* even shares of the block's length */
    DLLM_SCHEDULED_DREAM = 3       /* Dream's, from eps */
} dllm_schedule_name;

/** What is the same for every sequence of a loop. Start from dllm_decode_preset. */
typedef struct dllm_decode_options {
    size_t struct_size;
    dllm_head_options head;   /* the model's head: sizes, types, scale, softcap, rounding, family,
                                 prepare, candidates (0: no filter), suppress_max, cfg_round; inputs
                                 BIAS and NOISE. The rest is set by prepare */
    int64_t mask_id;          /* 0 .. vocab - 1 */
    int64_t sequences_max;    /* >= 1 */
    int64_t length_max;       /* longest canvas of a sequence, whole blocks */
    int64_t block_length_max; /* 1 .. 8192 */
    dllm_id_type id_type;     /* of the canvas */
    dllm_hidden_layout layout;
    int64_t hidden_rows;  /* rows of a canvas in the trunk's buffer; 0: what the layout needs */
    int32_t shifted;      /* 1: position q is read from the row of q - 1, position 0 from its own */
    int32_t draws;        /* 1: sequences may have a temperature */
    int32_t tempered;     /* 1: statistics of z / T, and filters at T; 0: T scales noise alone */
    int32_t edits;        /* 1: tokens may change: all rows of a block are read */
    int32_t guards_given; /* edits: 1 spares what was no mask at block entry, 0 the prompt */
    int32_t drops_last_edits; /* edits: a forward beyond max_post_steps is made and dropped */
    int32_t penalises;        /* 1: sequences may have a penalty */
    dllm_key_name key;        /* what positions are ordered by */
    dllm_mask_rule mask_rule;
    int32_t round_bf16;      /* 1: keys are rounded to bf16 */
    int32_t eligible_prefix; /* 1: masks of the prompt and of older blocks compete */
    int32_t fixed_steps;     /* 1: a block takes all its steps, masks or none */
    int32_t persist_forward; /* 1: one more forward after each block */
    int32_t first_from_full; /* 1: a block's first forward commits its first position */
    int32_t aligned_blocks;  /* 1: blocks lie on multiples of their length; 0: from the prompt on */
    int32_t strict_filter;   /* 1: a filter that its list does not cover ends the sequence */
    int32_t late_count;      /* 0 .. 16 */
    const int64_t *late;     /* (late_count) ids of an end, see eos_confidence */
    int64_t trace_max;       /* records of the trace, 0: none */
    int32_t lookahead;       /* steps launched beyond the last seen state, >= 0 */
    int32_t guides;          /* 1: sequences may have a cfg_scale: the trunk runs on two canvases */
    dllm_trunk_function trunk;
    void *trunk_user;
    dllm_eos_confidence eos_confidence; /* PUBLISHED with key confidence, and neither tempered,
                                           penalises nor head.candidates */
    int32_t zero;
} dllm_decode_options;

/** One sequence's parameters. Start from dllm_decode_preset. */
typedef struct dllm_sequence {
    size_t struct_size;
    int64_t canvas_offset; /* elements from buffers.canvas to position 0 */
    int64_t prompt;        /* positions, >= 0 */
    int64_t generate;      /* positions behind it, >= 0; aligned blocks round the sum up */
    int64_t block_length;  /* 0: all that is generated */
    dllm_schedule_name schedule;
    int32_t steps;              /* of all blocks together, a multiple of their number; or */
    int32_t steps_per_block;    /* of each; both 0: until it is done. A schedule wants one */
    dllm_selection selection;   /* its count: where there is no schedule */
    dllm_filter_options filter; /* top_k, top_p; temperature: T of the draw, <= 0 is greedy */
    int32_t filters_greedy;     /* 1: the filter is used at T <= 0 too */
    int32_t max_post_steps;     /* edits: forwards of a block without masks */
    float eps;                  /* of Dream's schedule */
    float order_temperature;    /* > 0: keys are divided by it and get noise; coins take none */
    float edit_threshold;
    float penalty; /* taken off the id at the position before */
    uint64_t seed;
    uint64_t request_key; /* its lower 32 bits are part of every row's key */
    dllm_eos_rule eos_rule;
    int32_t eos_count;  /* 0 .. 16 */
    const int64_t *eos; /* (eos_count) */
    int64_t fill_id;    /* for masks behind the end; -1: they stay */
    int32_t inactive;   /* 1: nothing is done */
    float cfg_scale;    /* s of guidance, >= 0; 0: none, as if the loop did not guide */
} dllm_sequence;

/**
 * Fills options and a sequence with what a published decoder does (docs/decode.md 1): llada,
 * threshold, factor, dream, sglang_low_confidence, llada2, llada21, sglang_joint, sdar,
 * entropy_bound, hierarchy, fast_dllm_v2. Sizes, ids and the trunk stay 0; mask_rule is suppress.
 * Status   DLLM_INVALID_ARGUMENT  no such preset; the message lists them
 */
DLLM_API dllm_status dllm_decode_preset(dllm_decode_options *options, dllm_sequence *sequence,
                                        const char *name);

/** The name of preset i, NULL behind the last; static storage. */
DLLM_API const char *dllm_decode_preset_name(int32_t i);

/**
 * Validates a loop and prepares its head and kernels; what dllm_head_prepare says of status and
 * threads holds here too.
 * Owner    release with dllm_decode_destroy, before the context.
 */
DLLM_API dllm_status dllm_decode_prepare(dllm_decode **out, dllm_context *context,
                                         const dllm_decode_options *options);

/** Releases a loop; takes NULL. Work launched with it must have finished. */
DLLM_API void dllm_decode_destroy(dllm_decode *decode);

/** Bytes of workspace of a loop, slack for alignment included; 0 for NULL. */
DLLM_API size_t dllm_decode_workspace_bytes(const dllm_decode *decode);

/** Describes the plan of a loop's head, as dllm_plan_info. */
DLLM_API dllm_status dllm_decode_info(const dllm_decode *decode, dllm_plan_information *out);

/** Buffers of a run; they stay until it is over. Strides are in elements, 0 = contiguous. */
typedef struct dllm_decode_buffers {
    size_t struct_size;
    void *canvas;       /* id_type; sequences by their canvas_offset, committed in place */
    const void *hidden; /* (sequences * hidden_rows, or rows_max, depth) the trunk's buffer; with
                           options.guides twice the rows */
    int64_t hidden_stride;
    const void *weight; /* (vocab, depth) */
    int64_t weight_stride;
    const float *bias;       /* (vocab) with DLLM_IN_BIAS */
    const int64_t *suppress; /* (suppress_count) on the host: ids that leave every statistic */
    int64_t suppress_count;  /* 0 .. head.suppress_max */
    const uint32_t *noise;   /* (sequences_max, length_max, vocab, 2) with DLLM_IN_NOISE */
    const uint32_t *position_noise; /* (sequences_max, length_max, 2) likewise */
    void *workspace;
    size_t workspace_bytes;
} dllm_decode_buffers;

#define DLLM_DECODE_BUFFERS_INIT                                                                   \
    {                                                                                              \
        sizeof(dllm_decode_buffers), NULL, NULL, 0, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0    \
    }

/**
 * Puts every sequence at its first block. The canvas holds prompts and masks; it is not written, but
 * where an end-of-sequence rule fills it.
 * sequences  (count) on the host; 1 .. sequences_max
 * Status     DLLM_INVALID_ARGUMENT  a length does not divide, a number is not finite, a pointer is
 *                                   missing, a block might never be done: a count of 0, or a mask
 *                                   that may be predicted, without a limit on steps; the message
 *                                   names sequence, value and rule
 * Threads    one run of a decode at a time; asynchronous on stream
 */
DLLM_API dllm_status dllm_decode_begin(dllm_decode *decode, const dllm_decode_buffers *buffers,
                                       const dllm_sequence *sequences, int64_t count,
                                       dllm_stream stream);

/**
 * One step of all unfinished sequences: one call of the trunk. Waits for nothing on a GPU.
 * Status   DLLM_INCOMPLETE  the trunk refused; batch status has its code
 */
DLLM_API dllm_status dllm_decode_step(dllm_decode *decode, dllm_stream stream);

/**
 * Steps until every sequence has left the block it was in, or the run is over.
 * Status   DLLM_INCOMPLETE  the trunk refused, or a sequence has ended otherwise than done
 */
DLLM_API dllm_status dllm_decode_block(dllm_decode *decode, dllm_stream stream);

/**
 * Steps until no sequence is unfinished. Status as dllm_decode_block. Where the trunk refused, its
 * step has changed no canvas and sequences stay as they were: a further call asks the trunk again.
 */
DLLM_API dllm_status dllm_decode_run(dllm_decode *decode, dllm_stream stream);

/** Asks a run to end before its next step; from any thread, while the decode exists. */
DLLM_API void dllm_decode_cancel(dllm_decode *decode);

/** Puts cancelled sequences back to work, where they were. */
DLLM_API dllm_status dllm_decode_resume(dllm_decode *decode, dllm_stream stream);

/**
 * Waits for the stream of the last step and copies how the run stands; either may be NULL.
 * sequences  (count) in the order of begin
 */
DLLM_API dllm_status dllm_decode_read(dllm_decode *decode, dllm_batch_status *batch,
                                      dllm_sequence_status *sequences, int64_t count);

/**
 * Copies records of the trace in the order they were written, as dllm_decode_read.
 * from     number of the first record wanted, from 0
 * Status   DLLM_INVALID_ARGUMENT  [from, from + count) is not inside what was kept
 */
DLLM_API dllm_status dllm_decode_trace(dllm_decode *decode, dllm_trace_record *records,
                                       int64_t from, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
