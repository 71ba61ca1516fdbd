"""fused_head and fused_sampler on NumPy arrays: values, strides, gather, refusals, threads."""

import os
import threading

import numpy as np
import pytest

import dllm_kernels
from dllm_kernels import _rows, fused_head, fused_sampler
from reference import Reference

ALL = ("argmax", "max", "lse", "confidence", "flags")


def random(seed, *shape, kind=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b) if x is not None)


@pytest.mark.parametrize("rows, vocab, depth", [(1, 1, 1), (1, 129, 7), (5, 1000, 64), (130, 33, 20)])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_head_is_near_double_precision(rows, vocab, depth, kind):
    hidden, weight = random(1, rows, depth, kind=kind), random(2, vocab, depth, kind=kind)
    answer = fused_head(hidden, weight, outputs=ALL)
    Reference(np, hidden.astype(float), weight.astype(float)).check(answer)


@pytest.mark.parametrize("rows, vocab", [(1, 1), (3, 129), (70, 5000)])
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


def test_a_plan_serves_a_class_of_row_counts():
    weight = random(2, 77, 8)
    fused_head(random(1, 1, 8), weight)
    before = len(_rows._plans)
    for rows in (2, 17, 64):
        fused_head(random(1, rows, 8), weight)
    assert len(_rows._plans) == before
    fused_head(random(1, 65, 8), weight)
    assert len(_rows._plans) == before + 1


def refuses(kind, words, call, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        call(*arguments, **keywords)
    assert words in str(caught.value)


def test_refuses_shapes_that_do_not_fit():
    hidden, weight = random(1, 3, 8), random(2, 9, 8)
    refuses(ValueError, "weight has rows of 7 elements, hidden has 8", fused_head, hidden, weight[:, :7])
    refuses(ValueError, "hidden has 1 dimensions", fused_head, hidden[0], weight)
    refuses(ValueError, "stride 2 inside a row", fused_head, hidden[:, ::2], weight[:, ::2])
    refuses(ValueError, "hidden stride 0 is below", fused_head, np.broadcast_to(hidden[:1], (3, 8)),
            weight)
    refuses(ValueError, "hidden stride -8 is below", fused_head, hidden[::-1], weight)
    refuses(ValueError, "row_index has shape (1, 1)", fused_head, hidden, weight, np.zeros((1, 1), int))
    refuses(ValueError, "row_index is not contiguous", fused_head, hidden, weight,
            np.zeros(6, np.int64)[::2])


def test_refuses_types_and_words_it_does_not_know():
    hidden, weight = random(1, 3, 8), random(2, 9, 8)
    refuses(TypeError, "hidden type float64", fused_head, hidden.astype(float), weight)
    refuses(TypeError, "row_index type uint8", fused_head, hidden, weight, np.zeros(1, np.uint8))
    refuses(TypeError, "list is not a tensor", fused_head, [[1.0]], weight)
    refuses(TypeError, '"colour" is not a keyword', fused_head, hidden, weight, colour=1)
    refuses(ValueError, 'output "mean" is not one of', fused_head, hidden, weight, outputs=("mean",))
    refuses(ValueError, 'ids "int8"', fused_head, hidden, weight, ids="int8")


def test_an_error_is_the_librarys_message():
    with pytest.raises(dllm_kernels.InvalidArgument) as caught:
        fused_sampler(random(1, 2, 9), valid_vocab=10)
    assert "valid_vocab 10" in str(caught.value) and caught.value.status == -1
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
