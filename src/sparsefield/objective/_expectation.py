"""Exact expectations of missing values given the observed ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain, Moments, Table, TableError, weighted_moments
from sparsefield.model import PairwiseMRF

_MOST_STATES = 2**20  # that the missing values of a row may have, to be enumerated (10 ms for each row)


def expected_moments(model: PairwiseMRF, table: Table, weights: NDArray[np.float64]) -> Moments:
    """Return the data moments that a model expects given the observed cells, by enumeration of the missing ones."""
    domain = model.domain
    is_whole = ~table.mask.any(axis=1)
    n_states = np.where(table.mask, domain.n_levels, 1).astype(np.float64).prod(axis=1)
    if n_states.max(initial=1) > _MOST_STATES:
        worst = int(n_states.argmax())
        raise TableError(
            f"Row {worst} has {table.mask[worst].sum()} missing values, with {n_states[worst]:.3g} ways to fill them",
            f"exact expectations are for up to {_MOST_STATES}",
            row=worst,
        )
    pair = np.zeros((domain.n_slots, domain.n_slots))
    if is_whole.any():
        whole = Table(domain, np.asfortranarray(table.codes[is_whole]))
        pair += weighted_moments(whole, weights[is_whole]).pair * weights[is_whole].sum()
    for row in np.flatnonzero(~is_whole):
        pair += weights[row] * _expect_row(model, table.codes[row], table.mask[row])
    pair /= weights.sum()
    return Moments.of_pairs(pair, table.n_rows)


def _expect_row(model: PairwiseMRF, codes: NDArray[np.uint8], is_missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the expected products of the statistics of a row, given its observed cells."""
    domain = model.domain
    missing = np.flatnonzero(is_missing)
    own = Domain(
        tuple(domain.names[i] for i in missing),
        tuple(domain.levels[i] for i in missing),
        None if domain.reference is None else tuple(domain.reference[i] for i in missing),
    )
    s = domain.indicators(codes[None])[0]  # zero where values are missing
    slots = np.flatnonzero(is_missing[domain.slot_variables])
    within = np.ix_(slots, slots)
    filled = PairwiseMRF(own, model.main[slots] + model.interactions[slots] @ s, model.interactions[within]).moments()
    s[slots] = filled.main
    products = np.outer(s, s)
    products[within] = filled.pair
    np.fill_diagonal(products, s)
    return products
