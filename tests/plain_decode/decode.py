"""decode.py - each preset's loop over one sequence, as docs/decode.md says it."""
import collections
import itertools

import numpy as np

import noise
import rows
import rules

# Section 1's table: what a preset changes of llada.
LLADA = {"rule": "top_k", "key": "confidence", "schedule": "even", "steps": None, "count": 0,
         "threshold": 0.0, "inclusive": False, "factor": 1.0, "gamma": 0.0, "low_threshold": 0.0,
         "temperature": 0.0, "tempered": False, "filters_greedy": False, "filter_order": None,
         "top_k": 0, "top_p": 1.0, "order_temperature": 0.0, "eps": 0.001, "shifted": False,
         "aligned": False, "persist": False, "eos": "never", "seed": 0,
         "edits": None, "edit_threshold": 0.0, "max_post_steps": 0, "penalty": 0.0}
GRID = {"aligned": True, "schedule": None}
LLADA2 = {**GRID, "tempered": True, "filter_order": "k_then_p"}
PRESETS = {
    "llada": {},
    "threshold": {"rule": "threshold", "threshold": 0.9, "inclusive": True, "schedule": None},
    "factor": {"rule": "factor", "factor": 1.0, "schedule": None},
    "dream": {"rule": "coins", "key": "random", "schedule": "dream", "tempered": True,
              "filters_greedy": True, "filter_order": "p_then_k"},
    "sglang_low_confidence": {**GRID, "rule": "threshold", "threshold": 0.95, "persist": True},
    "llada2": {**LLADA2, "rule": "dynamic", "threshold": 0.95, "schedule": "even_block",
               "eos": "after_block"},
    "llada21": {**LLADA2, "rule": "dynamic", "threshold": 0.95, "count": 1, "edits": "llada21",
                "edit_threshold": 0.9, "max_post_steps": 16},
    "sglang_joint": {**LLADA2, "rule": "threshold", "threshold": 0.5, "edits": "joint",
                     "edit_threshold": 0.0, "max_post_steps": 16, "persist": True},
    "sdar": {**LLADA2, "rule": "dynamic", "threshold": 0.85, "schedule": "even_block",
             "temperature": 1.0, "persist": True, "eos": "after_block"},
    "entropy_bound": {"rule": "entropy_bound", "key": "neg_entropy", "schedule": None},
    "hierarchy": {"rule": "hierarchy", "threshold": np.inf, "low_threshold": 0.4, "schedule": None},
    "fast_dllm_v2": {**GRID, "rule": "threshold", "threshold": 0.9, "tempered": True,
                     "filter_order": "p_then_k", "shifted": True, "eos": "gap_closed"},
}
SINGLE = ("threshold", "factor", "gamma", "low_threshold", "temperature", "top_p", "eps",
          "order_temperature", "edit_threshold", "penalty")  # fp32 where the contract compares


def parameters(preset, options):
    """Those of a sequence: the preset's, then what is asked in place of them."""
    unknown = options.keys() - LLADA.keys()
    assert not unknown, f"no such parameters: {unknown}"
    sequence = {**LLADA, **PRESETS[preset], **options}
    for name in SINGLE:
        sequence[name] = float(np.float32(sequence[name]))
    filters = sequence["top_k"] > 0 or sequence["top_p"] < 1
    sequence["filtered"] = filters and (sequence["temperature"] > 0 or sequence["filters_greedy"])
    return sequence


Step = collections.namedtuple("Step", "forward read outcomes keys errors choice editable masks")
Step.__doc__ = """A forward that was read, and what the rule is asked.

forward   of the sequence, from 0
read      positions read
outcomes  position -> what its row says, then what it might say (rows.outcomes)
keys      function of an Outcome and its position: what the position is ordered by
errors    function of the same: what may be wrong in that number
choice    rules.Choice, for the first outcomes
editable  positions whose token may change, and the confidence that another has to exceed
masks     of the block, before the step
"""


class Decoder:
    """One sequence. `doubt` is what the outcomes of a row allow for (rows.Doubt)."""

    def __init__(self, model, sequence, prompt, generate, block_length, doubt):
        self.model, self.sequence, self.doubt = model, sequence, doubt
        self.prompt, self.block_length = len(prompt), block_length
        length = self.prompt + generate
        self.first = self.prompt
        if sequence["aligned"]:
            self.first = self.prompt // block_length * block_length
            length = -(-length // block_length) * block_length
        self.blocks = range(self.first, length, block_length)
        self.canvas = list(prompt) + [model.mask] * (length - self.prompt)
        self.forwards = self.rows_read = self.ended = 0

    # ---- the loop ----

    def run(self, follow):
        """Decodes. follow(step) -> {position: id}: the commits and edits that are made."""
        for low in self.blocks:
            self.decode_block(low, low + self.block_length, follow)
            if self.ended:
                return
            self.forwards += self.sequence["persist"]  # nothing is read from it

    def decode_block(self, low, high, follow):
        sequence, edits = self.sequence, self.sequence["edits"]
        spared = {q for q in range(low, high)
                  if (self.canvas[q] != self.model.mask if edits == "joint" else q < self.prompt)}
        at_entry = len(self.masks(low, high))
        post = 0
        for i in itertools.count():
            masks = self.masks(low, high)
            if not masks:
                post += 1
                if not edits or (edits == "llada21" and post > sequence["max_post_steps"]):
                    return
            is_over = edits == "joint" and post > sequence["max_post_steps"]
            step = self.forward(low, high, masks, i, at_entry, set() if is_over else spared)
            if is_over:
                step = step._replace(editable={})
            changes = follow(step)
            for q, token in changes.items():
                self.canvas[q] = token
            if self.is_ended(low, high):
                self.ended = True
                return
            if is_over or (edits and not masks and not changes):
                return

    def masks(self, low, high):
        """Masked positions of a block that may be committed."""
        if self.sequence["eos"] == "gap_closed":
            high = min(high, self.first_eos())
        return [q for q in range(low, high) if self.canvas[q] == self.model.mask]

    # ---- one forward ----

    def forward(self, low, high, masks, i, at_entry, spared):
        sequence, mask = self.sequence, self.model.mask
        hidden = self.model.hidden(self.canvas)
        read = list(range(low, high)) if sequence["edits"] else masks
        source = [max(q - 1, 0) if sequence["shifted"] else q for q in read]
        logits = self.model.logits(hidden[source])
        draw, self.forwards = self.forwards, self.forwards + 1
        self.rows_read += len(read)
        said = {}
        for q, z in zip(read, logits):
            if sequence["penalty"] and q > low:
                z[self.canvas[q - 1]] -= sequence["penalty"]
            z[mask] = -np.inf
            said[q] = rows.outcomes(z, self.gumbel(q, draw), sequence, self.doubt)

        def key(outcome, q):
            return self.key(outcome, q, draw)

        choice = self.question(masks, said, key, i, at_entry)
        editable = {} if not sequence["edits"] else {
            q: sequence["edit_threshold"] for q in read if q not in masks and q not in spared}
        return Step(draw, read, said, key, self.error, choice, editable, masks)

    def gumbel(self, q, draw):
        if self.sequence["temperature"] <= 0:
            return None
        ids = np.arange(self.model.vocab)
        return noise.gumbel(noise.uniform(self.sequence["seed"], q, draw, ids))

    def key(self, outcome, q, draw):
        """What a position is ordered by."""
        name, heat = self.sequence["key"], self.sequence["order_temperature"]
        number = {"confidence": outcome.confidence, "margin": outcome.margin,
                  "entropy": outcome.entropy, "neg_entropy": -outcome.entropy, "random": 0.0}[name]
        if name != "random" and heat <= 0:
            return number
        u = noise.uniform(self.sequence["seed"], q, draw, [noise.POSITION_ID])[0]
        if name == "random":
            number = float(np.float32(u))
        return number / heat + noise.gumbel(u) if heat > 0 else number

    def error(self, outcome, _):
        """What may be wrong in a key."""
        heat = self.sequence["order_temperature"]
        return outcome.error.get(self.sequence["key"], 0.0) / (heat if heat > 0 else 1.0)

    def question(self, masks, said, key, i, at_entry):
        sequence, steps = self.sequence, self.sequence["steps"]
        count, fraction = sequence["count"], np.float32(1)
        if sequence["schedule"] == "even":
            count = rules.even_count(at_entry, steps, i)
        elif sequence["schedule"] == "even_block":
            count = rules.even_count(self.block_length, steps, i)
        elif sequence["schedule"] == "dream":
            fraction = rules.dream_fraction(steps, sequence["eps"], i)
            count = len(masks) if i == steps - 1 else rules.dream_count(len(masks), fraction)
        return rules.Choice({q: key(said[q][0], q) for q in masks},
                            {q: said[q][0].entropy for q in masks}, masks, count, fraction,
                            sequence)

    # ---- the end of a sequence (2.6) ----

    def first_eos(self):
        """The first at or after the prompt's end; without one the canvas's length."""
        behind = range(self.prompt, len(self.canvas))
        return next((q for q in behind if self.canvas[q] == self.model.eos), len(self.canvas))

    def is_ended(self, low, high):
        rule, first = self.sequence["eos"], self.first_eos()
        if rule == "never" or first == len(self.canvas):
            return False
        if rule == "after_block":
            return self.model.mask not in self.canvas[low:high] and first < high
        assert rule == "gap_closed", rule
        return self.model.mask not in self.canvas[self.prompt:first]
