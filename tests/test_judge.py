#!/usr/bin/env python3
"""test_judge.py - what tools/tune/judge.py lets pass and what not, on documents made here"""
import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "tune"))
import judge  # noqa: E402


def candidate(splits, median_us):
    return {"words": f"sm90 64x192 stages 7 splits {splits}", "family": "sm90", "tile_rows": 64,
            "tile_vocab": 192, "tile_depth": 64, "stages": 7, "splits": splits,
            "split_columns": 960, "finishes": 0, "median_us": median_us, "ratio": 0.0}


def document(times, chosen):
    """One shape whose candidates have 100, 101, ... splits and these times."""
    candidates = [candidate(100 + i, us) for i, us in enumerate(times)]
    return {"device": "GPU", "driver": 13000, "seconds": 1.0, "shapes": [
        {"operation": "head", "vocab": 1000, "depth": 64, "hidden_type": "bf16",
         "weight_type": "bf16", "rows": 16, "verdict": "won", "winner": chosen, "floor_us": 90.0,
         "candidates": candidates}]}


class Judge(unittest.TestCase):
    def test_a_choice_near_the_best_passes(self):
        rows, worse = judge.against_exhaustive(document([110.0, 101.0], 1),
                                               document([110.0, 101.0, 100.0], 2))
        self.assertEqual(worse, 0)
        self.assertEqual(rows[0][-1], "1.010")

    def test_a_choice_far_from_the_best_fails(self):
        _, worse = judge.against_exhaustive(document([110.0, 103.0], 1),
                                            document([110.0, 103.0, 100.0], 2))
        self.assertEqual(worse, 1)

    def test_who_left_early_at_a_higher_clock_is_no_better(self):
        everything = document([400.0, 352.0], 0)
        for one, ratio in zip(everything["shapes"][0]["candidates"], (1.0, 1.04)):
            one["ratio"] = ratio
        rows, worse = judge.against_exhaustive(document([400.0], 0), everything)
        self.assertEqual(worse, 0)
        self.assertEqual(rows[0][-1], "1.000")

    def test_a_choice_that_was_not_measured_fails(self):
        everything = document([110.0, 0.0, 100.0], 2)
        self.assertEqual(judge.against_exhaustive(document([110.0, 101.0], 1), everything)[1], 1)
        everything["shapes"] = []
        self.assertEqual(judge.against_exhaustive(document([110.0, 101.0], 1), everything)[1], 1)

    def test_a_choice_slower_than_the_rule_fails(self):
        self.assertEqual(judge.against_rule(document([100.0, 103.0], 1))[1], 1)
        self.assertEqual(judge.against_rule(document([100.0, 101.0], 1))[1], 0)
        self.assertEqual(judge.against_rule(document([100.0, 90.0], 1))[0][0][5], "0.900")

    def test_another_winner_of_equal_time_is_no_change(self):
        first = document([110.0, 101.0, 100.0], 1)
        again = copy.deepcopy(first)
        again["shapes"][0]["winner"] = 2
        self.assertEqual(judge.against_second(first, again)[1], 0)
        again["shapes"][0]["candidates"][2]["median_us"] = 90.0
        self.assertEqual(judge.against_second(first, again)[1], 1)


if __name__ == "__main__":
    unittest.main()
