#!/usr/bin/env python3
"""Writes what was measured into README.md and tools/bench/results.md.

usage: tools/bench/report.py [--check]
       tools/bench/report.py --join OUT FILE...

Reads tools/bench/results/*.json, lists of results as `bench --json` and `peers.py --json` write
them. Every file gets a section in results.md; README.md gets each kind of table from the newest
file that has it, measured on a GPU. Both keep everything outside the lines <!-- bench:begin --> and
<!-- bench:end -->. results.md also says what limits each head, and has what end_to_end.py measured,
from results/end_to_end/*.json. --check writes nothing and ends with 1 if a file would change. --join
writes one list out of several: what was measured in pieces becomes one file, and its tables are
whole.
"""
import json
import pathlib
import sys

import roofline

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
BASELINE, READ, COMPILED, OURS = "cublas", "read", "torch.compile", "dllm"
METHODS = {"L": "launches interleaved", "B": "bursts interleaved"}
NAMES = {BASELINE: "cuBLAS product alone", READ: "plain read", "cublaslt": "best of cuBLASLt",
         "cublas+sampler": "cuBLAS, then the sampler"}
MORE = ("+statistics", "+gumbel")  # a family with outputs beside the three
ROOF = 0.8  # a share of the plain read below this says nothing: the work is not bound by reading


def table(header, rows):
    """A Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---:|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def in_order(values):
    """Distinct values in the order in which they come."""
    return list(dict.fromkeys(values))


def milliseconds(result):
    return f"{result['ms']:.3f}" if result["ms"] < 10 else f"{result['ms']:.2f}"


def title(what):
    return NAMES.get(what, f"`{what}`")


def price(result, cells, *place):
    """What the outputs beside the three cost: "+3.1 %", or nothing if that is not the question."""
    for suffix in MORE:
        if result["what"].endswith(suffix):
            plain = cells.get((*place, result["what"].removesuffix(suffix)))
            return [f"{100 * (result['ms'] / plain['ms'] - 1):+.1f} %"] if plain else []
    return []


def head_cell(cells, *place_and_what):
    """ms, with the ratio to the product alone, the price of more outputs and, where reading binds, the
    share of the read."""
    result = cells.get(place_and_what)
    if result is None:
        return "–"
    notes = price(result, cells, *place_and_what[:-1])
    if not notes and result["ratio"] is not None and result["what"] not in (BASELINE, READ):
        notes.append(f"{result['ratio']:.2f}×")
    if (result.get("share") or 0) >= ROOF and result["what"] not in (BASELINE, READ):
        notes.append(f"{100 * result['share']:.0f} %")
    return milliseconds(result) + (f" ({', '.join(notes)})" if notes else "")


def shape_of(result):
    return result["vocab"], result["depth"], result["type"]


def head_table(results):
    """One shape: takers across, rows down. Where runs were joined the baseline shown is the first one's."""
    takers = in_order(r["what"] for r in results)
    cells = {(r["rows"], r["what"]): r for r in reversed(results)}
    header = ["R"] + [title(what) for what in takers]
    rows = []
    compared = COMPILED in takers and OURS in takers
    for n in sorted({r["rows"] for r in results}):
        row = [f"{n:,}"] + [head_cell(cells, n, what) for what in takers]
        if compared:
            both = [cells.get((n, what)) for what in (OURS, COMPILED)]
            row.append(f"{both[0]['ratio'] / both[1]['ratio']:.2f}×" if all(both) else "–")
        rows.append(row)
    if compared:
        header.append(f"`{OURS}` of `{COMPILED}`")
    return table(header, rows)


def heads_table(results):
    """Many shapes: takers across, a shape and row count a line."""
    takers = in_order(r["what"] for r in results)
    cells = {(shape_of(r), r["rows"], r["what"]): r for r in results}
    rows = []
    for shape, n in in_order((shape_of(r), r["rows"]) for r in results):
        found = [cells.get((shape, n, what)) for what in takers]
        name = next(r for r in found if r).get("set") or "–"
        rows.append([name, f"{shape[0]:,}", f"{shape[1]:,}", shape[2], f"{n:,}"]
                    + [head_cell(cells, shape, n, what) for what in takers])
    return table(["head", "V", "H", "type", "R"] + [title(what) for what in takers], rows)


def head_section(results, method):
    shapes = in_order(shape_of(r) for r in results)
    how = f"ms (ratio to the product alone, share of the plain read); {METHODS[method]}"
    if len(shapes) > 1:
        return f"Heads of the table, {how}\n\n{heads_table(results)}"
    vocab, depth, kind = shapes[0]
    own = [r["workspace_bytes"] for r in results if r["what"] not in NAMES]
    largest = f"; largest workspace {max(own) / 2**20:.1f} MiB" if own else ""
    return f"Head, V = {vocab:,}, H = {depth:,}, {kind}: {how}{largest}\n\n{head_table(results)}"


def sampler_cell(cells, n, kind, what):
    result = cells.get((n, kind, what))
    if result is None:
        return "–"
    dearer = price(result, cells, n, kind)
    notes = dearer or [f"{result['gbps']:,.0f} GB/s"]
    if result.get("share") and not dearer:
        notes.append(f"{100 * result['share']:.1f} % of the read")
    return f"{milliseconds(result)} ({', '.join(notes)})"


def sampler_section(results, method):
    """Types across, rows down: ms, the rate at which logits are read, the share of a plain read."""
    takers = [w for w in in_order(r["what"] for r in results) if w != READ]
    kinds = in_order(r["type"] for r in results)
    cells = {(r["rows"], r["type"], r["what"]): r for r in results}
    columns = [(kind, what) for kind in kinds for what in takers]
    rows = [
        [f"{n:,}"] + [sampler_cell(cells, n, *column) for column in columns]
        for n in sorted({r["rows"] for r in results})
    ]
    header = [kind if len(takers) == 1 else f"{kind}, `{what}`" for kind, what in columns]
    return (f"Sampler, V = {results[0]['vocab']:,}: ms (logits read), {METHODS[method]}\n\n"
            + table(["R"] + header, rows))


def step_section(results):
    """Presets and vocabularies down: a step, the head alone, what the step does beyond it."""
    cells = {(r["vocab"], r["what"]): r for r in results}
    rows = []
    for vocab, what in cells:
        if what.endswith((" head", " own")):
            continue
        parts = [cells.get((vocab, what + suffix)) for suffix in ("", " head", " own")]
        rows.append([f"`{what}`", f"{vocab:,}"]
                    + [f"{1e3 * part['ms']:.1f}" if part else "–" for part in parts])
    first = results[0]
    return (f"Decode steps, H = {first['depth']:,}, {first['type']}, {first['rows']:,} rows where a block "
            "begins: µs a step, median over whole blocks; own work: list, gather, select and commit, what "
            "a step takes beyond the head at the same rows\n\n"
            + table(["decoder", "V", "step", "head alone", "own work"], rows))


def host_section(results):
    """Takers across: what the calling thread spends on one run."""
    takers = in_order((r["op"], r["what"]) for r in results)
    cells = {(r["op"], r["what"]): r for r in reversed(results)}
    row = [f"{1e3 * cells[taker]['ms']:.2f}" for taker in takers]
    return ("Host time of one call that enqueues a run: µs, median\n\n"
            + table([title(what) for _, what in takers], [row]))


def limits_section(results):
    """What binds our fastest head at each number of rows, how near it comes, where it is slower."""
    ours = roofline.best(roofline.heads(results))
    if not ours:
        return ""
    roofs = roofline.rates(results)
    rows = []
    for result in ours:
        what, roof_ms = roofline.limit(result, roofs)
        ratio = f"{result['ratio']:.2f}×" if result["ratio"] else "–"
        rows.append([f"{result['rows']:,}", f"`{result['what']}`", milliseconds(result), what,
                     f"{100 * roof_ms / result['ms']:.0f} %", ratio])
    slower = [r for r in ours if r["ratio"] and r["ratio"] > 1.005]
    lost = [f"{r['rows']:,} ({r['ratio']:.2f}×)" for r in slower]
    where = "Slower than the product alone at R = " + ", ".join(lost) if lost else (
        "Nowhere slower than the product alone")
    return (f"What limits our fastest head; roofs are the fastest read and product of this file, "
            f"{roofs[0]:,.0f} GB/s and {roofs[1]:,.0f} TFLOP/s\n\n"
            + table(["R", "family", "ms", "limited by", "of the roof", "of the product alone"], rows)
            + f"\n\n{where}.")


def end_to_end_section(name, run):
    """A whole decode with each head, and the head in little memory."""
    rows = [[f"`{head['head']}`", f"{head['step_ms']:.2f}", f"{head['head_ms']:.3f}",
             f"{100 * head['share']:.1f} %", f"{head['tokens_per_s']:,.0f}",
             f"{head['peak_above_model_bytes'] / 2**20:,.0f}"] for head in run["heads"]]
    ratios = ", ".join(f"{value:.3f}× `{key.removeprefix('fused_step_of_')}`"
                       for key, value in run.items() if key.startswith("fused_step_of_"))
    same, shape = run["same_rows"], run["model"]
    parts = [
        f"## {name}",
        f"{run['device']}, torch {run['torch']}, {run['date'][:10]}: `{run['command']}`",
        f"Decode of {run['tokens']} tokens, one a step, in {run['batch']} sequences of prompt "
        f"{run['prompt']}; {shape['n_layers']} layers of {shape['hidden_size']:,}, "
        f"V = {shape['vocab_size']:,}, random weights",
        table(["head", "ms a step", "of it head", "share", "tokens/s", "MiB above the model"], rows),
        f"A step with `fused` takes {ratios}. On {same['rows']:,} equal rows, {same['clear_rows']:,} of "
        f"them with a margin above rounding, `fused` and the gathered logits differ in "
        f"{same['fused_differ']:,} tokens, with such a margin in {same['fused_differ_where_clear']:,}.",
    ]
    little = run.get("little_memory")
    if little:
        parts.append(
            f"{little['rows']:,} rows with {little['spare_bytes'] / 2**20:,.0f} MiB beside the operands "
            f"(logits alone: {little['logits_bytes'] / 2**20:,.0f} MiB): logits {little['logits']}, "
            f"`fused` {little['fused']}, its peak {little['fused_peak_bytes'] / 2**20:,.1f} MiB.")
    return "\n\n".join(parts)


def sections(results):
    """{kind of table: text} of one file, in the order of a reader's questions."""
    found = {}
    peers = "peers " if results[0]["command"].startswith("peers") else ""
    for op, section in (("head", head_section), ("sampler", sampler_section)):
        for method in METHODS:
            chosen = [r for r in results if r["op"] == op and r["method"] == method]
            if not chosen:
                continue
            many = op == "head" and len({shape_of(r) for r in chosen}) > 1
            more = "more " if any(r["what"].endswith(MORE) for r in chosen) else ""
            found[f"{peers}{more}{op}{'s' if many else ''} {method}"] = section(chosen, method)
    for kind, section, chosen in (
            ("step", step_section, [r for r in results if r["op"] == "step"]),
            ("host", host_section, [r for r in results if r["method"] == "H"])):
        if chosen:
            found[kind] = section(chosen)
    return found


def place(results):
    """Where, when and how: one line above the tables of a file."""
    first = results[0]
    text = f"{first['device']} ({first['arch']})"
    if first["driver"]:
        text += f", driver {first['driver']}, limits {first['clocks']}"
    if first.get("cublas"):
        text += f", cuBLAS {first['cublas']}"
    if first.get("torch"):
        text += f", torch {first['torch']}, Triton {first['triton']}"
    commands = ", ".join(f"`{command}`" for command in in_order(r["command"] for r in results))
    return f"{text}, {first['date'][:10]}: {commands}"


def newest_of_each_kind(runs):
    """Tables for the README: every kind once, from the newest file that has it."""
    taken, parts = set(), []
    for results in runs:
        fresh = {k: text for k, text in sections(results).items() if k not in taken}
        taken |= fresh.keys()
        if fresh:
            parts.append("\n\n".join([place(results), *fresh.values()]))
    return "\n\n".join(parts)


def load(folder=FOLDER / "results"):
    """(file name, results) of every file that has results, the newest first."""
    runs = []
    for path in folder.glob("*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        if results:
            runs.append((path.name, results))
    return sorted(runs, key=lambda run: (run[1][0]["date"], run[0]), reverse=True)


def load_decodes(folder=FOLDER / "results/end_to_end"):
    """(file name, what end_to_end.py measured), the newest first."""
    runs = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]
    return sorted(runs, key=lambda run: (run[1]["date"], run[0]), reverse=True)


def decode_sections(decodes):
    """A section a file; the newest also has its drawing."""
    texts = [end_to_end_section(*decode) for decode in decodes]
    if texts:
        texts[0] += "\n\n![time of a step and memory of a decode](plots/end_to_end.svg)"
    return texts


def join(out, paths):
    results = []
    for path in paths:
        results += json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    pathlib.Path(out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def replaced(path, text):
    """The file's text with the part between the markers replaced."""
    old = path.read_text(encoding="utf-8")
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        sys.exit(f"report.py: {path} has not one {BEGIN} followed by one {END}")
    before, rest = old.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def main(arguments):
    if len(arguments) > 2 and arguments[0] == "--join":
        join(arguments[1], arguments[2:])
        return 0
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments == ["--help"] else 1
    runs = load()
    on_gpu = [results for _, results in runs if results[0]["arch"] != "cpu"]
    all_runs = "\n\n".join(
        decode_sections(load_decodes())
        + ["\n\n".join(filter(None, [f"## {name}", place(results), *sections(results).values(),
                                     limits_section(results)])) for name, results in runs])
    newest = newest_of_each_kind(on_gpu)
    status = 0
    for path, text in ((FOLDER / "results.md", all_runs or "Nothing has been measured yet."),
                       (ROOT / "README.md", newest or "Nothing has been measured on a GPU yet.")):
        new = replaced(path, text)
        if new == path.read_text(encoding="utf-8"):
            continue
        if arguments:
            print(f"{path.relative_to(ROOT)} is not what the results say: run tools/bench/report.py")
            status = 1
        else:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
