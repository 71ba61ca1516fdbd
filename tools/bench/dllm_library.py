"""libdllm by ctypes, as far as peers.py needs it: heads and samplers with three outputs."""
import ctypes

NUMBERS = {"bf16": 1, "fp16": 2, "fp32": 3}
OUTPUTS = 1 << 0 | 1 << 2 | 1 << 3  # argmax, lse, confidence
CPU = -1
STRUCT_BYTES = 1024  # structs may grow: what this file does not know stays zero


def fields(**kinds):
    return [("struct_size", ctypes.c_size_t), *kinds.items()]


WORKSPACE_AND_OUTPUTS = {"workspace": ctypes.c_void_p, "workspace_bytes": ctypes.c_size_t,
                         "argmax": ctypes.c_void_p, "max": ctypes.c_void_p,
                         "lse": ctypes.c_void_p, "confidence": ctypes.c_void_p}


class ContextOptions(ctypes.Structure):
    _fields_ = fields(device=ctypes.c_int32, threads=ctypes.c_int32)


class HeadOptions(ctypes.Structure):
    _fields_ = fields(vocab=ctypes.c_int64, depth=ctypes.c_int64, rows_max=ctypes.c_int64,
                      valid_vocab=ctypes.c_int64, vocab_offset=ctypes.c_int64,
                      hidden_type=ctypes.c_int, weight_type=ctypes.c_int, id_type=ctypes.c_int,
                      index_type=ctypes.c_int, outputs=ctypes.c_uint32)


class SamplerOptions(ctypes.Structure):
    _fields_ = fields(vocab=ctypes.c_int64, rows_max=ctypes.c_int64, valid_vocab=ctypes.c_int64,
                      vocab_offset=ctypes.c_int64, logits_type=ctypes.c_int, id_type=ctypes.c_int,
                      index_type=ctypes.c_int, outputs=ctypes.c_uint32)


class HeadBuffers(ctypes.Structure):
    _fields_ = fields(rows=ctypes.c_int64, hidden=ctypes.c_void_p, weight=ctypes.c_void_p,
                      hidden_stride=ctypes.c_int64, weight_stride=ctypes.c_int64,
                      row_index=ctypes.c_void_p, source_rows=ctypes.c_int64,
                      **WORKSPACE_AND_OUTPUTS)


class SamplerBuffers(ctypes.Structure):
    _fields_ = fields(rows=ctypes.c_int64, logits=ctypes.c_void_p, logits_stride=ctypes.c_int64,
                      row_index=ctypes.c_void_p, source_rows=ctypes.c_int64,
                      **WORKSPACE_AND_OUTPUTS)


def padded(kind, **values):
    """A struct of that kind at the begin of memory that is its size, zero where nothing is set."""
    memory = ctypes.create_string_buffer(STRUCT_BYTES)
    made = kind.from_buffer(memory)
    made.struct_size = STRUCT_BYTES
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Library:
    """A context on a device: a CUDA ordinal's primary context, or CPU."""

    def __init__(self, path, device=0):
        self.calls = ctypes.CDLL(path)
        self.calls.dllm_last_error.restype = ctypes.c_char_p
        self.calls.dllm_plan_workspace_bytes.restype = ctypes.c_size_t
        self.context = ctypes.c_void_p()
        options = padded(ContextOptions, device=device)
        self.check(self.calls.dllm_context_create(ctypes.byref(self.context),
                                                  ctypes.byref(options)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.calls.dllm_last_error().decode())

    def close(self):
        self.calls.dllm_context_destroy(self.context)

    def head(self, kind, rows, vocab, depth):
        return Plan(self, "head", padded(
            HeadOptions, vocab=vocab, depth=depth, rows_max=rows, hidden_type=NUMBERS[kind],
            weight_type=NUMBERS[kind], outputs=OUTPUTS), padded(HeadBuffers, rows=rows))

    def sampler(self, kind, rows, vocab):
        return Plan(self, "sampler", padded(
            SamplerOptions, vocab=vocab, rows_max=rows, logits_type=NUMBERS[kind],
            outputs=OUTPUTS), padded(SamplerBuffers, rows=rows))


class Plan:
    """A prepared operation. Fill `buffers` with addresses, then run."""

    def __init__(self, library, operation, options, buffers):
        self.library, self.buffers, self.handle = library, buffers, ctypes.c_void_p()
        prepare = getattr(library.calls, f"dllm_{operation}_prepare")
        self.start = getattr(library.calls, f"dllm_{operation}_run")
        library.check(prepare(ctypes.byref(self.handle), library.context, ctypes.byref(options)))
        self.workspace_bytes = library.calls.dllm_plan_workspace_bytes(self.handle)

    def run(self, stream=0):
        self.library.check(self.start(self.handle, ctypes.byref(self.buffers),
                                      ctypes.c_void_p(stream)))

    def close(self):
        self.library.calls.dllm_plan_destroy(self.handle)
