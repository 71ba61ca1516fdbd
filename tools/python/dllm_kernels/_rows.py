"""Statistics of rows: one call from arrays to arrays, plans kept by shape class.

A plan serves every call of its key: operation, device, types, V, H, alignment, outputs, options, and
rows up to a power of two. Only the first call of a key prepares; make it before capturing a graph.
"""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p, sizeof
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence, TypedDict

from . import _abi
from ._arrays import FLOATS, IDS, View, as_array, is_capturing, kind_of, torch
from ._library import DllmError, check, context, library

if TYPE_CHECKING:
    from typing_extensions import Unpack


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


class RowOptions(TypedDict, total=False):
    """Further keywords of fused_head and fused_sampler. Arrays lie on the device of the rows."""

    family: str  # kernel family by name; without it the library chooses
    valid_vocab: int  # columns from here on are masked
    vocab_offset: int  # global id of column 0: a vocabulary shard
    scale: float  # multiplies the logits
    softcap: float  # c in c * tanh(z / c), after scale
    round_logits: str  # "bfloat16" or "float16": rounds the product first
    temperature: Any  # of the draw and of `tempered`: a number, or (rows) float32
    candidates: int  # K of the output "candidates"
    tempered: bool  # statistics of z / temperature
    batch_invariant: bool  # nothing is chosen by the number of rows
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
    seed: Any  # (1) int64
    draw: Any  # (1) int32
    noise: Any  # (rows, vocab, 2) int32: words instead of the generator


class Operation(NamedTuple):
    """One operation of the library."""

    name: str
    source: str  # the matrix whose rows are meant, as its fields in the structs begin
    options: type
    buffers: type


HEAD = Operation("head", "hidden", _abi.dllm_head_options, _abi.dllm_head_buffers)
SAMPLER = Operation("sampler", "logits", _abi.dllm_sampler_options, _abi.dllm_sampler_buffers)

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
}

# name: (field, bit) of the keywords that are true or false
BITS = {name: ("behaviour", getattr(_abi, f"DLLM_{name.upper()}"))
        for name in ("tempered", "batch_invariant")}
BITS.update({name[13:].lower(): ("prepare", getattr(_abi, name))
             for name in dir(_abi) if name.startswith("DLLM_PREPARE_")})

NUMBERS = ("valid_vocab", "vocab_offset", "scale", "softcap", "temperature", "candidates",
           "time_limit_ms")  # fmt: skip

ROWS_LEAST = 64  # rows of the smallest class: decoding asks for every count below


class Plan(NamedTuple):
    """A prepared plan and what each of its calls needs."""

    handle: c_void_p
    workspace_bytes: int
    run: Any
    fields: tuple[tuple[str, str, int], ...]


_plans: dict[tuple, Plan] = {}
_lock = threading.Lock()


def layout(outputs: tuple[str, ...], ids: str, candidates: int):
    """(DLLM_OUT_ bits, ((field, type, columns or 0), ...)) of the outputs asked for."""
    if ids not in IDS:
        raise ValueError(f'ids "{ids}" is not int32 or int64')
    bits, fields = 0, []
    for name in outputs:
        if name == "candidates":
            fields += [("candidate_values", "float32", candidates), ("candidate_ids", ids, candidates)]
        elif name in OUTPUT_TYPES:
            fields.append((name, OUTPUT_TYPES[name].replace("id", ids), 0))
        else:
            raise ValueError(f'output "{name}" is not one of {", ".join(OUTPUT_TYPES)}, candidates')
        bits |= getattr(_abi, f"DLLM_OUT_{name.upper()}")
    return bits, tuple(fields)


def split_options(options: dict[str, Any]):
    """(arrays by name, settings by name) of the keywords that were given; None is not given."""
    arrays, settings = {}, {}
    for name, value in options.items():
        if value is None:
            continue
        if name in INPUTS and not (name == "temperature" and isinstance(value, (int, float))):
            arrays[name] = value
        elif name in NUMBERS or name in BITS or name in ("family", "round_logits"):
            settings[name] = value
        else:
            raise TypeError(f'"{name}" is not a keyword of fused_head and fused_sampler')
    return arrays, settings


def matrix_view(name: str, array: Any, width: int = 0) -> View:
    """The view of a matrix, rows contiguous; `width` is the wanted row length, 0 = any."""
    view = kind_of(array).view(array)
    if len(view.shape) != 2:
        raise ValueError(f"{name} has {len(view.shape)} dimensions, wanted (rows, columns)")
    if view.type not in FLOATS:
        raise TypeError(f"{name} type {view.type} is not bfloat16, float16 or float32")
    if view.strides[1] != 1 and view.shape[1] > 1 and view.shape[0]:
        raise ValueError(f"{name} stride {view.strides[1]} inside a row is not 1")
    if view.strides[0] < view.shape[1] and view.shape[0] > 1:
        # the library takes a stride of 0 for contiguous rows
        raise ValueError(f"{name} stride {view.strides[0]} is below the row's {view.shape[1]} elements")
    if width and view.shape[1] != width:
        raise ValueError(f"{name} has rows of {view.shape[1]} elements, hidden has {width}")
    return view


def check_input(name: str, view: View, rows: int, vocab: int, ids: str) -> None:
    """An optional array has the type and the shape that the library will read."""
    types, shape, _ = INPUTS[name]
    wanted = tuple(rows if side == "rows" else vocab if side == "vocab" else side for side in shape)
    if view.type not in types and not ("id" in types and view.type == ids):
        raise TypeError(f"{name} type {view.type} is not {' or '.join(types).replace('id', ids)}")
    if len(view.shape) != len(wanted) or any(
            side not in ("any", have) for side, have in zip(wanted, view.shape)):
        raise ValueError(f"{name} has shape {tuple(view.shape)}, wanted {wanted}")
    stride = 1
    for side, have in zip(reversed(view.shape), reversed(view.strides)):
        if have != stride and side > 1:
            raise ValueError(f"{name} is not contiguous")
        stride *= side


def alignment(*views: View) -> int:
    """Bytes, up to 16, that pointers and row starts keep."""
    low = 16
    for view in views:
        stride = view.strides[0] * view.item_bytes if view.shape[0] > 1 else 0
        low |= view.pointer | stride
    return low & -low


def row_class(rows: int, exact: bool) -> int:
    """rows_max of the plan for `rows`. A count in device memory is clamped to it: then exact."""
    return rows if exact else max(ROWS_LEAST, 1 << max(rows - 1, 0).bit_length())


def find_plan(operation: Operation, views: dict[str, View], rows: int, settings: dict[str, Any],
              outputs: tuple[str, ...], ids: str) -> Plan:
    """The plan of a call's key, prepared the first time."""
    source, weight = views[operation.source], views.get("weight")
    index, suppress = views.get("row_index"), views.get("suppress")
    numbers = (
        row_class(rows, "rows_device" in views), source.shape[1], weight and weight.shape[0],
        FLOATS[source.type], weight and FLOATS[weight.type], index and IDS[index.type],
        suppress and row_class(suppress.shape[0], False),
        alignment(source, weight) if weight else alignment(source))  # fmt: skip
    key = (operation.name, source.device, numbers, tuple(views), outputs, ids,
           frozenset(settings.items()))  # fmt: skip
    found = _plans.get(key)
    if found is None:
        if is_capturing(source.device):
            # loading a kernel would spoil the capture
            raise DllmError(_abi.DLLM_CAPTURING, "no plan of this call yet: make it once before capture")
        with _lock:
            found = _plans.get(key) or prepare(operation, views, numbers, settings, outputs, ids)
            _plans[key] = found
    return found


def prepare(operation: Operation, views: dict[str, View], numbers: tuple, settings: dict[str, Any],
            outputs: tuple[str, ...], ids: str) -> Plan:
    """A plan: the options struct filled, prepared, its workspace asked for."""
    rows_max, width, weight_rows, source_type, weight_type, index_type, suppress, keep = numbers
    bits, fields = layout(outputs, ids, settings.get("candidates", 0))
    options = operation.options(
        struct_size=sizeof(operation.options), rows_max=rows_max, vocab=weight_rows or width,
        index_type=index_type or 0, suppress_max=suppress or 0, alignment_bytes=keep,
        id_type=IDS[ids], outputs=bits)  # fmt: skip
    setattr(options, operation.source + "_type", source_type)
    if weight_rows:
        options.depth, options.weight_type = width, weight_type
    for name in views:
        options.inputs |= INPUTS[name][2] if name in INPUTS else 0
    set_options(options, settings)
    handle = c_void_p()
    check(getattr(library, f"dllm_{operation.name}_prepare")(
        byref(handle), context(views[operation.source].device), byref(options)))
    return Plan(handle, library.dllm_plan_workspace_bytes(handle),
                getattr(library, f"dllm_{operation.name}_run"), fields)


def set_options(options, settings: dict[str, Any]) -> None:
    """The keywords that are no arrays, into the options struct."""
    for name, value in settings.items():
        if name in BITS:
            field, bit = BITS[name]
            setattr(options, field, getattr(options, field) | (bit if value else 0))
        elif name == "round_logits":
            if value not in FLOATS:
                raise ValueError(f'round_logits "{value}" is not bfloat16 or float16')
            options.round_logits = FLOATS[value]
        else:
            setattr(options, name, value.encode() if name == "family" else value)


def take_views(operation: Operation, source: Any, weight: Any, arrays: dict[str, Any], ids: str):
    """(views by the field they fill, rows), checked: the library is told sizes, not shapes."""
    first = matrix_view(operation.source, source)
    views = {operation.source: first}
    vocab = first.shape[1]
    if weight is not None:
        views["weight"] = matrix_view("weight", weight, vocab)
        vocab = views["weight"].shape[0]
    for name, array in arrays.items():
        views[name] = kind_of(array).view(array)
    rows = views["row_index"].shape[0] if "row_index" in arrays else first.shape[0]
    for name in arrays:
        check_input(name, views[name], rows, vocab, ids)
    for name, view in views.items():
        if view.device != first.device:
            raise ValueError(f"{name} is on device {view.device}, {operation.source} on "
                             f"{first.device} (-1 is the CPU)")
    return views, rows


def run_rows(operation: Operation, source: Any, weight: Any, outputs: tuple[str, ...], ids: str,
             arrays: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Enqueues one call; returns its outputs by field."""
    views, rows = take_views(operation, source, weight, arrays, ids)
    plan = find_plan(operation, views, rows, settings, outputs, ids)
    kind = kind_of(source)
    buffers = operation.buffers()
    buffers.struct_size = sizeof(operation.buffers)
    buffers.rows = rows
    for name, view in views.items():
        setattr(buffers, name, view.pointer)
    first = views[operation.source]
    if first.shape[0] > 1:
        setattr(buffers, operation.source + "_stride", first.strides[0])
    if weight is not None and views["weight"].shape[0] > 1:
        buffers.weight_stride = views["weight"].strides[0]
    if "row_index" in views:
        buffers.source_rows = first.shape[0]
    if "suppress" in views:
        buffers.suppress_count = views["suppress"].shape[0]
    answer = {}
    for field, element, columns in plan.fields:
        answer[field] = kind.empty((rows, columns) if columns else (rows,), element, source)
        setattr(buffers, field, kind.pointer(answer[field]))
    workspace = kind.empty((plan.workspace_bytes,), "uint8", source)
    buffers.workspace = kind.pointer(workspace)
    buffers.workspace_bytes = plan.workspace_bytes
    # The workspace goes back to the caller's allocator here, which hands it on in stream order.
    status = plan.run(plan.handle, byref(buffers), kind.stream(first.device))
    if status:
        check(status)
    return answer


def _call(operation: Operation, source: Any, weight: Any, outputs: Sequence[str], ids: str,
          options: dict[str, Any]) -> HeadOutput:
    arrays, settings = split_options(options)
    outputs = tuple(outputs)
    if torch and torch.compiler.is_compiling():
        return HeadOutput(**_torch_op.call(operation, source, weight, outputs, ids, arrays, settings))
    source = as_array(source)
    weight = None if weight is None else as_array(weight)
    arrays = {name: as_array(array) for name, array in arrays.items()}
    return HeadOutput(**run_rows(operation, source, weight, outputs, ids, arrays, settings))


def fused_head(hidden: Any, weight: Any, row_index: Any = None, *,
               outputs: Sequence[str] = ("argmax", "lse", "confidence"), ids: str = "int64",
               **options: Unpack[RowOptions]) -> HeadOutput:
    """The statistics of each row of logits hidden @ weight.T, without writing the logits.

    hidden     (source_rows, depth) bfloat16, float16 or float32; rows may be strided
    weight     (vocab, depth) the head's weight, likewise
    row_index  (rows) int32 or int64: the hidden row of each row; None = all in order
    outputs    names of HeadOutput's fields, and "candidates"
    ids        "int64" or "int32", the type of every id
    options    those of RowOptions

    Returns a HeadOutput of arrays of length rows. Raises InvalidArgument, DllmError, ValueError or
    TypeError, with nothing enqueued.
    """
    return _call(HEAD, hidden, weight, outputs, ids, {"row_index": row_index, **options})


def fused_sampler(logits: Any, row_index: Any = None, *,
                  outputs: Sequence[str] = ("argmax", "lse", "confidence"), ids: str = "int64",
                  **options: Unpack[RowOptions]) -> HeadOutput:
    """The statistics of each row of logits, in one pass over them.

    logits     (source_rows, vocab) bfloat16, float16 or float32; rows may be strided

    The rest is as in fused_head.
    """
    return _call(SAMPLER, logits, None, outputs, ids, {"row_index": row_index, **options})


if torch:
    from . import _torch_op
