"""The same calls on torch tensors of the CPU, and as operators for torch.compile."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dllm_kernels import fused_head, fused_sampler, merge_states  # noqa: E402
from reference import Reference  # noqa: E402


def random(seed, *shape, kind=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(kind)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b) if x is not None)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_head_is_near_double_precision(kind):
    hidden, weight = random(1, 33, 48, kind=kind), random(2, 700, 48, kind=kind)
    answer = fused_head(hidden, weight, outputs=("argmax", "max", "lse", "confidence", "flags"))
    Reference(torch, hidden.double(), weight.double()).check(answer)


def test_a_parameter_is_a_weight():
    weight = torch.nn.Parameter(random(2, 90, 16))
    assert same(fused_head(random(1, 4, 16), weight), fused_head(random(1, 4, 16), weight.detach()))


def test_numpy_and_torch_agree():
    logits = random(3, 5, 400)
    for ours, theirs in zip(fused_sampler(logits)[:1], fused_sampler(logits.numpy())[:1]):
        assert np.array_equal(ours.numpy(), theirs)


def test_ids_index_a_tensor():
    assert fused_sampler(random(3, 5, 40)).argmax.dtype == torch.int64


def step(hidden, weight, index):
    answer = fused_head(hidden * 2, weight, index, outputs=("lse", "argmax"), valid_vocab=70)
    return answer.lse + 1, answer.argmax


def test_compiled_code_holds_the_call_whole():
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=True)
    weight = random(2, 90, 16)
    for rows in (3, 8, 20):
        hidden, index = random(rows, rows, 16), torch.arange(rows - 1)
        assert same(compiled(hidden, weight, index), step(hidden, weight, index))


def test_compiled_code_merges_shards():
    def sharded(hidden, weight):
        states = [
            fused_head(hidden, part, vocab_offset=first, partial_state=True).state
            for first, part in ((0, weight[:50]), (50, weight[50:]))
        ]
        return merge_states(torch.stack(states), 90)

    hidden, weight = random(1, 5, 16), random(2, 90, 16)
    compiled = torch.compile(sharded, fullgraph=True, backend="aot_eager")
    assert same(compiled(hidden, weight), sharded(hidden, weight))
    assert same(sharded(hidden, weight)[:1], fused_head(hidden, weight)[:1])


def test_the_operator_keeps_torchs_rules():
    text = "head;int32;lse,argmax;row_index;valid_vocab=70"
    index = torch.tensor([1, 0, 1])
    torch.library.opcheck(torch.ops.dllm.rows, (random(1, 4, 16), random(2, 90, 16), [index], text))
