"""The tables in which sweeps look conditional weights up, for each form of a sweep."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels import _packed
from sparsefield._kernels._tables import fill_quads, list_pairs
from sparsefield._kernels._target import make_aligned

Form = Literal["product", "sum", "dense", "sets", "intervals"]

# Products of weights stay inside float32 while the largest log-odds of a variable are below this: exp(80) = 5.5e34.
LARGEST_PRODUCT = 80.0
_BITS = math.log2(math.e)  # log-odds are added up in bits: exp(x) = 2^(x log2 e)
_SUBSETS = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])  # neither neighbour, the first, the second, both
_COARSEST_QUAD = 20  # fours of interactions are rounded to 2^-20 bits at worst; larger ones are taken in pairs
_FINEST = 24  # a float32 holds whole numbers of 24 bits


def choose_form(sizes: NDArray[np.float64], interactions: NDArray[np.float64], degree: float) -> Form:
    """Choose the form that is fastest for a field of variables with at most two levels."""
    # Measured on Zen 3, in nanoseconds for 8 chains: 0.2 a neighbour in pairs, 0.09 a variable in fours, where the
    # exponential costs 2.8. The choice looks at the field alone, so that states are the same on every processor.
    if 0.2 * degree > 0.09 * len(sizes) + 2.8 and _fits_dense(interactions):
        return "dense"
    return "product" if sizes.max() < LARGEST_PRODUCT else "sum"


def _fits_dense(interactions: NDArray[np.float64]) -> bool:
    few = len(interactions) <= 4 * _packed.MOST_QUADS
    return few and bool(_quad_shifts(interactions).min() >= _COARSEST_QUAD)


def check_form(form: Form, sizes: NDArray[np.float64], interactions: NDArray[np.float64], n_planes: int) -> None:
    """Refuse a form that would draw from other probabilities than the field's."""
    fits = (
        form == "sum"
        or (form == "product" and sizes.max() < LARGEST_PRODUCT)
        or (form == "dense" and n_planes == 1 and _fits_dense(interactions))
    )
    if not fits:
        raise ValueError(f"form is {form!r}: it does not fit this field; leave it out to have one chosen.")


def pair_shifts(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the unit 2^-shift bits of each variable's log-odds: as fine as 31-bit sums of them allow."""
    shifts = np.floor(29.9 - np.log2(np.maximum(sizes * _BITS, 1.0))).astype(np.int64)
    if shifts.min() < 1:
        raise ValueError(
            f"The parameters of variable {int(sizes.argmax())} add up to {sizes.max():.3g}: "
            "the sampler takes sums below 3e8."
        )
    return np.asarray(np.minimum(shifts, _FINEST))


def as_whole(values: NDArray[np.float64], shifts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Round values, in units of 2^-shift bits."""
    return np.asarray(np.rint(np.ldexp(values * _BITS, shifts)), dtype=np.int32)


def list_planes(
    interactions: NDArray[np.float64], starts: NDArray[np.int64], n_planes: int, n_lines: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the lines (planes, P, 2) that each plane looks at for pairs of neighbours, and the interactions (P, 2).

    The least state of a variable needs its least log-odds: the least state of neighbours with a positive interaction
    and the largest state of the others; and the other way round.
    """
    neighbours, values = list_pairs(interactions, starts)
    if n_planes == 1:
        return neighbours[None], values
    least, largest = neighbours + n_lines * (values < 0), neighbours + n_lines * (values > 0)
    return np.stack([least, largest, neighbours + 2 * n_lines][:n_planes]), values


def product_tables(
    main: NDArray[np.float64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    values: NDArray[np.float64],
) -> tuple[NDArray[Any], ...]:
    """Make tables of four weights: neither neighbour, the first, the second, both."""
    log_odds = values @ _SUBSETS
    log_odds[starts[:-1]] += main[:, None]
    tables = np.exp(-log_odds).astype(np.float32)
    make_monotone(tables, values)
    return starts, neighbours, tables


def make_monotone(tables: NDArray[np.float32], values: NDArray[np.float64]) -> None:
    """Make weights (P, 4) fall as log-odds rise, to the last bit: bounds need that, and no exponential promises it."""
    for own, pairs in ((0, ((0, 1), (2, 3))), (1, ((0, 2), (1, 3)))):
        rises = values[:, own] < 0
        for without, with_it in pairs:
            least, largest = (f(tables[:, without], tables[:, with_it]) for f in (np.minimum, np.maximum))
            tables[:, with_it] = np.where(rises, largest, least)


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
    sizes[:, :p] = np.abs(interactions) * _BITS
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
