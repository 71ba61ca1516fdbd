"""rows.py - what a row of logits says of its position: token, confidence, margin, entropy.

docs/decode.md 2.3, 2.8 and 2.9. Beside what the row says, `outcomes` lists what it might say if no
logit were exact: the comparison with a program in single precision needs to know.
"""
import collections

import numpy as np

Outcome = collections.namedtuple("Outcome", "token confidence margin entropy error")
Outcome.__doc__ = """What a row says. error: of the three numbers, if logits have that of Doubt."""

Doubt = collections.namedtuple("Doubt", "logit mass")
Doubt.__doc__ = """What may be wrong in a logit, and in a sum of probabilities."""

NONE = Doubt(0.0, 0.0)


def softmax(y):
    e = np.exp(y - y.max())
    return e / e.sum()


def entropy(p):
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def describe(token_place, p, logit_error):
    """The outcome's numbers for the entry of p at that place."""
    ordered = np.sort(p)[::-1]
    p1, p2 = ordered[0], ordered[1] if p.size > 1 else 0.0
    h, c = entropy(p), float(p[token_place])
    error = {"confidence": 2 * c * logit_error, "margin": 2 * (p1 + p2) * logit_error,
             "neg_entropy": 2 * h * logit_error, "entropy": 2 * h * logit_error}
    return c, float(p1 - p2), h, error


def best_places(score, doubt):
    """Places whose score may be the largest, the largest first; of equal ones the lowest."""
    best = int(np.argmax(score))
    near = np.flatnonzero(score >= score[best] - doubt)
    return [best] + [int(i) for i in near if i != best]


def candidates(top_k):
    """Of a row, kept for filters (docs/decode.md 2.9): dllm-generate's K, the k-th not its last."""
    return next(k for k in (64, 128, 256) if 0 < top_k < k or k == 256)


def kept_counts(y, rule, doubt):
    """How many of the best candidates a filter keeps of a sorted row; then others in doubt."""
    p = softmax(y)
    top_k, top_p = rule["top_k"], rule["top_p"]

    def keep_k(count):
        """The k best and what ties with the k-th."""
        if not 0 < top_k < count:
            return count
        return int(np.count_nonzero(y[:count] >= y[top_k - 1]))

    def keep_p(count, mass, bound):
        """Entries with at most p of the mass before them: also the one that crosses it."""
        before = (np.cumsum(p[:count]) - p[:count]) / mass
        return int(np.count_nonzero(before <= bound)) if top_p < 1 else count

    def count(bound):
        whole = min(candidates(top_k), y.size)
        if rule["filter_order"] == "p_then_k":
            return max(1, keep_k(keep_p(whole, 1.0, bound)))
        first = keep_k(whole)
        mass = p[:first].sum() if 0 < top_k else 1.0
        return max(1, keep_p(first, mass, bound))

    return list(dict.fromkeys(count(top_p + slack) for slack in (0.0, -doubt.mass, doubt.mass)))


def filtered_outcomes(y, gumbel, rule, doubt):
    """Of a row through top_k and top_p."""
    order = np.lexsort((np.arange(y.size), -y))  # larger logit, then lower id
    outcomes = []
    for count in kept_counts(y[order], rule, doubt):
        kept = order[:count]
        score = y[kept] + (0 if gumbel is None else gumbel[kept])
        for place in best_places(score, 2 * doubt.logit):
            numbers = describe(place, softmax(y[kept]), doubt.logit)
            outcomes.append(Outcome(int(kept[place]), *numbers))
    return outcomes


def outcomes(z, gumbel, rule, doubt=NONE):
    """What a row of logits says, then what it might say.

    z       (vocab) after every transform; ids that are suppressed are -inf
    gumbel  (vocab) of the row, None where nothing is drawn
    rule    temperature, tempered, filtered, top_k, top_p, filter_order
    """
    temperature = rule["temperature"]
    if temperature > 0 and rule["tempered"]:
        y, scale = z / temperature, 1.0
        doubt = doubt._replace(logit=doubt.logit / temperature)
    else:
        y, scale = z, temperature
    if temperature <= 0:
        gumbel = None
    if rule["filtered"]:
        return filtered_outcomes(y, gumbel, rule, doubt)
    score = y if gumbel is None else y + scale * gumbel
    p = softmax(y)
    return [Outcome(place, *describe(place, p, doubt.logit))
            for place in best_places(score, 2 * doubt.logit)]
