"""The public functions: arrays are taken as they are, torch.compile gets an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from ._arrays import as_array, torch
from ._fields import HeadOutput, RowOptions, split_options
from ._merge import run_merge
from ._rows import HEAD, SAMPLER, Operation, run_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack
# before 2.4 torch takes no operator of others, and compiles through none
COMPILES = hasattr(getattr(torch, "library", None), "custom_op")
if COMPILES:
    from . import _torch_op


def _names(outputs: str | Sequence[str]) -> tuple[str, ...]:
    return (outputs,) if isinstance(outputs, str) else tuple(outputs)


def _call(
    operation: Operation,
    source: Any,
    weight: Any,
    outputs: str | Sequence[str],
    ids: str,
    options: dict[str, Any],
) -> HeadOutput:
    arrays, settings = split_options(options)
    outputs = _names(outputs)
    if COMPILES and torch.compiler.is_compiling():
        return HeadOutput(
            **_torch_op.rows(operation, source, weight, outputs, ids, arrays, settings)
        )
    source = as_array(source)
    weight = None if weight is None else as_array(weight)
    arrays = {name: as_array(array) for name, array in arrays.items()}
    return HeadOutput(**run_rows(operation, source, weight, outputs, ids, arrays, settings))


def fused_head(
    hidden: Any,
    weight: Any,
    row_index: Any = None,
    *,
    outputs: str | Sequence[str] = ("argmax", "lse", "confidence"),
    ids: str = "int64",
    **options: Unpack[RowOptions],
) -> HeadOutput:
    """The statistics of each row of logits hidden @ weight.T, without writing the logits.

    hidden     (source_rows, depth) bfloat16, float16 or float32; rows may be strided. With cfg_scale
               twice as many: the unconditional row of row i is row source_rows + i
    weight     (vocab, depth) the head's weight, likewise
    row_index  (rows) int32 or int64: the hidden row of each row; None = all in order. One outside
               the source gives id 0, NaN and, with the output "flags", DLLM_FLAG_ROW
    outputs    names of HeadOutput's fields, and "candidates"; one name may stand alone
    ids        "int64" or "int32", the type of every id
    options    those of RowOptions

    Returns a HeadOutput of arrays of length rows. Raises InvalidArgument, DllmError, ValueError or
    TypeError, with nothing enqueued.
    """
    return _call(HEAD, hidden, weight, outputs, ids, {"row_index": row_index, **options})


def fused_sampler(
    logits: Any,
    row_index: Any = None,
    *,
    outputs: str | Sequence[str] = ("argmax", "lse", "confidence"),
    ids: str = "int64",
    **options: Unpack[RowOptions],
) -> HeadOutput:
    """The statistics of each row of logits, in one pass over them.

    logits     (source_rows, vocab) bfloat16, float16 or float32; rows may be strided

    The rest is as in fused_head.
    """
    return _call(SAMPLER, logits, None, outputs, ids, {"row_index": row_index, **options})


MERGE_KEYWORDS = {"temperature", "tempered", "candidates", "family", "cache_only", "no_disk",
                  "deterministic"}  # fmt: skip


def merge_states(
    states: Any,
    vocab: int,
    *,
    outputs: str | Sequence[str] = ("argmax", "lse", "confidence"),
    ids: str = "int64",
    **options: Unpack[RowOptions],
) -> HeadOutput:
    """The statistics of whole rows from the states of vocabulary shards.

    states   (shards, rows, bytes) uint8, in any order: HeadOutput.state of every shard, what a
             call with partial_state=True and its vocab_offset returns
    vocab    ids of the whole vocabulary
    outputs  those that the shards were asked for, or less
    options  tempered, temperature, candidates: those of the shards; family

    Returns what one call over the whole vocabulary would have.
    """
    arrays, settings = split_options(options)
    unknown = {*arrays, *settings} - MERGE_KEYWORDS
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: not a keyword of merge_states")
    outputs = _names(outputs)
    if COMPILES and torch.compiler.is_compiling():
        return HeadOutput(**_torch_op.merge(states, vocab, outputs, ids, arrays, settings))
    arrays = {name: as_array(array) for name, array in arrays.items()}
    return HeadOutput(**run_merge(as_array(states), vocab, outputs, ids, arrays, settings))
