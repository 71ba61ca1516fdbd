"""The same calls on torch tensors of the CPU, held to torch's answers; operators for torch.compile."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dllm_kernels import fused_head, fused_sampler, merge_states  # noqa: E402
from reference import Reference  # noqa: E402

TYPES = [torch.float32, torch.bfloat16, torch.float16]


def random(seed, *shape, kind=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(kind)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b) if x is not None)


def check_against_torch(answer, hidden, weight):
    """argmax, lse and confidence are those of torch in float64, within the contract's tolerance."""
    exact = Reference(torch, hidden.double(), weight.double())
    logits = hidden.double() @ weight.double().T
    best = logits.topk(2, dim=1).values
    clear = best[:, 0] - best[:, 1] > 2 * exact.delta
    assert clear.double().mean() > 0.9
    assert torch.equal(answer.argmax[clear], torch.argmax(logits, dim=1)[clear])
    chosen = logits.gather(1, answer.argmax[:, None])[:, 0]
    assert (best[:, 0] - chosen <= 2 * exact.delta).all()
    exact.near("lse", answer.lse, torch.logsumexp(logits, dim=1), exact.tolerance("lse"))
    probability = torch.softmax(logits, dim=1).amax(dim=1)
    exact.near("confidence", answer.confidence, probability, exact.tolerance("confidence"))


@pytest.mark.torch_values
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("rows, vocab, depth", [(1, 2, 1), (1, 129, 7), (33, 700, 48), (70, 5000, 64)])
def test_head_is_torchs_softmax(kind, rows, vocab, depth):
    hidden, weight = random(1, rows, depth, kind=kind), random(2, vocab, depth, kind=kind)
    check_against_torch(fused_head(hidden, weight), hidden, weight)


@pytest.mark.torch_values
@pytest.mark.parametrize("kind", TYPES)
def test_strided_head_is_torchs_softmax(kind):
    """Rows inside wider ones, from an odd element on, every other row."""
    hidden = random(1, 40, 61, kind=kind)[::2, 3:51]
    weight = random(2, 900, 59, kind=kind)[::3, 5:53]
    assert not hidden.is_contiguous() and not weight.is_contiguous()
    check_against_torch(fused_head(hidden, weight), hidden, weight)


@pytest.mark.torch_values
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index_kind", [torch.int32, torch.int64])
def test_gathered_head_is_torchs_softmax(kind, index_kind):
    hidden, weight = random(1, 40, 61, kind=kind)[:, 3:51], random(2, 700, 48, kind=kind)
    index = torch.tensor([39, 0, 0, 7, 21], dtype=index_kind)
    check_against_torch(fused_head(hidden, weight, index), hidden[index.long()], weight)


@pytest.mark.torch_values
@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_ties_go_to_the_lowest_id(ids):
    """Small whole numbers: every logit is exact and many are equal."""
    hidden, weight = random(1, 30, 8).round(), random(2, 300, 8).round()
    logits = hidden.double() @ weight.double().T
    lowest = [row.eq(row.max()).nonzero()[0].item() for row in logits]
    answer = fused_head(hidden, weight, ids=ids)
    assert answer.argmax.dtype == getattr(torch, ids) and answer.argmax.tolist() == lowest


@pytest.mark.torch_values
@pytest.mark.parametrize("kind", TYPES)
def test_head_is_near_double_precision(kind):
    hidden, weight = random(1, 33, 48, kind=kind), random(2, 700, 48, kind=kind)
    answer = fused_head(hidden, weight, outputs=("argmax", "max", "lse", "confidence", "flags"))
    Reference(torch, hidden.double(), weight.double()).check(answer)


@pytest.mark.torch_values
@pytest.mark.parametrize("kind", TYPES)
def test_sampler_is_torchs_softmax(kind):
    logits = 4 * random(3, 20, 900, kind=kind)
    answer, exact = fused_sampler(logits), logits.double()
    reference = Reference(torch, logits=exact)
    assert torch.equal(exact.gather(1, answer.argmax[:, None])[:, 0], exact.amax(dim=1))
    reference.near("lse", answer.lse, torch.logsumexp(exact, 1), reference.tolerance("lse"))
    wanted = torch.softmax(exact, 1).amax(1)
    reference.near("confidence", answer.confidence, wanted, reference.tolerance("confidence"))


def test_refuses_a_float64_tensor():
    with pytest.raises(TypeError, match="hidden type float64"):
        fused_head(random(1, 4, 16).double(), random(2, 90, 16).double())


def test_refuses_a_tensor_without_memory():
    hidden, weight = random(1, 4, 16), random(2, 90, 16)
    fused_head(hidden, weight)
    with pytest.raises(ValueError, match="device meta"):
        fused_head(hidden.to("meta"), weight)


def test_a_parameter_is_a_weight():
    weight = torch.nn.Parameter(random(2, 90, 16))
    assert same(fused_head(random(1, 4, 16), weight), fused_head(random(1, 4, 16), weight.detach()))


def test_numpy_and_torch_agree():
    logits = random(3, 5, 400)
    for ours, theirs in zip(fused_sampler(logits)[:1], fused_sampler(logits.numpy())[:1]):
        assert np.array_equal(ours.numpy(), theirs)


def test_ids_index_a_tensor():
    assert fused_sampler(random(3, 5, 40)).argmax.dtype == torch.int64


def test_shards_merge_to_the_whole_row():
    hidden, weight = random(1, 5, 16), random(2, 90, 16)
    assert same(sharded(hidden, weight)[:1], fused_head(hidden, weight)[:1])


def step(hidden, weight, index):
    answer = fused_head(hidden * 2, weight, index, outputs=("lse", "argmax"), valid_vocab=70)
    return answer.lse + 1, answer.argmax


@pytest.mark.needs_torch("compile", "library.custom_op")
def test_compiled_code_holds_the_call_whole():
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager", dynamic=True)
    weight = random(2, 90, 16)
    for rows in (3, 8, 20):
        hidden, index = random(rows, rows, 16), torch.arange(rows - 1)
        assert same(compiled(hidden, weight, index), step(hidden, weight, index))


def sharded(hidden, weight):
    states = [
        fused_head(hidden, part, vocab_offset=first, partial_state=True).state
        for first, part in ((0, weight[:50]), (50, weight[50:]))
    ]
    return merge_states(torch.stack(states), 90)


@pytest.mark.needs_torch("compile", "library.custom_op")
def test_compiled_code_merges_shards():
    hidden, weight = random(1, 5, 16), random(2, 90, 16)
    compiled = torch.compile(sharded, fullgraph=True, backend="aot_eager")
    assert same(compiled(hidden, weight), sharded(hidden, weight))


@pytest.mark.needs_torch("library.opcheck")
def test_the_operator_keeps_torchs_rules():
    text = "head;int32;lse,argmax;row_index;valid_vocab=70"
    index = torch.tensor([1, 0, 1])
    torch.library.opcheck(torch.ops.dllm.rows, (random(1, 4, 16), random(2, 90, 16), [index], text))
