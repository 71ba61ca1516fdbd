#!/usr/bin/env python3
"""test_dllm_library.py LIBDLLM - tools/bench/dllm_library.py against the library, on the CPU"""
import array
import ctypes
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "bench"))
import dllm_library  # noqa: E402

LIBRARY = sys.argv.pop() if len(sys.argv) > 1 else "libdllm.so"


def address(values):
    return values.buffer_info()[0]


class Calls(unittest.TestCase):
    def setUp(self):
        self.library = dllm_library.Library(LIBRARY, dllm_library.CPU)

    def tearDown(self):
        self.library.close()

    def run_plan(self, plan, rows):
        """(argmax, lse, confidence) of a plan whose operands are filled in."""
        outputs = array.array("i", [-1] * rows), *(array.array("f", [-1] * rows) for _ in "ab")
        workspace = ctypes.create_string_buffer(max(plan.workspace_bytes, 1))
        plan.buffers.workspace = ctypes.addressof(workspace)
        plan.buffers.workspace_bytes = plan.workspace_bytes
        plan.buffers.argmax, plan.buffers.lse, plan.buffers.confidence = map(address, outputs)
        plan.run()
        plan.close()
        return outputs

    def test_head_of_two_rows(self):
        hidden = array.array("f", [1, 0, 0, 2])  # two rows of depth 2
        weight = array.array("f", [1, 0, 0, 1, 3, 1])  # three columns: logits 1 0 3 and 0 2 2
        plan = self.library.head("fp32", 2, 3, 2)
        plan.buffers.hidden, plan.buffers.weight = address(hidden), address(weight)
        argmax, lse, confidence = self.run_plan(plan, 2)
        self.assertEqual(list(argmax), [2, 1])
        for row, logits in enumerate(([1, 0, 3], [0, 2, 2])):
            total = sum(map(math.exp, logits))
            self.assertAlmostEqual(lse[row], math.log(total), 5)
            self.assertAlmostEqual(confidence[row], math.exp(max(logits)) / total, 5)

    def test_sampler_of_bf16_rows(self):
        logits = array.array("H", [0x3F80, 0x4000, 0xBF80, 0])  # 1, 2 and -1, 0
        plan = self.library.sampler("bf16", 2, 2)
        plan.buffers.logits = address(logits)
        argmax, lse, confidence = self.run_plan(plan, 2)
        self.assertEqual(list(argmax), [1, 1])
        for row, pair in enumerate(((1, 2), (-1, 0))):
            self.assertAlmostEqual(lse[row], math.log(sum(map(math.exp, pair))), 5)
            self.assertAlmostEqual(confidence[row], 1 / (1 + math.exp(-1)), 5)

    def test_a_refusal_carries_the_library_s_message(self):
        with self.assertRaisesRegex(RuntimeError, "vocab 0"):
            self.library.head("fp32", 1, 0, 2)


if __name__ == "__main__":
    unittest.main()
