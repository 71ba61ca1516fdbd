"""compare.py - a trace of dllm-generate against the plain decoder, step by step.

Both see the same canvas before every step: what the trace says was changed is what the plain
decoder goes on from. Ids, positions and kinds have to be its own, keys within what DOUBT makes of
them. Where they are not, the step may be a near-tie: keys or logits that are wrong by no more than
their doubt would have led there. It is counted. What that does not explain fails.
"""
import collections
import json
import math

import numpy as np

import rules
from rows import Doubt

# The program's trunk and head compute in single precision: the last place of a logit of 20 is 2e-6,
# and six blocks of roundings come before it. What a key may be wrong by follows (rows.describe); the
# keys of all runs stay below a fifth of that.
DOUBT = Doubt(logit=5e-5, mass=2e-5)
ROUNDING = 2.0**-20  # of a key near 1: single precision, and sums of a few dozen terms

Seen = collections.namedtuple("Seen", "commits edits read committed masks gap")
Seen.__doc__ = """A step of a trace. commits, edits: position -> (old id, new id, key)."""


class Mismatch(Exception):
    """What the trace says and the plain decoder does not explain."""


def read_trace(path):
    """Forward -> Seen, of every forward that was read."""
    steps, commits, edits = {}, {}, {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "step":
            gap = math.inf if record["gap"] is None else record["gap"]
            steps[record["step"]] = Seen(commits, edits, record["read"], record["committed"],
                                         record["masks"], gap)
            commits, edits = {}, {}
        else:
            kind = {"commit": commits, "edit": edits}[record["kind"]]
            kind[record["position"]] = (record["old"], record["new"], record["key"])
    return steps


class Tally:
    """What was compared, over all runs."""

    def __init__(self):
        self.steps = self.commits = self.edits = self.near_ties = 0
        self.key_difference = self.key_share = 0.0  # absolute; of its tolerance

    def note(self, difference, tolerance):
        self.key_difference = max(self.key_difference, difference)
        self.key_share = max(self.key_share, difference / tolerance)


def gap_of(keys, chosen):
    """From the worst chosen key to the best refused one, infinite without such a pair (10)."""
    refused = [key for q, key in keys.items() if q not in chosen]
    if not chosen or not refused:
        return math.inf
    return min(keys[q] for q in chosen) - max(refused)


class Follower:
    """Holds a decoder's steps against a trace's, in order."""

    def __init__(self, decoder, trace, tally):
        self.decoder, self.trace, self.tally = decoder, dict(trace), tally
        self.commits, self.edits = [], 0  # of each step; of all

    def __call__(self, step):
        seen = self.trace.pop(step.forward, None)
        if seen is None:
            raise Mismatch(f"forward {step.forward} is not in the trace")
        self.check_counts(step, seen)
        if not self.is_same(step, seen):
            self.explain(step, seen)
            self.tally.near_ties += 1
        self.tally.steps += 1
        self.tally.commits += len(seen.commits)
        self.tally.edits += len(seen.edits)
        self.commits.append(len(seen.commits))
        self.edits += len(seen.edits)
        return {q: new for q, (_, new, _) in {**seen.commits, **seen.edits}.items()}

    def fail(self, step, what):
        raise Mismatch(f"forward {step.forward}: {what}")

    def check_counts(self, step, seen):
        """Whatever is chosen: rows read, ids before, positions that may change."""
        canvas = self.decoder.canvas
        if seen.read != len(step.read):
            self.fail(step, f"{seen.read} rows read, not {len(step.read)}")
        if (seen.committed, seen.masks) != (len(seen.commits), len(step.masks) - len(seen.commits)):
            self.fail(step, f"{seen.committed} commits, {seen.masks} masks left")
        for kind, changes in (("commit", seen.commits), ("edit", seen.edits)):
            may_change = step.masks if kind == "commit" else step.editable
            for q, (old, _, _) in changes.items():
                if q not in may_change or old != canvas[q]:
                    self.fail(step, f"{kind} of position {q}, id {old}")

    # ---- the same decision ----

    def tolerance(self, step, q, outcome):
        return step.errors(outcome, q) + ROUNDING * max(1.0, abs(step.keys(outcome, q)))

    def is_same(self, step, seen):
        """The plain decoder's own decision; the differences of its keys are noted."""
        first = {q: outcomes[0] for q, outcomes in step.outcomes.items()}
        chosen = rules.RULES[self.decoder.sequence["rule"]](step.choice)
        commits = {q: first[q].token for q in chosen}
        edits = {q: first[q].token for q, bound in step.editable.items()
                 if first[q].confidence > bound and first[q].token != self.decoder.canvas[q]}
        if (commits, edits) != tuple({q: new for q, (_, new, _) in changes.items()}
                                     for changes in (seen.commits, seen.edits)):
            return False
        pairs = [(abs(key - step.keys(first[q], q)), self.tolerance(step, q, first[q]))
                 for changes in (seen.commits, seen.edits) for q, (_, _, key) in changes.items()]
        gap = gap_of(step.choice.keys, chosen)
        if math.isinf(gap) != math.isinf(seen.gap):
            return False
        if not math.isinf(gap):
            widest = max(self.tolerance(step, q, first[q]) for q in step.masks)
            pairs.append((abs(gap - seen.gap), 2 * widest))
        if any(difference > tolerance for difference, tolerance in pairs):
            return False
        for difference, tolerance in pairs:
            self.tally.note(difference, tolerance)
        return True

    # ---- a near-tie ----

    def explain(self, step, seen):
        """Fails unless keys and logits within their doubt would have led to what was seen."""
        keys, highest, entropies = {}, {}, {}
        for q in step.masks:
            ranges = [(step.keys(outcome, q), self.tolerance(step, q, outcome))
                      for outcome in step.outcomes[q]]
            if q in seen.commits:
                keys[q] = self.explain_token(step, q, seen.commits[q])
            else:
                keys[q] = min(key - tolerance for key, tolerance in ranges)
                highest[q] = max(key + tolerance for key, tolerance in ranges)
            error = ranges[0][1]
            entropies[q] = step.choice.entropies[q] + (-error if q in seen.commits else error)
        leaning = step.choice._replace(keys=keys, entropies=entropies)
        if rules.RULES[self.decoder.sequence["rule"]](leaning) != seen.commits.keys():
            self.fail(step, f"commits {sorted(seen.commits)}, keys {step.choice.keys}")
        for q, bound in step.editable.items():
            self.explain_edit(step, q, bound, seen.edits.get(q))
        self.explain_gap(step, seen, keys, highest)

    def explain_gap(self, step, seen, lowest, highest):
        """The refused keys lie between those bounds; the chosen ones stand in the trace."""
        if not seen.commits or not highest:
            if not math.isinf(seen.gap):
                self.fail(step, f"gap {seen.gap} without a pair of keys")
            return
        worst = min(key for _, _, key in seen.commits.values())
        best = [max(bounds[q] for q in highest) for bounds in (lowest, highest)]
        slack = ROUNDING * max(1.0, abs(worst), *map(abs, best))
        if not worst - best[1] - slack <= seen.gap <= worst - best[0] + slack:
            self.fail(step, f"gap {seen.gap} of {worst} from {best}")

    def explain_token(self, step, q, change):
        """The key, moved up, of what the row might say and was seen to be said."""
        _, token, key = change
        for outcome in step.outcomes[q]:
            ours, tolerance = step.keys(outcome, q), self.tolerance(step, q, outcome)
            if outcome.token == token and abs(key - ours) <= tolerance:
                return ours + tolerance
        self.fail(step, f"position {q}: id {token}, key {key}, none of {step.outcomes[q]}")

    def explain_edit(self, step, q, bound, change):
        if change:
            if self.explain_token(step, q, change) <= bound or change[1] == self.decoder.canvas[q]:
                self.fail(step, f"edit of position {q}, key {change[2]}")
            return
        for outcome in step.outcomes[q]:
            unsure = outcome.confidence - self.tolerance(step, q, outcome) <= bound
            if unsure or outcome.token == self.decoder.canvas[q]:
                return
        self.fail(step, f"no edit of position {q} to {step.outcomes[q][0]}")

    def finish(self, ids, forwards, rows_read):
        """After the last step: nothing of the trace is left, and the program ended the same."""
        if self.trace:
            raise Mismatch(f"the trace goes on to forwards {sorted(self.trace)}")
        ours = (self.decoder.forwards, self.decoder.rows_read)
        if (forwards, rows_read) != ours:
            raise Mismatch(f"{forwards} forwards and {rows_read} rows reported, not {ours}")
        if not np.array_equal(ids, self.decoder.canvas):
            raise Mismatch(f"the canvas is {ids}, not {self.decoder.canvas}")
