#!/usr/bin/env python3
"""test_judge.py - what tools/tune/judge.py lets pass and what not, on documents made here"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "tune" / "judge.py"
RESULTS = ROOT / "tools" / "bench" / "results" / "tune"

sys.path.insert(0, str(SCRIPT.parent))
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

    def test_a_rule_that_was_not_measured_fails(self):
        rows, worse = judge.against_rule(document([0.0, 101.0], 1))
        self.assertEqual(worse, 1)
        self.assertEqual(rows[0][2], "not measured")


def broken(change):
    """A document after a change of it or of its only shape."""
    made = document([100.0, 90.0], 1)
    change(made, made["shapes"][0])
    return made


class CommandLine(unittest.TestCase):
    def run_on(self, *documents):
        """Exit status, output and errors for documents, or texts in place of them; None is no file."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{i}.json" for i in range(len(documents))]
            for path, content in zip(paths, documents):
                if content is not None:
                    path.write_text(content if isinstance(content, str) else json.dumps(content),
                                    encoding="utf-8")
            return self.judge(*paths)

    def judge(self, *paths):
        done = subprocess.run([sys.executable, "-B", SCRIPT, *paths], text=True, check=False,
                              capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def refused(self, says, *documents):
        status, out, errors = self.run_on(*documents)
        self.assertEqual((status, out), (2, ""), errors)
        self.assertRegex(errors, f"^judge.py: .*{says}.*\n$")

    def test_good_documents_pass(self):
        good = document([100.0, 90.0], 1)
        self.assertEqual(self.run_on(good, good)[0], 0)
        self.assertEqual(self.run_on(good, good, good)[0], 0)

    def test_a_worse_choice_is_no_unusable_document(self):
        self.assertEqual(self.run_on(document([100.0, 90.0], 0), document([100.0, 90.0], 1))[0], 1)

    def test_what_is_no_document_is_refused_in_any_place(self):
        good = document([100.0, 90.0], 1)
        dry = {"dry_run": True, "shapes": [{"set": "austen", "rows": 1, "known": False}]}
        cases = [(None, "No such file"), ("", "Expecting value"), (json.dumps(good)[:200], "line 1"),
                 ("[]", "it is no object"), ("{}", "it has no device"), (dry, "dry run"),
                 (broken(lambda d, s: d["shapes"].clear()), "it has no shapes"),
                 (broken(lambda d, s: d["shapes"].append(s)), "the same operation"),
                 (broken(lambda d, s: s.pop("rows")), "shape 0 has no rows"),
                 (broken(lambda d, s: s["candidates"].clear()), "winner 1 is not one of 0"),
                 (broken(lambda d, s: s.update(winner=2)), "winner 2 is not one of 2"),
                 (broken(lambda d, s: s.update(winner=-1)), "winner -1 is not one of 2"),
                 (broken(lambda d, s: s["candidates"][1].pop("ratio")), "candidate 1 has no ratio"),
                 (broken(lambda d, s: s["candidates"][0].update(median_us=float("nan"))),
                  "candidate 0 has no median_us")]
        for content, says in cases:
            with self.subTest(says=says):
                self.refused(says, content, good)
                self.refused(says, good, content)
                self.refused(says, good, good, content)

    def test_other_shapes_are_refused(self):
        good = document([100.0, 90.0], 1)
        more = copy.deepcopy(good)
        more["shapes"].append(more["shapes"][0] | {"rows": 64})
        says = "head 1000 64 bf16 bf16 64 is a shape of only one"
        self.refused(says, good, more)
        self.refused(says, more, good)
        self.refused(says, good, good, more)

    def test_the_published_tables_are_those_of_their_files(self):
        files = [RESULTS / f"h200-2026-11-30-{run}.json" for run in ("1", "exhaustive", "2")]
        status, out, errors = self.judge(*files)
        self.assertEqual((status, errors), (0, ""))
        published = (RESULTS / "h200-2026-11-30.md").read_text(encoding="utf-8")
        self.assertEqual(published.partition("\n\n")[2], out)


if __name__ == "__main__":
    unittest.main()
