"""libdllm: found, loaded, its statuses as exceptions, a context a device."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading

from . import _abi


class DllmError(RuntimeError):
    """The library refused; the text is its message. `status` is the number in dllm.h."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class InvalidArgument(DllmError, ValueError):
    """An argument breaks a rule; the message has its name, its value and the rule."""


def _load() -> ctypes.CDLL:
    """$DLLM_LIBRARY, or the library that lies in the package (a wheel), or the loader's."""
    own = pathlib.Path(__file__).with_name("libdllm.so.0")
    name = os.environ.get("DLLM_LIBRARY") or (str(own) if own.exists() else own.name)
    try:
        found = ctypes.CDLL(name)
        for function, (result, parameters) in _abi.FUNCTIONS.items():
            getattr(found, function).restype = result
            getattr(found, function).argtypes = parameters
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"libdllm cannot be used: {error}; install it or set DLLM_LIBRARY"
        ) from None
    return found


library = _load()
_contexts: dict[int, ctypes.c_void_p] = {}
_lock = threading.Lock()


def check(status: int) -> None:
    """Raises what a status says, with the thread's message."""
    if status == _abi.DLLM_OK:
        return
    message = library.dllm_last_error().decode() or library.dllm_status_text(status).decode()
    kind = InvalidArgument if status == _abi.DLLM_INVALID_ARGUMENT else DllmError
    raise kind(status, message)


def version() -> str:
    """The version of the loaded library."""
    return library.dllm_version().decode()


def context(device: int) -> ctypes.c_void_p:
    """The context of a device, made once: a CUDA ordinal, or DLLM_DEVICE_CPU."""
    found = _contexts.get(device)
    if found is None:
        with _lock:
            found = _contexts.get(device) or _create_context(device)
            _contexts[device] = found
    return found


def _create_context(device: int) -> ctypes.c_void_p:
    options = _abi.dllm_context_options(device=device)
    options.struct_size = ctypes.sizeof(options)
    created = ctypes.c_void_p()
    check(library.dllm_context_create(ctypes.byref(created), ctypes.byref(options)))
    return created


# A context does not survive fork(): the child makes its own.
os.register_at_fork(after_in_child=_contexts.clear)
