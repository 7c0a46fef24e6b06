"""The weights of edges along a path, without its fits: what pictures and pages need of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.fits import Fit
from sparsefield.model import pair_weights
from sparsefield.selection.paths._path import Path


@dataclass(frozen=True, eq=False)
class PathWeights:
    """Weights of the pairs that have an edge at some penalty of a path.

    Parameters
    ----------
    alphas : tuple of float
        The penalties, from the largest to the smallest.
    names : tuple of str
        The variables.
    pairs : ndarray of int of shape (n_pairs, 2)
        The pairs, by the indices of their variables.
    values : ndarray of shape (n_alphas, n_pairs)
        Their weights, as in `Network`, zero where there is no edge.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.selection import PathWeights
    >>> table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    >>> found = PathWeights.of(sf.path(table, [0.2, 0.05]))
    >>> found.values.shape, found.pairs.tolist()
    ((2, 3), [[0, 1], [1, 2], [2, 3]])
    """

    alphas: tuple[float, ...]
    names: tuple[str, ...]
    pairs: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, path: Path) -> PathWeights:
        """Return the weights of a path."""
        names = path.fits[0].model.domain.names if path.fits else ()
        return cls(path.alphas, names, *find_weights(path.fits))


def find_weights(fits: tuple[Fit, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs that have an edge in some fit, and their weight in each."""
    if not fits:
        return np.zeros((0, 2), dtype=np.int64), np.zeros((0, 0))
    domain = fits[0].model.domain
    a, b = np.triu_indices(domain.n_variables, 1)
    weights = [pair_weights(domain, fit.model.interactions)[a, b] for fit in fits]
    ever = np.flatnonzero(np.any([own != 0 for own in weights], axis=0))
    return np.column_stack([a[ever], b[ever]]), np.array([own[ever] for own in weights])
