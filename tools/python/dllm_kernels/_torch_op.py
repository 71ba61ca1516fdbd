"""The same call as an operator of torch, so that torch.compile and export can see through it.

An operator takes tensors and plain values alone, so all that is neither travels as one text:
"operation;ids;outputs;names of the arrays;settings", for instance
"head;int64;argmax,lse;row_index;scale=0.5".
"""

from __future__ import annotations

import ast
from typing import Any, List, Optional

import torch
from torch import Tensor

from ._arrays import kind_of
from ._fields import copies, layout
from ._merge import run_merge
from ._rows import OPERATIONS, Operation, run_rows


def _text(
    name: str,
    ids: str,
    outputs: tuple[str, ...],
    arrays: dict[str, Tensor],
    settings: dict[str, Any],
) -> str:
    pairs = [f"{name}={value!r}" for name, value in settings.items()]
    return ";".join([name, ids, ",".join(outputs), ",".join(arrays), ",".join(pairs)])


def _parts(text: str):
    """(operation, ids, outputs, names of the arrays, settings) of a text."""
    name, ids, outputs, arrays, settings = text.split(";")
    pairs = (pair.split("=") for pair in settings.split(",") if pair)
    return (
        OPERATIONS.get(name),
        ids,
        tuple(outputs.split(",")),
        [array for array in arrays.split(",") if array],
        {key: ast.literal_eval(value) for key, value in pairs},
    )


@torch.library.custom_op("dllm::rows", mutates_args=())
def rows_op(
    source: Tensor, weight: Optional[Tensor], arrays: List[Tensor], text: str
) -> List[Tensor]:
    operation, ids, outputs, names, settings = _parts(text)
    answer = run_rows(operation, source, weight, outputs, ids, dict(zip(names, arrays)), settings)
    return list(answer.values())


@rows_op.register_fake
def _(source, weight, arrays, text):
    _, _, _, names, settings = _parts(text)
    if "row_index" in names:
        return _empty(source, dict(zip(names, arrays))["row_index"].shape[0], text)
    return _empty(source, source.shape[0] // copies(names, settings), text)


@torch.library.custom_op("dllm::merge", mutates_args=())
def merge_op(states: Tensor, vocab: int, arrays: List[Tensor], text: str) -> List[Tensor]:
    _, ids, outputs, names, settings = _parts(text)
    answer = run_merge(states, vocab, outputs, ids, dict(zip(names, arrays)), settings)
    return list(answer.values())


@merge_op.register_fake
def _(states, vocab, arrays, text):
    return _empty(states, states.shape[1], text)


def _empty(like: Tensor, rows: int, text: str) -> List[Tensor]:
    """Tensors as a call returns them, without values."""
    _, ids, outputs, _, settings = _parts(text)
    dtypes = kind_of(like).dtypes
    return [
        like.new_empty((rows, columns) if columns else (rows,), dtype=dtypes[element])
        for _, element, columns in layout(outputs, ids, settings)[1]
    ]


def _by_field(
    answer: List[Tensor], outputs: tuple[str, ...], ids: str, settings: dict[str, Any]
) -> dict[str, Tensor]:
    fields = layout(outputs, ids, settings)[1]
    return {field: tensor for (field, _, _), tensor in zip(fields, answer)}


def rows(
    operation: Operation,
    source: Tensor,
    weight: Optional[Tensor],
    outputs: tuple[str, ...],
    ids: str,
    arrays: dict[str, Tensor],
    settings: dict[str, Any],
) -> dict[str, Tensor]:
    """A head or a sampler through the operator; outputs by field."""
    answer = rows_op(
        source, weight, list(arrays.values()), _text(operation.name, ids, outputs, arrays, settings)
    )
    return _by_field(answer, outputs, ids, settings)


def merge(
    states: Tensor,
    vocab: int,
    outputs: tuple[str, ...],
    ids: str,
    arrays: dict[str, Tensor],
    settings: dict[str, Any],
) -> dict[str, Tensor]:
    """A merge through the operator; outputs by field."""
    answer = merge_op(
        states, vocab, list(arrays.values()), _text("merge", ids, outputs, arrays, settings)
    )
    return _by_field(answer, outputs, ids, settings)
