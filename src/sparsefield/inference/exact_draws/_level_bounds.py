"""The tables in which bounding chains of more than two levels look exponents up: for sets, and for ordered levels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._sets import LANES, fill_minima
from sparsefield.inference._field import Field, expand
from sparsefield.inference.chains._tables import LARGEST_PRODUCT, Form, pair_shifts

Array = NDArray[np.float64]

_BITS = math.log2(math.e)  # exponents are added up in bits: exp(x) = 2^(x log2 e)

# An interaction of levels, s_a s_b times a parameter and less what its reference levels have, is rounded a dozen times
# to 2^-53 of the largest of the block; a second difference adds up four of them. Half as much again is no harm: ratios
# are rounded to float32, and made monotone.
_ROUNDED = 2.0**-46
# Minima over sets in the table of a neighbour, 64 KiB, and in all, 16 MiB. With 8 levels each, which just fit, updates
# whose neighbours are all open take 0.12 microseconds with them and 0.48 without.
_LARGEST_MINIMA, _MOST_MINIMA = 2**14, 2**22


class _Block(NamedTuple):
    """How a neighbour moves a variable: values (K_j, K_i), a row for each level of the neighbour."""

    variable: int
    neighbour: int
    values: Array


def _blocks(field: Field) -> tuple[list[Array], list[_Block]]:
    """Return the main effects of all levels of each variable, and the interactions with each neighbour."""
    main, pair = expand(field)
    n_levels = field.domain.n_levels
    cuts = np.cumsum(n_levels) - n_levels
    own = [slice(cut, cut + n) for cut, n in zip(cuts, n_levels, strict=True)]
    largest = np.maximum.reduceat(np.maximum.reduceat(np.abs(pair), cuts, axis=0), cuts, axis=1)
    blocks = [_Block(int(i), int(j), pair[own[j], own[i]]) for i, j in zip(*np.nonzero(largest), strict=True)]
    return [main[levels] for levels in own], blocks


def bound_tables(field: Field, form: Form | None) -> tuple[Form, tuple[NDArray[Any], ...], float]:
    """Make the arguments of a sweep over bounds; return its form, these, and the average number of neighbours.

    Ordered levels need interactions that are super- or submodular, pair by pair of variables, and log-odds of two
    levels that do not reach 80. They are chosen where that is so.
    """
    mains, blocks = _blocks(field)
    signs = [_order(block.values) for block in blocks]
    fits = all(sign != 0 for sign in signs) and _largest_log_odds(mains, blocks) < LARGEST_PRODUCT
    if form == "intervals" and not fits:
        raise ValueError("form is 'intervals': it does not fit this field; leave it out to have one chosen.")
    if form not in (None, "sets", "intervals"):
        raise ValueError(f"form is {form!r}: bounds of more than two levels have 'sets' and 'intervals'.")
    degree = len(blocks) / len(mains)
    if form == "sets" or not fits:
        return "sets", _set_tables(field.domain.n_levels, mains, blocks), degree
    return "intervals", _interval_tables(field.domain.n_levels, mains, blocks, np.array(signs)), degree


def _order(values: Array) -> int:
    """Return 1 if higher levels favour higher levels, -1 if they favour lower ones, 0 if neither always holds."""
    second = np.diff(np.diff(values, axis=0), axis=1)
    slack = _ROUNDED * np.abs(values).max()
    if np.all(second >= -slack):
        return 1
    return -1 if np.all(second <= slack) else 0


def _largest_log_odds(mains: list[Array], blocks: list[_Block]) -> float:
    """Bound the log-odds of any two levels of any variable."""
    sizes = [np.abs(main[:, None] - main) for main in mains]
    for block in blocks:
        sizes[block.variable] += np.abs(block.values[:, :, None] - block.values[:, None, :]).max(axis=0)
    return max(float(size.max()) for size in sizes)


def _listed(n_levels: NDArray[np.int64], blocks: list[_Block], tables: list[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Return where the neighbours of each variable begin, which they are, where their tables begin, and the tables."""
    starts = np.searchsorted([block.variable for block in blocks], np.arange(len(n_levels) + 1))
    ends = np.cumsum([0] + [table.size for table in tables])
    neighbours = np.array([block.neighbour for block in blocks], dtype=np.int64)
    whole = np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(0, dtype=np.int32)
    return starts, neighbours, ends[:-1], whole


def _set_tables(n_levels: NDArray[np.int64], mains: list[Array], blocks: list[_Block]) -> tuple[NDArray[Any], ...]:
    """Make tables of exponents as whole numbers, in units 2^-shift bits of each variable's own."""
    sizes = np.array([np.abs(main).max() for main in mains])
    for block in blocks:
        sizes[block.variable] += np.abs(block.values).max()
    shifts = pair_shifts(2 * sizes)  # differences of two exponents, and of their noise, fit into 31 bits too
    biases = np.zeros((len(mains), n_levels.max()), dtype=np.int32)
    for i, main in enumerate(mains):
        biases[i, : len(main)] = _as_whole(main, shifts[i])
    tables = [_as_whole(block.values, shifts[block.variable]) for block in blocks]
    return n_levels, *_listed(n_levels, blocks, tables), *_minimum_tables(tables), biases, shifts


def _minimum_tables(tables: list[NDArray[np.int32]]) -> tuple[NDArray[Any], ...]:
    """Return where the minima over sets of levels begin, -1 where they would take too much room, and the minima."""
    sizes = np.array([2.0 ** len(table) * table.shape[1] * LANES for table in tables])
    sizes[(sizes > _LARGEST_MINIMA) | np.array([table.shape[1] > LANES for table in tables], dtype=bool)] = 0
    if sizes.sum() > _MOST_MINIMA:
        sizes[:] = 0
    sizes = sizes.astype(np.int64)
    ends = np.cumsum(sizes)
    minima = np.zeros(int(sizes.sum()), dtype=np.int32)
    for table, end, size in zip(tables, ends, sizes, strict=True):
        if size:
            fill_minima(table, minima[end - size : end].reshape(-1, table.shape[1], LANES))
    return np.where(sizes > 0, ends - sizes, -1), minima


def _as_whole(values: Array, shift: np.int64) -> NDArray[np.int32]:
    return np.asarray(np.rint(np.ldexp(values * _BITS, shift)), dtype=np.int32)


def _interval_tables(
    n_levels: NDArray[np.int64], mains: list[Array], blocks: list[_Block], signs: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Make tables of ratios of neighbouring levels, which rise or fall with the level of the neighbour to the last bit.

    No exponential promises that, and neither do interactions that were rounded.
    """
    firsts = np.ones((len(mains), n_levels.max()), dtype=np.float32)
    for i, main in enumerate(mains):
        firsts[i, : len(main) - 1] = np.exp(np.diff(main))
    tables = []
    for block, sign in zip(blocks, signs, strict=True):
        ratios = np.exp(np.diff(block.values, axis=1)).astype(np.float32)
        tables.append(np.maximum.accumulate(ratios[::sign], axis=0)[::sign])
    listed = _listed(n_levels, blocks, tables)
    return n_levels, *listed[:3], listed[3].astype(np.float32), firsts, signs < 0
