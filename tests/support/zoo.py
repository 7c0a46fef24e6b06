"""Small fields with names, for tests that should hold for all of them."""

import numpy as np

from sparsefield import Domain, PairwiseMRF


def random_field(n_levels, *, seed, scale=1.0, density=1.0, reference="first"):
    """Make a field over any numbers of levels with normal parameters."""
    rng = np.random.default_rng(seed)
    names = tuple(f"v{i}" for i in range(len(n_levels)))
    levels = tuple(tuple(range(n)) for n in n_levels)
    codes = {"first": (0,) * len(n_levels), "last": tuple(n - 1 for n in n_levels), None: None}[reference]
    domain = Domain(names, levels, codes)
    size = domain.n_slots
    values = rng.normal(0, scale, (size, size)) * (rng.random((size, size)) < density)
    values = np.triu(values, 1)
    values[domain.slot_variables[:, None] == domain.slot_variables] = 0
    return PairwiseMRF(domain, rng.normal(0, scale, size), values + values.T)


def _binary(main, edges):
    p = len(main)
    interactions = np.zeros((p, p))
    for (i, j), value in edges.items():
        interactions[i, j] = interactions[j, i] = value
    return PairwiseMRF.binary(main, interactions)


BINARY = {
    "one variable": _binary([0.7], {}),
    "empty": _binary([0.0] * 5, {}),
    "main effects only": _binary([-2.0, 0.5, 0.0, 1.0], {}),
    "one edge": _binary([0.3, -0.2], {(0, 1): 1.5}),
    "disconnected": _binary([0.1, -0.4, 0.2, 0.6, -1.0], {(0, 1): 0.9, (2, 3): -1.1}),
    "all negative": _binary([-0.5] * 6, {(i, j): -0.7 for i in range(6) for j in range(i)}),
    "dense": random_field([2] * 7, seed=1, scale=0.5),
    "reference last": random_field([2] * 5, seed=2, scale=0.5, reference="last"),
    "no reference": random_field([2] * 5, seed=3, scale=0.5, reference=None),
    "with a constant": random_field([2, 1, 2, 2], seed=4, scale=0.7),
    "a constant, no reference": random_field([2, 1, 2], seed=5, scale=0.7, reference=None),
}

LEVELS = {
    "three levels": random_field([3, 3, 3, 3], seed=6, scale=0.5),
    "mixed levels": random_field([2, 3, 1, 5, 2], seed=7, scale=0.6),
    "mixed, reference last": random_field([4, 2, 3], seed=8, scale=0.8, reference="last"),
    "mixed, no reference": random_field([3, 2, 4], seed=9, scale=0.8, reference=None),
    "sparse levels": random_field([3, 4, 2, 3], seed=10, scale=1.0, density=0.3),
}

ZOO = BINARY | LEVELS


def parts(model):
    """Return what the naive functions take: level counts, reference, main effects, interactions."""
    domain = model.domain
    return domain.n_levels.tolist(), domain.reference, model.main.tolist(), model.interactions.tolist()
