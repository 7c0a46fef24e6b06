"""Score tests of all pairs at one time, by products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsefield._threads import one_for_products
from sparsefield._typing import Index, Values
from sparsefield.pairs._pair_rows import PairRows

_LEAST = 1e-9  # of the rows: the information of a pair that neighbours tell without error


@dataclass(frozen=True, eq=False)
class Residuals:
    """What the regressions of all variables leave, row by row; zero where a variable is missing.

    Parameters
    ----------
    means : ndarray of shape (n, n_columns)
        The means of the features given the neighbours.
    residuals : ndarray of shape (n, n_columns)
        The features less these.
    spreads : tuple of ndarray of shape (n, d, d)
        Their covariances, for each variable.
    """

    means: Values
    residuals: Values
    spreads: tuple[Values, ...]

    @classmethod
    def of(cls, rows: PairRows) -> Residuals:
        """Find what the regressions leave."""
        design = rows.design
        means = np.zeros(design.columns.shape)
        spreads = []
        for i, own in enumerate(design.variables):
            d = int(design.sizes[i])
            if not d:
                spreads.append(np.zeros((len(means), 0, 0)))
                continue
            residuals, spread, _ = rows.nodes.weigh(i)
            is_there = own.counts > 0
            counts = np.where(is_there, own.counts, 1.0)
            mean = own.features[own.codes] - residuals / counts[:, None]
            means[:, design.starts[i] : design.starts[i + 1]] = np.where(is_there[:, None], mean, 0.0)
            spreads.append(np.where(is_there[:, None, None], spread / counts[:, None, None], 0.0))
        return cls(means, np.where(means != 0, design.columns - means, design.columns), tuple(spreads))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of Theta = 0 and their information, of all pairs and with one choice of neighbours.

    Parameters
    ----------
    starts : ndarray of shape (n_variables + 1,)
        Where the features of each variable begin.
    scores : ndarray of shape (n_columns, n_columns)
        The scores.
    information : ndarray of shape (n_columns, n_columns)
        Their variances where both variables have one feature.
    blocks : dict of ndarray of shape (d e, d e)
        Their covariances for other pairs.
    least : float
        What information is at least.
    """

    starts: Index
    scores: Values
    information: Values
    blocks: dict[tuple[int, int], Values]
    least: float

    def of(self, i: int, j: int) -> tuple[Values, Values]:
        """Return the scores of a pair (d e,), and their covariance."""
        a, b = self.starts[i], self.starts[j]
        score = self.scores[a : self.starts[i + 1], b : self.starts[j + 1]].ravel()
        if len(score) == 1:
            return score, np.maximum(self.information[a : a + 1, b : b + 1], self.least)
        return score, self.blocks[i, j] + self.least * np.eye(len(score))


def score_pairs(rows: PairRows, left: Residuals) -> tuple[Scores, Scores]:
    """Find the scores of all pairs, with own neighbours and with those of both.

    With own neighbours: U = sum x_i x_j - m_i m_j, whose information is what is left of
    sum E x_i^2 E x_j^2 - m_i^2 m_j^2 when the statistics of either regression are taken out. With those of both:
    U = sum r_i r_j of residuals, with the information sum v_i v_j (the generalised covariance measure of Shah and
    Peters 2020).
    """
    design, starts = rows.design, rows.design.starts
    counts, sizes = design.counts[:, None], design.sizes
    at = starts[:-1][sizes == 1]
    width, least = int(starts[-1]), _LEAST * design.n
    # Columns of variables that have one feature; what the blocks of others are made of comes pair by pair.
    variances = np.column_stack([np.zeros((len(counts), 0)), *(s[:, :, 0] for s in left.spreads if s.shape[1] == 1)])
    squares = left.means[:, at] ** 2
    seconds = variances + squares
    single = np.ix_(at, at)
    own_information, both_information = np.zeros((width, width)), np.zeros((width, width))
    taken = np.zeros((width, width))
    lost: dict[tuple[int, int], Values] = {}

    def take_out(part: Sequence[int]) -> None:
        """Find what the regressions of some variables explain of their products with the means of others."""
        nodes = rows.nodes
        explained = nodes.explain(part, [nodes.weigh(i) for i in part], left.means)
        for i, solved in zip(part, explained, strict=True):
            if sizes[i] == 1:
                taken[starts[i], at] = (solved[:, 0, at] ** 2).sum(axis=0)
            for j in np.flatnonzero(sizes * sizes[i] > 1).tolist():
                lost[i, j] = solved[:, :, starts[j] : starts[j + 1]]

    with one_for_products():
        own = (design.columns * counts).T @ design.columns - (left.means * counts).T @ left.means
        both = (left.residuals * counts).T @ left.residuals
        both_information[single] = (variances * counts).T @ variances
        own_information[single] = (seconds * counts).T @ seconds - (squares * counts).T @ squares
        own_blocks, both_blocks = _find_blocks(rows, left)
    rows.nodes.share_parts(take_out, np.flatnonzero(sizes > 0).tolist())
    own_information -= taken + taken.T
    for (i, j), block in own_blocks.items():
        first = lost[i, j].reshape(len(lost[i, j]), -1)
        second = lost[j, i].transpose(0, 2, 1).reshape(len(lost[j, i]), -1)
        block -= first.T @ first + second.T @ second
    return (
        Scores(starts, own, own_information, own_blocks, least),
        Scores(starts, both, both_information, both_blocks, least),
    )


def _find_blocks(
    rows: PairRows, left: Residuals
) -> tuple[dict[tuple[int, int], Values], dict[tuple[int, int], Values]]:
    """Return the covariances of the scores of pairs one of which has several features, before anything is taken out."""
    sizes, starts, counts = rows.design.sizes, rows.design.starts, rows.design.counts
    own: dict[tuple[int, int], Values] = {}
    both: dict[tuple[int, int], Values] = {}
    if (sizes <= 1).all():
        return own, both
    products = []
    for i in range(rows.n_variables):
        mean = left.means[:, starts[i] : starts[i + 1]]
        products.append((mean[:, :, None] * mean[:, None, :]).reshape(len(mean), -1))
    flat = [spread.reshape(len(spread), -1) for spread in left.spreads]
    for i in range(rows.n_variables):
        for j in range(i):
            d, e = int(sizes[i]), int(sizes[j])
            if d * e <= 1:
                continue
            v, w = flat[i] * counts[:, None], flat[j]
            seconds = (v + products[i] * counts[:, None]).T @ (w + products[j])
            first = (products[i] * counts[:, None]).T @ products[j]
            shape = (d, d, e, e)
            for found, block in ((own, seconds - first), (both, v.T @ w)):
                found[i, j] = block.reshape(shape).transpose(0, 2, 1, 3).reshape(d * e, d * e)
    return own, both
