#!/usr/bin/env python3
"""judge.py - holds the choices of `dllm-tune tune` against an exhaustive search and the rule of thumb

    dllm-tune tune --set llada-8b --json > tuned.json
    dllm-tune tune --set llada-8b --exhaustive --json > all.json
    judge.py tuned.json all.json [again.json]

Prints tables in Markdown. again.json is a second tuned run. Ends 1 when a choice is more than 2 %
slower than the best of the exhaustive search, measured there, or a choice is slower than the rule.
Times are those of the rule of thumb's choice, multiplied by a candidate's paired ratio to it: whoever left
a search early met another clock, so that medians of one document cannot be compared.
"""
import argparse
import json
import sys

WITHIN = 1.02


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def shapes_by_key(document):
    """The measured shapes of a document, by what they are."""
    names = ("operation", "vocab", "depth", "hidden_type", "weight_type", "rows")
    return {tuple(shape[name] for name in names): shape for shape in document["shapes"]}


def winner(shape):
    return shape["candidates"][shape["winner"]]


def time_of(shape, candidate):
    """Microseconds at the clock that the rule's choice met, 0 if never measured."""
    rule_us = shape["candidates"][0]["median_us"]
    if candidate["ratio"] > 0 and rule_us > 0:
        return candidate["ratio"] * rule_us
    return candidate["median_us"]


def same_choice(candidate):
    names = ("family", "tile_rows", "tile_vocab", "tile_depth", "stages", "splits", "split_columns",
             "finishes")
    return tuple(candidate[name] for name in names)


def find(shape, candidate):
    """The same choice as it was measured in another run, or None."""
    wanted = same_choice(candidate)
    found = (c for c in shape["candidates"] if same_choice(c) == wanted and c["median_us"] > 0)
    return next(found, None)


def table(title, head, rows):
    print(f"## {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def against_exhaustive(tuned, everything):
    """Rows of the table, and how many choices are not within the limit."""
    rows, worse = [], 0
    for key, shape in shapes_by_key(tuned).items():
        other = shapes_by_key(everything).get(key)
        measured = find(other, winner(shape)) if other else None
        if not measured:
            worse += 1
            rows.append([str(key[-1]), winner(shape)["words"], "not measured", "", "", ""])
            continue
        best = min((c for c in other["candidates"] if c["median_us"] > 0),
                   key=lambda c: time_of(other, c))
        measured_us, best_us = time_of(other, measured), time_of(other, best)
        worse += measured_us / best_us > WITHIN
        rows.append([str(key[-1]), measured["words"], f"{measured_us:.1f}", best["words"],
                     f"{best_us:.1f}", f"{measured_us / best_us:.3f}"])
    return rows, worse


def against_rule(tuned):
    rows, worse = [], 0
    for key, shape in shapes_by_key(tuned).items():
        rule, won = shape["candidates"][0], winner(shape)
        if rule["median_us"] <= 0 or won["median_us"] <= 0:
            continue
        won_us = time_of(shape, won)
        ratio = won_us / rule["median_us"]
        worse += ratio > WITHIN
        share = 100.0 * shape["floor_us"] / won_us
        rows.append([str(key[-1]), rule["words"], f"{rule['median_us']:.1f}", won["words"],
                     f"{won_us:.1f}", f"{ratio:.3f}", f"{share:.0f} %", shape["verdict"]])
    return rows, worse


def against_second(tuned, again):
    """A changed winner is held against the first one's time in the second run."""
    rows, worse = [], 0
    for key, shape in shapes_by_key(tuned).items():
        other = shapes_by_key(again).get(key)
        if not other:
            continue
        first = find(other, winner(shape))
        second = winner(other)
        ratio = time_of(other, second) / time_of(other, first) if first else 0.0
        worse += not 1.0 / WITHIN <= ratio <= WITHIN
        rows.append([str(key[-1]), winner(shape)["words"], second["words"],
                     f"{ratio:.3f}" if first else "first not measured"])
    return rows, worse


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tuned")
    parser.add_argument("exhaustive")
    parser.add_argument("again", nargs="?")
    options = parser.parse_args()
    tuned, everything = load(options.tuned), load(options.exhaustive)
    print(f"{tuned['device']}, driver {tuned['driver']}: tuned in {tuned['seconds']:.0f} s, "
          f"exhaustive in {everything['seconds']:.0f} s\n")
    rows, worse = against_exhaustive(tuned, everything)
    table("Tuned against exhaustive (us, both of the exhaustive run)",
          ["R", "tuned", "us", "best", "us", "ratio"], rows)
    rows, slower = against_rule(tuned)
    table("Tuned against the rule of thumb (us)",
          ["R", "rule", "us", "tuned", "us", "ratio", "floor", "verdict"], rows)
    worse += slower
    if options.again:
        rows, changed = against_second(tuned, load(options.again))
        table("A second run", ["R", "first", "second", "ratio in the second run"], rows)
        worse += changed
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
