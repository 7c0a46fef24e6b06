"""The tables in which sweeps look conditional weights up, for each form of a sweep."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels import _packed
from sparsefield._kernels._tables import add_subsets, fill_quads, list_pairs, make_monotone
from sparsefield._kernels._target import make_aligned

Form = Literal["product", "sum", "dense", "sets", "intervals"]

# Products of weights stay inside float32 while the largest log-odds of a variable are below this: exp(80) = 5.5e34.
LARGEST_PRODUCT = 80.0
LOG2_E = math.log2(math.e)  # log-odds are added up in bits: exp(x) = 2^(x log2 e)
_SUBSETS = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])  # neither neighbour, the first, the second, both
_COARSEST_QUAD = 20  # fours of interactions are rounded to 2^-20 bits at worst; larger ones are taken in pairs
_FINEST = 24  # a float32 holds whole numbers of 24 bits


def choose_form(largest: float, interactions: NDArray[np.float64], degree: float) -> Form:
    """Choose the form that is fastest for a field of variables with at most two levels, of this largest size."""
    # Measured on Zen 3, in nanoseconds for 8 chains: 0.2 a neighbour in pairs, 0.09 a variable in fours, where the
    # exponential costs 2.8. The choice looks at the field alone, so that states are the same on every processor.
    if 0.2 * degree > 0.09 * len(interactions) + 2.8 and _fits_dense(interactions):
        return "dense"
    return "product" if largest < LARGEST_PRODUCT else "sum"


def _fits_dense(interactions: NDArray[np.float64]) -> bool:
    few = len(interactions) <= 4 * _packed.MOST_QUADS
    return few and bool(_quad_shifts(interactions).min() >= _COARSEST_QUAD)


def check_form(form: Form, largest: float, interactions: NDArray[np.float64], n_planes: int) -> None:
    """Refuse a form that would draw from other probabilities than the field's."""
    fits = (
        form == "sum"
        or (form == "product" and largest < LARGEST_PRODUCT)
        or (form == "dense" and n_planes == 1 and _fits_dense(interactions))
    )
    if not fits:
        raise ValueError(f"form is {form!r}: it does not fit this field; leave it out to have one chosen.")


def pair_shifts(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the unit 2^-shift bits of each variable's log-odds: as fine as 31-bit sums of them allow."""
    shifts = np.floor(29.9 - np.log2(np.maximum(sizes * LOG2_E, 1.0))).astype(np.int64)
    if shifts.min() < 1:
        raise ValueError(
            f"The parameters of variable {int(sizes.argmax())} add up to {sizes.max():.3g}: "
            "the sampler takes sums below 3e8."
        )
    return np.asarray(np.minimum(shifts, _FINEST))


def as_whole(values: NDArray[np.float64], shifts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Round values, in units of 2^-shift bits."""
    return np.asarray(np.rint(np.ldexp(values * LOG2_E, shifts)), dtype=np.int32)


def list_planes(
    interactions: NDArray[np.float64], starts: NDArray[np.int64], n_planes: int, n_lines: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the lines (planes, P, 2) that each plane looks at for pairs of neighbours, and the interactions (P, 2)."""
    n_pairs = int(starts[-1])
    neighbours, values = np.empty((n_planes, n_pairs, 2), dtype=np.int64), np.empty((n_pairs, 2))
    list_pairs(interactions, starts, n_lines, neighbours, values)
    return neighbours, values


def product_tables(
    main: NDArray[np.float64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    values: NDArray[np.float64],
) -> tuple[NDArray[Any], ...]:
    """Make tables of four weights: neither neighbour, the first, the second, both."""
    log_weights = np.empty((len(values), 4))
    add_subsets(main, starts, values, log_weights)
    # numpy's exponential, so that tables do not depend on what numba links.
    tables = np.exp(log_weights).astype(np.float32)
    make_monotone(tables, values)
    return starts, neighbours, tables


def sum_tables(
    main: NDArray[np.float64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    values: NDArray[np.float64],
    shifts: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Make tables of four log-odds, as whole numbers."""
    own = np.repeat(shifts, np.diff(starts))
    tables = as_whole(-values, own[:, None]) @ _SUBSETS.astype(np.int32)
    tables[starts[:-1]] += as_whole(-main, shifts)[:, None]
    return starts, neighbours, tables, shifts


def dense_shifts(sizes: NDArray[np.float64], interactions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the unit of each variable's log-odds for the dense form."""
    return np.minimum(pair_shifts(sizes), _quad_shifts(interactions))


def _quad_shifts(interactions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose units so that the log-odds of any four neighbours differ by less than 24 bits can hold."""
    p = len(interactions)
    sizes = np.zeros((p, -(-p // 4) * 4))
    sizes[:, :p] = np.abs(interactions) * LOG2_E
    largest = sizes.reshape(p, -1, 4).sum(axis=2).max(axis=1)
    return np.asarray(np.floor(23.99 - np.log2(np.maximum(largest, 0.5))), dtype=np.int64)


def quad_tables(
    main: NDArray[np.float64],
    interactions: NDArray[np.float64],
    shifts: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Make the tables of the fours (0, 1, 2, 3), (4, 5, 6, 7), ... for every variable."""
    p = len(main)
    n_quads = -(-p // 16) * 4
    whole = np.zeros((p, 4 * n_quads), dtype=np.int32)
    whole[:, :p] = as_whole(-interactions, shifts[:, None])
    tables = make_aligned((p, n_quads, _packed.PLANES, 16), np.uint8)
    lows = np.empty(p, dtype=np.int64)
    fill_quads(whole, tables, lows)
    return tables, (as_whole(-main, shifts) + lows).astype(np.int32), shifts
