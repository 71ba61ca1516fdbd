"""Words and fields of a call: its outputs, its optional arrays, its settings, and their rules."""

from __future__ import annotations

from ctypes import sizeof
from typing import Any, NamedTuple, TypedDict

from . import _abi
from ._arrays import FLOATS, IDS, View


STATE_BYTES, CANDIDATE_BYTES = sizeof(_abi.dllm_state), sizeof(_abi.dllm_state_candidate)


class HeadOutput(NamedTuple):
    """Statistics of each row; what was not asked for is None. Ids have the type asked for."""

    argmax: Any = None  # (rows) id       lowest id of the largest logit, or the first NaN
    max: Any = None  # (rows) float32     the largest logit m
    lse: Any = None  # (rows) float32     logsumexp
    confidence: Any = None  # (rows) float32  probability of argmax
    entropy: Any = None  # (rows) float32 in nats
    second: Any = None  # (rows) float32  the second logit
    second_id: Any = None  # (rows) id    its id, -1 if there is none
    margin: Any = None  # (rows) float32  probability of argmax less that of second
    target_logprob: Any = None  # (rows) float32  log-probability of `target`
    gumbel_id: Any = None  # (rows) id    the drawn id
    gumbel_logprob: Any = None  # (rows) float32  its log-probability, without noise
    flags: Any = None  # (rows) int32     DLLM_FLAG_ bits, 0 for an ordinary row
    candidate_values: Any = None  # (rows, candidates) float32
    candidate_ids: Any = None  # (rows, candidates) id
    state: Any = None  # (rows, bytes) uint8: with partial_state, alone, for merge_states


class RowOptions(TypedDict, total=False):
    """Further keywords of fused_head and fused_sampler. Arrays lie on the device of the rows."""

    family: str  # kernel family by name; without it the library chooses
    valid_vocab: int  # columns from here on are masked
    vocab_offset: int  # global id of column 0: a vocabulary shard
    scale: float  # multiplies the logits
    softcap: float  # c in c * tanh(z / c), after scale
    round_logits: str  # "bfloat16" or "float16": rounds the product first
    cfg_scale: Any  # of guidance, whose unconditional rows follow: a number, or (rows) float32
    cfg_round: str  # "bfloat16": rounds each of its operations
    temperature: Any  # of the draw and of `tempered`: a number, or (rows) float32
    candidates: int  # K of the output "candidates"
    tempered: bool  # statistics of z / temperature
    batch_invariant: bool  # nothing is chosen by the number of rows
    partial_state: bool  # this is a vocabulary shard: its states come instead of the outputs
    measure: bool  # tune row counts that have no tuned choice; seconds each
    patient: bool  # the same with a wider search
    time_limit_ms: int  # for measuring
    cache_only: bool  # never compile
    no_disk: bool  # neither read nor write the cache folder
    deterministic: bool  # no measured choices
    rows_device: Any  # (1) int64: the row count, at most that of the other arrays
    target: Any  # (rows) id
    bias: Any  # (vocab) float32
    suppress: Any  # (n) int64: ids that leave every statistic
    penalty_id: Any  # (rows) id, -1 = none
    penalty: Any  # (rows) float32
    row_key: Any  # (rows) int64: noise keys
    seed: Any  # (1) int64, or (rows) with row_seed
    draw: Any  # (1) int32, or (rows) with row_seed
    row_seed: bool  # seed and draw have an entry a row
    noise: Any  # (rows, vocab, 2) int32: words instead of the generator


OUTPUT_TYPES = {
    "argmax": "id", "max": "float32", "lse": "float32", "confidence": "float32",
    "entropy": "float32", "second": "float32", "second_id": "id", "margin": "float32",
    "target_logprob": "float32", "gumbel_id": "id", "gumbel_logprob": "float32", "flags": "int32",
}  # fmt: skip

# name: (types, shape, bit of options.inputs); "id" is the type of the ids asked for
INPUTS = {
    "row_index": (("int32", "int64"), ("rows",), _abi.DLLM_IN_ROW_INDEX),
    "rows_device": (("int64",), (1,), _abi.DLLM_IN_ROWS_DEVICE),
    "target": (("id",), ("rows",), _abi.DLLM_IN_TARGET),
    "temperature": (("float32",), ("rows",), _abi.DLLM_IN_TEMPERATURE),
    "bias": (("float32",), ("vocab",), _abi.DLLM_IN_BIAS),
    "suppress": (("int64",), ("any",), _abi.DLLM_IN_SUPPRESS),
    "penalty_id": (("id",), ("rows",), _abi.DLLM_IN_PENALTY),
    "penalty": (("float32",), ("rows",), _abi.DLLM_IN_PENALTY),
    "row_key": (("int64", "uint64"), ("rows",), _abi.DLLM_IN_ROW_KEY),
    "seed": (("int64", "uint64"), (1,), 0),
    "draw": (("int32", "uint32"), (1,), 0),
    "noise": (("int32", "uint32"), ("rows", "vocab", 2), _abi.DLLM_IN_NOISE),
    "cfg_scale": (("float32",), ("rows",), _abi.DLLM_IN_CFG_SCALE),
}

# name: (field, bit) of the keywords that are true or false
BITS = {
    name: ("behaviour", getattr(_abi, f"DLLM_{name.upper()}"))
    for name in ("tempered", "batch_invariant", "partial_state")
}
BITS["row_seed"] = ("inputs", _abi.DLLM_IN_ROW_SEED)
BITS.update(
    {
        name[13:].lower(): ("prepare", getattr(_abi, name))
        for name in dir(_abi)
        if name.startswith("DLLM_PREPARE_")
    }
)

NUMBERS = ("valid_vocab", "vocab_offset", "scale", "softcap", "temperature", "candidates",
           "time_limit_ms", "cfg_scale")  # fmt: skip
ROUNDINGS = ("round_logits", "cfg_round")


def layout(outputs: tuple[str, ...], ids: str, settings: dict[str, Any]):
    """(DLLM_OUT_ bits, ((field, type, columns or 0), ...)) of the outputs asked for."""
    candidates = settings.get("candidates", 0)
    if ids not in IDS:
        raise ValueError(f'ids "{ids}" is not int32 or int64')
    bits, fields = 0, []
    for name in outputs:
        if name == "candidates":
            fields += [
                ("candidate_values", "float32", candidates),
                ("candidate_ids", ids, candidates),
            ]
        elif name in OUTPUT_TYPES:
            fields.append((name, OUTPUT_TYPES[name].replace("id", ids), 0))
        else:
            raise ValueError(f'output "{name}" is not one of {", ".join(OUTPUT_TYPES)}, candidates')
        bits |= getattr(_abi, f"DLLM_OUT_{name.upper()}")
    if settings.get("partial_state"):
        records = candidates if "candidates" in outputs else 0
        fields = [("state", "uint8", state_bytes(records))]
    return bits, tuple(fields)


def state_bytes(candidates: int) -> int:
    """Bytes of a row's state with that many candidate records behind it."""
    return STATE_BYTES + candidates * CANDIDATE_BYTES


def split_options(options: dict[str, Any]):
    """(arrays by name, settings by name) of the keywords that were given; None is not given."""
    arrays, settings = {}, {}
    for name, value in options.items():
        if value is None:
            continue
        if name in INPUTS and not (name in NUMBERS and isinstance(value, (int, float))):
            arrays[name] = value
        elif name in NUMBERS or name in BITS or name in ROUNDINGS or name == "family":
            settings[name] = value
        else:
            raise TypeError(f'"{name}" is not a keyword of fused_head and fused_sampler')
    return arrays, settings


def copies(names, settings: dict[str, Any]) -> int:
    """Source rows for each row: 2 with guidance, whose unconditional rows follow the others."""
    return 2 if "cfg_scale" in names or settings.get("cfg_scale", 0) > 0 else 1


def set_options(options, settings: dict[str, Any]) -> None:
    """The keywords that are no arrays, into the options struct."""
    for name, value in settings.items():
        if name in BITS:
            field, bit = BITS[name]
            setattr(options, field, getattr(options, field) | (bit if value else 0))
        elif name in ROUNDINGS:
            if value not in FLOATS:
                raise ValueError(f'{name} "{value}" is not bfloat16 or float16')
            setattr(options, name, FLOATS[value])
        else:
            setattr(options, name, value.encode() if name == "family" else value)


def check_input(
    name: str, view: View, rows: int, vocab: int, ids: str, row_seed: bool = False
) -> None:
    """An optional array has the type and the shape that the library will read."""
    types, shape, _ = INPUTS[name]
    if row_seed and name in ("seed", "draw"):
        shape = ("rows",)
    wanted = tuple(rows if side == "rows" else vocab if side == "vocab" else side for side in shape)
    if view.type not in types and not ("id" in types and view.type == ids):
        raise TypeError(f"{name} type {view.type} is not {' or '.join(types).replace('id', ids)}")
    if len(view.shape) != len(wanted) or any(
        side not in ("any", have) for side, have in zip(wanted, view.shape)
    ):
        raise ValueError(f"{name} has shape {tuple(view.shape)}, wanted {wanted}")
    stride = 1
    for side, have in zip(reversed(view.shape), reversed(view.strides)):
        if have != stride and side > 1:
            raise ValueError(f"{name} is not contiguous")
        stride *= side
