#!/usr/bin/env python3
"""judge.py - holds the choices of `dllm-tune tune` against an exhaustive search and the rule of thumb

    dllm-tune tune --set llada-8b --json > tuned.json
    dllm-tune tune --set llada-8b --exhaustive --json > all.json
    judge.py tuned.json all.json [again.json]

Prints tables in Markdown. again.json is a second tuned run. Ends 1 when a choice is more than 2 %
slower than the best of the exhaustive search, measured there, or a choice is slower than the rule or
the rule's is not measured; ends 2 when a document is no whole one or they are not of the same shapes.
Times are those of the rule of thumb's choice, multiplied by a candidate's paired ratio to it: whoever left
a search early met another clock, so that medians of one document cannot be compared.
"""
import argparse
import json
import math
import sys

WITHIN = 1.02


SHAPE = {"operation": str, "vocab": int, "depth": int, "hidden_type": str, "weight_type": str,
         "rows": int}
# finishes stands only in documents of later versions: before, no choice did
CHOICE = {"family": str, "tile_rows": int, "tile_vocab": int, "tile_depth": int, "stages": int,
          "splits": int, "split_columns": int}
TIMES = {"words": str, "median_us": float, "ratio": float}


class Unusable(Exception):
    """A document that cannot be judged, with the reason."""


def require(value, fields, where):
    """Refuses what is no object or lacks one of these fields, name to type."""
    if not isinstance(value, dict):
        raise Unusable(f"{where} is no object")
    for name, kind in fields.items():
        found = value.get(name)
        fits = isinstance(found, (int, float) if kind is float else kind)
        if not fits or isinstance(found, bool) or kind is float and not math.isfinite(found):
            raise Unusable(f"{where} has no {name}, or not so")


def check_shape(shape, where):
    require(shape, SHAPE | {"verdict": str, "winner": int, "floor_us": float, "candidates": list}, where)
    candidates = shape["candidates"]
    if not 0 <= shape["winner"] < len(candidates):
        raise Unusable(f"{where}: winner {shape['winner']} is not one of {len(candidates)} candidates")
    for i, candidate in enumerate(candidates):
        require(candidate, CHOICE | TIMES, f"{where}: candidate {i}")


def check(document):
    """Refuses what is not a document of measured shapes."""
    require(document, {}, "it")
    if document.get("dry_run"):
        raise Unusable("it is of a dry run, which measures nothing")
    require(document, {"device": str, "driver": int, "seconds": float, "shapes": list}, "it")
    if not document["shapes"]:
        raise Unusable("it has no shapes")
    for i, shape in enumerate(document["shapes"]):
        check_shape(shape, f"shape {i}")
    if len(shapes_by_key(document)) < len(document["shapes"]):
        raise Unusable("two of its shapes have the same operation, sizes, types and rows")


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        check(document)
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError, Unusable) as error:
        raise Unusable(f"{path}: {error}") from error
    return document


def load_all(paths):
    """The documents, all of the same shapes."""
    documents = [load(path) for path in paths]
    keys = [shapes_by_key(document).keys() for document in documents]
    for path, others in zip(paths[1:], keys[1:]):
        odd = sorted(keys[0] ^ others)
        if odd:
            raise Unusable(f"{' '.join(map(str, odd[0]))} is a shape of only one of {paths[0]} and {path}")
    return documents


def shapes_by_key(document):
    """The measured shapes of a document, by what they are."""
    return {tuple(shape[name] for name in SHAPE): shape for shape in document["shapes"]}


def winner(shape):
    return shape["candidates"][shape["winner"]]


def time_of(shape, candidate):
    """Microseconds at the clock that the rule's choice met, 0 if never measured."""
    rule_us = shape["candidates"][0]["median_us"]
    if candidate["ratio"] > 0 and rule_us > 0:
        return candidate["ratio"] * rule_us
    return candidate["median_us"]


def same_choice(candidate):
    return (*(candidate[name] for name in CHOICE), candidate.get("finishes", 0))


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
            worse += 1
            rows.append([str(key[-1]), rule["words"], "not measured" if rule["median_us"] <= 0 else
                         f"{rule['median_us']:.1f}", won["words"], "", "", "", shape["verdict"]])
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
    paths = [path for path in (options.tuned, options.exhaustive, options.again) if path]
    try:
        tuned, everything, *again = load_all(paths)
    except Unusable as error:
        print(f"judge.py: {error}", file=sys.stderr)
        return 2
    print(f"{tuned['device']}, driver {tuned['driver']}: tuned in {tuned['seconds']:.0f} s, "
          f"exhaustive in {everything['seconds']:.0f} s\n")
    rows, worse = against_exhaustive(tuned, everything)
    table("Tuned against exhaustive (us, both of the exhaustive run)",
          ["R", "tuned", "us", "best", "us", "ratio"], rows)
    rows, slower = against_rule(tuned)
    table("Tuned against the rule of thumb (us)",
          ["R", "rule", "us", "tuned", "us", "ratio", "floor", "verdict"], rows)
    worse += slower
    if again:
        rows, changed = against_second(tuned, again[0])
        table("A second run", ["R", "first", "second", "ratio in the second run"], rows)
        worse += changed
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
