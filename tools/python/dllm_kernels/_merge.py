"""Merging the states of vocabulary shards: from arrays to a plan and its buffers."""

from __future__ import annotations

from ctypes import sizeof
from typing import Any

from . import _abi
from ._arrays import IDS, kind_of
from ._fields import INPUTS, check_input, layout, set_options, state_bytes
from ._plans import Plan, cached, enqueue, prepare_plan, row_class


def run_merge(
    states: Any,
    vocab: int,
    outputs: tuple[str, ...],
    ids: str,
    arrays: dict[str, Any],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Enqueues a merge; returns its outputs by field."""
    view = kind_of(states).view(states)
    row_bytes = state_bytes(settings.get("candidates", 0))
    if view.type != "uint8" or len(view.shape) != 3 or view.shape[2] != row_bytes:
        raise ValueError(
            f"states are {view.type} of shape {tuple(view.shape)}, wanted uint8 (shards, rows, "
            f"{row_bytes})"
        )
    shards, rows, _ = view.shape
    if rows and (view.strides[2] != 1 or rows > 1 and view.strides[1] != row_bytes):
        raise ValueError("the states of a shard are not contiguous")
    if shards > 1 and view.strides[0] < rows * row_bytes:
        raise ValueError(
            f"shard stride {view.strides[0]} is below the {rows * row_bytes} bytes of a shard"
        )
    views = {name: kind_of(array).view(array) for name, array in arrays.items()}
    for name, one in views.items():
        check_input(name, one, rows, vocab, ids)

    def make() -> Plan:
        bits, fields = layout(outputs, ids, settings)
        options = _abi.dllm_merge_options(
            struct_size=sizeof(_abi.dllm_merge_options),
            vocab=vocab,
            shards_max=shards,
            rows_max=row_class(rows),
            id_type=IDS[ids],
            outputs=bits,
        )
        for name in views:
            options.inputs |= INPUTS[name][2]
        set_options(options, settings)
        return prepare_plan("merge", view.device, options, fields)

    plan = cached(
        (
            "merge",
            view.device,
            vocab,
            shards,
            row_class(rows),
            outputs,
            ids,
            tuple(views),
            frozenset(settings.items()),
        ),
        view.device,
        make,
    )
    buffers = _abi.dllm_merge_buffers(
        struct_size=sizeof(_abi.dllm_merge_buffers), rows=rows, shards=shards, states=view.pointer
    )
    if shards > 1:
        buffers.shard_stride_bytes = view.strides[0]
    for name, one in views.items():
        setattr(buffers, name, one.pointer)
    return enqueue(plan, buffers, states, rows, view.device)
