"""Edges at a false discovery rate, as the edges of a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Table
from sparsefield.pairs import Inference, infer_table
from sparsefield.structure import Structure, settle


def find_discoveries(
    table: Table, weights: NDArray[np.float64] | None, fdr: float, n_threads: int | None = None
) -> Structure:
    """Return the pairs that are edges at a false discovery rate, and their weights by regressions.

    Parameters
    ----------
    table : Table
        Observations, some of which may be missing.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts where these are whole numbers; else weights of a survey, which make rows tell less.
    fdr : float
        So many of the edges are false at most, in the mean.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    counts_rows = weights is not None and bool((weights % 1 == 0).all())
    found = infer_table(table, weights, counts_rows=counts_rows, fdr=fdr, n_threads=n_threads)
    return take_discoveries(table, weights, found, n_threads)


def take_discoveries(
    table: Table, weights: NDArray[np.float64] | None, found: Inference, n_threads: int | None = None
) -> Structure:
    """Return the pairs of which an inference from the same table says that they are edges, as the edges of a fit."""
    is_edge = np.zeros((table.domain.n_variables,) * 2, dtype=bool)
    a, b = found.pairs[found.is_edge].T
    is_edge[a, b] = is_edge[b, a] = True
    return settle(table, weights, is_edge, said=str(found), n_threads=n_threads)
