"""The example decodes the small model of the tree to its golden tokens."""

import json
import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

ROOT = pathlib.Path(__file__).parents[3]
MODEL = ROOT / "tests/data/austen"
sys.path.insert(0, str(ROOT / "tools/python/examples"))

import llada  # noqa: E402
from llada_model import LladaModel  # noqa: E402


def test_schedule_shares_the_masks_evenly():
    assert llada.schedule(7, 3) == [3, 2, 2]
    assert llada.schedule(2, 4) == [1, 1, 0, 0]


def test_tokenizer_gives_the_golden_ids_and_the_text_back():
    tokenizer = llada.Tokenizer(MODEL)
    for run in json.loads((MODEL / "golden.json").read_text())["runs"]:
        assert tokenizer.encode(run["prompt"]) == run["prompt_ids"]
        assert tokenizer.decode(run["ids"]) == run["text"]


@pytest.mark.parametrize("mask_id", [7, 49])
def test_the_mask_id_is_never_a_token(mask_id):
    hidden = torch.randn(6, 8, generator=torch.Generator().manual_seed(1))
    weight = torch.randn(50, 8, generator=torch.Generator().manual_seed(2))
    weight[mask_id] = 9 * hidden.sum(0)
    logits = hidden @ weight.T
    token, confidence = llada.fused_rows(hidden, weight, torch.arange(6), mask_id)
    logits[:, mask_id] = float("-inf")
    assert torch.equal(token, logits.argmax(1))
    assert torch.allclose(confidence, logits.softmax(1).amax(1), rtol=1e-5)


@pytest.mark.needs_torch("nn.RMSNorm")
def test_a_batch_decodes_to_the_golden_tokens():
    """Sixteen steps: four positions of each block at once, in two sequences."""
    model = LladaModel.load(MODEL)
    runs = json.loads((MODEL / "golden.json").read_text())["runs"]
    run = next(run for run in runs if run["steps"] == 16)
    canvas = llada.generate(
        model,
        torch.tensor([run["prompt_ids"]] * 2),
        steps=16,
        gen_length=64,
        block_length=16,
        mask_id=model.model.config.mask_token_id,
    )
    assert canvas.tolist() == [run["ids"]] * 2
