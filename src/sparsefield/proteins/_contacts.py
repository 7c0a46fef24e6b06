"""Which columns of an alignment touch in the folded protein: the strongest edges, corrected for what columns share."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield.fits import Fit, Fitted, as_model
from sparsefield.model import PairwiseMRF, block_norms


def correct_strengths(strengths: ArrayLike) -> NDArray[np.float64]:
    """Return strengths less the product of the means of their row and column, over the mean of all.

    The average product correction (Dunn, Wahl and Gloor 2008): columns that vary much, or share much of the tree of a
    family, have stronger edges with all others. Means are over pairs of different variables.

    Parameters
    ----------
    strengths : array-like of shape (p, p)
        Symmetric strengths from zero on; the diagonal does not matter.

    Returns
    -------
    ndarray of shape (p, p)
        Corrected strengths, which are zero where all pairs are alike; the diagonal is zero.

    Examples
    --------
    >>> from sparsefield.proteins._contacts import correct_strengths
    >>> correct_strengths([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]).round(2).tolist()
    [[0.0, -0.35, 0.2], [-0.35, 0.0, 0.2], [0.2, 0.2, 0.0]]
    """
    own = np.array(strengths, dtype=np.float64)
    if own.ndim != 2 or own.shape[0] != own.shape[1]:
        raise ValueError(f"Strengths have shape {own.shape}: give a square matrix.")
    np.fill_diagonal(own, 0.0)
    if not own.any():
        return own
    sums, p = own.sum(axis=1), len(own)
    # Means are sums over p - 1 others, and over p (p - 1) pairs.
    corrected = own - np.outer(sums, sums) / sums.sum() * p / (p - 1)
    np.fill_diagonal(corrected, 0.0)
    return np.asarray(corrected)


def rank_contacts(fitted: PairwiseMRF | Fit | Fitted, *, min_separation: int = 5, apc: bool = True) -> pl.DataFrame:
    """Rank pairs of columns by how likely they touch: the strongest edges, corrected, best first.

    Parameters
    ----------
    fitted : PairwiseMRF, Fit or fitted estimator
        A field of the columns of an alignment, in their order.
    min_separation : int
        How far columns are apart at least; neighbours in the sequence touch anyway.
    apc : bool
        Whether strengths are corrected for what columns share (`correct_strengths`).

    Returns
    -------
    polars.DataFrame
        Columns `first`, `second`, `strength`, which is the Frobenius norm of a block of interactions in the zero-sum
        gauge, and `score`, by which pairs are ranked. Pairs without an edge are left out.

    Examples
    --------
    >>> import sparsefield as sf
    >>> model = sf.datasets.make_chain(5, seed=1)
    >>> sf.proteins.rank_contacts(model, min_separation=1).columns
    ['first', 'second', 'strength', 'score']
    """
    model = as_model(fitted)
    strengths = block_norms(model)
    scores = correct_strengths(strengths) if apc else strengths
    first, second = np.triu_indices(len(strengths), max(1, min_separation))
    has_edge = strengths[first, second] > 0
    first, second = first[has_edge], second[has_edge]
    order = np.argsort(-scores[first, second], kind="stable")
    first, second = first[order], second[order]
    names = model.domain.names
    return pl.DataFrame(
        {
            "first": pl.Series([names[i] for i in first], dtype=pl.String),
            "second": pl.Series([names[j] for j in second], dtype=pl.String),
            "strength": pl.Series(strengths[first, second], dtype=pl.Float64),
            "score": pl.Series(scores[first, second], dtype=pl.Float64),
        }
    )
