"""Statistics of rows in double precision, and how far an answer may be from them.

Formulas of docs/numerics.md 2, tolerances of its section 15: they follow from type and depth. Written
for NumPy and torch alike; `lib` is the one of the two that the arrays belong to.
"""

EPS = 2.0**-24


class Reference:
    """Rows of logits hidden @ weight.T, or given ones; all in float64."""

    def __init__(self, lib, hidden=None, weight=None, logits=None):
        self.lib = lib
        if logits is None:
            self.z = hidden @ weight.T
            sums = abs(hidden) @ abs(weight).T
            self.delta = -(-hidden.shape[1] // 16) * 2.0**-20 * lib.amax(sums, axis=1)
        else:
            self.z = logits
            self.delta = 0 * logits[:, 0]
        self.argmax = lib.argmax(self.z, axis=1)
        self.max = lib.amax(self.z, axis=1)
        x = self.max[:, None] - self.z
        mass = lib.exp(-x)
        self.d = mass.sum(axis=1)
        self.lse = self.max + lib.log(self.d)
        self.confidence = 1 / self.d
        self.tau = self._tau(x, mass)

    def _tau(self, x, mass):
        """Relative error of d: additions, rescales, exp."""
        lib = self.lib
        spread = (mass * x).sum(axis=1) / self.d
        highest = lib.maximum.accumulate(self.z, axis=1) if hasattr(
            lib.maximum, "accumulate") else lib.cummax(self.z, dim=1)[0]
        rises = 1 + (lib.diff(highest, axis=1) > 0).sum(axis=1)
        additions = min(self.z.shape[1], 1024) + 32 + 5 * (lib.clip(rises, 1, 1024) + 16)
        sums = lib.minimum(additions * EPS, 2 * (1 - self.confidence))
        return sums + 4 * EPS + 2 * EPS * spread

    def check(self, answer):
        """Asserts that an answer (a HeadOutput) is within tolerance."""
        chosen = self.z[self.lib.arange(len(self.z)), answer.argmax]
        assert (self.max - chosen <= 2 * self.delta).all(), "argmax"
        exact = self.delta == 0
        assert (answer.argmax == self.argmax)[exact].all(), "argmax of exact rows"
        self._near("max", answer.max, self.delta)
        self._near("lse", answer.lse, self.delta + self.tau + 2 * EPS * self.lib.log(self.d)
                   + EPS * abs(self.lse))
        self._near("confidence", answer.confidence,
                   (2 * self.delta + self.tau + 2 * EPS) * self.confidence)
        assert answer.flags is None or not answer.flags.any(), "flags"

    def _near(self, name, got, tolerance):
        if got is None:
            return
        wanted = getattr(self, name)
        over = abs(got - wanted) - tolerance
        worst = int(self.lib.argmax(over))
        assert over[worst] <= 0, (f"{name} of row {worst}: got {float(got[worst])}, wanted "
                                  f"{float(wanted[worst])} within {float(tolerance[worst])}")
