"""Features of levels: what interactions are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from sparsefield._typing import Values
from sparsefield.data import Domain


@dataclass(frozen=True, eq=False)
class Basis:
    """Features of all variables, one block for each.

    Parameters
    ----------
    blocks : tuple of ndarray of shape (n_levels of i, size of i)
        The value of each feature of each variable at each of its levels.
    values : csr_array of shape (n_levels, size)
        All of them; levels of all variables one after the other.
    rows : csr_array of shape (n_slots, size)
        What each slot adds to a feature, over its value at the reference level.
    square_rows : csr_array of shape (n_slots, size)
        The same of the squares of features.
    inverse : csr_array of shape (size, n_levels)
        Makes coefficients of features of a function of levels, up to a constant.
    reference : ndarray of shape (size,)
        Features at the reference levels; zero where all levels have parameters.
    variables : ndarray of shape (size,)
        The variable of each feature.
    interacts : ndarray of shape (size,), bool
        Which features interact with others; the rest have main effects alone.
    shares : ndarray of shape (n_levels,)
        Weights of levels with which all features that interact have a mean of zero.
    """

    blocks: tuple[Values, ...]
    values: csr_array
    rows: csr_array
    square_rows: csr_array
    inverse: csr_array
    reference: Values
    variables: NDArray[np.int64]
    interacts: NDArray[np.bool_]
    shares: Values


def make_basis(domain: Domain, kind: str) -> Basis:
    """Make the features of a domain: "contrasts", or indicators of levels for variables without an order ("levels")."""
    blocks, inverses, shares, interacts = [], [], [], []
    for i, n in enumerate(domain.n_levels):
        scores = None if domain.scores is None else domain.scores[i]
        skipped = None if domain.reference is None else domain.reference[i]
        if kind == "levels" and scores is None:
            keep = [k for k in range(n) if k != skipped]
            own = np.zeros(n) if skipped is None else np.eye(n)[skipped]
            blocks.append(np.eye(n)[:, keep])
            inverses.append((np.eye(n) - own)[keep])
        else:
            own = np.full(n, 1 / n)
            blocks.append(_contrasts(int(n), scores))
            inverses.append(4 / n * blocks[-1].T)
        shares.append(own)
        interacts += [scores is None or c == 0 for c in range(blocks[-1].shape[1])]
    values = block_diag(*blocks)
    sizes = [block.shape[1] for block in blocks]
    inverse = block_diag(*inverses)
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    levels = starts[domain.slot_variables] + domain.slot_levels
    variables = np.repeat(np.arange(domain.n_variables), sizes)
    reference = np.zeros(len(variables))
    if domain.reference is not None:
        reference = values[(starts + np.array(domain.reference, dtype=np.int64))[variables], np.arange(len(variables))]

    def over_reference(table: Values, at: Values) -> csr_array:
        own = domain.slot_variables[:, None] == variables
        return csr_array(np.where(own, table[levels] - at, 0.0))

    return Basis(
        tuple(blocks),
        csr_array(values),
        over_reference(values, reference),
        over_reference(values**2, reference**2),
        csr_array(inverse.reshape(len(variables), int(domain.n_levels.sum()))),
        reference,
        variables,
        np.array(interacts, dtype=bool),
        np.concatenate(shares),
    )


@lru_cache
def _contrasts(n: int, scores: tuple[float, ...] | None) -> Values:
    """Return n - 1 orthogonal contrasts of n levels, (n, n - 1), with squared norms of n / 4; the first is the score.

    Where all levels are equally likely, each has a variance of 1/4, as the indicator of one of two levels has.
    """
    if n == 1:
        return np.zeros((1, 0))
    first = np.eye(n)[:, 1:] if scores is None else np.column_stack([scores, np.eye(n)[:, 1:-1]])
    q, r = np.linalg.qr(first - first.mean(axis=0))
    # Of two levels the contrast is -1/2 and 1/2, and scores ascend.
    return np.asarray(q * np.where(np.diagonal(r) < 0, -1.0, 1.0) * np.sqrt(n) / 2)
