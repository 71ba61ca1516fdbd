#!/usr/bin/env python3
"""Times a whole decode, a LLaDA trunk with three heads, and a head where logits find no room.

usage: end_to_end.py [--quick] [--json FILE] [--takers LIST] [--shape NAME] [--device D]

Four sequences, prompt 128, 256 tokens in blocks of 32, one token a step and sequence; the trunk has
LLaDA-8B's shape and random bf16 weights. The heads:

    published   logits of the whole canvas, softmax in float64: what generate.py of LLaDA does
    compiled    logits of the masked rows alone, by torch.compile
    fused       fused_head on the masked rows

All leave the mask id out, so the decode loop is the same. Tokens are compared on one block, all
heads reading the same rows of each step. Last, a head of 16,384 rows runs under a memory cap that
the logits do not fit in. --quick decodes 32 tokens; --shape small, with --device cpu, only tries
the script. Wants DLLM_LIBRARY, and the package beside it in tools/python.
"""

import argparse
import dataclasses
import datetime
import functools
import json
import math
import pathlib
import sys
import time

import packages

PYTHON = pathlib.Path(__file__).resolve().parents[1] / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "examples")]
packages.need("torch", "dllm_kernels", usage=__doc__)

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import dllm_kernels  # noqa: E402
import llada  # noqa: E402
from llada_model import LladaConfig, LladaModel  # noqa: E402

SHAPES = {
    "llada-8b": LladaConfig(),
    "small": LladaConfig(
        vocab_size=2000, hidden_size=64, n_layers=2, n_heads=4, mlp_hidden_size=128
    ),
}
BATCH, PROMPT, BLOCK = 4, 128, 32
CAP_ROWS, CAP_SPARE_BYTES = 16384, 1 << 30


def published(hidden, weight, rows, mask_id):
    """The whole canvas, as the published loop does it, then the rows that count."""
    logits = F.linear(hidden, weight)
    logits[:, mask_id] = -math.inf
    token = logits.argmax(dim=-1)
    probability = torch.softmax(logits.to(torch.float64), dim=-1)
    confidence = probability.gather(1, token[:, None])[:, 0]
    return token[rows], confidence[rows].float()


def gathered(hidden, weight, rows, mask_id):
    """The masked rows alone; torch.compile fuses what follows the product."""
    logits = F.linear(hidden[rows], weight)[:, :mask_id].float()
    token = logits.argmax(dim=-1)
    return token, torch.softmax(logits, dim=-1).gather(1, token[:, None])[:, 0]


@functools.lru_cache(maxsize=None)
def compile_gathered():
    return torch.compile(gathered, dynamic=True)


def compiled(*arguments):
    """`gathered`, compiled when it is first called."""
    return compile_gathered()(*arguments)


HEADS = {"published": published, "compiled": compiled, "fused": llada.fused_rows}


class Clock:
    """Time between marks, by the device's own clock where there is a device."""

    def __init__(self, device):
        self.cuda, self.marks = torch.device(device).type == "cuda", []

    def mark(self):
        if self.cuda:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def pairs_ms(self):
        """Sum of the times from every odd mark to the next."""
        pairs = zip(self.marks[::2], self.marks[1::2])
        if self.cuda:
            torch.cuda.synchronize()
            return sum(start.elapsed_time(end) for start, end in pairs)
        return sum(end - start for start, end in pairs) * 1e3


def decode(model, prompt, head, tokens):
    """The canvas, one token a step."""
    return llada.generate(
        model,
        prompt,
        mask_id=model.model.config.mask_token_id,
        steps=tokens,
        gen_length=tokens,
        block_length=BLOCK,
        head=head,
    )


def measure(model, prompt, name, tokens):
    """One head: a block to warm up, then the whole decode, timed. Returns its record."""
    device = prompt.device
    decode(model, prompt, HEADS[name], BLOCK)
    whole, inner = Clock(device), Clock(device)

    def timed(*arguments):
        inner.mark()
        answer = HEADS[name](*arguments)
        inner.mark()
        return answer

    before = 0
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    whole.mark()
    decode(model, prompt, timed, tokens)
    whole.mark()
    step_ms, head_ms = whole.pairs_ms() / tokens, inner.pairs_ms() / tokens
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return {
        "head": name,
        "step_ms": step_ms,
        "head_ms": head_ms,
        "share": head_ms / step_ms,
        "tokens_per_s": len(prompt) * 1e3 / step_ms,
        "peak_bytes": peak,
        "peak_above_model_bytes": peak - before,
    }


def clear_rows(hidden, weight, rows, mask_id):
    """Rows whose two best bf16 logits lie further apart than two roundings can move them."""
    best = F.linear(hidden[rows], weight)[:, :mask_id].float().topk(2, dim=-1).values
    dot = math.ceil(hidden.shape[1] / 16) * 2.0**-20 * best.abs().amax(dim=-1)
    return best[:, 0] - best[:, 1] > 2 * (2.0**-8 * best.abs().amax(dim=-1) + dot)


def compare_tokens(model, prompt, names):
    """Every head on the same rows of each step of a block, against the gathered logits."""
    counts = {
        "rows": 0,
        "clear_rows": 0,
        **{f"{name}_differ": 0 for name in names},
        **{f"{name}_differ_where_clear": 0 for name in names},
    }

    def all_heads(*arguments):
        token, confidence = gathered(*arguments)
        clear = clear_rows(*arguments)
        counts["rows"] += len(token)
        counts["clear_rows"] += int(clear.sum())
        for name in names:
            differ = HEADS[name](*arguments)[0] != token
            counts[f"{name}_differ"] += int(differ.sum())
            counts[f"{name}_differ_where_clear"] += int((differ & clear).sum())
        return token, confidence

    decode(model, prompt, all_heads, BLOCK)
    return counts


def in_little_memory(weight, mask_id):
    """fused_head and logits on many rows, with a gigabyte to spare beside the operands."""
    hidden = torch.randn(CAP_ROWS, weight.shape[1], dtype=weight.dtype, device=weight.device)
    rows = torch.arange(CAP_ROWS, device=weight.device)
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(weight.device).total_memory
    cap = torch.cuda.memory_reserved() + CAP_SPARE_BYTES
    record = {
        "rows": CAP_ROWS,
        "cap_bytes": cap,
        "spare_bytes": CAP_SPARE_BYTES,
        "logits_bytes": CAP_ROWS * weight.shape[0] * weight.element_size(),
    }
    torch.cuda.set_per_process_memory_fraction(cap / total)
    try:
        record["logits"] = (
            "ran" if fits(gathered, hidden, weight, rows, mask_id) else "out of memory"
        )
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        record["fused"] = (
            "ran" if fits(llada.fused_rows, hidden, weight, rows, mask_id) else "out of memory"
        )
        record["fused_peak_bytes"] = torch.cuda.max_memory_allocated() - before
        record.update(check_in_pieces(hidden, weight, rows, mask_id))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return record


def fits(head, *arguments):
    try:
        head(*arguments)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        return False
    return True


def check_in_pieces(hidden, weight, rows, mask_id, piece=256):
    """Tokens of one fused call against those of logits made piece by piece."""
    token, clear, wanted = llada.fused_rows(hidden, weight, rows, mask_id)[0], [], []
    for part in rows.split(piece):
        clear.append(clear_rows(hidden, weight, part, mask_id))
        wanted.append(gathered(hidden, weight, part, mask_id)[0])
    clear, differ = torch.cat(clear), token != torch.cat(wanted)
    return {"clear_rows": int(clear.sum()), "differ_where_clear": int((differ & clear).sum())}


def surroundings(device):
    """Where and when."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {
        "device": name,
        "torch": torch.__version__,
        "library": dllm_kernels.version(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": " ".join(["end_to_end.py", *sys.argv[1:]]),
    }


def ratios(heads):
    """Step time of each pair, ours first."""
    by_name = {record["head"]: record for record in heads}
    ours = by_name.get("fused")
    return {
        f"fused_step_of_{name}": ours["step_ms"] / record["step_ms"]
        for name, record in by_name.items()
        if ours and name != "fused"
    }


def print_line(record):
    print(
        f"{record['head']:10} {record['step_ms']:8.2f} ms a step, head {record['head_ms']:7.3f} ms "
        f"({100 * record['share']:.1f} %), {record['peak_above_model_bytes'] / 2**20:,.0f} MiB "
        "above the model",
        flush=True,
    )


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--takers", default=",".join(HEADS))
    parser.add_argument("--shape", choices=SHAPES, default="llada-8b")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args(arguments)
    unknown = set(options.takers.split(",")) - set(HEADS)
    if unknown:
        parser.error(f"takers {', '.join(unknown)}: not among {', '.join(HEADS)}")
    return options


def main(arguments):
    options = parse(arguments)
    if not hasattr(torch.nn, "RMSNorm"):
        sys.exit(f"end_to_end.py: needs torch 2.4 or later, this is {torch.__version__}")
    device, names = torch.device(options.device), options.takers.split(",")
    # the mask is the last id, so that every head can leave it out by its length
    config = SHAPES[options.shape]
    config = dataclasses.replace(config, mask_token_id=config.vocab_size - 1)
    tokens = BLOCK if options.quick else 256
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = LladaModel.random(config, dtype, device)
    generator = torch.Generator(device).manual_seed(1)
    prompt = torch.randint(
        0, config.mask_token_id, (BATCH, PROMPT), device=device, generator=generator
    )
    record = {
        **surroundings(device),
        "model": dataclasses.asdict(config),
        "batch": BATCH,
        "prompt": PROMPT,
        "tokens": tokens,
        "block": BLOCK,
        "heads": [],
    }
    for name in names:
        record["heads"].append(measure(model, prompt, name, tokens))
        print_line(record["heads"][-1])
    record.update(ratios(record["heads"]))
    record["same_rows"] = compare_tokens(model, prompt, names)
    print(record["same_rows"], flush=True)
    if device.type == "cuda":
        record["little_memory"] = in_little_memory(
            model.model.transformer.ff_out.weight, config.mask_token_id
        )
        print(record["little_memory"])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    failed = record["same_rows"].get("fused_differ_where_clear", 0) + record.get(
        "little_memory", {}
    ).get("differ_where_clear", 0)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
