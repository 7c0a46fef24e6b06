"""How many rows a table has, where they have weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Table


def count_rows(table: Table, weights: NDArray[np.float64] | None) -> float:
    """Return how many rows there are, weights added up.

    Weights that add up to less than the number of rows are shares, and not counts, as for levels that no row shows.
    """
    return float(table.n_rows if weights is None else max(table.n_rows, float(weights.sum())))
