"""rules.py - which positions a step commits, as docs/decode.md says it of each rule.

A rule gets what it needs to know of a step as a Choice and returns the set of positions to commit.
Keys are of eligible positions; "better" is the larger key, then the lower position.
"""
import collections
import itertools

import numpy as np

Choice = collections.namedtuple("Choice", "keys entropies masked count fraction sequence")
Choice.__doc__ = """A step's question.

keys       position -> key, of the eligible positions
entropies  position -> entropy
masked     masked positions of the block, ascending
count      k of the schedule, or of the rule
fraction   of Dream's schedule
sequence   the parameters: threshold, inclusive, factor, gamma, low_threshold
"""


def ranked(choice):
    return sorted(choice.keys, key=lambda q: (-choice.keys[q], q))


def above(choice):
    bound, inclusive = choice.sequence["threshold"], choice.sequence["inclusive"]
    return {q for q, key in choice.keys.items() if key > bound or (inclusive and key == bound)}


def top_k(choice):
    return set(ranked(choice)[:choice.count])


def threshold(choice):
    """All above the threshold, and always the best (2.7)."""
    return above(choice) | set(ranked(choice)[:1])


def factor(choice):
    """The n best, n the largest with (n + 1)(1 - c_n) < f, at least 1 (2.7)."""
    order = ranked(choice)
    holds = [n for n, q in enumerate(order, 1)
             if (n + 1) * (1 - choice.keys[q]) < choice.sequence["factor"]]
    return set(order[:max(holds, default=1)])


def dynamic(choice):
    """All above the threshold if they are k, else the k best (3.1)."""
    sure = above(choice)
    k = max(1, choice.count)
    return sure if len(sure) >= k else set(ranked(choice)[:k])


def sequential(choice):
    """The leftmost k (3.3)."""
    return set(sorted(choice.keys)[:choice.count])


def entropy_bound(choice):
    """By ascending entropy, while the sum of the entropies before is at most gamma (3.4)."""
    order = sorted(choice.keys, key=lambda q: (choice.entropies[q], q))
    before = itertools.accumulate((choice.entropies[q] for q in order), initial=0.0)
    within = itertools.takewhile(lambda pair: pair[1] <= choice.sequence["gamma"],
                                 zip(order, before))
    return {q for q, _ in within} | set(order[:1])


def hierarchy(choice):
    """The best of each run of masks if it is sure enough, all above, the best (3.5)."""
    chosen = threshold(choice)
    for _, group in itertools.groupby(enumerate(choice.masked), lambda pair: pair[1] - pair[0]):
        run = [q for _, q in group if q in choice.keys]
        best = min(run, key=lambda q: (-choice.keys[q], q))
        if choice.keys[best] > choice.sequence["low_threshold"]:
            chosen.add(best)
    return chosen


def coins(choice):
    """Each by itself if its number is below the schedule's fraction; the last step all (2.8)."""
    return {q for q, u in choice.keys.items() if u < choice.fraction or choice.fraction >= 1}


RULES = {rule.__name__: rule for rule in (top_k, threshold, factor, dynamic, sequential,
                                          entropy_bound, hierarchy, coins)}


# ---- schedules (2.1) ----

def even_count(total, steps, i):
    return total // steps + (1 if i < total % steps else 0)


def dream_fraction(steps, eps, i):
    """1 - ts[i + 1] / ts[i] of ts = linspace(1, eps, steps + 1), all in single precision."""
    f = np.float32
    delta = f(f(eps) - f(1)) / f(steps)

    def time(j):
        if j < (steps + 1) // 2:
            return f(f(1) + f(delta * f(j)))
        return f(f(eps) - f(delta * f(steps - j)))

    return f(1) if i == steps - 1 else f(f(1) - f(time(i + 1) / time(i)))


def dream_count(left, fraction):
    return int(np.float32(left) * fraction)
