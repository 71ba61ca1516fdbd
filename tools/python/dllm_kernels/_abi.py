"""include/dllm.h as ctypes. Written by tools/abi.py from the header."""

from ctypes import (
    CFUNCTYPE, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64,
    c_size_t, c_uint32, c_uint64, c_void_p
)

DLLM_OK = 0
DLLM_INVALID_ARGUMENT = -1
DLLM_OUT_OF_MEMORY = -2
DLLM_UNSUPPORTED = -3
DLLM_LIBRARY_MISSING = -4
DLLM_COMPILE_FAILED = -5
DLLM_DRIVER_FAILED = -6
DLLM_NOT_CACHED = -7
DLLM_CAPTURING = -8
DLLM_INCOMPLETE = -9
DLLM_TYPE_NONE = 0
DLLM_BF16 = 1
DLLM_FP16 = 2
DLLM_FP32 = 3
DLLM_INT32 = 0
DLLM_INT64 = 1
DLLM_OUT_ARGMAX = 1
DLLM_OUT_MAX = 2
DLLM_OUT_LSE = 4
DLLM_OUT_CONFIDENCE = 8
DLLM_OUT_ENTROPY = 16
DLLM_OUT_SECOND = 32
DLLM_OUT_SECOND_ID = 64
DLLM_OUT_MARGIN = 128
DLLM_OUT_TARGET_LOGPROB = 256
DLLM_OUT_GUMBEL_ID = 512
DLLM_OUT_GUMBEL_LOGPROB = 1024
DLLM_OUT_FLAGS = 2048
DLLM_OUT_CANDIDATES = 4096
DLLM_FLAG_NONFINITE = 1
DLLM_FLAG_EMPTY = 2
DLLM_FLAG_TARGET = 4
DLLM_FLAG_PARAM = 8
DLLM_FLAG_ROW = 16
DLLM_FLAG_COVER = 32
DLLM_IN_ROW_INDEX = 1
DLLM_IN_ROWS_DEVICE = 2
DLLM_IN_TARGET = 4
DLLM_IN_TEMPERATURE = 8
DLLM_IN_BIAS = 16
DLLM_IN_SUPPRESS = 32
DLLM_IN_PENALTY = 64
DLLM_IN_ROW_KEY = 128
DLLM_IN_NOISE = 256
DLLM_IN_ROW_SEED = 512
DLLM_IN_CFG_SCALE = 1024
DLLM_TEMPERED = 1
DLLM_BATCH_INVARIANT = 2
DLLM_PARTIAL_STATE = 4
DLLM_PREPARE_MEASURE = 1
DLLM_PREPARE_PATIENT = 2
DLLM_PREPARE_CACHE_ONLY = 4
DLLM_PREPARE_NO_DISK = 8
DLLM_PREPARE_DETERMINISTIC = 16
DLLM_DEVICE_CPU = -1
DLLM_DEVICE_CURRENT = -2
DLLM_STATE_TARGET = 1
DLLM_STATE_PARAM = 2
DLLM_STATE_ROW = 4
DLLM_STATE_ASKED = 8
DLLM_SELECTION_TOP_K = 0
DLLM_SELECTION_THRESHOLD = 1
DLLM_SELECTION_FACTOR = 2
DLLM_SELECTION_DYNAMIC = 3
DLLM_SELECTION_SEQUENTIAL = 4
DLLM_SELECTION_ENTROPY_BOUND = 5
DLLM_SELECTION_HIERARCHY = 6
DLLM_SELECTION_COINS = 7
DLLM_KEY_CONFIDENCE = 0
DLLM_KEY_MARGIN = 1
DLLM_KEY_NEG_ENTROPY = 2
DLLM_KEY_ENTROPY = 3
DLLM_KEY_RANDOM = 4
DLLM_BLOCK_RUNNING = 0
DLLM_BLOCK_DONE = 1
DLLM_BLOCK_NO_PROGRESS = 2
DLLM_BLOCK_UNUSABLE_ROW = 3
DLLM_END_NEVER = 0
DLLM_END_GAP_CLOSED = 1
DLLM_END_AFTER_BLOCK = 2
DLLM_END_FILL = 3
DLLM_END_STEP = 4
DLLM_DECODE_RUNNING = 0
DLLM_DECODE_DONE = 1
DLLM_DECODE_DONE_EOS = 2
DLLM_DECODE_NO_PROGRESS = 3
DLLM_DECODE_UNUSABLE_ROW = 4
DLLM_DECODE_NOT_COVERED = 5
DLLM_DECODE_BAD_ROW = 6
DLLM_DECODE_CANCELLED = 7
DLLM_DECODE_INACTIVE = 8
DLLM_PHASE_REFRESH = 0
DLLM_PHASE_STEP = 1
DLLM_PHASE_PERSIST = 2
DLLM_TRACE_COMMIT = 0
DLLM_TRACE_EDIT = 1
DLLM_TRACE_STEP = 2
DLLM_HIDDEN_CANVAS = 0
DLLM_HIDDEN_BLOCK = 1
DLLM_HIDDEN_BLOCK_AND_BEFORE = 2
DLLM_HIDDEN_GATHERED = 3
DLLM_MASK_SUPPRESS = 0
DLLM_MASK_EXCLUDE = 1
DLLM_MASK_ALLOW = 2
DLLM_EOS_INTENDED = 0
DLLM_EOS_PUBLISHED = 1
DLLM_SCHEDULED_NONE = 0
DLLM_SCHEDULED_EVEN = 1
DLLM_SCHEDULED_EVEN_BLOCK = 2
DLLM_SCHEDULED_DREAM = 3

dllm_log_function = CFUNCTYPE(None, c_void_p, c_char_p)
dllm_trunk_function = CFUNCTYPE(c_int, c_void_p, c_void_p)


class dllm_context_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_int32),
        ("threads", c_int32),
        ("log", dllm_log_function),
        ("log_user", c_void_p),
    ]


class dllm_statistics(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("compiled", c_uint64),
        ("loaded_memory", c_uint64),
        ("loaded_disk", c_uint64),
        ("loaded_compiled", c_uint64),
        ("stored", c_uint64),
        ("store_failures", c_uint64),
        ("quarantined", c_uint64),
        ("measurements", c_uint64),
        ("compile_ms", c_double),
        ("loaded_system", c_uint64),
        ("loaded_imported", c_uint64),
        ("waited", c_uint64),
        ("evicted", c_uint64),
    ]


class dllm_device_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 128),
        ("arch", c_char * 16),
        ("multiprocessors", c_int32),
        ("driver_version", c_int32),
        ("memory_bytes", c_int64),
    ]


class dllm_cache_report(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("added", c_uint64),
        ("same", c_uint64),
        ("worse", c_uint64),
        ("incompatible", c_uint64),
        ("corrupt", c_uint64),
        ("failed", c_uint64),
    ]


class dllm_state(Structure):
    _fields_ = [
        ("max", c_float),
        ("sum", c_float),
        ("id", c_int64),
        ("nan_id", c_int64),
        ("weighted", c_float),
        ("second", c_float),
        ("second_id", c_int64),
        ("target", c_float),
        ("bits", c_uint32),
        ("score", c_float),
        ("gumbel", c_float),
        ("gumbel_id", c_int64),
    ]


class dllm_state_candidate(Structure):
    _fields_ = [
        ("value", c_float),
        ("zero", c_uint32),
        ("id", c_int64),
    ]


class dllm_plan_information(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("family", c_char * 24),
        ("kernel_source", c_char * 16),
        ("choice_source", c_char * 16),
        ("why", c_char * 192),
        ("tile_rows", c_int32),
        ("tile_vocab", c_int32),
        ("tile_depth", c_int32),
        ("stages", c_int32),
        ("splits", c_int32),
        ("stored", c_int32),
        ("compile_ms", c_double),
    ]


class dllm_head_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("vocab", c_int64),
        ("depth", c_int64),
        ("rows_max", c_int64),
        ("valid_vocab", c_int64),
        ("vocab_offset", c_int64),
        ("hidden_type", c_int),
        ("weight_type", c_int),
        ("id_type", c_int),
        ("index_type", c_int),
        ("outputs", c_uint32),
        ("inputs", c_uint32),
        ("behaviour", c_uint32),
        ("prepare", c_uint32),
        ("time_limit_ms", c_int32),
        ("alignment_bytes", c_int32),
        ("scale", c_float),
        ("softcap", c_float),
        ("round_logits", c_int),
        ("temperature", c_float),
        ("candidates", c_int32),
        ("suppress_max", c_int32),
        ("family", c_char_p),
        ("cfg_scale", c_float),
        ("cfg_round", c_int),
    ]


class dllm_head_buffers(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rows", c_int64),
        ("hidden", c_void_p),
        ("weight", c_void_p),
        ("hidden_stride", c_int64),
        ("weight_stride", c_int64),
        ("row_index", c_void_p),
        ("source_rows", c_int64),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        ("argmax", c_void_p),
        ("max", c_void_p),
        ("lse", c_void_p),
        ("confidence", c_void_p),
        ("entropy", c_void_p),
        ("second", c_void_p),
        ("second_id", c_void_p),
        ("margin", c_void_p),
        ("target_logprob", c_void_p),
        ("gumbel_id", c_void_p),
        ("gumbel_logprob", c_void_p),
        ("flags", c_void_p),
        ("candidate_values", c_void_p),
        ("candidate_ids", c_void_p),
        ("state", c_void_p),
        ("rows_device", c_void_p),
        ("target", c_void_p),
        ("temperature", c_void_p),
        ("bias", c_void_p),
        ("suppress", c_void_p),
        ("penalty_id", c_void_p),
        ("penalty", c_void_p),
        ("row_key", c_void_p),
        ("seed", c_void_p),
        ("draw", c_void_p),
        ("noise", c_void_p),
        ("suppress_count", c_int64),
        ("cfg_scale", c_void_p),
    ]


class dllm_model_information(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 32),
        ("models", c_char * 96),
        ("vocab", c_int64),
        ("depth", c_int64),
        ("valid_vocab", c_int64),
        ("mask_id", c_int64),
        ("eos_id", c_int64),
        ("shifted", c_int32),
        ("scale", c_float),
        ("softcap", c_float),
        ("weight_type", c_int),
    ]


class dllm_sampler_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("vocab", c_int64),
        ("rows_max", c_int64),
        ("valid_vocab", c_int64),
        ("vocab_offset", c_int64),
        ("logits_type", c_int),
        ("id_type", c_int),
        ("index_type", c_int),
        ("outputs", c_uint32),
        ("inputs", c_uint32),
        ("behaviour", c_uint32),
        ("prepare", c_uint32),
        ("time_limit_ms", c_int32),
        ("alignment_bytes", c_int32),
        ("scale", c_float),
        ("softcap", c_float),
        ("round_logits", c_int),
        ("temperature", c_float),
        ("candidates", c_int32),
        ("suppress_max", c_int32),
        ("family", c_char_p),
        ("cfg_scale", c_float),
        ("cfg_round", c_int),
    ]


class dllm_sampler_buffers(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rows", c_int64),
        ("logits", c_void_p),
        ("logits_stride", c_int64),
        ("row_index", c_void_p),
        ("source_rows", c_int64),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        ("argmax", c_void_p),
        ("max", c_void_p),
        ("lse", c_void_p),
        ("confidence", c_void_p),
        ("entropy", c_void_p),
        ("second", c_void_p),
        ("second_id", c_void_p),
        ("margin", c_void_p),
        ("target_logprob", c_void_p),
        ("gumbel_id", c_void_p),
        ("gumbel_logprob", c_void_p),
        ("flags", c_void_p),
        ("candidate_values", c_void_p),
        ("candidate_ids", c_void_p),
        ("state", c_void_p),
        ("rows_device", c_void_p),
        ("target", c_void_p),
        ("temperature", c_void_p),
        ("bias", c_void_p),
        ("suppress", c_void_p),
        ("penalty_id", c_void_p),
        ("penalty", c_void_p),
        ("row_key", c_void_p),
        ("seed", c_void_p),
        ("draw", c_void_p),
        ("noise", c_void_p),
        ("suppress_count", c_int64),
        ("cfg_scale", c_void_p),
    ]


class dllm_merge_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("vocab", c_int64),
        ("shards_max", c_int64),
        ("rows_max", c_int64),
        ("id_type", c_int),
        ("outputs", c_uint32),
        ("inputs", c_uint32),
        ("behaviour", c_uint32),
        ("prepare", c_uint32),
        ("temperature", c_float),
        ("candidates", c_int32),
        ("family", c_char_p),
    ]


class dllm_merge_buffers(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rows", c_int64),
        ("shards", c_int64),
        ("states", c_void_p),
        ("shard_stride_bytes", c_int64),
        ("temperature", c_void_p),
        ("argmax", c_void_p),
        ("max", c_void_p),
        ("lse", c_void_p),
        ("confidence", c_void_p),
        ("entropy", c_void_p),
        ("second", c_void_p),
        ("second_id", c_void_p),
        ("margin", c_void_p),
        ("target_logprob", c_void_p),
        ("gumbel_id", c_void_p),
        ("gumbel_logprob", c_void_p),
        ("flags", c_void_p),
        ("candidate_values", c_void_p),
        ("candidate_ids", c_void_p),
    ]


class dllm_selection(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_int),
        ("count", c_int32),
        ("inclusive", c_int32),
        ("variant", c_int32),
        ("by_key", c_int32),
        ("run_ties", c_int32),
        ("threshold", c_float),
        ("near_tie", c_float),
        ("factor", c_float),
        ("gamma", c_float),
        ("low_threshold", c_float),
    ]


class dllm_block_keys(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("positions", c_int64),
        ("key", c_void_p),
        ("entropy", c_void_p),
        ("masked", c_void_p),
        ("usable", c_void_p),
    ]


class dllm_key_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_int),
        ("round_bf16", c_int32),
        ("excludes_mask", c_int32),
        ("late_count", c_int32),
        ("mask_id", c_int64),
        ("late", c_void_p),
    ]


class dllm_key_rows(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("positions", c_int64),
        ("token", c_void_p),
        ("confidence", c_void_p),
        ("margin", c_void_p),
        ("entropy", c_void_p),
        ("flags", c_void_p),
    ]


class dllm_commit(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("positions", c_int64),
        ("chosen", c_void_p),
        ("token", c_void_p),
        ("flags", c_void_p),
        ("mask_id", c_int64),
        ("selection", c_int),
    ]


class dllm_commit_result(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("committed", c_int64),
        ("masks", c_int64),
        ("state", c_int),
    ]


class dllm_schedule(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("dream", c_int32),
        ("steps", c_int32),
        ("masks", c_int64),
        ("eps", c_float),
    ]


class dllm_filter_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("k_first", c_int32),
        ("top_k", c_int32),
        ("top_p", c_float),
        ("temperature", c_float),
    ]


class dllm_filter_candidates(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("logits", c_void_p),
        ("gumbel", c_void_p),
        ("count", c_int64),
        ("complete", c_int32),
        ("confidence", c_float),
    ]


class dllm_filter_result(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kept", c_int64),
        ("covered", c_int32),
        ("drawn", c_int32),
        ("confidence", c_float),
        ("drawn_confidence", c_float),
        ("entropy", c_float),
        ("margin", c_float),
    ]


class dllm_sequence_state(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("canvas", c_void_p),
        ("chosen", c_void_p),
        ("eos", c_void_p),
        ("eos_count", c_int64),
        ("length", c_int64),
        ("prompt", c_int64),
        ("low", c_int64),
        ("high", c_int64),
        ("mask_id", c_int64),
        ("rule", c_int),
    ]


class dllm_sequence_status(Structure):
    _fields_ = [
        ("state", c_int32),
        ("phase", c_int32),
        ("low", c_int32),
        ("high", c_int32),
        ("block", c_int32),
        ("step", c_int32),
        ("masks", c_int32),
        ("end", c_int32),
        ("forwards", c_int32),
        ("commits", c_int32),
        ("edits", c_int32),
        ("uncovered", c_int32),
        ("unusable", c_int32),
        ("error_position", c_int32),
        ("error_step", c_int32),
        ("reads", c_int32),
        ("internal", c_int32 * 6),
    ]


class dllm_batch_status(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("unfinished", c_int32),
        ("forwards", c_int32),
        ("idle_forwards", c_int32),
        ("trunk_code", c_int32),
        ("traced", c_int64),
    ]


class dllm_trace_record(Structure):
    _fields_ = [
        ("sequence", c_int32),
        ("forward", c_int32),
        ("kind", c_int32),
        ("position", c_int32),
        ("old_id", c_int64),
        ("new_id", c_int64),
        ("key", c_float),
        ("zero", c_int32),
    ]


class dllm_trunk_call(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("canvas", c_void_p),
        ("sequences", c_int64),
        ("status", c_void_p),
        ("rows", c_void_p),
        ("row_position", c_void_p),
        ("rows_max", c_int64),
        ("hidden", c_void_p),
        ("stream", c_void_p),
        ("copies", c_int32),
        ("zero", c_int32),
        ("unconditional", c_void_p),
        ("unconditional_stride", c_int64),
    ]


class dllm_decode_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("head", dllm_head_options),
        ("mask_id", c_int64),
        ("sequences_max", c_int64),
        ("length_max", c_int64),
        ("block_length_max", c_int64),
        ("id_type", c_int),
        ("layout", c_int),
        ("hidden_rows", c_int64),
        ("shifted", c_int32),
        ("draws", c_int32),
        ("tempered", c_int32),
        ("edits", c_int32),
        ("guards_given", c_int32),
        ("drops_last_edits", c_int32),
        ("penalises", c_int32),
        ("key", c_int),
        ("mask_rule", c_int),
        ("round_bf16", c_int32),
        ("eligible_prefix", c_int32),
        ("fixed_steps", c_int32),
        ("persist_forward", c_int32),
        ("first_from_full", c_int32),
        ("aligned_blocks", c_int32),
        ("strict_filter", c_int32),
        ("late_count", c_int32),
        ("late", c_void_p),
        ("trace_max", c_int64),
        ("lookahead", c_int32),
        ("guides", c_int32),
        ("trunk", dllm_trunk_function),
        ("trunk_user", c_void_p),
        ("eos_confidence", c_int),
        ("zero", c_int32),
    ]


class dllm_sequence(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("canvas_offset", c_int64),
        ("prompt", c_int64),
        ("generate", c_int64),
        ("block_length", c_int64),
        ("schedule", c_int),
        ("steps", c_int32),
        ("steps_per_block", c_int32),
        ("selection", dllm_selection),
        ("filter", dllm_filter_options),
        ("filters_greedy", c_int32),
        ("max_post_steps", c_int32),
        ("eps", c_float),
        ("order_temperature", c_float),
        ("edit_threshold", c_float),
        ("penalty", c_float),
        ("seed", c_uint64),
        ("request_key", c_uint64),
        ("eos_rule", c_int),
        ("eos_count", c_int32),
        ("eos", c_void_p),
        ("fill_id", c_int64),
        ("inactive", c_int32),
        ("cfg_scale", c_float),
    ]


class dllm_decode_buffers(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("canvas", c_void_p),
        ("hidden", c_void_p),
        ("hidden_stride", c_int64),
        ("weight", c_void_p),
        ("weight_stride", c_int64),
        ("bias", c_void_p),
        ("suppress", c_void_p),
        ("suppress_count", c_int64),
        ("noise", c_void_p),
        ("position_noise", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    ]


# name: (result, parameters)
FUNCTIONS = {
    "dllm_version": (c_char_p, []),
    "dllm_status_text": (c_char_p, [c_int]),
    "dllm_last_error": (c_char_p, []),
    "dllm_context_create": (c_int, [c_void_p, c_void_p]),
    "dllm_context_destroy": (None, [c_void_p]),
    "dllm_context_statistics": (c_int, [c_void_p, c_void_p]),
    "dllm_context_device": (c_int, [c_void_p, c_void_p]),
    "dllm_cache_export": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_cache_import": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "dllm_cache_merge": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]),
    "dllm_cache_release": (None, [c_void_p]),
    "dllm_plan_destroy": (None, [c_void_p]),
    "dllm_plan_workspace_bytes": (c_size_t, [c_void_p]),
    "dllm_plan_state_bytes": (c_size_t, [c_void_p]),
    "dllm_plan_info": (c_int, [c_void_p, c_void_p]),
    "dllm_head_prepare": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_head_run": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_model_lookup": (c_int, [c_void_p, c_char_p]),
    "dllm_model_name": (c_char_p, [c_int32]),
    "dllm_sampler_prepare": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_sampler_run": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_merge_prepare": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_merge_run": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_select": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_keys": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "dllm_decode_commit": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_schedule": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_filter": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_end": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_rows": (c_int, [c_void_p, c_void_p, c_int64, c_int32, c_int64, c_int64]),
    "dllm_decode_preset": (c_int, [c_void_p, c_void_p, c_char_p]),
    "dllm_decode_preset_name": (c_char_p, [c_int32]),
    "dllm_decode_prepare": (c_int, [c_void_p, c_void_p, c_void_p]),
    "dllm_decode_destroy": (None, [c_void_p]),
    "dllm_decode_workspace_bytes": (c_size_t, [c_void_p]),
    "dllm_decode_info": (c_int, [c_void_p, c_void_p]),
    "dllm_decode_begin": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, c_void_p]),
    "dllm_decode_step": (c_int, [c_void_p, c_void_p]),
    "dllm_decode_block": (c_int, [c_void_p, c_void_p]),
    "dllm_decode_run": (c_int, [c_void_p, c_void_p]),
    "dllm_decode_cancel": (None, [c_void_p]),
    "dllm_decode_resume": (c_int, [c_void_p, c_void_p]),
    "dllm_decode_read": (c_int, [c_void_p, c_void_p, c_void_p, c_int64]),
    "dllm_decode_trace": (c_int, [c_void_p, c_void_p, c_int64, c_int64]),
}
