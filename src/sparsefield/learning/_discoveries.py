"""Edges at a false discovery rate, as the edges of a fit."""

from __future__ import annotations

import numpy as np

from sparsefield.data import Rows
from sparsefield.pairs import Inference, infer_table
from sparsefield.structure import Structure, settle


def find_discoveries(rows: Rows, fdr: float, n_threads: int | None = None) -> Structure:
    """Return the pairs that are edges at a false discovery rate, and their weights by regressions.

    Parameters
    ----------
    rows : Rows
        Observations, some of which may be missing. Weights of a survey make rows tell less.
    fdr : float
        So many of the edges are false at most, in the mean.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    found = infer_table(rows.table, rows.weights, counts_rows=rows.counts_rows, fdr=fdr, n_threads=n_threads)
    return take_discoveries(rows, found, n_threads)


def take_discoveries(rows: Rows, found: Inference, n_threads: int | None = None) -> Structure:
    """Return the pairs of which an inference from the same table says that they are edges, as the edges of a fit."""
    is_edge = np.zeros((rows.table.domain.n_variables,) * 2, dtype=bool)
    a, b = found.pairs[found.is_edge].T
    is_edge[a, b] = is_edge[b, a] = True
    return settle(rows, is_edge, said=str(found), n_threads=n_threads)
