"""How parameters and statistics are laid out: a symmetric matrix, main ones on its diagonal, pairs beside it.

Each parameter of a pair stands there twice, and the entries between levels of one variable are zero. Sums, norms and
numbers of parameters count every one of them once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._parameters import count_upper
from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.inference import Field

# Where a matrix has more entries than this (2048 x 2048, 32 MiB of doubles), what is made of it is made some rows at a
# time: ten thousand variables have matrices of 800 MB, of which no more are held than have to be.
MOST_AT_ONCE = 2**22

# Rows have so many entries together then, 2 MiB of doubles: what is made of them stays in the cache, and its memory is
# used again. (The subgradient of 5000 variables takes 0.19 s, and 1.0 s by parts of 32 MiB.)
_PART = 2**18


def row_parts(size: int) -> Iterator[slice]:
    """Yield the rows of a matrix (size, size), some at a time: all at once unless it is large."""
    step = size if size * size <= MOST_AT_ONCE else max(1, _PART // size)
    for start in range(0, size, max(1, step)):
        yield slice(start, min(start + step, size))


def as_theta(model: Field) -> Matrix:
    """Return the parameters of a field in one matrix."""
    theta = model.interactions + 0.0
    theta[np.diag_indices(len(theta))] += model.main
    return np.asarray(theta)


def is_symmetric(matrix: Matrix) -> bool:
    """Say whether a matrix equals its transpose, tile by tile: whole columns are slow to read."""
    side = 512
    starts = range(0, len(matrix), side)
    return all(
        np.array_equal(matrix[i : i + side, j : j + side], matrix[j : j + side, i : i + side].T)
        for i in starts
        for j in starts
        if j <= i
    )


def independent_main(domain: Domain, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the main effects of independent variables whose main statistics have these means, (n_slots,)."""
    logs = np.log(means)
    if domain.reference is None:
        return np.asarray(logs)
    taken = np.bincount(domain.slot_variables, means, minlength=domain.n_variables)
    return np.asarray(logs - np.log(1 - taken)[domain.slot_variables])


def independent_theta(domain: Domain, means: NDArray[np.float64]) -> Matrix:
    """Return the parameters of independent variables whose main statistics have these means, (n_slots,)."""
    return np.diag(independent_main(domain, means))


def across_variables(domain: Domain, values: Matrix | float) -> Matrix:
    """Lay values out like `Moments.pair`: the diagonal and pairs across variables; zero elsewhere."""
    if domain.is_binary:  # every pair is one of two variables
        return np.array(np.broadcast_to(values, (domain.n_slots, domain.n_slots)), dtype=np.float64)
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
    if domain.is_binary:
        return domain.n_slots * (domain.n_slots + 1) // 2
    sizes = np.bincount(domain.slot_variables, minlength=domain.n_variables)
    total = int(sizes.sum())
    return total + (total * total - int((sizes * sizes).sum())) // 2


def count_once(marked: NDArray[Any]) -> int:
    """Count the parameters that are marked, or not zero."""
    return int(count_upper(marked))


def sum_once(values: Matrix) -> float:
    """Add up a value for each parameter."""
    return float((values.sum() + np.trace(values)) / 2)


def sum_rows_once(make: Callable[[slice], Matrix], size: int) -> float:
    """Add up a value for each parameter, of values that are made some rows at a time."""
    total = trace = 0.0
    for rows in row_parts(size):
        values = make(rows)
        total, trace = total + float(values.sum()), trace + float(np.trace(values, offset=rows.start))
    return float((total + trace) / 2)


def inner_once(first: Matrix, second: Matrix) -> float:
    """Return the inner product of two matrices, each parameter once."""
    return sum_rows_once(lambda rows: first[rows] * second[rows], len(first))


def norm(values: Matrix) -> float:
    """Return the L2 norm over the parameters."""
    return norm_of_rows(lambda rows: values[rows], len(values))


def norm_of_rows(make: Callable[[slice], Matrix], size: int) -> float:
    """Return the L2 norm over the parameters, of values that are made some rows at a time."""
    total = on = 0.0
    for rows in row_parts(size):
        values = make(rows)
        diagonal = np.diagonal(values, offset=rows.start)
        total, on = total + float(np.vdot(values, values)), on + float(np.vdot(diagonal, diagonal))
    return float(np.sqrt((total + on) / 2))


def tally_sizes(
    parts: Iterable[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return many positive values, each rounded down to a thousandth of it, and how many are rounded to the same."""
    tally: Counter[int] = Counter()
    for values in parts:
        steps, counts = np.unique(np.floor(np.log(values) * 1000).astype(np.int64), return_counts=True)
        tally.update(dict(zip(steps.tolist(), counts.tolist(), strict=True)))
    return np.exp(np.array(list(tally)) / 1000), np.array(list(tally.values()), dtype=np.float64)
