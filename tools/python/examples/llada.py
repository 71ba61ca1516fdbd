#!/usr/bin/env python3
"""LLaDA's decode loop with the head swapped for fused_head: only masked positions, no logits.

usage: llada.py FOLDER [--prompt TEXT] [--gen-length N] [--block-length N] [--steps N] [--device D]
       llada.py FOLDER --golden [--device D]
       llada.py --random-8b [--gen-length N] ... [--device D]

FOLDER holds a LLaDA-layout model with vocab.txt, for instance tests/data/austen. --golden decodes
the runs of its golden.json and ends with 1 if a token differs. --random-8b decodes four sequences
with a model of LLaDA-8B's shape and random weights. With the real model:

    model = AutoModel.from_pretrained("GSAI-ML/LLaDA-8B-Instruct", trust_remote_code=True,
                                      torch_dtype=torch.bfloat16).cuda()
    canvas = generate(model, prompt, mask_id=126336, steps=128, gen_length=128, block_length=32)
"""

import argparse
import functools
import json
import pathlib
import re
import sys
import time
from contextlib import contextmanager

try:
    import torch
except ModuleNotFoundError as error:
    if __name__ != "__main__" or error.name != "torch":
        raise
    sys.exit("llada.py: needs torch 2.4 or later, none is installed")
from dllm_kernels import fused_head
from torch import nn

from llada_model import LladaConfig, LladaModel


@contextmanager
def headless(model):
    """The model without its head: `logits` are the hidden states. Yields the head's weight."""
    transformer = model.model.transformer
    head = transformer.ff_out
    transformer.ff_out = nn.Identity()
    try:
        yield head.weight
    finally:
        transformer.ff_out = head


def schedule(masks, steps):
    """How many positions each step of a block commits: an even split, the larger shares first."""
    return [masks // steps + (step < masks % steps) for step in range(steps)]


@functools.lru_cache(maxsize=None)
def id_list(one, device):
    """A list of one id on the device, made once: a copy to it waits."""
    return torch.tensor([one], device=device)


def fused_rows(hidden, weight, rows, mask_id):
    """(token, confidence) of the rows named, without logits. The mask id is never a token."""
    if mask_id == weight.shape[0] - 1:
        without = {"valid_vocab": mask_id}  # the last id is cut off, which costs nothing
    else:
        without = {"suppress": id_list(mask_id, hidden.device)}
    answer = fused_head(hidden, weight, rows, outputs=("argmax", "confidence"), **without)
    return answer.argmax, answer.confidence


def commit(canvas, low, block_length, mask_id, counts, score):
    """Commits the surest of the masked positions of a block of every sequence.

    counts      (masked, wanted): positions a sequence has masked, and how many to commit
    score(rows) (token, confidence) of rows of the flattened canvas

    Of equal confidences the first position wins. Counts are known beforehand and equal for all
    sequences, so nothing here waits for the device.
    """
    masked, wanted = counts
    block = canvas[:, low : low + block_length]
    places = (block != mask_id).to(torch.uint8).sort(dim=1, stable=True).indices[:, :masked]
    starts = torch.arange(len(canvas), device=canvas.device)[:, None] * canvas.shape[1] + low
    token, confidence = score((starts + places).flatten())
    surest = (
        confidence.view(-1, masked).sort(dim=1, descending=True, stable=True).indices[:, :wanted]
    )
    block.scatter_(1, places.gather(1, surest), token.view(-1, masked).gather(1, surest))


@torch.inference_mode()
def generate(
    model, prompt, *, mask_id, steps, gen_length, block_length, head=fused_rows, watch=None
):
    """Decodes gen_length tokens behind prompt (batch, length) int64: LLaDA at temperature 0.

    head   (hidden, weight, rows, mask_id) -> (token, confidence); hidden is (batch * length, width)
    watch  called with the canvas after each step
    """
    if gen_length % block_length or steps % (gen_length // block_length):
        raise ValueError(
            f"gen_length {gen_length}, block_length {block_length} and steps {steps} do not "
            "divide each other"
        )
    start = prompt.shape[1]
    canvas = nn.functional.pad(prompt, (0, gen_length), value=mask_id)
    with headless(model) as weight:
        for low in range(start, canvas.shape[1], block_length):
            masked = block_length
            for wanted in schedule(block_length, steps * block_length // gen_length):
                if wanted == 0:
                    break
                hidden = model(canvas).logits.flatten(0, 1)
                commit(
                    canvas,
                    low,
                    block_length,
                    mask_id,
                    (masked, wanted),
                    lambda rows: head(hidden, weight, rows, mask_id),
                )  # noqa: B023
                masked -= wanted
                if watch:
                    watch(canvas)
    return canvas


class Tokenizer:
    """vocab.txt: a token a line, pairs joined lowest id first (tests/data/austen/README.md)."""

    PIECES = re.compile(rb" ?[A-Za-z]+|\n| ?[^A-Za-z\n]")

    def __init__(self, folder):
        lines = pathlib.Path(folder, "vocab.txt").read_text(encoding="ascii").splitlines()
        self.tokens = [
            re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), line.encode())
            for line in lines
        ]
        self.ids = {token: place for place, token in enumerate(self.tokens)}

    def encode(self, text):
        ids = []
        for piece in self.PIECES.findall(text.encode()):
            parts = [bytes([byte]) for byte in piece]
            while len(parts) > 1:
                pairs = [self.ids.get(a + b, len(self.ids)) for a, b in zip(parts, parts[1:])]
                best = min(range(len(pairs)), key=pairs.__getitem__)
                if pairs[best] == len(self.ids):
                    break
                parts[best : best + 2] = [parts[best] + parts[best + 1]]
            ids += [self.ids[part] for part in parts]
        return ids

    def decode(self, ids):
        return b"".join(self.tokens[one] for one in ids).decode(errors="replace")


def check_golden(folder, model, tokenizer, device):
    """Decodes every run of golden.json; returns how many differ."""
    runs = json.loads(pathlib.Path(folder, "golden.json").read_text(encoding="utf-8"))["runs"]
    failed = 0
    for run in runs:
        prompt = torch.tensor([tokenizer.encode(run["prompt"])], device=device)
        canvas = generate(
            model,
            prompt,
            mask_id=model.model.config.mask_token_id,
            steps=run["steps"],
            gen_length=run["gen_length"],
            block_length=run["block_length"],
        )
        equal = canvas[0].tolist() == run["ids"]
        failed += not equal
        print(
            f"{'PASS' if equal else 'FAIL'} {run['prompt']!r} gen_length {run['gen_length']} "
            f"block_length {run['block_length']} steps {run['steps']}"
        )
    print(f"{len(runs) - failed} passed, {failed} failed")
    return failed


def decode_random(options):
    """Four sequences with a model of LLaDA-8B's shape: what a step takes and how much memory."""
    config = LladaConfig()
    model = LladaModel.random(config, torch.bfloat16, options.device)
    generator = torch.Generator(options.device).manual_seed(1)
    prompt = torch.randint(1000, 100000, (4, 128), device=options.device, generator=generator)
    keywords = {
        "mask_id": config.mask_token_id,
        "gen_length": options.gen_length,
        "block_length": options.block_length,
        "steps": options.steps,
    }
    generate(model, prompt, **keywords)
    began = time.perf_counter()
    canvas = generate(model, prompt, **keywords)
    masks = int((canvas == config.mask_token_id).sum())
    took = time.perf_counter() - began
    print(
        f"{options.steps} steps of 4 sequences: {took / options.steps * 1e3:.2f} ms a step, "
        f"{masks} masks left"
    )
    return masks


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--prompt", default="It is a truth universally acknowledged, that")
    parser.add_argument("--gen-length", type=int, default=64)
    parser.add_argument("--block-length", type=int, default=32)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--random-8b", action="store_true")
    options = parser.parse_args()
    if not hasattr(nn, "RMSNorm"):
        parser.exit(1, f"llada.py: needs torch 2.4 or later, this is {torch.__version__}\n")
    if options.random_8b:
        return 1 if decode_random(options) else 0
    if not options.folder:
        parser.error("a model's folder or --random-8b")
    model, tokenizer = (
        LladaModel.load(options.folder, device=options.device),
        Tokenizer(options.folder),
    )
    if options.golden:
        return 1 if check_golden(options.folder, model, tokenizer, options.device) else 0
    prompt = torch.tensor([tokenizer.encode(options.prompt)], device=options.device)
    canvas = generate(
        model,
        prompt,
        mask_id=model.model.config.mask_token_id,
        steps=options.steps,
        gen_length=options.gen_length,
        block_length=options.block_length,
    )
    print(tokenizer.decode(canvas[0].tolist()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
