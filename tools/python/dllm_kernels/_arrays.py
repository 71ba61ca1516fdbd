"""Arrays as the library sees them: pointer, shape, stride, type, device.

Two kinds do the work, NumPy's and torch's; everything else becomes one of them without a copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _abi

try:
    import torch
except ImportError:
    torch = None
try:
    import numpy
except ImportError:
    numpy = None

# by the name that NumPy and torch both give a type
FLOATS = {"bfloat16": _abi.DLLM_BF16, "float16": _abi.DLLM_FP16, "float32": _abi.DLLM_FP32}
IDS = {"int32": _abi.DLLM_INT32, "int64": _abi.DLLM_INT64}


class View(NamedTuple):
    """What a call needs to know of an array."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    type: str
    item_bytes: int
    device: int  # CUDA ordinal, or DLLM_DEVICE_CPU


class TorchArrays:
    """Tensors of torch."""

    def __init__(self):
        self.names = {
            getattr(torch, name): name
            for name in (
                "bfloat16",
                "float16",
                "float32",
                "int32",
                "int64",
                "uint8",
                "uint32",
                "uint64",
                "float64",
                "bool",
            )
            if hasattr(torch, name)
        }
        self.dtypes = {name: dtype for dtype, name in self.names.items()}

    def view(self, tensor) -> View:
        if not (tensor.is_cuda or tensor.is_cpu):
            raise ValueError(f"device {tensor.device} is not cpu or cuda")
        dtype = tensor.dtype
        # get_device() is -1 on the CPU, as DLLM_DEVICE_CPU
        return View(
            tensor.data_ptr(),
            tensor.shape,
            tensor.stride(),
            self.names.get(dtype) or str(dtype),
            tensor.element_size(),
            tensor.get_device(),
        )

    def view_key(self, tensor):
        """What view() follows from but the pointer, as a key."""
        return tensor.dtype, tensor.shape, tensor.stride(), tensor.device

    def empty(self, shape, kind: str, like):
        return torch.empty(shape, dtype=self.dtypes[kind], device=like.device)

    def pointer(self, tensor) -> int:
        return tensor.data_ptr()

    def stream(self, device: int) -> int | None:
        return None if device < 0 else _raw_stream(device)


class NumpyArrays:
    """Arrays of NumPy, on the CPU. bfloat16 is the type of that name of ml_dtypes."""

    def view(self, array) -> View:
        item = array.dtype.itemsize
        if not array.dtype.isnative:
            raise ValueError(f"type {array.dtype} has the other byte order")
        if any(stride % item for stride in array.strides):
            raise ValueError(f"strides {array.strides} bytes are not whole elements of {item}")
        return View(
            self.pointer(array),
            array.shape,
            tuple(stride // item for stride in array.strides),
            array.dtype.name,
            item,
            _abi.DLLM_DEVICE_CPU,
        )

    def view_key(self, array):
        return array.dtype, array.shape, array.strides

    def empty(self, shape, kind: str, like):
        return numpy.empty(shape, dtype=kind)

    def pointer(self, array) -> int:
        return array.__array_interface__["data"][0]

    def stream(self, device: int) -> None:
        return None


def _stream_of_object(device: int) -> int:
    return torch.cuda.current_stream(device).cuda_stream


# torch's own compiled code takes the current stream so: without an object around it
_raw_stream = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", _stream_of_object)
_TORCH = TorchArrays() if torch else None
_NUMPY = NumpyArrays()


def kind_of(array: Any):
    """The kind of an array that as_array() returned."""
    return _TORCH if torch and isinstance(array, torch.Tensor) else _NUMPY


def is_capturing(device: int) -> bool:
    """Whether torch's current stream is being captured."""
    return device >= 0 and torch.cuda.is_current_stream_capturing()


def as_array(value: Any):
    """`value` as a torch tensor or a NumPy array that shares its memory."""
    if torch and isinstance(value, torch.Tensor) or numpy and isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        if torch:
            return torch.from_dlpack(value)
        if numpy:
            return numpy.from_dlpack(value)
    if hasattr(value, "__cuda_array_interface__") and torch:
        return torch.as_tensor(value, device="cuda")
    if hasattr(value, "__array_interface__") and numpy:
        return numpy.asarray(value)
    raise TypeError(
        f"{type(value).__name__} is not a tensor, an array, or something with DLPack or "
        "__cuda_array_interface__ (which need torch)"
    )
