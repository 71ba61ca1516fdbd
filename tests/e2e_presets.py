#!/usr/bin/env python3
"""e2e_presets.py - every published decoder on the small model, its trace held against a plain one

usage: e2e_presets.py PROGRAM [NAME]   NAME: runs whose name begins with it, alone

Runs dllm-generate (PROGRAM) with a preset and parameters that give its rule something to do, and
follows the trace with plain_decode/: numpy in double precision, written from docs/decode.md and
docs/numerics.md alone. Ends 77 without numpy.
"""
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401
except ImportError:
    print("e2e_presets: no numpy here; sh tools/test.sh brings it")
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parent
AUSTEN = FOLDER / "data" / "austen"
sys.path.insert(0, str(FOLDER / "plain_decode"))
import compare  # noqa: E402
import decode  # noqa: E402
import model  # noqa: E402

NEAR_TIES_MAX = 5  # of all runs together
FLAGS = {"top_k": "--top-k", "top_p": "--top-p", "temperature": "--temperature", "seed": "--seed",
         "threshold": "--threshold", "factor": "--factor", "gamma": "--gamma", "rule": "--rule",
         "key": "--key", "eos": "--eos", "order_temperature": "--order-temperature",
         "edit_threshold": "--edit-threshold", "max_post_steps": "--max-post-steps",
         "penalty": "--penalty", "low_threshold": "--low-threshold"}


@dataclasses.dataclass
class Run:
    """One run: a preset, sizes, and what is said in place of the preset's parameters."""
    name: str
    preset: str
    generate: int
    block: int
    options: dict
    steps: int = 0    # of a block; 0: the rule counts none
    prompt: int = 0   # of golden.json's distinct prompts
    edits: int = 0    # at least so many
    mask: str = ""    # a token that stands in for the model's mask: one that is often predicted
    end: str = ""     # or for its end of sequence: one that is written at all

    def arguments(self):
        """Those of dllm-generate. Rules that are the preset's own are not said."""
        words = ["--preset", self.preset, "--gen-length", self.generate,
                 "--block-length", self.block]
        aligned = decode.PRESETS[self.preset].get("aligned", False)
        if self.steps:
            blocks = 1 if aligned else self.generate // self.block
            words += ["--steps", self.steps * blocks]
        for name, value in self.options.items():
            if name == "shifted":
                words += ["--shifted"] * value
            else:
                words += [FLAGS[name], value]
        return [str(word) for word in words]


SHARP = {"temperature": 0.2, "top_p": 0.95}  # Dream's model card
DREAM = {"shifted": True, **SHARP}
RUNS = [
    Run("llada", "llada", 48, 16, {}, steps=6),
    Run("llada, drawn", "llada", 32, 16, {"temperature": 0.7, "seed": 11}, steps=7, prompt=1),
    Run("llada, random remasking", "llada", 32, 32, {"key": "random", "seed": 5}, steps=12),
    Run("llada, a likely mask", "llada", 24, 12, {}, steps=5, prompt=1, mask=r"\x20the"),
    Run("fast_dllm threshold", "threshold", 64, 32, {"threshold": 0.2}, prompt=2),
    Run("fast_dllm threshold, drawn", "threshold", 32, 16,
        {"threshold": 0.1, "temperature": 0.3, "seed": 2}, prompt=3),
    Run("fast_dllm factor", "factor", 48, 16, {}, prompt=1),
    Run("fast_dllm factor 3", "factor", 48, 24, {"factor": 3}, prompt=3),
    Run("dream origin", "dream", 32, 32, {**DREAM, "seed": 3}, steps=16),
    Run("dream maskgit_plus", "dream", 32, 32,
        {"rule": "top_k", "key": "confidence", "shifted": True, "temperature": 0.6, "top_p": 0.9,
         "top_k": 20, "seed": 4}, steps=16, prompt=1),
    Run("dream topk_margin", "dream", 32, 32,
        {"rule": "top_k", "key": "margin", "shifted": True, "top_p": 0.8}, steps=12, prompt=2),
    Run("dream entropy", "dream", 32, 32, {**DREAM, "rule": "top_k", "key": "neg_entropy",
                                           "seed": 9}, steps=12, prompt=3),
    Run("dream entropy, alg_temp", "dream", 32, 32,
        {"rule": "top_k", "key": "neg_entropy", "temperature": 0.5, "top_p": 0.9, "top_k": 30,
         "order_temperature": 0.5, "seed": 6}, steps=12, prompt=4),
    Run("sglang_low_confidence", "sglang_low_confidence", 48, 16, {"threshold": 0.2}),
    Run("llada2", "llada2", 40, 16, {"threshold": 0.2}, steps=8, prompt=1),
    Run("llada2, drawn", "llada2", 40, 16,
        {"threshold": 0.3, "temperature": 0.8, "top_k": 40, "top_p": 0.9, "seed": 7}, steps=12,
        prompt=3),
    Run("llada2 ends", "llada2", 64, 8, {"threshold": 0.3}, steps=5, prompt=1, end="."),
    Run("llada21", "llada21", 48, 16,
        {"threshold": 0.2, "edit_threshold": 0.25, "max_post_steps": 4}, edits=5),
    Run("llada21, drawn", "llada21", 32, 16,
        {"threshold": 0.15, "edit_threshold": 0.3, "max_post_steps": 3, "temperature": 0.6,
         "top_k": 30, "seed": 8}, prompt=1, edits=5),
    Run("sglang_joint", "sglang_joint", 40, 16,
        {"threshold": 0.2, "edit_threshold": 0.2, "max_post_steps": 3}, prompt=2, edits=5),
    Run("sglang_joint, penalty", "sglang_joint", 40, 16,
        {"threshold": 0.15, "max_post_steps": 5, "penalty": 1.5}, prompt=4, edits=5),
    Run("sdar dynamic", "sdar", 32, 8, {"threshold": 0.3, "top_k": 25, "top_p": 0.9, "seed": 1},
        steps=7),
    Run("sdar static", "sdar", 32, 8, {"rule": "top_k", "temperature": 0.7, "seed": 12}, steps=3,
        prompt=1),
    Run("sdar sequential", "sdar", 24, 8, {"rule": "sequential", "top_p": 0.8, "seed": 13}, steps=5,
        prompt=2),
    Run("entropy_bound", "entropy_bound", 48, 16, {"gamma": 5}, prompt=1),
    Run("entropy_bound, drawn", "entropy_bound", 32, 32,
        {"gamma": 3, "temperature": 0.4, "seed": 14}, prompt=4),
    Run("hierarchy", "hierarchy", 48, 24, {"low_threshold": 0.15, "threshold": 0.4}, prompt=3),
    Run("fast_dllm_v2 ends", "fast_dllm_v2", 48, 8,
        {"threshold": 0.4, "shifted": True, "temperature": 0.5, "top_p": 0.9, "seed": 15}, end=","),
]


def distinct_prompts():
    golden = json.loads((AUSTEN / "golden.json").read_text())
    return list({run["prompt"]: run["prompt_ids"] for run in golden["runs"]}.items())


def folder_of(run, place):
    """The model's folder, or one like it with other ids in its config."""
    if not run.mask and not run.end:
        return AUSTEN
    vocabulary = (AUSTEN / "vocab.txt").read_text().splitlines()
    config = json.loads((AUSTEN / "config.json").read_text())
    for name, token in (("mask_token_id", run.mask), ("eos_token_id", run.end)):
        config[name] = vocabulary.index(token) if token else config[name]
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    for name in ("model.safetensors", "vocab.txt"):
        (folder / name).symlink_to(AUSTEN / name)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def generate(program, folder, prompt, run, trace):
    """Ids of the canvas, forwards and rows as reported."""
    command = [program, "--model", folder, "--prompt", prompt, *run.arguments(), "--trace", trace,
               "--threads", "1", "--ids"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = re.search(r"dllm-generate: (\d+) steps, (\d+) rows scored", done.stderr)
    if done.returncode or not report:
        raise compare.Mismatch(f"{' '.join(map(str, command))}: {done.returncode}, {done.stderr}")
    ids = [int(word) for word in done.stdout.rstrip("\n").rsplit("\n", 1)[1].split()]
    return ids, int(report[1]), int(report[2])


def follow(program, plain, run, place, tally):
    """One run from both sides."""
    prompt, prompt_ids = distinct_prompts()[run.prompt]
    folder, trace = folder_of(run, place), pathlib.Path(place) / "trace"
    plain.take_config(folder)
    ended = generate(program, folder, prompt, run, trace)
    sequence = decode.parameters(run.preset, {**run.options, "steps": run.steps})
    decoder = decode.Decoder(plain, sequence, prompt_ids, run.generate, run.block, compare.DOUBT)
    follower = compare.Follower(decoder, compare.read_trace(trace), tally)
    decoder.run(follower)
    follower.finish(*ended)
    check_liveliness(run, decoder, follower)
    print(f"{run.name}: {len(follower.commits)} steps, {sum(follower.commits)} commits, "
          f"{follower.edits} edits")


def check_liveliness(run, decoder, follower):
    """A run in which its rule has nothing to decide would pass by itself."""
    if len(set(follower.commits)) == 1:
        raise compare.Mismatch(f"every step commits {follower.commits[0]}")
    if follower.edits < run.edits or bool(run.end) != bool(decoder.ended):
        raise compare.Mismatch(f"{follower.edits} edits, ended {decoder.ended}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    plain, tally, presets, failures = model.Model(AUSTEN), compare.Tally(), set(), 0
    with tempfile.TemporaryDirectory() as place:
        for run in (run for run in RUNS if run.name.startswith(wanted)):
            try:
                follow(program, plain, run, place, tally)
                presets.add(run.preset)
            except compare.Mismatch as mismatch:
                failures += 1
                print(f"{run.name}: {mismatch}")
    if tally.near_ties > NEAR_TIES_MAX:
        failures += 1
        print(f"{tally.near_ties} near-ties are more than {NEAR_TIES_MAX}")
    print(f"compared: {len(presets)} presets, {tally.steps} steps, {tally.commits} commits, "
          f"{tally.edits} edits; {tally.near_ties} near-ties; keys differ by at most "
          f"{tally.key_difference:.2g}, {100 * tally.key_share:.0f} % of their tolerance")
    return 1 if failures or not tally.steps else 0


if __name__ == "__main__":
    sys.exit(main())
