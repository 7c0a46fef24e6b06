"""A field made ready for Gibbs sweeps in a given order: the tables that the kernels look weights up in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield._kernels import _bytes, _packed
from sparsefield._kernels._tables import count_pairs, fill_quads, list_pairs
from sparsefield._kernels._target import HAS_AVX2, borrow, make_aligned
from sparsefield.inference._protocol import Field, expand, reduce_to_binary

Form = Literal["product", "sum", "dense", "levels"]
Storage = Literal["packed", "bytes"]

# Products of weights stay inside float32 while the largest field of a variable is below this: exp(80) = 5.5e34.
LARGEST_PRODUCT_FIELD = 80.0
_BITS = np.log2(np.e)  # fields are added up in bits: exp(x) = 2^(x log2 e)
_SUBSETS = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])  # neither neighbour, the first, the second, both
_BLOCKS_AT_ONCE = 5  # of the dense form; 1000 variables: 85 million updates a second, 78 with one block at a time
_COARSEST_QUAD = 20  # fours of interactions are rounded to 2^-20 bits at worst; larger ones are taken in pairs
_FINEST = 24  # a float32 holds whole numbers of 24 bits


def choose_storage(domain: Domain, wanted: Storage | None) -> Storage:
    """Choose how chains are held: bits where there are at most two levels and the processor can use them."""
    can_pack = HAS_AVX2 and bool(np.all(domain.n_levels <= 2))
    if wanted is None:
        return "packed" if can_pack else "bytes"
    if wanted not in get_args(Storage) or (wanted == "packed" and not can_pack):
        raise ValueError(f"storage is {wanted!r}: use 'bytes', or 'packed' for two levels on a processor with AVX2.")
    return wanted


class Scan:
    """A field ready for systematic sweeps.

    Parameters
    ----------
    field : Field
        The model.
    order : sequence of int, optional
        The order in which a sweep updates the variables, each once; 0, 1, 2, ... unless given.
    storage : "packed" or "bytes", optional
        How the chains to be swept are held; chosen by the domain and the processor unless given.
    form : "product", "sum", "dense" or "levels", optional
        How fields are computed; chosen by the size and number of the interactions unless given. All forms draw from
        the same conditional distributions up to rounding. A probability q of one of two levels is right to
        2^-23 q (1 - q) + 2^-31 given the field (one of several levels to 2^-23); the
        product form rounds each table entry and product to 2^-24 of it, the others round each interaction to 2^-20
        bits, or 2^-29 of the largest field that the variable can have, where that is more.
    n_planes : 1, 2 or 3
        What is swept with one set of random numbers: 1, chains; 2, the least and the largest state that chains from
        any start can have (`BoundingChains`); 3, these two and a chain between them. More than one plane is for
        variables with at most two levels and the forms "product" and "sum".
    """

    def __init__(
        self,
        field: Field,
        *,
        order: Sequence[int] | NDArray[np.int64] | None = None,
        storage: Storage | None = None,
        form: Form | None = None,
        n_planes: int = 1,
    ) -> None:
        if n_planes not in (1, 2, 3):
            raise ValueError(f"n_planes is {n_planes}: use 1, 2 or 3.")
        domain = field.domain
        self.n_planes = n_planes
        self.n_levels = domain.n_levels
        self.storage = choose_storage(domain, storage)
        # A variable with one level has nothing to update.
        checked = check_order(order, domain.n_variables)
        self.order = checked[domain.n_levels[checked] > 1]
        self.form: Form
        if np.any(domain.n_levels > 2):
            if n_planes > 1:
                check_two_levels(domain, "bounds of chains")
            if form not in (None, "levels"):
                raise ValueError(f"form is {form!r}: variables with more than two levels have only one, 'levels'.")
            self.form = "levels"
            self.degree = _prepare_levels(self, field)
        else:
            self._prepare_two_levels(field, form)

    def _prepare_two_levels(self, field: Field, form: Form | None) -> None:
        """Fill the arguments of the sweeps over variables with at most two levels."""
        main, interactions = reduce_to_binary(field)
        starts, sizes = count_pairs(interactions)
        sizes += np.abs(main)
        self.degree = 2 * float(starts[-1]) / len(main)
        degree = self.degree if self.n_planes == 1 else 0.0  # bounds have no dense form
        self.form = form or _choose_form(sizes, interactions, degree)
        _check_form(self.form, sizes, interactions, self.n_planes)
        if self.form == "dense" and self.storage == "packed":
            self.arguments = _quad_tables(main, interactions, _dense_shifts(sizes, interactions))
            return
        n_lines = count_lines(field.domain.n_variables, self.storage)
        self._most_pairs = int(np.diff(starts).max())
        pairs = starts, *_list_planes(interactions, starts, self.n_planes, n_lines)
        if self.form == "product":
            self.arguments = _product_tables(main, *pairs)
        elif self.form == "dense":
            self.arguments = _sum_tables(main, *pairs, _dense_shifts(sizes, interactions))
        else:
            self.arguments = _sum_tables(main, *pairs, _shifts(sizes))

    def sweep(
        self, states: NDArray[Any], streams: NDArray[np.uint64], n_sweeps: int, kept: NDArray[Any] | None = None
    ) -> None:
        """Sweep some blocks of chains in place, but for the bits that are to be kept."""
        if kept is None:
            kept = np.zeros((0, 0, 0), dtype=states.dtype)
        if self.storage == "bytes":
            form = "sum" if self.form == "dense" else self.form
            getattr(_bytes, f"sweep_{form}")(states, streams, self.order, *self.arguments, kept, n_sweeps)
            return
        if self.form == "dense":
            shape = (_BLOCKS_AT_ONCE, _packed.GROUPS, self.arguments[0].shape[1], _packed.QUAD)
            index = borrow("quads", shape, np.uint8)
            index.fill(0)  # fours that are not full keep zeros
        else:
            index = borrow("pairs", (_packed.SHIFTS, self._most_pairs, 16), np.uint32)
        weights = borrow("weights", (self.n_planes, _bytes.BLOCK), np.float32)
        kernel = getattr(_packed, f"sweep_{self.form}")
        kernel(states, streams, self.order, *self.arguments, kept, index, weights, n_sweeps)

    @property
    def seconds_per_block(self) -> float:
        """Estimate the time of one sweep of a block, to decide how to share work (measured on Zen 3)."""
        update = 0.4e-9 + 0.03e-9 * self.degree
        slower = {"packed": 1.0, "bytes": 4.0}[self.storage] * (10.0 if self.form == "levels" else 1.0)
        return _bytes.BLOCK * len(self.order) * update * slower * (0.2 + 0.8 * self.n_planes)


def count_lines(n_variables: int, storage: Storage) -> int:
    """Count the lines of a plane of a block; packed ones come in eights, as the counting of moments wants them."""
    return -(-n_variables // 8) * 8 if storage == "packed" else n_variables


def check_two_levels(domain: Domain, what: str) -> None:
    """Refuse variables with more than two levels."""
    if np.any(domain.n_levels > 2):
        i = int(np.argmax(domain.n_levels > 2))
        raise ValueError(
            f"Variable {domain.names[i]!r} has {domain.n_levels[i]} levels: {what} are for two levels so far."
        )


def check_sweeps(n_sweeps: int) -> None:
    """Refuse what is not a number of sweeps."""
    if not isinstance(n_sweeps, int | np.integer) or n_sweeps < 0:
        raise ValueError(f"n_sweeps is {n_sweeps}: use a whole number from zero on.")


def check_order(order: Sequence[int] | NDArray[np.int64] | None, n_variables: int) -> NDArray[np.int64]:
    """Check that an order of updates names every variable once."""
    if order is None:
        return np.arange(n_variables)
    checked = np.asarray(order)
    if checked.shape != (n_variables,) or not np.array_equal(np.sort(checked), np.arange(n_variables)):
        raise ValueError(f"order must name each of the variables 0 to {n_variables - 1} once.")
    return checked.astype(np.int64)


def _choose_form(sizes: NDArray[np.float64], interactions: NDArray[np.float64], degree: float) -> Form:
    # Measured on Zen 3, in nanoseconds for 8 chains: 0.2 a neighbour in pairs, 0.09 a variable in fours, where the
    # exponential costs 2.8. The choice looks at the field alone, so that states are the same on every processor.
    if 0.2 * degree > 0.09 * len(sizes) + 2.8 and _fits_dense(interactions):
        return "dense"
    return "product" if sizes.max() < LARGEST_PRODUCT_FIELD else "sum"


def _fits_dense(interactions: NDArray[np.float64]) -> bool:
    few = len(interactions) <= 4 * _packed.MOST_QUADS
    return few and bool(_quad_shifts(interactions).min() >= _COARSEST_QUAD)


def _check_form(form: Form, sizes: NDArray[np.float64], interactions: NDArray[np.float64], n_planes: int) -> None:
    """Refuse a form that would draw from other probabilities than the field's."""
    fits = (
        form == "sum"
        or (form == "product" and sizes.max() < LARGEST_PRODUCT_FIELD)
        or (form == "dense" and n_planes == 1 and _fits_dense(interactions))
    )
    if not fits:
        raise ValueError(f"form is {form!r}: it does not fit this field; leave it out to have one chosen.")


def _shifts(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the unit 2^-shift bits of each variable's fields: as fine as 31-bit sums of them allow."""
    shifts = np.floor(29.9 - np.log2(np.maximum(sizes * _BITS, 1.0))).astype(np.int64)
    if shifts.min() < 1:
        raise ValueError(
            f"The parameters of variable {int(sizes.argmax())} add up to {sizes.max():.3g}: "
            "the sampler takes sums below 3e8."
        )
    return np.asarray(np.minimum(shifts, _FINEST))


def _as_whole(values: NDArray[np.float64], shifts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Round values, in units of 2^-shift bits."""
    return np.asarray(np.rint(np.ldexp(values * _BITS, shifts)), dtype=np.int32)


def _list_planes(
    interactions: NDArray[np.float64], starts: NDArray[np.int64], n_planes: int, n_lines: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the lines (planes, P, 2) that each plane looks at for pairs of neighbours, and the interactions (P, 2).

    The least state of a variable needs its least field: the least state of neighbours with a positive interaction and
    the largest state of the others; and the other way round.
    """
    neighbours, values = list_pairs(interactions, starts)
    if n_planes == 1:
        return neighbours[None], values
    least, largest = neighbours + n_lines * (values < 0), neighbours + n_lines * (values > 0)
    return np.stack([least, largest, neighbours + 2 * n_lines][:n_planes]), values


def _product_tables(
    main: NDArray[np.float64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    values: NDArray[np.float64],
) -> tuple[NDArray[Any], ...]:
    """Make tables of four weights: neither neighbour, the first, the second, both."""
    fields = values @ _SUBSETS
    fields[starts[:-1]] += main[:, None]
    tables = np.exp(-fields).astype(np.float32)
    make_monotone(tables, values)
    return starts, neighbours, tables


def make_monotone(tables: NDArray[np.float32], values: NDArray[np.float64]) -> None:
    """Make weights (P, 4) fall as fields rise, to the last bit: bounds need that, and no exponential promises it."""
    for own, pairs in ((0, ((0, 1), (2, 3))), (1, ((0, 2), (1, 3)))):
        rises = values[:, own] < 0
        for without, with_it in pairs:
            least, largest = (f(tables[:, without], tables[:, with_it]) for f in (np.minimum, np.maximum))
            tables[:, with_it] = np.where(rises, largest, least)


def _sum_tables(
    main: NDArray[np.float64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    values: NDArray[np.float64],
    shifts: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Make tables of four fields, as whole numbers."""
    own = np.repeat(shifts, np.diff(starts))
    tables = _as_whole(-values, own[:, None]) @ _SUBSETS.astype(np.int32)
    tables[starts[:-1]] += _as_whole(-main, shifts)[:, None]
    return starts, neighbours, tables, shifts


def _dense_shifts(sizes: NDArray[np.float64], interactions: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.minimum(_shifts(sizes), _quad_shifts(interactions))


def _quad_shifts(interactions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose units so that the fields of any four neighbours differ by less than 24 bits can hold."""
    p = len(interactions)
    sizes = np.zeros((p, -(-p // 4) * 4))
    sizes[:, :p] = np.abs(interactions) * _BITS
    largest = sizes.reshape(p, -1, 4).sum(axis=2).max(axis=1)
    return np.asarray(np.floor(23.99 - np.log2(np.maximum(largest, 0.5))), dtype=np.int64)


def _quad_tables(
    main: NDArray[np.float64],
    interactions: NDArray[np.float64],
    shifts: NDArray[np.int64],
) -> tuple[NDArray[Any], ...]:
    """Make the tables of the fours (0, 1, 2, 3), (4, 5, 6, 7), ... for every variable."""
    p = len(main)
    n_quads = -(-p // 16) * 4
    whole = np.zeros((p, 4 * n_quads), dtype=np.int32)
    whole[:, :p] = _as_whole(-interactions, shifts[:, None])
    tables = make_aligned((p, n_quads, _packed.PLANES, 16), np.uint8)
    lows = np.empty(p, dtype=np.int64)
    fill_quads(whole, tables, lows)
    return tables, (_as_whole(-main, shifts) + lows).astype(np.int32), shifts


def _prepare_levels(scan: Scan, field: Field) -> float:
    """Fill the arguments of the sweep over levels; return the average number of neighbours."""
    main, pair = expand(field)
    n_levels = field.domain.n_levels
    cuts = np.cumsum(n_levels) - n_levels
    largest = np.maximum.reduceat(np.maximum.reduceat(np.abs(pair), cuts, axis=0), cuts, axis=1)
    shifts = _shifts(np.maximum.reduceat(np.abs(main), cuts) + largest.sum(axis=1))
    biases = np.zeros((len(n_levels), n_levels.max()), dtype=np.int32)
    starts, neighbours, table_starts, tables = [0], [], [], [np.zeros(0, dtype=np.int32)]
    size = 0
    for i, (cut, n) in enumerate(zip(cuts, n_levels, strict=True)):
        biases[i, :n] = _as_whole(main[cut : cut + n], shifts[i])
        whole = _as_whole(pair[:, cut : cut + n], shifts[i])
        for j in np.flatnonzero(largest[i]):
            table = whole[cuts[j] : cuts[j] + n_levels[j]].ravel()
            neighbours.append(j)
            table_starts.append(size)
            tables.append(table)
            size += table.size
        starts.append(len(neighbours))
    scan.arguments = (
        n_levels,
        np.array(starts, dtype=np.int64),
        np.array(neighbours, dtype=np.int64),
        np.array(table_starts, dtype=np.int64),
        np.concatenate(tables),
        biases,
        shifts,
    )
    return len(neighbours) / len(n_levels)
