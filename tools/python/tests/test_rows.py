"""fused_head and fused_sampler on NumPy arrays: values, strides, gather, refusals, threads."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import dllm_kernels
from dllm_kernels import _plans, _rows, fused_head, fused_sampler, merge_states
from reference import Reference

ALL = ("argmax", "max", "lse", "confidence", "entropy", "second", "second_id", "margin", "flags")


def random(seed, *shape, kind=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b) if x is not None)


@pytest.mark.parametrize(
    "rows, vocab, depth", [(1, 2, 1), (1, 129, 7), (5, 1000, 64), (130, 33, 20)]
)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_head_is_near_double_precision(rows, vocab, depth, kind):
    hidden, weight = random(1, rows, depth, kind=kind), random(2, vocab, depth, kind=kind)
    answer = fused_head(hidden, weight, outputs=ALL)
    Reference(np, hidden.astype(float), weight.astype(float)).check(answer)


@pytest.mark.parametrize("rows, vocab", [(1, 2), (3, 129), (70, 5000)])
def test_sampler_is_near_double_precision(rows, vocab):
    logits = 5 * random(3, rows, vocab)
    Reference(np, logits=logits.astype(float)).check(fused_sampler(logits, outputs=ALL))


def test_lowest_id_wins_a_tie():
    assert fused_sampler(np.float32([[1, 3, 3, 0], [2, 2, 2, 2]])).argmax.tolist() == [1, 0]


@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_ids_have_the_type_asked_for(ids):
    assert fused_sampler(random(4, 2, 9), ids=ids).argmax.dtype == ids


def test_what_was_not_asked_for_is_none():
    answer = fused_sampler(random(4, 2, 9), outputs=("lse",))
    assert [name for name, value in answer._asdict().items() if value is not None] == ["lse"]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_gather_reads_the_named_rows(kind):
    hidden, weight = random(5, 9, 16), random(6, 50, 16)
    index = np.array([8, 0, 0, 3], kind)
    assert same(fused_head(hidden, weight, index), fused_head(hidden[index], weight))


def test_row_outside_the_source_is_flagged():
    answer = fused_head(random(5, 4, 8), random(6, 9, 8), np.array([4]), outputs=ALL)
    assert answer.flags[0] == dllm_kernels._abi.DLLM_FLAG_ROW and answer.argmax[0] == 0


def test_strided_and_unaligned_rows_are_the_same_rows():
    hidden, weight = random(7, 6, 24), random(8, 40, 24)
    wide_hidden, wide_weight = np.full((6, 31), np.nan, "f"), np.full((40, 27), np.nan, "f")
    wide_hidden[:, 3:27], wide_weight[:, 1:25] = hidden, weight
    assert same(fused_head(wide_hidden[:, 3:27], wide_weight[:, 1:25]), fused_head(hidden, weight))
    assert same(fused_head(hidden[::2], weight), fused_head(hidden[::2].copy(), weight))


def test_no_rows_give_no_answers():
    assert fused_head(random(1, 0, 8), random(2, 9, 8)).lse.shape == (0,)
    assert fused_head(random(1, 3, 8), random(2, 9, 8), np.empty(0, np.int64)).argmax.shape == (0,)


def test_valid_vocab_masks_and_vocab_offset_shifts():
    logits = np.float32([[0, 5, 2, 9]])
    assert fused_sampler(logits, valid_vocab=3, vocab_offset=100).argmax.tolist() == [101]


def test_target_logprob_is_that_of_the_target():
    logits, target = 3 * random(3, 20, 300), np.arange(20)
    reference = Reference(np, logits=logits.astype(float))
    answer = fused_sampler(logits, outputs=("target_logprob",), target=target)
    reference.check_log_probability(answer.target_logprob, target)


def test_transforms_are_those_asked_for():
    logits, bias = 3 * random(3, 9, 300), random(4, 300)
    scaled = np.float32(0.5) * logits + bias
    Reference(np, logits=scaled.astype(float)).check(
        fused_sampler(logits, outputs=ALL, scale=0.5, bias=bias)
    )
    rounded = logits.astype(np.float16).astype(float)
    Reference(np, logits=rounded).check(fused_sampler(logits, outputs=ALL, round_logits="float16"))


@pytest.mark.parametrize("scale", [1.5, np.full(9, 1.5, np.float32)])
def test_guidance_takes_rows_away_from_unconditional_ones(scale):
    logits = np.round(3 * random(3, 18, 300))
    guided = logits[9:] + 2.5 * (logits[:9] - logits[9:])
    Reference(np, logits=guided.astype(float)).check(
        fused_sampler(logits, outputs=ALL, cfg_scale=scale)
    )
    answer = fused_sampler(logits, np.array([8, 0]), cfg_scale=1.5)
    assert answer.argmax.tolist() == guided.argmax(axis=1)[[8, 0]].tolist()
    with pytest.raises(ValueError, match="guidance takes two"):
        fused_sampler(logits[1:], cfg_scale=1.5)


@pytest.mark.parametrize("temperature", [0.7, np.full(9, 0.5, np.float32)])
def test_tempered_statistics_are_of_the_divided_logits(temperature):
    logits = 3 * random(3, 9, 300)
    divisor = float(np.float32(np.max(temperature)))
    Reference(np, logits=logits.astype(float), temperature=divisor).check(
        fused_sampler(logits, outputs=ALL, temperature=temperature, tempered=True)
    )


def test_suppressed_ids_leave_every_statistic():
    logits = random(3, 5, 50)
    logits[:, [7, 30]] = 20
    answer = fused_sampler(logits, outputs=ALL, suppress=np.array([30, 7]))
    kept = np.delete(logits, [7, 30], axis=1).astype(float)
    shifted = answer._replace(
        **{
            name: ids - (ids > 7) - (ids > 30)
            for name, ids in (("argmax", answer.argmax), ("second_id", answer.second_id))
        }
    )
    Reference(np, logits=kept).check(shifted)


def test_candidates_come_in_order():
    logits = np.round(random(3, 6, 40))  # many ties
    answer = fused_sampler(logits, outputs=("candidates",), candidates=7)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :7]
    assert np.array_equal(answer.candidate_ids, order)
    assert np.array_equal(answer.candidate_values, np.take_along_axis(logits, order, axis=1))


def draw(logits, seed, number=0, **options):
    return fused_sampler(
        logits,
        outputs=("gumbel_id", "gumbel_logprob"),
        seed=np.array([seed]),
        draw=np.array([number], np.int32),
        **options,
    )


def test_a_draw_follows_seed_and_number():
    logits = random(3, 50, 1000)
    drawn = draw(logits, 5, temperature=1.0)
    assert same(drawn, draw(logits, 5, temperature=1.0))
    assert not same(drawn, draw(logits, 6, temperature=1.0))
    assert not same(drawn, draw(logits, 5, 1, temperature=1.0))
    assert np.array_equal(draw(logits, 5, temperature=0.0).gumbel_id, logits.argmax(axis=1))
    reference = Reference(np, logits=logits.astype(float))
    reference.check_log_probability(drawn.gumbel_logprob, drawn.gumbel_id)


def test_each_row_may_have_its_own_seed_and_number():
    logits = random(3, 4, 1000)
    seeds, numbers = np.array([5, 6, 5, 5]), np.array([0, 0, 1, 0], np.int32)
    keys = np.array([7, 7, 7, 8])
    words = {"outputs": ("gumbel_id",), "temperature": 1.0}
    together = fused_sampler(
        logits, seed=seeds, draw=numbers, row_seed=True, row_key=keys, **words
    ).gumbel_id
    for r in range(4):
        alone = draw(
            logits[r : r + 1], seeds[r], numbers[r], row_key=keys[r : r + 1], temperature=1.0
        )
        assert alone.gumbel_id[0] == together[r]
    with pytest.raises(ValueError, match="seed has shape"):
        fused_sampler(logits, seed=np.array([5]), row_seed=True, **words)


def test_shards_merge_to_the_whole_row():
    hidden, weight = random(1, 6, 16), random(2, 100, 16)
    states = [
        fused_head(hidden, part, outputs=ALL, vocab_offset=first, partial_state=True).state
        for first, part in ((0, weight[:37]), (37, weight[37:90]), (90, weight[90:]))
    ]
    merged = merge_states(np.stack(states), 100, outputs=ALL)
    whole = fused_head(hidden, weight, outputs=ALL)
    assert same(
        (merged.argmax, merged.second_id, merged.max), (whole.argmax, whole.second_id, whole.max)
    )
    Reference(np, hidden.astype(float), weight.astype(float)).check(merged)


def test_refuses_states_of_another_size():
    states = np.zeros((2, 3, 63), np.uint8)
    refuses(ValueError, "wanted uint8 (shards, rows, 64)", merge_states, states, 100)
    refuses(TypeError, "scale: not a keyword of merge_states", merge_states, states, 100, scale=0.5)


def test_a_plan_serves_a_class_of_row_counts():
    weight = random(2, 77, 8)
    fused_head(random(1, 1, 8), weight)
    before = len(_plans._plans)
    for rows in (2, 17, 64):
        fused_head(random(1, rows, 8), weight)
    assert len(_plans._plans) == before
    fused_head(random(1, 65, 8), weight)
    assert len(_plans._plans) == before + 1


def test_a_call_like_one_before_is_checked_once():
    hidden, weight = random(1, 5, 8), random(2, 79, 8)
    first = fused_head(hidden, weight)
    before = len(_rows._checked)
    other = fused_head(2 * hidden, weight.copy())
    assert len(_rows._checked) == before
    assert same(other[:1], first[:1]) and not same(other, first)
    Reference(np, 2 * hidden.astype(float), weight.astype(float)).check(other)


def test_calls_that_differ_in_layout_alone_are_checked_each():
    hidden, weight, index = random(1, 6, 8), random(2, 79, 8), np.array([3, 1])
    transposed = np.asfortranarray(weight)
    fused_head(hidden, weight, index)
    refuses(ValueError, "stride 79 inside a row", fused_head, hidden, transposed, index)
    refuses(TypeError, "row_index type float64", fused_head, hidden, weight, index.astype(float))
    spread = np.array([3, 0, 1, 0])[::2]
    refuses(ValueError, "row_index is not contiguous", fused_head, hidden, weight, spread)
    wide = np.zeros((79, 12), "f")
    wide[:, :8] = weight
    assert same(fused_head(hidden, wide[:, :8], index), fused_head(hidden, weight, index))


def test_checked_calls_are_bounded(monkeypatch):
    monkeypatch.setattr(_rows, "CHECKED_MOST", 2)
    monkeypatch.setattr(_rows, "_checked", {})
    for rows in (1, 2, 3, 2, 1, 5):
        logits = random(3, rows, 40)
        assert np.array_equal(fused_sampler(logits).argmax, logits.argmax(axis=1))
        assert len(_rows._checked) <= 2


def refuses(kind, words, call, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        call(*arguments, **keywords)
    assert words in str(caught.value)


def test_refuses_shapes_that_do_not_fit():
    hidden, weight = random(1, 3, 8), random(2, 9, 8)
    refuses(
        ValueError, "weight has rows of 7 elements, hidden has 8", fused_head, hidden, weight[:, :7]
    )
    refuses(ValueError, "hidden has 1 dimensions", fused_head, hidden[0], weight)
    refuses(ValueError, "stride 2 inside a row", fused_head, hidden[:, ::2], weight[:, ::2])
    refuses(
        ValueError,
        "hidden stride 0 is below",
        fused_head,
        np.broadcast_to(hidden[:1], (3, 8)),
        weight,
    )
    refuses(ValueError, "hidden stride -8 is below", fused_head, hidden[::-1], weight)
    refuses(
        ValueError, "row_index has shape (1, 1)", fused_head, hidden, weight, np.zeros((1, 1), int)
    )
    refuses(
        ValueError,
        "row_index is not contiguous",
        fused_head,
        hidden,
        weight,
        np.zeros(6, np.int64)[::2],
    )


def test_refuses_types_and_words_it_does_not_know():
    hidden, weight = random(1, 3, 8), random(2, 9, 8)
    refuses(TypeError, "hidden type float64", fused_head, hidden.astype(float), weight)
    refuses(TypeError, "row_index type uint8", fused_head, hidden, weight, np.zeros(1, np.uint8))
    refuses(TypeError, "list is not a tensor", fused_head, [[1.0]], weight)
    refuses(TypeError, '"colour" is not a keyword', fused_head, hidden, weight, colour=1)
    refuses(
        ValueError, 'output "mean" is not one of', fused_head, hidden, weight, outputs=("mean",)
    )
    refuses(ValueError, 'output "mean" is not one of', fused_head, hidden, weight, outputs="mean")
    refuses(ValueError, 'ids "int8"', fused_head, hidden, weight, ids="int8")


def test_outputs_may_be_one_name():
    logits, (hidden, weight) = random(3, 2, 9), (random(1, 3, 8), random(2, 9, 8))
    state = fused_sampler(logits, partial_state=True).state[None]
    for one, both in (
        (fused_head(hidden, weight, outputs="max"), fused_head(hidden, weight, outputs=("max",))),
        (fused_sampler(logits, outputs="lse"), fused_sampler(logits, outputs=["lse"])),
        (merge_states(state, 9, outputs="lse"), merge_states(state, 9, outputs=("lse",))),
    ):
        for field, left, right in zip(one._fields, one, both):
            assert (left is None) == (right is None), field
            assert left is None or np.array_equal(left, right), field


def test_an_error_is_the_librarys_message():
    with pytest.raises(dllm_kernels.InvalidArgument) as caught:
        fused_sampler(random(1, 2, 9), valid_vocab=10)
    assert "valid_vocab 10" in str(caught.value) and caught.value.status == -1
    refuses(ValueError, "vocab 0", fused_head, random(1, 2, 8), random(1, 0, 8))
    refuses(dllm_kernels.DllmError, "colour", fused_sampler, random(1, 2, 9), family="colour")


def test_dlpack_objects_are_read_in_place():
    class Wrapped:
        def __init__(self, array):
            self.__dlpack__ = array.__dlpack__
            self.__dlpack_device__ = array.__dlpack_device__

    logits = random(9, 4, 33)
    answer = fused_sampler(Wrapped(logits))
    assert same([np.asarray(value) for value in answer[:1]], fused_sampler(logits)[:1])


def test_threads_share_a_plan():
    hidden, weight = random(1, 40, 32), random(2, 500, 32)
    wanted = fused_head(hidden, weight)
    answers = [None] * 8

    def work(place):
        for _ in range(20):
            answers[place] = fused_head(hidden, weight)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(answer, wanted) for answer in answers)


def test_a_forked_child_makes_its_own_context():
    logits = random(9, 4, 33)
    wanted = fused_sampler(logits)
    child = os.fork()
    if child == 0:
        os._exit(0 if same(fused_sampler(logits), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0


OLD_TORCH = """
import sys, types
import numpy as np
torch = types.ModuleType("torch")
torch.Tensor, torch.library = type("Tensor", (), {}), types.ModuleType("torch.library")
sys.modules["torch"] = torch
from dllm_kernels import fused_sampler
print(fused_sampler(np.float32([[1, 3, 2]])).argmax.tolist())
"""


def test_a_torch_without_operators_is_no_hindrance():
    root = pathlib.Path(dllm_kernels.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", OLD_TORCH],
        env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "[1]\n", done.stderr
