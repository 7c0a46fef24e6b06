"""Fields of variables with several levels, ordered or not, and the exact law of their chains, with numpy alone."""

import numpy as np

from sparsefield import Domain, PairwiseMRF
from support.zoo import random_field


def from_blocks(n_levels, mains, blocks, reference="first"):
    """Make a field of main effects mains[i] (K_i,) and interactions blocks[i, j] (K_i, K_j) of all levels, i < j."""
    codes = {"first": (0,) * len(n_levels), "last": tuple(n - 1 for n in n_levels), None: None}[reference]
    domain = Domain(tuple(f"v{i}" for i in range(len(n_levels))), tuple(tuple(range(n)) for n in n_levels), codes)
    main, interactions = np.zeros(domain.n_slots), np.zeros((domain.n_slots, domain.n_slots))
    own = [domain.slot_variables == i for i in range(len(n_levels))]
    levels = [domain.slot_levels[o] for o in own]

    def subtract(values, i):
        return values if codes is None else values - values[codes[i]]

    for i, values in enumerate(mains):
        main[own[i]] += subtract(np.asarray(values), i)[levels[i]]
    for (i, j), values in blocks.items():
        if codes is not None:  # what the reference level of one variable does is a main effect of the other
            main[own[i]] += subtract(values[:, codes[j]], i)[levels[i]]
            main[own[j]] += subtract(values[codes[i]], j)[levels[j]]
        centred = subtract(subtract(values, i).T, j).T
        interactions[np.ix_(own[i], own[j])] = centred[np.ix_(levels[i], levels[j])]
        interactions[np.ix_(own[j], own[i])] = centred[np.ix_(levels[i], levels[j])].T
    return PairwiseMRF(domain, main, interactions)


def ordered_field(n_levels, *, seed, scale, signs="mixed", reference="first"):
    """Make a field whose interactions are products of scores, of either sign, with free main effects."""
    rng = np.random.default_rng(seed)
    p = len(n_levels)
    scores = [np.sort(rng.uniform(0, 1, n)) * n for n in n_levels]
    blocks = {}
    for i in range(p):
        for j in range(i + 1, p):
            weight = rng.normal(0, scale) if signs == "mixed" else abs(rng.normal(0, scale))
            blocks[i, j] = weight * np.outer(scores[i], scores[j])
    return from_blocks(n_levels, [rng.normal(0, 0.7, n) for n in n_levels], blocks, reference)


def random_levels(seed):
    """Make a field of up to 4 variables with up to 4 levels, of any strength and density, ordered or not."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 5))
    n_levels = rng.integers(1 if seed % 5 == 0 else 2, 5, p).tolist()
    n_levels[int(rng.integers(p))] = int(rng.integers(3, 5))
    scale = rng.choice([0.05, 0.2, 0.5, 1.0, 2.0])
    reference = ["first", None, "last"][seed % 3]
    if seed % 4 == 3:
        return ordered_field(n_levels, seed=seed, scale=scale / 2, reference=reference)
    return random_field(n_levels, seed=seed, scale=scale, density=rng.choice([0.3, 0.7, 1.0]), reference=reference)


class Law:
    """All states of a small field, and the exact law of its chains."""

    def __init__(self, model):
        self.n_levels = model.domain.n_levels
        self.states = np.indices(tuple(self.n_levels)).reshape(len(self.n_levels), -1).T
        s = model.domain.indicators(self.states.astype(np.uint8))
        self._products = (s[:, :, None] * s[:, None, :]).reshape(len(s), -1)
        self._size = s.shape[1]
        self._exponents = s @ model.main + ((s @ model.interactions) * s).sum(axis=1) / 2
        weights = np.exp(self._exponents - self._exponents.max())
        self.probabilities = weights / weights.sum()

    def conditional(self, i):
        """Return the probability of each state given all of it but variable i."""
        # From exponents: states whose probability is zero in floating point have conditionals too.
        exponents = self._exponents.reshape(tuple(self.n_levels))
        weights = np.exp(exponents - exponents.max(axis=i, keepdims=True))
        return (weights / weights.sum(axis=i, keepdims=True)).reshape(-1)

    def sweep(self, laws, order=None):
        """Carry laws (n, states) through one sweep."""
        shape = (len(laws), *self.n_levels)
        for i in range(len(self.n_levels)) if order is None else order:
            total = laws.reshape(shape).sum(axis=i + 1, keepdims=True)
            laws = np.broadcast_to(total, shape).reshape(len(laws), -1) * self.conditional(i)
        return laws

    def moments(self, laws):
        """Return the moments (n, slots, slots) of laws."""
        return (laws @ self._products).reshape(len(laws), self._size, self._size)

    def worst_errors(self, n_sweeps, order=None):
        """Yield, after each sweep, the largest error of each statistic and of their norm over all starts."""
        exact = self.moments(self.probabilities[None])
        laws = np.eye(len(self.states))
        upper = np.triu(np.ones(exact.shape[1:], dtype=bool))
        for _ in range(n_sweeps):
            laws = self.sweep(laws, order)
            errors = np.abs(self.moments(laws) - exact)
            yield errors.max(axis=0), np.sqrt((errors**2 * upper).sum(axis=(1, 2))).max()

    def influence(self, i, j):
        """Return the largest total variation distance of the conditionals of i at states that differ in j alone."""
        shape = tuple(self.n_levels)
        given = np.moveaxis(self.conditional(i).reshape(shape), (i, j), (0, 1))
        changes = np.abs(given[:, :, None] - given[:, None]).sum(axis=0) / 2
        return float(changes.max())
