"""A field made ready for sweeps on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference._checks import check_order
from sparsefield.inference._device import Device
from sparsefield.inference._field import Field, reduce_to_binary
from sparsefield.inference._tables import LARGEST_PRODUCT, as_whole, pair_shifts

# Products of more factors round more often than it is worth: sums are exact, and their exponential is a small part of
# so many additions.
_MOST_FACTORS = 32


class DeviceScan:
    """A field of variables with at most two levels, ready for sweeps on a GPU.

    Parameters
    ----------
    device : Device
        The GPU.
    field : Field
        The model.
    order : sequence of int, optional
        The order in which a sweep updates the variables, each once; 0, 1, 2, ... unless given.
    n_planes : 1, 2 or 3
        As for `Scan`.
    form : "product" or "sum", optional
        How log-odds are computed; chosen by the size and number of the interactions unless given. Probabilities are as
        right as those of `Scan` in these forms.

    Attributes
    ----------
    arguments : tuple
        What kernels are told of the field: heads and edges in the order of updates.
    seconds : float
        About what an update of a variable of a chain takes, of many; to decide how much to do in one call.
    """

    def __init__(
        self,
        device: Device,
        field: Field,
        *,
        order: Sequence[int] | NDArray[np.int64] | None = None,
        n_planes: int = 1,
        form: Literal["product", "sum"] | None = None,
    ) -> None:
        self.domain, self.n_planes = field.domain, n_planes
        main, interactions = reduce_to_binary(field)
        checked = check_order(order, self.domain.n_variables)
        checked = checked[self.domain.n_levels[checked] > 1]  # a variable with one level has nothing to update
        rows, columns = np.nonzero(interactions)
        degrees = np.bincount(rows, minlength=len(main))
        sizes = np.abs(main) + np.abs(interactions).sum(axis=1)
        is_product = degrees.max(initial=0) <= _MOST_FACTORS and sizes.max(initial=0.0) < LARGEST_PRODUCT
        self.form = form or ("product" if is_product else "sum")
        if self.form == "product" and sizes.max(initial=0.0) >= LARGEST_PRODUCT:
            raise ValueError("form is 'product': it does not fit this field; leave it out to have one chosen.")
        make = _make_products if self.form == "product" else _make_sums
        entries, bases, shifts = make(main, interactions[rows, columns], rows, sizes)
        host = _lay_out(checked, rows, np.column_stack([columns, entries]), np.column_stack([bases, shifts]))
        self.n_updated = len(checked)
        self.arguments: tuple[Any, ...] = tuple(device.xp.asarray(np.asarray(own, dtype=np.int32)) for own in host)
        # A third of what one H200 does in `make bench-gpu`: others are slower.
        self.seconds = n_planes * (3e-12 + 0.3e-12 * float(degrees.mean() if len(degrees) else 0.0))


def _lay_out(
    order: NDArray[np.int64], rows: NDArray[np.int64], edges: NDArray[Any], own: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return heads (n + 1, 4) and edges in the order of updates, and one more of each, which kernels read ahead."""
    rank = np.full(len(own), len(order))
    rank[order] = np.arange(len(order))
    by_update = np.argsort(rank[rows], kind="stable")[: np.count_nonzero(rank[rows] < len(order))]
    ends = np.cumsum(np.bincount(rank[rows], minlength=len(order))[: len(order)])
    heads = np.zeros((len(order) + 1, 4), dtype=np.int64)
    heads[:-1] = np.column_stack([order, ends, own[order]])
    return heads, np.vstack([edges[by_update], np.zeros((1, 2), dtype=np.int64)])


def _make_products(
    main: NDArray[np.float64], values: NDArray[np.float64], _rows: NDArray[np.int64], _sizes: NDArray[np.float64]
) -> tuple[NDArray[np.int32], ...]:
    """Return the factors of interactions and main effects, bits of float32, on their side of one: bounds need that."""
    factors = np.exp(-values).astype(np.float32)
    factors = np.where(values > 0, np.minimum(factors, np.float32(1)), np.maximum(factors, np.float32(1)))
    return factors.view(np.int32), np.exp(-main).astype(np.float32).view(np.int32), np.zeros(len(main), dtype=np.int32)


def _make_sums(
    main: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.int64], sizes: NDArray[np.float64]
) -> tuple[NDArray[np.int32], ...]:
    """Return interactions and main effects as whole numbers of units, and the units."""
    shifts = pair_shifts(sizes)
    return as_whole(-values, shifts[rows]), as_whole(-main, shifts), shifts.astype(np.int32)
