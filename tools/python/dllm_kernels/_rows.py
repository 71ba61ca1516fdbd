"""Heads and samplers: from arrays to a plan and its buffers.

A plan serves operation, device, types, V, H, alignment, outputs and options, and rows up to a power
of two.
"""

from __future__ import annotations

from ctypes import sizeof
from typing import Any, NamedTuple

from . import _abi
from ._arrays import FLOATS, IDS, View, kind_of
from ._fields import INPUTS, check_input, copies, layout, set_options
from ._plans import Plan, cached, enqueue, prepare_plan, row_class


class Operation(NamedTuple):
    """One operation of the library."""

    name: str
    source: str  # the matrix whose rows are meant, as its fields in the structs begin
    options: type
    buffers: type


HEAD = Operation("head", "hidden", _abi.dllm_head_options, _abi.dllm_head_buffers)
SAMPLER = Operation("sampler", "logits", _abi.dllm_sampler_options, _abi.dllm_sampler_buffers)
OPERATIONS = {operation.name: operation for operation in (HEAD, SAMPLER)}


class CheckedCall(NamedTuple):
    """What follows from the layout of a call's arrays, all but the pointers."""

    plan: Plan
    rows: int
    device: int
    buffers: Any  # without pointers


# by all that checks and plan depend on, so that a call like one before is looked up, not checked
_checked: dict[tuple, CheckedCall] = {}
CHECKED_MOST = 4096


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
        raise ValueError(
            f"{name} stride {view.strides[0]} is below the row's {view.shape[1]} elements"
        )
    if width and view.shape[1] != width:
        raise ValueError(f"{name} has rows of {view.shape[1]} elements, hidden has {width}")
    return view


def alignment(*views: View) -> int:
    """Bytes, up to 16, that pointers and row starts keep."""
    low = 16
    for view in views:
        stride = view.strides[0] * view.item_bytes if view.shape[0] > 1 else 0
        low |= view.pointer | stride
    return low & -low


def find_plan(
    operation: Operation,
    views: dict[str, View],
    rows: int,
    settings: dict[str, Any],
    outputs: tuple[str, ...],
    ids: str,
) -> Plan:
    """The plan of a call's key, prepared the first time."""
    source, weight = views[operation.source], views.get("weight")
    index, suppress = views.get("row_index"), views.get("suppress")
    numbers = (
        row_class(rows), source.shape[1], weight and weight.shape[0],
        FLOATS[source.type], weight and FLOATS[weight.type], index and IDS[index.type],
        suppress and row_class(suppress.shape[0]),
        alignment(source, weight) if weight else alignment(source))  # fmt: skip
    key = (operation.name, source.device, numbers, tuple(views), outputs, ids,
           frozenset(settings.items()))  # fmt: skip
    return cached(
        key, source.device, lambda: prepare(operation, views, numbers, settings, outputs, ids)
    )


def prepare(
    operation: Operation,
    views: dict[str, View],
    numbers: tuple,
    settings: dict[str, Any],
    outputs: tuple[str, ...],
    ids: str,
) -> Plan:
    """A plan: the options struct filled, prepared, its workspace asked for."""
    rows_max, width, weight_rows, source_type, weight_type, index_type, suppress, keep = numbers
    bits, fields = layout(outputs, ids, settings)
    options = operation.options(
        struct_size=sizeof(operation.options), rows_max=rows_max,
        vocab=width if weight_rows is None else weight_rows,
        index_type=index_type or 0, suppress_max=suppress or 0, alignment_bytes=keep,
        id_type=IDS[ids], outputs=bits)  # fmt: skip
    setattr(options, operation.source + "_type", source_type)
    if weight_rows is not None:
        options.depth, options.weight_type = width, weight_type
    for name in views:
        options.inputs |= INPUTS[name][2] if name in INPUTS else 0
    set_options(options, settings)
    return prepare_plan(operation.name, views[operation.source].device, options, fields)


def take_views(
    operation: Operation,
    source: Any,
    weight: Any,
    arrays: dict[str, Any],
    ids: str,
    settings: dict[str, Any],
):
    """(views by the field they fill, rows, source rows), checked: the library is told sizes, not
    shapes."""
    first = matrix_view(operation.source, source)
    views = {operation.source: first}
    vocab = first.shape[1]
    if weight is not None:
        views["weight"] = matrix_view("weight", weight, vocab)
        vocab = views["weight"].shape[0]
    for name, array in arrays.items():
        views[name] = kind_of(array).view(array)
    sources, odd = divmod(first.shape[0], copies(arrays, settings))
    if odd:
        raise ValueError(f"{operation.source} has {first.shape[0]} rows: guidance takes two of each")
    rows = views["row_index"].shape[0] if "row_index" in arrays else sources
    for name in arrays:
        check_input(name, views[name], rows, vocab, ids, bool(settings.get("row_seed")))
    for name, view in views.items():
        if view.device != first.device:
            raise ValueError(
                f"{name} is on device {view.device}, {operation.source} on "
                f"{first.device} (-1 is the CPU)"
            )
    return views, rows, sources


def check_call(
    operation: Operation,
    source: Any,
    weight: Any,
    outputs: tuple[str, ...],
    ids: str,
    arrays: dict[str, Any],
    settings: dict[str, Any],
) -> CheckedCall:
    """Checks a call and finds its plan."""
    views, rows, sources = take_views(operation, source, weight, arrays, ids, settings)
    plan = find_plan(operation, views, rows, settings, outputs, ids)
    buffers = operation.buffers(struct_size=sizeof(operation.buffers), rows=rows)
    first = views[operation.source]
    if first.shape[0] > 1:
        setattr(buffers, operation.source + "_stride", first.strides[0])
    if weight is not None and views["weight"].shape[0] > 1:
        buffers.weight_stride = views["weight"].strides[0]
    if "row_index" in views:
        buffers.source_rows = sources
    if "suppress" in views:
        buffers.suppress_count = views["suppress"].shape[0]
    return CheckedCall(plan, rows, first.device, buffers)


def run_rows(
    operation: Operation,
    source: Any,
    weight: Any,
    outputs: tuple[str, ...],
    ids: str,
    arrays: dict[str, Any],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Enqueues one call; returns its outputs by field."""
    taken = {operation.source: source, **arrays}
    if weight is not None:
        taken["weight"] = weight
    pointers, keys, low = {}, [], 16
    for name, array in taken.items():
        kind = kind_of(array)
        pointers[name] = kind.pointer(array)
        keys.append(kind.view_key(array))
        low |= pointers[name]
    key = (operation.name, outputs, ids, tuple(taken), *keys, low & -low,
           frozenset(settings.items()))  # fmt: skip
    call = _checked.get(key)
    if call is None:
        call = check_call(operation, source, weight, outputs, ids, arrays, settings)
        if len(_checked) >= CHECKED_MOST:
            _checked.clear()
        _checked[key] = call
    buffers = operation.buffers.from_buffer_copy(call.buffers)
    for name, pointer in pointers.items():
        setattr(buffers, name, pointer)
    return enqueue(call.plan, buffers, source, call.rows, call.device)
