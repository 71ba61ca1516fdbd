"""The further statistics on a GPU: values, suppressed ids, draws, shards; run as test_gpu.py."""

import pathlib
import sys

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

from dllm_kernels import fused_head, fused_sampler, merge_states  # noqa: E402
from reference import Reference  # noqa: E402
from test_gpu import llada_head, main, random  # noqa: E402

ALL = ("argmax", "max", "lse", "confidence", "entropy", "second", "second_id", "margin", "flags")


def test_heads_are_near_double_precision():
    hidden, weight = llada_head(16)
    Reference(torch, hidden.double(), weight.double()).check(
        fused_head(hidden, weight, outputs=ALL)
    )
    hidden, weight = random(1, 5, 64, kind=torch.float32), random(2, 999, 64, kind=torch.float32)
    Reference(torch, hidden.double(), weight.double()).check(
        fused_head(hidden, weight, outputs=ALL)
    )


def test_suppressed_ids_leave_every_statistic():
    hidden, weight = random(5, 9, 512), random(6, 5000, 512)
    best = fused_head(hidden, weight).argmax.unique()
    kept = torch.ones(5000, dtype=torch.bool, device="cuda").index_fill_(0, best, False)
    answer = fused_head(hidden, weight, outputs=ALL, suppress=best)
    places = kept.cumsum(0) - 1  # of the ids that stay, among them
    Reference(torch, hidden.double(), weight[kept].double()).check(
        answer._replace(argmax=places[answer.argmax], second_id=places[answer.second_id])
    )


def test_a_draw_is_that_of_the_cpu():
    logits, seed = random(3, 200, 1000, kind=torch.float32), torch.tensor([5])
    words = {"outputs": ("gumbel_id", "gumbel_logprob"), "temperature": 1.0}
    ours = fused_sampler(logits, seed=seed.cuda(), **words)
    theirs = fused_sampler(logits.cpu(), seed=seed, **words)
    assert torch.equal(ours.gumbel_id.cpu(), theirs.gumbel_id)
    Reference(torch, logits=logits.double()).check_log_probability(
        ours.gumbel_logprob, ours.gumbel_id
    )


def test_a_graph_draws_anew_by_seed():
    logits, seed = random(3, 200, 1000), torch.tensor([5], device="cuda")
    words = {"outputs": ("gumbel_id",), "temperature": 1.0, "seed": seed}
    fused_sampler(logits, **words)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = fused_sampler(logits, **words).gumbel_id
    for number in (6, 7):
        seed.fill_(number)
        graph.replay()
        assert torch.equal(drawn, fused_sampler(logits, **words).gumbel_id)


def test_shards_merge_to_the_whole_row():
    hidden, weight = random(1, 16, 512), random(2, 5000, 512)
    states = [
        fused_head(hidden, part, outputs=ALL, vocab_offset=first, partial_state=True).state
        for first, part in ((0, weight[:1700]), (1700, weight[1700:]))
    ]
    merged = merge_states(torch.stack(states), 5000, outputs=ALL)
    Reference(torch, hidden.double(), weight.double()).check(merged)


if __name__ == "__main__":
    sys.exit(main(globals()))
