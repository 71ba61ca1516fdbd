"""The end-to-end measurement runs, and all heads choose the same tokens."""

import json
import pathlib
import sys

import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))

import end_to_end  # noqa: E402


@pytest.mark.needs_torch("nn.RMSNorm", "compile")
def test_a_small_shape_is_measured_on_the_cpu(tmp_path):
    out = tmp_path / "out.json"
    arguments = ["--quick", "--shape", "small", "--device", "cpu", "--takers", "published,fused"]
    assert end_to_end.main([*arguments, "--json", str(out)]) == 0
    record = json.loads(out.read_text())
    assert [head["head"] for head in record["heads"]] == ["published", "fused"]
    assert record["fused_step_of_published"] > 0
    # a block of 32 in four sequences: 32 + 31 + ... + 1 masked rows each
    assert record["same_rows"]["rows"] == 4 * 32 * 33 // 2
    assert record["same_rows"]["clear_rows"] > 1000
    assert record["same_rows"]["fused_differ_where_clear"] == 0
