"""How parameters and statistics are laid out: a symmetric matrix, main ones on its diagonal, pairs beside it.

Each parameter of a pair stands there twice, and the entries between levels of one variable are zero. Sums, norms and
numbers of parameters count every one of them once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain
from sparsefield.inference import Field

Matrix = NDArray[np.float64]


def as_theta(model: Field) -> Matrix:
    """Return the parameters of a field in one matrix."""
    return np.asarray(model.interactions + np.diag(model.main))


def independent_theta(domain: Domain, means: NDArray[np.float64]) -> Matrix:
    """Return the parameters of independent variables whose main statistics have these means, (n_slots,)."""
    logs = np.log(means)
    if domain.reference is None:
        return np.diag(logs)
    taken = np.bincount(domain.slot_variables, means, minlength=domain.n_variables)
    return np.diag(logs - np.log(1 - taken)[domain.slot_variables])


def across_variables(domain: Domain, values: Matrix | float) -> Matrix:
    """Lay values out like `Moments.pair`: the diagonal and pairs across variables; zero elsewhere."""
    across = domain.slot_variables[:, None] != domain.slot_variables
    np.fill_diagonal(across, True)
    return np.where(across, values, 0.0)


def scatter(a: NDArray[np.int64], b: NDArray[np.int64], values: NDArray[np.float64], size: int) -> Matrix:
    """Lay values of statistics s_a s_b out like `Moments.pair`, zero elsewhere."""
    whole = np.zeros((size, size))
    whole[a, b] = whole[b, a] = values
    return whole


def count_statistics(domain: Domain) -> int:
    """Count the statistics: main ones, and pairs of slots of different variables."""
    sizes = np.bincount(domain.slot_variables, minlength=domain.n_variables)
    total = int(sizes.sum())
    return total + (total * total - int((sizes * sizes).sum())) // 2


def count_once(marked: NDArray[Any]) -> int:
    """Count the parameters that are marked, or not zero."""
    return int(np.count_nonzero(np.triu(marked)))


def sum_once(values: Matrix) -> float:
    """Add up a value for each parameter."""
    return float((values.sum() + np.trace(values)) / 2)


def norm(values: Matrix) -> float:
    """Return the L2 norm over the parameters."""
    diagonal = np.diagonal(values)
    return float(np.sqrt((np.vdot(values, values) + np.vdot(diagonal, diagonal)) / 2))
