"""The ctypes structs are the compiler's, and no part of the header is forgotten."""

import ctypes
import pathlib

import numpy as np

from dllm_kernels import _abi, _fields, _plans, fused_sampler
from dllm_kernels._library import library

TEXT = pathlib.Path(__file__).parents[3] / "tests/abi/dllm.abi"


def test_structs_lie_as_the_compiler_laid_them():
    struct = None
    fields = 0
    for line in TEXT.read_text().splitlines():
        words = line.split()
        if len(words) == 2 and hasattr(getattr(_abi, words[0], None), "_fields_"):
            struct = getattr(_abi, words[0])
            assert ctypes.sizeof(struct) == int(words[1]), line
        elif line.startswith("  "):
            field = getattr(struct, words[2])
            assert (field.offset, field.size) == (int(words[0]), int(words[1])), line
            fields += 1
    assert fields > 100


def bits(prefix):
    """Names of the bits of a kind; DLLM_OUT_OF_MEMORY is a status, and negative."""
    return {
        name[len(prefix) :].lower()
        for name in dir(_abi)
        if name.startswith(prefix) and getattr(_abi, name) > 0
    }


def test_every_output_can_be_asked_for():
    assert bits("DLLM_OUT_") == {*_fields.OUTPUT_TYPES, "candidates"}
    fields = {*_fields.HeadOutput._fields}
    assert fields == {*_fields.OUTPUT_TYPES, "candidate_values", "candidate_ids", "state"}


def test_every_input_can_be_given():
    assert bits("DLLM_IN_") <= {*_fields.INPUTS, *_fields.BITS}
    fields = [name for name, _ in _abi.dllm_head_buffers._fields_]
    after_outputs = fields[fields.index("rows_device") :]
    assert {*after_outputs} - {"suppress_count"} == {*_fields.INPUTS} - {"row_index"}


def test_a_state_has_the_librarys_size():
    logits = np.zeros((1, 300), np.float32)
    for outputs, candidates in ((("lse",), 0), (("lse", "candidates"), 5)):
        answer = fused_sampler(logits, outputs=outputs, candidates=candidates, partial_state=True)
        plan = list(_plans._plans.values())[-1]
        assert answer.state.shape == (1, library.dllm_plan_state_bytes(plan.handle))


def test_every_option_can_be_set():
    structural = {
        "struct_size",
        "vocab",
        "depth",
        "rows_max",
        "hidden_type",
        "weight_type",
        "id_type",
        "index_type",
        "outputs",
        "inputs",
        "behaviour",
        "prepare",
        "alignment_bytes",
        "suppress_max",
    }
    fields = {name for name, _ in _abi.dllm_head_options._fields_}
    assert fields - structural == {*_fields.NUMBERS, *_fields.ROUNDINGS, "family"}
    keywords = {*_fields.RowOptions.__annotations__} | {"row_index"}
    assert keywords == {
        *_fields.INPUTS, *_fields.BITS, *_fields.NUMBERS, *_fields.ROUNDINGS, "family"
    }  # fmt: skip
