#!/usr/bin/env python3
"""Writes what bench measured into README.md and tools/bench/results.md.

usage: tools/bench/report.py [--check]

Reads tools/bench/results/*.json (each written by `bench --json`). Every file gets a section in
results.md; the newest one measured on a GPU also stands in README.md. Both keep everything outside
the lines <!-- bench:begin --> and <!-- bench:end -->. --check writes nothing and ends with 1 if a
file would change.
"""
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
BASELINE = "cublas"


def table(header, rows):
    """A Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---:|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def in_order(values):
    """Distinct values in the order in which they come."""
    return list(dict.fromkeys(values))


def milliseconds(result):
    return f"{result['ms']:.3f}" if result["ms"] < 10 else f"{result['ms']:.2f}"


def head_cell(result):
    if result is None:
        return "–"
    if result["ratio"] is None or result["what"] == BASELINE:
        return milliseconds(result)
    return f"{milliseconds(result)} ({result['ratio']:.2f}×)"


def head_section(results):
    """Families across, rows down: ms and the ratio to the product alone."""
    sections = []
    for shape in in_order((r["vocab"], r["depth"], r["type"]) for r in results):
        chosen = [r for r in results if (r["vocab"], r["depth"], r["type"]) == shape]
        families = in_order(r["what"] for r in chosen)
        cells = {(r["rows"], r["what"]): r for r in chosen}
        rows = [
            [f"{n:,}"] + [head_cell(cells.get((n, family))) for family in families]
            for n in sorted({r["rows"] for r in chosen})
        ]
        names = ["cuBLAS product alone" if f == BASELINE else f"`{f}`" for f in families]
        largest = max(r["workspace_bytes"] for r in chosen)
        sections.append(
            f"Head, V = {shape[0]:,}, H = {shape[1]:,}, {shape[2]}: ms (ratio to the product alone); "
            f"largest workspace {largest / 2**20:.1f} MiB\n\n" + table(["R"] + names, rows)
        )
    return sections


def sampler_section(results):
    """Types across, rows down: ms and the rate at which logits are read."""
    sections = []
    for vocab in in_order(r["vocab"] for r in results):
        chosen = [r for r in results if r["vocab"] == vocab]
        types = in_order(r["type"] for r in chosen)
        cells = {(r["rows"], r["type"]): r for r in chosen}
        rows = []
        for n in sorted({r["rows"] for r in chosen}):
            found = [cells.get((n, kind)) for kind in types]
            rows.append([f"{n:,}"] + [
                f"{milliseconds(r)} ({r['gbps']:,.0f} GB/s)" if r else "–" for r in found])
        sections.append(f"Sampler, V = {vocab:,}: ms (logits read)\n\n" + table(["R"] + types, rows))
    return sections


def run_text(results):
    """Everything about one file of results."""
    first = results[0]
    place = f"{first['device']} ({first['arch']})"
    if first["driver"]:
        place += f", driver {first['driver']}, limits {first['clocks']}"
    if first["cublas"]:
        place += f", cuBLAS {first['cublas']}"
    head = [r for r in results if r["op"] == "head"]
    sampler = [r for r in results if r["op"] == "sampler"]
    parts = [f"{place}, {first['date'][:10]}: `{first['command']}`"]
    return "\n\n".join(parts + head_section(head) + sampler_section(sampler))


def load():
    """(file name, results) of every file that has results, the newest first."""
    runs = []
    for path in (FOLDER / "results").glob("*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        if results:
            runs.append((path.name, results))
    return sorted(runs, key=lambda run: (run[1][0]["date"], run[0]), reverse=True)


def replaced(path, text):
    """The file's text with the part between the markers replaced."""
    old = path.read_text(encoding="utf-8")
    if old.count(BEGIN) != 1 or old.count(END) != 1 or old.index(BEGIN) > old.index(END):
        sys.exit(f"report.py: {path} has not one {BEGIN} followed by one {END}")
    before, rest = old.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments == ["--help"] else 1
    runs = load()
    on_gpu = [results for _, results in runs if results[0]["arch"] != "cpu"]
    all_runs = "\n\n".join(f"## {name}\n\n{run_text(results)}" for name, results in runs)
    newest = run_text(on_gpu[0]) if on_gpu else "Nothing has been measured on a GPU yet."
    status = 0
    for path, text in ((FOLDER / "results.md", all_runs), (ROOT / "README.md", newest)):
        new = replaced(path, text or "Nothing has been measured yet.")
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
