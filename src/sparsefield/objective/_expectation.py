"""Exact expectations of missing values given the observed ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Moments, Table, TableError
from sparsefield.inference import MOST_STATES, Backend, count_ways, make_backend
from sparsefield.model import PairwiseMRF


def expected_moments(
    model: PairwiseMRF, table: Table, weights: NDArray[np.float64], backend: Backend | None = None
) -> Moments:
    """Return the data moments that a model expects given the observed cells, by enumeration of the missing ones.

    Parameters
    ----------
    model : PairwiseMRF
        The model.
    table : Table
        Observations, some of them missing.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    backend : Backend, optional
        What enumerates; this machine's processors unless given.
    """
    n_states = count_ways(model.domain, table.codes)
    if n_states.max(initial=1) > MOST_STATES:
        worst = int(n_states.argmax())
        raise TableError(
            f"Row {worst} has {table.mask[worst].sum()} missing values, with {n_states[worst]:.3g} ways to fill them",
            f"exact expectations are for up to {MOST_STATES}",
            row=worst,
        )
    products = make_backend(backend).clamped_products(model, table.codes, weights / weights.sum())
    return Moments.of_pairs(products, table.n_rows)
