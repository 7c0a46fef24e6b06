"""A field made ready for sweeps on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference._checks import check_order
from sparsefield.inference._field import Field, reduce_to_binary
from sparsefield.inference.chains._tables import LARGEST_PRODUCT, as_whole, pair_shifts
from sparsefield.inference.gpu._dense import count_near_bytes, dense_shifts, lay_out_entries, suits_products
from sparsefield.inference.gpu._device import GROUPS, Device

# Products of more factors round more often than it is worth: sums are exact, and their exponential is a small part of
# so many additions.
_MOST_FACTORS = 128
# Neighbours are asked for in groups, of which the last one of each variable is filled up. A group is waited for about
# as long as two neighbours take: 2^18 chains of 100 variables with six neighbours each took 1.10 and 1.14 times as long
# on an H200 in groups of 2 and 8 as in groups of 6.
_WAITING = 2


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
    form : "product", "sum" or "dense", optional
        How log-odds are computed; chosen by the size and number of the interactions unless given. Probabilities are as
        right as those of `Scan` in these forms. The dense form is a sum too, in units such that a GPU that multiplies
        matrices of whole numbers can make it.
    group : int, optional
        Neighbours that kernels ask for together, one of `GROUPS`; chosen by their numbers unless given. States do not
        depend on it.

    Attributes
    ----------
    n_updated : int
        Variables that are updated.
    degree : float
        Neighbours of a variable, on average.
    multiplies : bool
        Whether the GPU makes log-odds by products of matrices, where all variables are free.
    near_bytes : int
        The memory of a processor that products of matrices take.
    """

    def __init__(
        self,
        device: Device,
        field: Field,
        *,
        order: Sequence[int] | NDArray[np.int64] | None = None,
        n_planes: int = 1,
        form: Literal["product", "sum", "dense"] | None = None,
        group: int | None = None,
    ) -> None:
        if n_planes not in (1, 2, 3):
            raise ValueError(f"n_planes is {n_planes}: use 1, 2 or 3.")
        self.domain, self.n_planes = field.domain, n_planes
        main, interactions = reduce_to_binary(field)
        checked = check_order(order, self.domain.n_variables)
        checked = checked[self.domain.n_levels[checked] > 1]  # a variable with one level has nothing to update
        rows, columns = np.nonzero(interactions)
        degrees = np.bincount(rows, minlength=len(main))
        sizes = np.abs(main) + np.abs(interactions).sum(axis=1)
        degree = float(degrees.mean()) if len(degrees) else 0.0
        fits: dict[Literal["product", "sum", "dense"], bool] = {
            "dense": n_planes == 1 and suits_products(interactions, degree),
            "product": bool(degrees.max(initial=0) <= _MOST_FACTORS and sizes.max(initial=0.0) < LARGEST_PRODUCT),
            "sum": True,
        }
        self.form = next(name for name, own in fits.items() if own) if form is None else form
        if not fits[self.form]:
            raise ValueError(f"form is {self.form!r}: it does not fit this field; leave it out to have one chosen.")
        shifts = np.zeros(len(main), dtype=np.int64)
        if self.form != "product":
            shifts = dense_shifts(interactions, sizes) if self.form == "dense" else pair_shifts(sizes)
        make = _make_products if self.form == "product" else _make_sums
        entries, bases = make(main, interactions[rows, columns], rows, shifts)
        self.n_updated = len(checked)
        self.degree, self._group = degree, _choose_group(degrees) if group is None else group
        neutral = int(np.float32(1).view(np.int32)) if self.form == "product" else 0
        self._find_entries = partial(lay_out_entries, interactions, checked, shifts)
        edges, own = np.column_stack([columns, entries]), np.column_stack([bases, shifts])
        self._device, self._lay_out = device, partial(_lay_out, checked, own, neutral, self._group)
        self._edges = rows, edges
        self.near_bytes = count_near_bytes(self.n_updated)
        self.multiplies = self.form == "dense" and self.near_bytes <= device.product_bytes

    def seconds(self, n_chains: int, by_products: bool) -> float:
        """Return about what an update of a variable takes in so many chains, to decide how much to do in one call.

        It is three times what an H200 takes in `make bench-gpu` or more, since others are slower; few chains take as
        long as one does. Where products of matrices are made it is what an H200 takes: calls begin and end by turning
        lines of chains into lines of variables, and 1000 variables take 1.06 times as long with one sweep a call as
        with nine.
        """
        n = self.n_updated
        if by_products:
            return max((4e-12 + 6e-15 * n) * n_chains, 3e-7 + 1e-10 * n)
        # A thread takes half a microsecond, and as long for each ten neighbours that it asks for.
        return max(self.n_planes * (3e-12 + 0.3e-12 * self.degree) * n_chains, 5e-7 + 5e-8 * self.degree)

    @property
    def group(self) -> int:
        """Neighbours that kernels ask for together."""
        return self._group

    @cached_property
    def arguments(self) -> tuple[Any, Any]:
        """What kernels are told of the field: heads, and edges in groups, in the order of updates."""
        heads, edges = (np.asarray(own, dtype=np.int32) for own in self._lay_out(*self._edges))
        return self._device.xp.asarray(heads), self._device.xp.asarray(edges)

    @cached_property
    def products(self) -> tuple[Any, ...]:
        """What products of matrices are told of the field, in the order of updates: heads, digits and inner entries."""
        heads, _ = self._lay_out(np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
        own = (np.asarray(heads, dtype=np.int32), *self._find_entries())
        return tuple(self._device.xp.asarray(part) for part in own)


def _choose_group(degrees: NDArray[np.int64]) -> int:
    return min(GROUPS, key=lambda group: int((-(-degrees // group)).sum()) * (group + _WAITING))


def _lay_out(
    order: NDArray[np.int64],
    own: NDArray[Any],
    neutral: int,
    group: int,
    rows: NDArray[np.int64],
    edges: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return heads (n + 1, 4) and edges in the order of updates, in groups, with more at the end to be read ahead."""
    degrees = np.bincount(rows, minlength=len(own))
    firsts = np.cumsum(degrees) - degrees  # of the edges, which come row by row
    sizes = -(-degrees[order] // group) * group
    ends = np.cumsum(sizes)
    heads = np.zeros((len(order) + 1, 4), dtype=np.int64)
    heads[:-1] = np.column_stack([order, ends, own[order]])
    laid_out = np.zeros((int(sizes.sum()) + group, 2), dtype=np.int64)
    laid_out[:, 1] = neutral
    count = degrees[order]
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    laid_out[np.repeat(ends - sizes, count) + within] = edges[np.repeat(firsts[order], count) + within]
    return heads, laid_out


def _make_products(
    main: NDArray[np.float64], values: NDArray[np.float64], _rows: NDArray[np.int64], _shifts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the factors of interactions and main effects, bits of float32, on their side of one: bounds need that."""
    factors = np.exp(-values).astype(np.float32)
    factors = np.where(values > 0, np.minimum(factors, np.float32(1)), np.maximum(factors, np.float32(1)))
    return factors.view(np.int32), np.exp(-main).astype(np.float32).view(np.int32)


def _make_sums(
    main: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.int64], shifts: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return interactions and main effects as whole numbers of units of 2^-shift bits."""
    return as_whole(-values, shifts[rows]), as_whole(-main, shifts)
