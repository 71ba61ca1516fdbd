#!/usr/bin/env python3
"""Draws the newest GPU results as SVG in tools/bench/plots/: roofline, time and memory over rows, and the
newest of end_to_end.py's: a step's time and the memory of a whole decode.

usage: tools/bench/plots.py        (needs matplotlib)
"""

import pathlib
import sys

import packages
import report
import roofline

packages.need("matplotlib", usage=__doc__)
import matplotlib  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "plots"

matplotlib.use("svg")
# equal results give equal files, with text as text
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "dllm",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "figure.figsize": (6.4, 4.0),
        "figure.constrained_layout.use": True,
    }
)

from matplotlib import pyplot  # noqa: E402


def chosen_run():
    """(file name, all results, its heads) of the newest GPU file that has heads of one shape."""
    for name, results in report.load():
        heads = roofline.heads(results)
        if results[0]["arch"] != "cpu" and roofline.best(heads):
            return name, results, heads
    sys.exit("plots.py: no results of heads on a GPU")


def lines(heads):
    """(name, results in order of rows) of every taker, ours last so that it lies on top."""
    takers = report.in_order(r["what"] for r in heads)
    takers.sort(key=lambda what: what in roofline.FAMILIES)
    return [
        (
            report.NAMES.get(what, what),
            sorted((r for r in heads if r["what"] == what), key=lambda r: r["rows"]),
        )
        for what in takers
    ]


def start(name, heads, x, y):
    first = heads[0]
    figure, axes = pyplot.subplots()
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.set_title(
        f"{first['device']}, V = {first['vocab']:,}, H = {first['depth']:,}, "
        f"{first['type']} ({name})",
        fontsize=9,
    )
    return figure, axes


def save(figure, axes, name):
    axes.legend(fontsize=8)
    write(figure, name)


def write(figure, name):
    figure.savefig(FOLDER / name, metadata={"Date": None})
    pyplot.close(figure)
    print(f"tools/bench/plots/{name} written")


def draw_roofline(name, results, heads):
    read, product = roofline.rates(results)
    figure, axes = start(name, heads, "operations per byte that must be read", "TFLOP/s")
    for title, line in lines(heads):
        intensity = [operations / moved for moved, operations in map(roofline.work, line)]
        rate = [roofline.work(r)[1] / r["ms"] / 1e9 for r in line]
        axes.plot(intensity, rate, "o-", markersize=3, linewidth=1, label=title)
    ends = [
        operations / moved
        for moved, operations in map(
            roofline.work,
            (min(heads, key=lambda r: r["rows"]), max(heads, key=lambda r: r["rows"])),
        )
    ]
    ridge = product / read * 1e3
    axes.plot(
        [ends[0], ridge, max(ends[1], ridge)],
        [ends[0] * read / 1e3, product, product],
        "k--",
        linewidth=1,
        label=f"roof: {read:,.0f} GB/s, {product:,.0f} TFLOP/s",
    )
    save(figure, axes, "roofline.svg")


def draw_time(name, heads):
    figure, axes = start(name, heads, "rows", "ms")
    for title, line in lines(heads):
        axes.plot(
            [r["rows"] for r in line],
            [r["ms"] for r in line],
            "o-",
            markersize=3,
            linewidth=1,
            label=title,
        )
    save(figure, axes, "time.svg")


def draw_memory(name, heads):
    figure, axes = start(name, heads, "rows", "MiB beside X and W")
    rows = sorted({r["rows"] for r in heads})
    for title, size in (("logits, bf16", 2), ("logits, fp32", 4), ("logits, fp64", 8)):
        axes.plot(
            rows,
            [n * heads[0]["vocab"] * size / 2**20 for n in rows],
            "--",
            linewidth=1,
            label=title,
        )
    for title, line in lines([r for r in heads if r["what"] in roofline.FAMILIES]):
        axes.plot(
            [r["rows"] for r in line],
            [r["workspace_bytes"] / 2**20 for r in line],
            "o-",
            markersize=3,
            linewidth=1,
            label=f"{title}: workspace",
        )
    save(figure, axes, "memory.svg")


def draw_end_to_end(name, run):
    """A bar a head: what a step takes, the head's part of it, the most memory above the model."""
    heads = run["heads"][::-1]  # the first on top
    names = [head["head"] for head in heads]
    rest = [head["step_ms"] - head["head_ms"] for head in heads]
    memory = [head["peak_above_model_bytes"] / 2**20 for head in heads]
    figure, (left, right) = pyplot.subplots(1, 2, sharey=True, figsize=(8.0, 2.6))
    left.barh(names, rest, label="trunk and selection", color="lightgray")
    parts = left.barh(names, [head["head_ms"] for head in heads], left=rest, label="head")
    left.bar_label(
        parts, [f"{head['step_ms']:.2f}, head {100 * head['share']:.1f} %" for head in heads], padding=3
    )
    left.set(xlabel="ms a step", xlim=(0, 1.6 * max(head["step_ms"] for head in heads)))
    right.bar_label(right.barh(names, memory), [f"{size:,.0f}" for size in memory], padding=3)
    right.set(xlabel="peak MiB above the model", xlim=(0, 1.2 * max(memory) or 1))
    shape = run["model"]
    figure.suptitle(
        f"{run['device']}, {run['batch']} sequences, {shape['n_layers']} layers of "
        f"{shape['hidden_size']:,}, V = {shape['vocab_size']:,} (end_to_end/{name})",
        fontsize=9,
    )
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=8)
    write(figure, "end_to_end.svg")


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 1
    FOLDER.mkdir(exist_ok=True)
    name, results, heads = chosen_run()
    draw_roofline(name, results, heads)
    draw_time(name, heads)
    draw_memory(name, heads)
    for decode in report.load_decodes()[:1]:
        draw_end_to_end(*decode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
