"""The same call as an operator of torch, so that torch.compile and export can see through it.

An operator takes tensors and plain values alone, so all that is neither travels as one text:
"operation;ids;outputs;names of the arrays;settings", for instance "head;int64;argmax,lse;row_index;scale=0.5".
"""

from __future__ import annotations

import ast
from typing import Any, List, Optional

import torch
from torch import Tensor

from . import _rows
from ._arrays import kind_of


def _text(operation: _rows.Operation, ids: str, outputs: tuple[str, ...], arrays: dict[str, Tensor],
          settings: dict[str, Any]) -> str:
    pairs = [f"{name}={value!r}" for name, value in settings.items()]
    return ";".join([operation.name, ids, ",".join(outputs), ",".join(arrays), ",".join(pairs)])


def _parts(text: str):
    """(operation, ids, outputs, names of the arrays, settings) of a text."""
    name, ids, outputs, arrays, settings = text.split(";")
    pairs = (pair.split("=") for pair in settings.split(",") if pair)
    return (_rows.HEAD if name == _rows.HEAD.name else _rows.SAMPLER, ids, tuple(outputs.split(",")),
            [array for array in arrays.split(",") if array],
            {key: ast.literal_eval(value) for key, value in pairs})


@torch.library.custom_op("dllm::rows", mutates_args=())
def rows_op(source: Tensor, weight: Optional[Tensor], arrays: List[Tensor], text: str) -> List[Tensor]:
    operation, ids, outputs, names, settings = _parts(text)
    answer = _rows.run_rows(operation, source, weight, outputs, ids, dict(zip(names, arrays)), settings)
    return list(answer.values())


@rows_op.register_fake
def _(source, weight, arrays, text):
    _, ids, outputs, names, settings = _parts(text)
    rows = dict(zip(names, arrays)).get("row_index", source).shape[0]
    dtypes = kind_of(source).dtypes
    _, fields = _rows.layout(outputs, ids, settings.get("candidates", 0))
    return [source.new_empty((rows, columns) if columns else (rows,), dtype=dtypes[element])
            for _, element, columns in fields]


def call(operation: _rows.Operation, source: Tensor, weight: Optional[Tensor],
         outputs: tuple[str, ...], ids: str, arrays: dict[str, Tensor],
         settings: dict[str, Any]) -> dict[str, Tensor]:
    """One call through the operator; outputs by field."""
    answer = rows_op(source, weight, list(arrays.values()),
                     _text(operation, ids, outputs, arrays, settings))
    _, fields = _rows.layout(outputs, ids, settings.get("candidates", 0))
    return {field: tensor for (field, _, _), tensor in zip(fields, answer)}
