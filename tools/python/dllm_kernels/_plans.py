"""Plans, kept by a key that says all they were prepared for, and what every call with one does.

Only the first call of a key prepares; make it before capturing a graph.
"""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p
from typing import Any, Callable, NamedTuple

from . import _abi
from ._arrays import is_capturing, kind_of
from ._library import DllmError, check, context, library

ROWS_LEAST = 64  # rows of the smallest class: decoding asks for every count below


class Plan(NamedTuple):
    """A prepared plan and what each of its calls needs."""

    handle: c_void_p
    workspace_bytes: int
    run: Any
    fields: tuple[tuple[str, str, int], ...]


_plans: dict[tuple, Plan] = {}
_lock = threading.Lock()


def row_class(rows: int) -> int:
    """rows_max of the plan for `rows`."""
    return max(ROWS_LEAST, 1 << max(rows - 1, 0).bit_length())


def cached(key: tuple, device: int, make: Callable[[], Plan]) -> Plan:
    """The plan of a key, made the first time."""
    found = _plans.get(key)
    if found is None:
        if is_capturing(device):
            # loading a kernel would spoil the capture
            raise DllmError(
                _abi.DLLM_CAPTURING, "no plan of this call yet: make it once before capture"
            )
        with _lock:
            found = _plans.get(key) or make()
            _plans[key] = found
    return found


def prepare_plan(name: str, device: int, options, fields) -> Plan:
    """The library's plan for an options struct."""
    handle = c_void_p()
    check(getattr(library, f"dllm_{name}_prepare")(byref(handle), context(device), byref(options)))
    return Plan(
        handle,
        library.dllm_plan_workspace_bytes(handle),
        getattr(library, f"dllm_{name}_run"),
        fields,
    )


def enqueue(plan: Plan, buffers, like: Any, rows: int, device: int) -> dict[str, Any]:
    """Makes outputs and workspace beside `like`, and runs; returns the outputs by field."""
    kind, answer = kind_of(like), {}
    empty, pointer = kind.empty, kind.pointer
    for field, element, columns in plan.fields:
        answer[field] = made = empty((rows, columns) if columns else rows, element, like)
        setattr(buffers, field, pointer(made))
    if plan.workspace_bytes:
        workspace = empty(plan.workspace_bytes, "uint8", like)
        buffers.workspace = pointer(workspace)
        buffers.workspace_bytes = plan.workspace_bytes
    # The workspace goes back to the caller's allocator here, which hands it on in stream order.
    status = plan.run(plan.handle, byref(buffers), kind.stream(device))
    if status:
        check(status)
    return answer
