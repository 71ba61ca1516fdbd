"""The last step of language-model inference, without the logits: libdllm from Python.

    from dllm_kernels import fused_head
    answer = fused_head(hidden, weight)
    answer.argmax, answer.lse, answer.confidence

Arrays are torch tensors on a GPU or the CPU, NumPy arrays, or anything with DLPack or
__cuda_array_interface__ (which comes back as torch tensors). Work on a GPU is enqueued on torch's
current stream; memory comes from torch's allocator. Gradients are not computed. What each value
is, exactly, is docs/numerics.md; errors carry the library's own message.
"""

from ._calls import fused_head, fused_sampler, merge_states
from ._fields import HeadOutput, RowOptions
from ._library import DllmError, InvalidArgument, version

__all__ = [
    "DllmError",
    "HeadOutput",
    "InvalidArgument",
    "RowOptions",
    "fused_head",
    "fused_sampler",
    "merge_states",
    "version",
]
