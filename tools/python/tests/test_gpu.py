"""The package on a GPU: values, strides, gather, streams, graphs, torch.compile, overhead.

Needs torch alone: `DLLM_LIBRARY=... python3 tools/python/tests/test_gpu.py` runs every test where
pytest is not installed, and ends with 77 where there is no GPU.
"""

import pathlib
import statistics
import sys
import time
import traceback

if __name__ == "__main__":
    HERE = pathlib.Path(__file__).resolve().parent
    sys.path[:0] = [str(HERE), str(HERE.parent)]
try:
    import pytest

    torch = pytest.importorskip("torch")
    pytestmark = [
        pytest.mark.gpu,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"),
    ]
except ImportError:
    import torch

from dllm_kernels import DllmError, _plans, _rows, fused_head, fused_sampler  # noqa: E402
from reference import Reference  # noqa: E402

ALL = ("argmax", "max", "lse", "confidence", "flags")
VOCAB, DEPTH = 126464, 4096  # LLaDA-8B
OVERHEAD_LIMIT_US = 30


def random(seed, *shape, kind=torch.bfloat16, scale=1.0):
    generator = torch.Generator("cuda").manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator, device="cuda")).to(kind)


def llada_head(rows):
    return random(1, rows, DEPTH), random(2, VOCAB, DEPTH, scale=DEPTH**-0.5)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b) if x is not None)


def test_head_is_near_double_precision():
    for rows, vocab, depth, kind in (
        (1, 129, 7, torch.float32),
        (5, 1000, 64, torch.float16),
        (70, 32003, 512, torch.bfloat16),
        (3, 4096, 256, torch.float32),
    ):
        hidden, weight = random(1, rows, depth, kind=kind), random(2, vocab, depth, kind=kind)
        Reference(torch, hidden.double(), weight.double()).check(
            fused_head(hidden, weight, outputs=ALL)
        )


def test_real_head_is_near_double_precision():
    hidden, weight = llada_head(16)
    Reference(torch, hidden.double(), weight.double()).check(
        fused_head(hidden, weight, outputs=ALL)
    )


def test_sampler_is_near_double_precision():
    for kind in (torch.bfloat16, torch.float16, torch.float32):
        logits = random(3, 9, VOCAB, kind=kind, scale=4.0)
        Reference(torch, logits=logits.double()).check(fused_sampler(logits, outputs=ALL))


def test_strided_and_unaligned_rows_are_near_too():
    wide_hidden, wide_weight = random(7, 6, 515), random(8, 4000, 531)
    hidden, weight = wide_hidden[:, 3:], wide_weight[:, 5:517]
    Reference(torch, hidden.double(), weight.double()).check(
        fused_head(hidden, weight, outputs=ALL)
    )


def test_gather_reads_the_named_rows():
    hidden, weight = random(5, 40, 512), random(6, 5000, 512)
    for kind in (torch.int32, torch.int64):
        index = torch.tensor([39, 0, 0, 7], device="cuda", dtype=kind)
        assert same(fused_head(hidden, weight, index), fused_head(hidden[index.long()], weight))


def test_work_follows_the_current_stream():
    """The rows are written on a side stream, behind work that takes a while."""
    weight, wanted = random(6, 20000, 1024), random(5, 32, 1024)
    answer = fused_head(wanted, weight)
    torch.cuda.synchronize()
    hidden, side = torch.zeros_like(wanted), torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        hidden.copy_(wanted)
        late = fused_head(hidden, weight)
    side.synchronize()
    assert same(late, answer)


def test_a_graph_replays_on_new_values():
    hidden, weight = random(5, 32, 1024), random(6, 20000, 1024)
    index = torch.arange(16, device="cuda")
    fused_head(hidden, weight, index)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = fused_head(hidden, weight, index)
    hidden.copy_(random(9, 32, 1024))
    index.copy_(torch.arange(16, 32, device="cuda"))
    graph.replay()
    assert same(answer, fused_head(hidden, weight, index))


def test_a_plan_is_not_prepared_under_capture():
    hidden, weight = random(5, 3, 24), random(6, 333, 24)
    message, graph = "", torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        hidden.add_(1)
        try:
            fused_head(hidden, weight, outputs=("max",))
        except DllmError as error:
            message = str(error)
    assert "before capture" in message
    graph.replay()  # the capture is whole all the same


def test_compiled_code_holds_the_call_whole():
    def step(hidden, weight, index):
        answer = fused_head(hidden * 2, weight, index, outputs=("lse", "argmax"))
        return answer.lse + 1, answer.argmax

    weight = random(6, 5000, 512)
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for rows in (4, 9):
        hidden, index = random(rows, rows, 512), torch.arange(rows - 1, device="cuda")
        assert same(compiled(hidden, weight, index), step(hidden, weight, index))


def test_other_libraries_arrays_are_read_in_place():
    class Wrapped:
        def __init__(self, tensor):
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    logits = random(3, 5, 4000, kind=torch.float32)
    assert same(fused_sampler(Wrapped(logits)), fused_sampler(logits))


def test_devices_may_not_be_mixed():
    try:
        fused_head(random(1, 2, 8), random(2, 9, 8).cpu())
    except ValueError as error:
        assert "weight is on device -1" in str(error)
    else:
        raise AssertionError("no error")


def overhead_us(calls=2000, repeats=9):
    """Median time of a Python call above that of the C call in it, by the host's clock."""
    hidden, weight = random(5, 32, 64), random(6, 512, 64)
    fused_head(hidden, weight)
    times, inside = [], [0.0]

    def timed_run(run):
        def call(*arguments):
            start = time.perf_counter()
            status = run(*arguments)
            inside[0] += time.perf_counter() - start
            return status

        return call

    saved = dict(_plans._plans)
    try:
        for key, plan in saved.items():
            _plans._plans[key] = plan._replace(run=timed_run(plan.run))
        _rows._checked.clear()  # calls that hold the plans as they were
        for _ in range(repeats):
            torch.cuda.synchronize()
            inside[0], start = 0.0, time.perf_counter()
            for _ in range(calls):
                fused_head(hidden, weight)
            times.append((time.perf_counter() - start - inside[0]) / calls * 1e6)
    finally:
        _plans._plans.update(saved)
        _rows._checked.clear()
    return statistics.median(times)


def test_a_call_costs_little_above_the_c_call():
    took = overhead_us()
    print(f"overhead of a Python call: {took:.1f} us")
    assert took <= OVERHEAD_LIMIT_US, f"{took:.1f} us"


def main(names):
    """Runs every test among the names of a file, in order."""
    if not torch.cuda.is_available():
        print("no GPU")
        return 77
    failed = 0
    for name, test in list(names.items()):
        if not name.startswith("test_"):
            continue
        try:
            test()
            print(f"PASS {name}")
        except Exception:
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}")
    print(f"{failed} failed")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main(globals()))
