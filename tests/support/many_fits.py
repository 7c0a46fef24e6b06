"""Paths, choices and resamples, made up of a few edges."""

import numpy as np
import polars as pl

from sparsefield import Fit, PairwiseMRF
from sparsefield.fits import Status
from sparsefield.resampling import Bootstrap, Ends
from sparsefield.selection import Choice, Path

ENDS = Ends((), np.ones(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def make_fit(weights, n_variables=4, alpha=0.1):
    """A fit of binary variables that has these edges."""
    interactions = np.zeros((n_variables, n_variables))
    for (i, j), weight in weights.items():
        interactions[i, j] = interactions[j, i] = weight
    model = PairwiseMRF.binary(
        np.zeros(n_variables), interactions, names=list("abcdefghijklmnopqrstuvwxyz"[:n_variables])
    )
    return Fit(model, Status("converged", "Made up."), (), settings={"alpha": alpha})


def make_path(alphas=(0.4, 0.2, 0.1)):
    fits = (
        make_fit({}, alpha=alphas[0]),
        make_fit({(0, 1): 1.0}, alpha=alphas[1]),
        make_fit({(0, 1): 2.0, (1, 2): -0.5, (2, 3): 0.1}, alpha=alphas[2]),
    )
    return Path(fits, (None,) * 3, (0.0,) * 3, 100.0)


def make_bootstrap():
    """Three edges, of which the second has another sign, and a pair that only resamples join."""
    fit = make_fit({(0, 1): 2.0, (1, 2): -0.5, (2, 3): 0.1})
    pairs = np.array([[0, 1], [0, 3], [1, 2], [2, 3]])
    weights = np.tile([2.0, 0.0, -0.5, 0.1], (100, 1)) + np.linspace(-0.2, 0.2, 100)[:, None] * [1, 0, 1, 1]
    weights[:29, 3] = 0
    weights[:5, 1] = 0.3
    return Bootstrap(fit, pairs, weights, ENDS, 500)


def make_choice(columns, threshold=None):
    table = pl.DataFrame({"alpha": [0.4, 0.2, 0.1], "edges": [0, 2, 5], **columns})
    return Choice(1, 0.2, table, "Made up.", threshold)
