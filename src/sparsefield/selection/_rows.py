"""How many rows a table has, where they have weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Table

_SHARES = 2.0  # shares add up to one; from this on weights count rows


def count_rows(table: Table, weights: NDArray[np.float64] | None) -> float:
    """Return how many rows there are, weights added up.

    Weights say how often a row counts: those of sequences, for example, add up to the effective number of these.
    Weights that add up to less than two are shares of the rows, and not counts.
    """
    total = table.n_rows if weights is None else float(weights.sum())
    return float(table.n_rows if total < _SHARES else total)
