"""Random fields, and the exact errors of chains on them that certificates must exceed."""

import numpy as np

from sparsefield import PairwiseMRF
from support import exact_chains

# Sums of at most 256 probabilities, carried through at most 20 sweeps of 8 updates, each rounded to 2^-53 of itself:
# 160 x 3 + 256 roundings of values up to 1.
ROUNDING = 1000 * 2.0**-53


def random_binary(seed):
    """Make a field of up to 8 variables, of any strength, density and sign."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 9))
    strength = rng.choice([0.05, 0.2, 0.5, 1.0, 2.0, 4.0])
    density = rng.choice([0.0, 0.2, 0.5, 1.0])
    signs = rng.choice([-1, 1], (p, p)) if seed % 3 == 0 else np.full((p, p), 1 if seed % 3 == 1 else -1)
    values = np.triu(signs * rng.uniform(0, strength, (p, p)) * (rng.random((p, p)) < density), 1)
    main = rng.uniform(-1, 1, p) * rng.choice([0.0, strength])
    return PairwiseMRF.binary(main, values + values.T)


def worst_errors(model, n_sweeps, order=None):
    """Yield, after each sweep, the largest error of each statistic and of their norm over all starts."""
    p = model.domain.n_variables
    exact = exact_chains.pair_moments(exact_chains.probabilities(model.main, model.interactions)[None], p)[0]
    laws = np.eye(2**p)
    for _ in range(n_sweeps):
        laws = exact_chains.sweep(laws, model.main, model.interactions, order)
        errors = np.abs(exact_chains.pair_moments(laws, p) - exact)
        yield errors.max(axis=0), exact_chains.norm(errors).max()


def assert_holds(certificate, errors, bias):
    assert bias <= certificate.bias + ROUNDING, (bias, certificate.bias)
    assert np.all(errors <= certificate.pair + ROUNDING)


def pair_field(main, value):
    return PairwiseMRF.binary(main, [[0.0, value], [value, 0.0]])
