"""Holes filled by the model: data moments given the cells that were observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments, weighted_moments
from sparsefield._table import Table
from sparsefield.certificates._certificate import norm
from sparsefield.inference import ClampedChains, Scan

_MOST_COPIES = 100
_MOST_STATES = 2**20  # that the holes of a row may have, to be enumerated (10 ms a row)


class Completion:
    """A table whose rows with holes are completed by Gibbs chains that keep the observed cells.

    Each such row has some chains of its own, which go on from one model to the next. The data moments are those of the
    whole rows and of these chains together: an estimate of the moments that the model expects given what was observed.

    Parameters
    ----------
    table : Table
        Observations, some with holes.
    n_chains : int
        Chains for the rows with holes together, about; at least one and at most 100 a row.
    seed : int
        Where the random numbers start.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    """

    def __init__(self, table: Table, n_chains: int, seed: int, weights: NDArray[np.float64] | None = None) -> None:
        has_hole = table.mask.any(axis=1)
        weights = np.ones(table.n_rows) if weights is None else weights
        n_copies = int(np.clip(n_chains // has_hole.sum(), 1, _MOST_COPIES))
        self._chains = ClampedChains(table.domain, np.repeat(table.codes[has_hole], n_copies, axis=0), seed=seed)
        self._weights = np.repeat(weights[has_hole], n_copies)
        self._share = weights[has_hole].sum() / weights.sum()
        # What whole rows contribute does not change.
        self._whole = np.zeros((table.domain.n_slots,) * 2)
        if not has_hole.all():
            whole = Table(table.domain, np.asfortranarray(table.codes[~has_hole]))
            self._whole = weighted_moments(whole, weights[~has_hole]).pair * (1 - self._share)

    def copy(self) -> Completion:
        """Return another one in the same state."""
        other = object.__new__(Completion)
        other.__dict__.update(self.__dict__)
        other._chains = self._chains.copy()
        return other

    def sweep(self, model: PairwiseMRF, n_sweeps: int, n_threads: int | None = None) -> None:
        """Update every hole n times, given the other cells of its row."""
        self._chains.sweep(Scan(model), n_sweeps, n_threads=n_threads)

    def noise(self, moments: Moments, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the sampling noise that the chains leave in the counted ones of their moments."""
        means = np.clip(moments.pair, 0.0, 1.0)
        return float(self._share) * norm(np.sqrt(means * (1 - means) / len(self._weights)) * counted)

    def moments(self) -> Moments:
        """Return the data moments."""
        filled = Table(self._chains.domain, self._chains.codes())
        pair = self._whole + weighted_moments(filled, self._weights).pair * self._share
        return Moments(np.diagonal(pair).copy(), pair, len(self._weights))


def expected_moments(model: PairwiseMRF, table: Table, weights: NDArray[np.float64]) -> Moments:
    """Return the data moments that a model expects given the observed cells, enumerating the holes of each row."""
    domain = model.domain
    has_hole = table.mask.any(axis=1)
    n_states = np.where(table.mask, domain.n_levels, 1).astype(np.float64).prod(axis=1)
    if n_states.max(initial=1) > _MOST_STATES:
        worst = int(n_states.argmax())
        raise ValueError(
            f"Row {worst} has {table.mask[worst].sum()} holes, with {n_states[worst]:.3g} ways to fill them: exact "
            f"expectations are for up to {_MOST_STATES}."
        )
    pair = np.zeros((domain.n_slots, domain.n_slots))
    if not has_hole.all():
        whole = Table(domain, np.asfortranarray(table.codes[~has_hole]))
        pair += weighted_moments(whole, weights[~has_hole]).pair * weights[~has_hole].sum()
    for row in np.flatnonzero(has_hole):
        pair += weights[row] * _expect_row(model, table.codes[row], table.mask[row])
    pair /= weights.sum()
    return Moments(np.diagonal(pair).copy(), pair, table.n_rows)


def _expect_row(model: PairwiseMRF, codes: NDArray[np.uint8], is_hole: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the expected products of the statistics of a row, given its observed cells."""
    domain = model.domain
    holes = np.flatnonzero(is_hole)
    own = Domain(
        tuple(domain.names[i] for i in holes),
        tuple(domain.levels[i] for i in holes),
        None if domain.reference is None else tuple(domain.reference[i] for i in holes),
    )
    s = domain.indicators(codes[None])[0]  # zero at holes
    slots = np.flatnonzero(is_hole[domain.slot_variables])
    within = np.ix_(slots, slots)
    filled = PairwiseMRF(own, model.main[slots] + model.interactions[slots] @ s, model.interactions[within]).moments()
    s[slots] = filled.main
    products = np.outer(s, s)
    products[within] = filled.pair
    np.fill_diagonal(products, s)
    return products
