"""Statistics of rows in double precision, and how far an answer may be from them.

Formulas of docs/numerics.md 2, tolerances of its section 15: they follow from type and depth.
Written for NumPy and torch alike; `lib` is the one of the two that the arrays belong to.
"""

EPS = 2.0**-24


class Reference:
    """Rows of logits hidden @ weight.T, or given ones; all in float64. Tempered, of logits / T."""

    def __init__(self, lib, hidden=None, weight=None, logits=None, temperature=1.0):
        self.lib = lib
        if logits is None:
            self.z = hidden @ weight.T
            sums = abs(hidden) @ abs(weight).T
            self.delta = -(-hidden.shape[1] // 16) * 2.0**-20 * lib.amax(sums, axis=1)
        else:
            self.z = logits
            self.delta = 0 * logits[:, 0]
        self.temperature = temperature
        self.shift = self.delta / temperature
        self.argmax = lib.argmax(self.z, axis=1)
        self.max = lib.amax(self.z, axis=1)
        self.x = (self.max[:, None] - self.z) / temperature
        mass = lib.exp(-self.x)
        self.d = mass.sum(axis=1)
        self.ln_d = lib.log(self.d)
        self.lse = self.max / temperature + self.ln_d
        self.confidence = 1 / self.d
        self.spread = (mass * self.x).sum(axis=1) / self.d
        self.square = (mass * self.x**2).sum(axis=1) / self.d
        self.entropy = self.ln_d + self.spread
        self._second()
        self._sums()

    def _second(self):
        """The entry behind the best: larger logit, then lower id."""
        ids = self.lib.cumsum(self.lib.ones_like(self.z), 1) - 1  # on the device of z
        best = ids == self.argmax[:, None]
        others = self.lib.where(best, self.z - float("inf"), self.z)
        self.second_id = self.lib.argmax(others, axis=1)
        self.second = self.lib.amax(others, axis=1)
        self.x_second = (self.max - self.second) / self.temperature
        self.margin = -self.lib.expm1(-self.x_second) / self.d

    def _sums(self):
        """tau, the relative error of d: additions, rescales, exp."""
        lib = self.lib
        highest = (
            lib.maximum.accumulate(self.z, axis=1)
            if hasattr(lib.maximum, "accumulate")
            else lib.cummax(self.z, dim=1)[0]
        )
        rises = 1 + (lib.diff(highest, axis=1) > 0).sum(axis=1)
        self.additions = min(self.z.shape[1], 1024) + 32 + 5 * (lib.clip(rises, 1, 1024) + 16)
        sums = lib.minimum(self.additions * EPS, 2 * (1 - self.confidence))
        self.tau = sums + 4 * EPS + 2 * EPS * self.spread

    def tolerance(self, name):
        """How far an output may be from its value here."""
        tau, shift, d = self.tau, self.shift, self.d
        if name == "lse":
            tempered = EPS * abs(self.max / self.temperature) if self.temperature != 1 else 0
            return shift + tau + 2 * EPS * self.ln_d + EPS * abs(self.lse) + tempered
        if name == "confidence":
            return (2 * shift + tau + 2 * EPS) * self.confidence
        if name == "entropy":
            return (
                2 * self.entropy * shift
                + tau
                + self.spread * ((self.additions + 4) * EPS + tau)
                + 2 * EPS * self.square
                + 4 * EPS * self.entropy
            )
        if name == "margin":
            p1, p2 = 1 / d, self.lib.exp(-self.x_second) / d
            return p1 * (tau + 4 * EPS) + p2 * EPS * (4 + 2 * self.x_second) + 2 * shift * (p1 + p2)
        return self.delta  # max, second

    def log_probability(self, ids):
        """(value, tolerance) of the log-probability of an id a row."""
        x = self.x[self.lib.arange(len(self.z)), ids]
        value = -x - self.ln_d
        return value, (
            2 * self.shift + self.tau + 2 * EPS * self.ln_d + 2 * EPS * x + EPS * abs(value)
        )

    def check_log_probability(self, got, ids):
        """Asserts that log-probabilities of an id a row are within tolerance."""
        self.near("log-probability", got, *self.log_probability(ids))

    def check(self, answer):
        """Asserts that an answer (a HeadOutput) is within tolerance, what of it is there."""
        rows = self.lib.arange(len(self.z))
        for name, best in (("argmax", self.max), ("second_id", self.second)):
            got = getattr(answer, name)
            if got is None:
                continue
            assert (abs(best - self.z[rows, got]) <= 2 * self.delta).all(), name
            assert (got == getattr(self, name))[self.delta == 0].all(), f"{name} of exact rows"
        for name in ("max", "lse", "confidence", "entropy", "second", "margin"):
            if getattr(answer, name) is not None:
                self.near(name, getattr(answer, name), getattr(self, name), self.tolerance(name))
        assert answer.flags is None or not answer.flags.any(), "flags"

    def near(self, name, got, wanted, tolerance):
        """Asserts that every row's value is within its tolerance."""
        over = abs(got - wanted) - tolerance
        worst = int(self.lib.argmax(over))
        assert over[worst] <= 0, (
            f"{name} of row {worst}: got {float(got[worst])}, wanted "
            f"{float(wanted[worst])} within {float(tolerance[worst])}"
        )
