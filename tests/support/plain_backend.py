"""A backend in plain numpy, slow and obvious, which shares nothing with the package's own chains.

It has what `inference.Backend` asks for and no more, so that solvers that run on it reach for nothing else.
"""

import copy

import numpy as np

from sparsefield import inference
from sparsefield.data import MISSING, Moments
from sparsefield.inference import ChainStates, ClampedRun, OutOfReachError, PerfectRun


class Tables:
    """Exponents of every level of every variable, as one long vector and one matrix."""

    def __init__(self, field, n_planes, order):
        domain = field.domain
        self.order = range(domain.n_variables) if order is None else order
        self.domain, self.n_planes = domain, n_planes
        self.starts = np.cumsum(domain.n_levels) - domain.n_levels
        index = self.starts[domain.slot_variables] + domain.slot_levels
        size = int(domain.n_levels.sum())
        self.main, self.pair = np.zeros(size), np.zeros((size, size))
        self.main[index] = field.main
        self.pair[np.ix_(index, index)] = field.interactions

    def exponents(self, i, states):
        """Return those of variable i given the others, (n, levels)."""
        own = slice(self.starts[i], self.starts[i] + self.domain.n_levels[i])
        return self.main[own] + self.pair[own][:, self.starts + states].sum(axis=2).T


class Draws:
    def __init__(self, domain, states, probabilities=None):
        self.n = len(states) if probabilities is None else None
        self.p = np.full(len(states), 1 / len(states)) if probabilities is None else probabilities
        self.s = domain.indicators(states.astype(np.uint8))
        self._states = states

    def codes(self):
        return None if self.n is None else self._states.astype(np.uint8)

    def second_moments(self, a, b):
        products = self.s[:, a] * self.s[:, b]
        return (products.T * self.p) @ products, 1.0, self.p @ products

    def near_moments(self, a, b, starts, columns):
        found, scale, means = self.second_moments(a, b)
        return found[np.repeat(np.arange(len(a)), np.diff(starts)), columns], scale, means

    def along(self, move):
        return (((self.s @ move) * self.s).sum(axis=1) + self.s @ np.diagonal(move)) / 2

    def along_some(self, moves, a, b):
        return (self.s[:, a] * self.s[:, b]) @ moves

    def reweight(self, values):
        weights = self.p * np.exp(values - values.max())
        share = 1.0 if self.n is None else weights.sum() ** 2 / (weights**2).sum() / self.n
        return values.max() + np.log(weights.sum()), share

    def project(self, values):
        weights = self.p * (values - self.p @ values)
        return (self.s.T * weights) @ self.s

    def project_roughly(self, values, within=None):  # noqa: ARG002
        return self.project(values), 0.0

    def project_onto(self, values, a, b):
        return self.project(values)[a, b]


class States(Draws):
    def __init__(self, domain, states, probabilities, log_normaliser):
        super().__init__(domain, states, probabilities)
        self.log_normaliser = log_normaliser
        self.moments = Moments.of_pairs((self.s.T * self.p) @ self.s, None)


class Chains(ChainStates):
    def __init__(self, domain, states, rng, kept=None):
        self.domain, self.n_chains = domain, len(states)
        self._states, self._rng, self._kept = states, rng, kept

    def sweep(self, scan, n_sweeps=1):
        assert scan.n_planes == 1
        for _ in range(n_sweeps):
            for i in scan.order:
                exponents = scan.exponents(i, self._states)
                drawn = (exponents + self._rng.gumbel(size=exponents.shape)).argmax(axis=1)
                if self._kept is not None:
                    drawn = np.where(self._kept[:, i], self._states[:, i], drawn)
                self._states[:, i] = drawn

    def moments(self):
        s = self.domain.indicators(self.codes())
        return Moments.of_pairs(s.T @ s / len(s), len(s))

    def means(self):
        return self.domain.indicators(self.codes()).mean(axis=0)

    def codes(self, n=None):
        return self._states[:n].astype(np.uint8)

    def draws(self):
        return Draws(self.domain, self._states)

    def copy(self):
        return Chains(self.domain, self._states.copy(), copy.deepcopy(self._rng), self._kept)


class Bounds(inference.Bounds):
    """The least and the largest state of chains from any start, for two levels."""

    def __init__(self, domain, n_chains, rng):
        self.domain, self.n_chains, self.n_sweeps, self._rng = domain, n_chains, 0, rng
        self._low = np.zeros((n_chains, domain.n_variables), dtype=np.int64)
        self._high = np.ones_like(self._low)

    def sweep(self, scan, n_sweeps=1):
        assert scan.n_planes == 2
        for _ in range(n_sweeps):
            for i in scan.order:
                zero, one = scan.starts[i], scan.starts[i] + 1
                by_level = scan.pair[one] - scan.pair[zero]
                at_low, at_high = (by_level[scan.starts + bound] for bound in (self._low, self._high))
                first = scan.main[one] - scan.main[zero]
                least = first + np.minimum(at_low, at_high).sum(axis=1)
                most = first + np.maximum(at_low, at_high).sum(axis=1)
                u = self._rng.random(self.n_chains)
                self._low[:, i], self._high[:, i] = (u < 1 / (1 + np.exp(-odds)) for odds in (least, most))
            self.n_sweeps += 1

    @property
    def n_open(self):
        return int((self._low != self._high).any(axis=1).sum())

    def open_counts(self):
        return self._high.T @ self._high - self._low.T @ self._low


class Plain:
    """The backend. Exact draws are picked among all states, for any number of levels."""

    def prepare(self, field, *, n_planes=1, order=None):
        return Tables(field, n_planes, order)

    def chains(self, domain, n_chains, *, seed):
        rng = np.random.default_rng(seed)
        return Chains(domain, rng.integers(0, domain.n_levels, (n_chains, domain.n_variables)), rng)

    def clamped_chains(self, domain, codes, *, seed):
        rng = np.random.default_rng(seed)
        is_missing = codes == MISSING
        states = np.where(is_missing, rng.integers(0, domain.n_levels, codes.shape), codes).astype(np.int64)
        return Chains(domain, states, rng, ~is_missing)

    def bounding_chains(self, domain, n_chains, *, seed):
        return Bounds(domain, n_chains, np.random.default_rng(seed))

    def draw(self, field, n_draws, *, seed, max_sweeps, order=None):  # noqa: ARG002
        if max_sweeps < 2:
            raise OutOfReachError("Nothing can be drawn in one sweep.")
        rng = np.random.default_rng(seed)
        states, probabilities, _ = self._enumerate(field)
        drawn = states[rng.choice(len(states), n_draws, p=probabilities)]
        return Chains(field.domain, drawn, rng), PerfectRun(1, n_draws, n_draws, 0, 1.0)

    def clamped_draw(self, field, codes, *, seed, max_sweeps):
        if max_sweeps < 2:
            raise OutOfReachError("No missing values can be drawn in one sweep.", "one sweep")
        rng = np.random.default_rng(seed)
        states, probabilities, _ = self._enumerate(field)
        drawn = np.array([states[rng.choice(len(states), p=self._given(row, states, probabilities))] for row in codes])
        return Chains(field.domain, drawn, rng, codes != MISSING), ClampedRun(len(codes), 0, 0.0)

    def clamped_products(self, field, codes, weights):
        states, probabilities, _ = self._enumerate(field)
        s = field.domain.indicators(states.astype(np.uint8))
        total = np.zeros(len(s))
        for row, weight in zip(codes, weights, strict=True):
            total += weight * self._given(row, states, probabilities)
        return (s.T * total) @ s

    def clamped_variances(self, field, codes, move):
        states, probabilities, _ = self._enumerate(field)
        values = Draws(field.domain, states).along(move)
        laws = [self._given(row, states, probabilities) for row in codes]
        return np.array([law @ values**2 - (law @ values) ** 2 for law in laws])

    def _given(self, row, states, probabilities):
        """Return the probabilities of all states given the observed cells of a row."""
        agrees = probabilities * ((row == MISSING) | (states == row)).all(axis=1)
        return agrees / agrees.sum()

    def enumerate(self, field):
        states, probabilities, log_partition = self._enumerate(field)
        s = field.domain.indicators(states.astype(np.uint8))
        return log_partition, Moments.of_pairs((s.T * probabilities) @ s, None)

    def states(self, field):
        return States(field.domain, *self._enumerate(field))

    def _enumerate(self, field):
        levels = tuple(field.domain.n_levels)
        states = np.indices(levels).reshape(len(levels), -1).T
        s = field.domain.indicators(states.astype(np.uint8))
        exponents = s @ field.main + ((s @ field.interactions) * s).sum(axis=1) / 2
        weights = np.exp(exponents - exponents.max())
        return states, weights / weights.sum(), float(exponents.max() + np.log(weights.sum()))
