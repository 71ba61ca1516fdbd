#!/usr/bin/env python3
"""Times what a PyTorch user has today on the shapes of bench: eager, torch.compile, a Triton head.

usage: tools/bench/peers.py [options]

  --op OP         head or sampler (head)
  --rows LIST     numbers of rows, with commas (1,64,256,1024,4096,16384)
  --vocab N       vocabulary (126464)
  --depth N       depth (4096)
  --type TYPE     bf16 or fp16 (bf16)
  --takers LIST   cublas, torch, torch.compile, triton, dllm (all; dllm needs --ours)
  --ours FILE     libdllm.so: its Python package takes part, in the same process and interleaved
  --method M      L launches interleaved, B bursts interleaved (L)
  --samples N     samples of a taker, fewer where it is slow (L 30, B 5)
  --burst MS      length of a burst (150)
  --json FILE     also write the results, as bench does

All takers give the same three outputs: argmax, logsumexp and the probability of the argmax. Each is
checked against fp64 before it is timed. Needs a CUDA build of PyTorch with Triton. The ratio is to
the product alone (torch.mm into ready memory: cuBLAS).
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import packages

packages.need("torch", "triton", usage=__doc__)
import torch  # noqa: E402

import triton_head  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
HALF_STEP = {"bf16": 2.0**-8, "fp16": 2.0**-11}  # relative rounding of a logit of that type
ROTATED_BYTES = 256 << 20  # above twice the L2 of any GPU so far
LIMIT_MS, BATCH_MS, BATCH_MAX, SAMPLES_MIN = 2000.0, 0.1, 32, 3
ROUNDS_A_BACKLOG = 5  # the driver's queue holds 1,024 launches
CHECKED_ROWS = 8


class Work:
    """Operands of one shape: a weight (or logits) that fits in the L2 cache is held several times."""

    def __init__(self, op, rows, vocab, depth, kind):
        self.op, self.rows, self.vocab, self.depth, self.kind = op, rows, vocab, depth, kind
        dtype = TYPES[kind]
        generator = torch.Generator("cuda").manual_seed(1)

        def normal(*shape, deviation):
            made = torch.randn(*shape, generator=generator, device="cuda", dtype=dtype)
            return made.mul_(deviation)

        bytes_once = 2 * vocab * (depth if op == "head" else rows)
        copies = math.ceil(ROTATED_BYTES / bytes_once)
        if op == "head":
            self.hidden = normal(rows, depth, deviation=1.0)
            one = normal(vocab, depth, deviation=2.0 / math.sqrt(depth))
            self.weights = [one] + [one.clone() for _ in range(copies - 1)]
            self.logits = torch.empty(rows, vocab, device="cuda", dtype=dtype)
        else:
            one = normal(rows, vocab, deviation=2.0)
            self.given = [one] + [one.clone() for _ in range(copies - 1)]

    def operands(self, turn):
        """What a taker reads in that turn."""
        if self.op == "head":
            return self.hidden, self.weights[turn % len(self.weights)]
        return (self.given[turn % len(self.given)],)

    def reference(self):
        """(row, logits in fp64) of a few rows."""
        for row in sorted({i * (self.rows - 1) // (CHECKED_ROWS - 1) for i in range(CHECKED_ROWS)}):
            if self.op == "sampler":
                yield row, self.given[0][row].double()
                continue
            x = self.hidden[row].double()
            parts = [part.double() @ x for part in self.weights[0].split(16384)]
            yield row, torch.cat(parts)


def statistics_of(logits):
    """What people write: the argmax, its logsumexp and its probability, in fp32."""
    logits = logits.float()
    largest, index = logits.max(dim=-1)
    lse = torch.logsumexp(logits, dim=-1)
    return index, lse, torch.exp(largest - lse)


def head_of(hidden, weight):
    return statistics_of(hidden @ weight.t())


class Taker:
    """One who takes part. run(turn) enqueues and returns argmax, lse and confidence."""

    rounds_logits = True  # to the type of the operands, as torch does
    checked = True

    def __init__(self, name, run):
        self.name, self.run, self.ms, self.batch = name, run, [], 1
        self.workspace_bytes = 0


def product_taker(work):
    taker = Taker("cublas", lambda turn: torch.mm(work.hidden, work.operands(turn)[1].t(),
                                                  out=work.logits))
    taker.checked = False
    return taker


def torch_taker(work):
    function = head_of if work.op == "head" else statistics_of
    return Taker("torch", lambda turn: function(*work.operands(turn)))


def compiled_taker(work):
    torch._dynamo.reset()  # shapes are compiled for one by one, as a user with fixed shapes has it
    function = torch.compile(head_of if work.op == "head" else statistics_of, dynamic=False)
    return Taker("torch.compile", lambda turn: function(*work.operands(turn)))


def triton_taker(work):
    head = triton_head.Head(work.rows, work.vocab, work.depth)
    taker = Taker("triton", lambda turn: head.run(*work.operands(turn)))
    taker.rounds_logits = False
    return taker


def library_taker(path, work):
    """The library as a PyTorch user calls it, by its Python package."""
    os.environ["DLLM_LIBRARY"] = path  # read when the package is first imported
    import dllm_kernels

    call = dllm_kernels.fused_head if work.op == "head" else dllm_kernels.fused_sampler

    def once(turn):
        answer = call(*work.operands(turn), ids="int32")
        return answer.argmax, answer.lse, answer.confidence

    taker = Taker("dllm", once)
    taker.rounds_logits = False
    return taker


def check(work, taker):
    """None if the taker's outputs are right, else what is wrong."""
    argmax, lse, confidence = (output.cpu() for output in taker.run(0))
    for row, logits in work.reference():
        largest = logits.max().item()
        right = torch.logsumexp(logits, 0).item()
        # fp32 sums over the depth, and the rounding of the logits where the taker rounds them
        near = 2.0**-16 * math.sqrt(max(work.depth, 1)) / 4 + 1e-4
        if taker.rounds_logits and work.op == "head":
            near += HALF_STEP[work.kind] * logits.abs().max().item()
        index = int(argmax[row])
        if not 0 <= index < work.vocab or logits[index].item() < largest - 2 * near:
            return f"row {row}: argmax {index}, the largest logit is {largest:.6g}"
        if not abs(lse[row].item() - right) <= near:
            return f"row {row}: lse {lse[row].item():.7g}, want {right:.7g} within {near:.2g}"
        wanted = math.exp(largest - right)
        if not abs(confidence[row].item() - wanted) <= 2 * near * wanted:
            return f"row {row}: confidence {confidence[row].item():.6g}, want {wanted:.6g}"
    return None


def measure_memory(taker):
    """Peak of a run beyond what was there before it."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    taker.run(0)
    torch.cuda.synchronize()
    taker.workspace_bytes = torch.cuda.max_memory_allocated() - before


def timed(taker, runs, turn):
    """(event before, event after) of that many runs."""
    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    pair[0].record()
    for i in range(runs):
        taker.run(turn + i)
    pair[1].record()
    return pair


def probe(taker):
    """ms of one run, warm."""
    taker.run(0)
    pair = timed(taker, 3, 0)
    torch.cuda.synchronize()
    return pair[0].elapsed_time(pair[1]) / 3


def measure_launches(takers, samples, _burst_ms):
    """Method L of bench: every round runs each taker once, behind work that is queued ahead."""
    counts = {}
    for taker in takers:
        ms = probe(taker)
        taker.batch = int(min(BATCH_MAX, max(1, math.ceil(BATCH_MS / ms))))
        counts[taker] = int(max(SAMPLES_MIN, min(samples, LIMIT_MS / (ms * taker.batch))))
    rounds = []
    for number in range(max(counts.values())):
        if number % ROUNDS_A_BACKLOG == 0:
            torch.cuda.synchronize()
            torch.cuda._sleep(40_000_000)  # cycles: 20 ms and more, in which the host runs ahead
        for taker in takers:
            if number < counts[taker]:
                rounds.append((taker, timed(taker, taker.batch, number)))
    torch.cuda.synchronize()
    for taker, pair in rounds:
        taker.ms.append(pair[0].elapsed_time(pair[1]) / taker.batch)


def measure_bursts(takers, samples, burst_ms):
    """Method B of bench: every round runs each taker for a burst of its own."""
    for taker in takers:
        taker.batch = max(1, math.ceil(burst_ms / probe(taker)))
    for _ in range(max(samples, SAMPLES_MIN)):
        for taker in takers:
            pair = timed(taker, taker.batch, 0)
            torch.cuda.synchronize()
            taker.ms.append(pair[0].elapsed_time(pair[1]) / taker.batch)


METHODS = {"L": (measure_launches, 30), "B": (measure_bursts, 5)}


def take_part(work, names, library):
    """The takers that give right results; the others are told."""
    makers = {"torch": torch_taker, "torch.compile": compiled_taker}
    if work.op == "head":
        makers = {"cublas": product_taker, **makers, "triton": triton_taker}
    if library:
        makers["dllm"] = lambda work: library_taker(library, work)
    takers = []
    for name in names:
        if name not in makers:
            continue
        try:
            taker = makers[name](work)
            wrong = check(work, taker) if taker.checked else None
            if not wrong:
                measure_memory(taker)
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            wrong = str(error).strip().splitlines()[0]
        if wrong:
            print(f"{work.op:7} {work.kind:4} {work.vocab:7} {work.depth:6} {work.rows:6} "
                  f"{name:14} -- {wrong}", flush=True)
        else:
            takers.append(taker)
    return takers


def nvidia_smi():
    """(driver, limits) as bench tells them; empty where there is no nvidia-smi."""
    query = "driver_version,clocks.max.sm,clocks.max.mem,power.limit"
    command = ["nvidia-smi", "-i", str(torch.cuda.current_device()), "--format=csv,noheader",
               f"--query-gpu={query}"]
    try:
        line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "", ""
    driver, _, clocks = line.strip().partition(", ")
    return driver, clocks


def place():
    """What stands in every result of a run."""
    major, minor = torch.cuda.get_device_capability()
    driver, clocks = nvidia_smi()
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"device": torch.cuda.get_device_name(), "arch": f"sm_{major}{minor}",
            "driver": driver, "clocks": clocks, "torch": torch.__version__,
            "triton": triton_head.VERSION, "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": " ".join(["peers.py", *sys.argv[1:]])}


def result_of(work, taker, baseline, method, where):
    ms = statistics.median(taker.ms)
    read = (work.vocab + work.rows) * work.depth if work.op == "head" else work.rows * work.vocab
    ratio = None
    if baseline:
        ratio = statistics.median(a / b for a, b in zip(taker.ms, baseline.ms))
    return {**where, "op": work.op, "set": "", "what": taker.name, "vocab": work.vocab,
            "depth": work.depth if work.op == "head" else 0, "type": work.kind, "rows": work.rows,
            "method": method, "ms": ms, "min_ms": min(taker.ms), "ratio": ratio, "share": None,
            "samples": len(taker.ms), "workspace_bytes": taker.workspace_bytes,
            "tflops": 2e-9 * work.rows * work.vocab * work.depth / ms if work.op == "head" else 0.0,
            "gbps": 2e-6 * read / ms}


def report(result):
    ratio = f"{result['ratio']:.3f}" if result["ratio"] else "-"
    print(f"{result['op']:7} {result['type']:4} {result['vocab']:7} {result['depth']:6} "
          f"{result['rows']:6} {result['what']:14} {result['method']} {result['ms']:10.5f} "
          f"{result['min_ms']:10.5f} {ratio:>7} {result['tflops']:8.1f} {result['gbps']:8.0f} "
          f"{result['samples']:7} {result['workspace_bytes']:12}", flush=True)


def read_options(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--op", choices=["head", "sampler"], default="head")
    parser.add_argument("--rows", default="1,64,256,1024,4096,16384")
    parser.add_argument("--vocab", type=int, default=126464)
    parser.add_argument("--depth", type=int, default=4096)
    parser.add_argument("--type", choices=list(TYPES), default="bf16")
    parser.add_argument("--takers", default="cublas,torch,torch.compile,triton,dllm")
    parser.add_argument("--ours")
    parser.add_argument("--method", choices=list(METHODS), default="L")
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--burst", type=float, default=150.0)
    parser.add_argument("--json")
    options = parser.parse_args(arguments)
    options.rows = [int(item) for item in options.rows.split(",")]
    options.takers = options.takers.split(",")
    return options


def main(arguments):
    options = read_options(arguments)
    if not torch.cuda.is_available():
        print("peers.py: there is no CUDA device", file=sys.stderr)
        return 3
    torch.cuda.init()
    where = place()
    print(f"# {where['device']}, driver {where['driver']}, limits {where['clocks']}, torch "
          f"{where['torch']}, Triton {where['triton']}\n# {where['date']}, {where['command']}")
    print(f"{'op':7} {'type':4} {'vocab':>7} {'depth':>6} {'rows':>6} {'what':14}   {'ms':>10} "
          f"{'min ms':>10} {'ratio':>7} {'TFLOP/s':>8} {'GB/s':>8} {'samples':>7} {'workspace':>12}")
    measure, default_samples = METHODS[options.method]
    results = []
    for rows in options.rows:
        work = Work(options.op, rows, options.vocab, options.depth, options.type)
        takers = take_part(work, options.takers, options.ours)
        if takers:
            measure(takers, options.samples or default_samples, options.burst)
        baseline = next((taker for taker in takers if taker.name == "cublas"), None)
        for taker in takers:
            results.append(result_of(work, taker, baseline, options.method, where))
            report(results[-1])
        del work, takers, baseline
        torch.cuda.empty_cache()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if results else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
