#!/usr/bin/env python3
"""test_plain_decode.py - plain_decode/ against answers from elsewhere, and tampered traces

Ends 77 without numpy, as e2e_presets.py does.
"""
import json
import pathlib
import struct
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("test_plain_decode: no numpy here; sh tools/test.sh brings it")
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parent
AUSTEN = FOLDER / "data" / "austen"
sys.path.insert(0, str(FOLDER / "plain_decode"))
import compare  # noqa: E402
import decode  # noqa: E402
import model  # noqa: E402
import noise  # noqa: E402
import rows  # noqa: E402
import rules  # noqa: E402

PLAIN = model.Model(AUSTEN)
GREEDY = decode.parameters("llada", {})


def read_doubles(path):
    """The fp64 and int64 tensors of a file."""
    data = path.read_bytes()
    (header_bytes,) = struct.unpack("<Q", data[:8])
    kinds = {"F64": "<f8", "I64": "<i8"}
    return {name: np.frombuffer(data[8 + header_bytes:], kinds[entry["dtype"]],
                                entry["shape"][0], entry["data_offsets"][0])
            for name, entry in json.loads(data[8:8 + header_bytes]).items()
            if entry.get("dtype") in kinds}


class Parts(unittest.TestCase):
    def test_words_are_those_of_random123(self):
        ones, pi = [[0xFFFFFFFF]] * 4, [[0x243F6A88], [0x85A308D3], [0x13198A2E], [0x03707344]]
        for counter, key, words in (
                ([[0]] * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                (ones, (0xFFFFFFFF, 0xFFFFFFFF), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                (pi, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1")):
            made = noise.philox(counter, key)
            self.assertEqual(" ".join(f"{int(word[0]):08x}" for word in made), words)

    def test_head_rows_have_their_statistics(self):
        path = AUSTEN / "head_rows.safetensors"
        hidden = model.read_safetensors(path)["hidden"]
        wanted = read_doubles(path)
        for r, z in enumerate(PLAIN.logits(hidden)):
            said = rows.outcomes(z, None, GREEDY)[0]
            self.assertEqual(said.token, wanted["argmax"][r])
            self.assertAlmostEqual(said.confidence, wanted["confidence"][r], delta=1e-12)
            self.assertAlmostEqual(said.entropy, wanted["entropy"][r], delta=1e-12)

    def test_golden_text_is_written(self):
        run = json.loads((AUSTEN / "golden.json").read_text())["runs"][0]
        sequence = decode.parameters("llada", {"steps": run["steps"]})
        decoder = decode.Decoder(PLAIN, sequence, run["prompt_ids"], run["gen_length"],
                                 run["block_length"], rows.NONE)
        decoder.run(lambda step: {q: step.outcomes[q][0].token
                                  for q in rules.top_k(step.choice)})
        self.assertEqual(decoder.canvas, run["ids"])


def question(keys, **more):
    values = {"threshold": 0.0, "inclusive": False, "factor": 1.0, **more}
    return rules.Choice(dict(enumerate(keys)), {}, list(range(len(keys))), 1, 1, values)


class Rules(unittest.TestCase):
    """The examples that docs/decode.md gives, and ties."""

    def test_factor_takes_three_of_the_example(self):
        self.assertEqual(rules.factor(question([.99, .97, .9, .6])), {0, 1, 2})

    def test_equal_keys_go_by_position(self):
        self.assertEqual(rules.top_k(question([.5, .7, .7])), {1})

    def test_dream_commits_nothing_at_first_when_steps_are_masks(self):
        fraction = rules.dream_fraction(8, 1e-3, 0)
        self.assertEqual(rules.dream_count(8, fraction), 0)
        self.assertEqual(sum(rules.even_count(10, 4, i) for i in range(4)), 10)

    def test_entropy_bound_counts_what_stands_before(self):
        asked = question([0, 0, 0])._replace(entropies={0: .3, 1: .1, 2: .2},
                                             sequence={"gamma": .25})
        self.assertEqual(rules.entropy_bound(asked), {1, 2})


class Traces(unittest.TestCase):
    """A short run's own trace passes; one that was tampered with does not."""

    OPTIONS = {"threshold": 0.2, "edit_threshold": 0.25, "max_post_steps": 2}

    def decoder(self):
        sequence = decode.parameters("llada21", self.OPTIONS)
        return decode.Decoder(PLAIN, sequence, [1021, 361, 258], 8, 4, compare.DOUBT)

    def setUp(self):
        """Writes down what the plain decoder does by itself."""
        self.trace = {}
        decoder = self.decoder()

        def note(step):
            first = {q: said[0] for q, said in step.outcomes.items()}
            chosen = rules.dynamic(step.choice)
            commits = {q: (PLAIN.mask, first[q].token, first[q].confidence) for q in chosen}
            edits = {q: (decoder.canvas[q], first[q].token, first[q].confidence)
                     for q, bound in step.editable.items()
                     if first[q].confidence > bound and first[q].token != decoder.canvas[q]}
            self.trace[step.forward] = compare.Seen(
                commits, edits, len(step.read), len(commits), len(step.masks) - len(commits),
                compare.gap_of(step.choice.keys, chosen))
            return {q: change[1] for q, change in {**commits, **edits}.items()}

        decoder.run(note)
        self.ended = decoder.canvas, decoder.forwards, decoder.rows_read

    def follow(self):
        tally, decoder = compare.Tally(), self.decoder()
        follower = compare.Follower(decoder, self.trace, tally)
        decoder.run(follower)
        follower.finish(*self.ended)
        return tally

    def change(self, kind, **fields):
        """In the first step that has one of that kind: fields of its change."""
        names = ("old", "new", "key")
        for forward, seen in self.trace.items():
            changes = dict(getattr(seen, kind))
            if not changes:
                continue
            q, change = next(iter(changes.items()))
            changes[q] = tuple(fields.get(name, value) for name, value in zip(names, change))
            self.trace[forward] = seen._replace(**{kind: changes})
            return
        self.fail(f"no {kind}")

    def test_an_honest_trace_passes(self):
        tally = self.follow()
        self.assertEqual((tally.near_ties, tally.key_difference), (0, 0))
        self.assertGreater(tally.edits, 0)

    def test_a_tampered_trace_fails(self):
        for kind in ("commits", "edits"):
            for fields in ({"old": 7}, {"new": 7}, {"key": 0.9}):
                self.setUp()
                self.change(kind, **fields)
                with self.subTest(kind=kind, **fields), self.assertRaises(compare.Mismatch):
                    self.follow()

    def test_a_step_too_few_or_too_many_fails(self):
        last = max(self.trace)
        self.trace[last + 1] = self.trace[last]
        with self.assertRaises(compare.Mismatch):
            self.follow()
        del self.trace[last + 1], self.trace[last]
        with self.assertRaises(compare.Mismatch):
            self.follow()

    def test_another_gap_or_row_count_fails(self):
        forward, honest = next((forward, seen) for forward, seen in self.trace.items()
                               if np.isfinite(seen.gap))
        for fields in ({"gap": honest.gap + 0.001}, {"gap": honest.gap - 0.001}, {"gap": np.inf},
                       {"read": 3}, {"masks": honest.masks + 1}):
            self.trace[forward] = honest._replace(**fields)
            with self.subTest(**fields), self.assertRaises(compare.Mismatch):
                self.follow()


class NearTies(unittest.TestCase):
    """Two positions whose keys lie so far apart; the trace has the worse one committed."""

    def follow(self, apart, token=5):
        decoder = decode.Decoder(PLAIN, GREEDY, [1], 2, 2, compare.DOUBT)
        said = {q: [rows.Outcome(5, key, 0, 0, {"confidence": 2 * key * compare.DOUBT.logit})]
                for q, key in ((1, 0.5 + apart), (2, 0.5))}
        step = decode.Step(0, [1, 2], said, lambda outcome, q: outcome.confidence, decoder.error,
                           rules.Choice({q: outcomes[0].confidence for q, outcomes in said.items()},
                                        {1: 0, 2: 0}, [1, 2], 1, 1, GREEDY), {}, [1, 2])
        seen = compare.Seen({2: (PLAIN.mask, token, 0.5)}, {}, 2, 1, 1, -apart)
        tally = compare.Tally()
        follower = compare.Follower(decoder, {0: seen}, tally)
        return follower(step), tally.near_ties

    def test_keys_within_their_doubt_are_counted_and_followed(self):
        self.assertEqual(self.follow(4e-5), ({2: 5}, 1))

    def test_keys_apart_fail(self):
        with self.assertRaises(compare.Mismatch):
            self.follow(3e-4)

    def test_another_token_fails(self):
        with self.assertRaises(compare.Mismatch):
            self.follow(4e-5, token=6)

    def test_tokens_within_their_doubt_are_all_named(self):
        z = np.array([1.0, 2.0, 2.0 - compare.DOUBT.logit, 2.0 - 1e-3])
        said = rows.outcomes(z, None, GREEDY, compare.DOUBT)
        self.assertEqual([outcome.token for outcome in said], [1, 2])

    def test_a_nucleus_that_ends_in_doubt_has_both_ends(self):
        rule = decode.parameters("dream", {"top_p": 0.75, "temperature": 1})
        z = np.log([0.5, 0.25 + 1e-6, 0.25 - 1e-6])
        said = rows.outcomes(z, np.array([9.0, 0, 0]), rule, compare.DOUBT)
        self.assertEqual([round(outcome.confidence, 3) for outcome in said], [0.667, 0.5])


if __name__ == "__main__":
    unittest.main()
