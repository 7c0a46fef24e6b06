"""Missing values given the observed cells of their rows, by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._conditional import draw_rows, expect_rows, vary_rows
from sparsefield._typing import Codes, Matrix
from sparsefield.data import MISSING, Domain
from sparsefield.inference._field import Field

MOST_STATES = 2**20  # that the missing values of a row may have: 8 MB an array
MOST_ALTOGETHER = 2**28  # that those of all rows may have where there is no other way to draw them: 4 seconds
_SECONDS_PER_STATE = 15e-9  # of an expectation; of a draw or a variance about as much (one core of a Zen 3)
_STATES_PER_DRAWN_CELL = 0.5  # what it takes to look a draw up: 8 to 11 ns for each of its missing values
_MOST_PARTS = 8  # fixed, so that sums do not depend on the number of threads
_MOST_SUMS = 2**24  # numbers that the parts hold together: 128 MiB
_ROWS_AT_ONCE = 8192  # whose statistics are held as floats at one time

Vector = NDArray[np.float64]


def count_ways(domain: Domain, codes: Codes) -> Vector:
    """Count the ways to fill the missing values of each row; infinite where a float does not hold it."""
    with np.errstate(over="ignore"):
        return np.asarray(np.where(codes == MISSING, domain.n_levels, 1).astype(np.float64).prod(axis=1))


def is_enumerable(n_states: Vector) -> bool:
    """Say whether rows whose missing values have so many states can be enumerated, all of them."""
    return bool(n_states.max(initial=1) <= MOST_STATES and n_states.sum() <= MOST_ALTOGETHER)


def expected_products(field: Field, codes: Codes, weights: Vector, *, n_threads: int | None = None) -> Matrix:
    """Return the expected products of the statistics of rows given their observed cells, summed up with weights.

    Parameters
    ----------
    field : Field
        The model.
    codes : ndarray of shape (n, n_variables)
        Rows, 255 where a value is missing; the missing values of a row have at most 2^20 states.
    weights : ndarray of shape (n,)
        How much each row counts.
    n_threads : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_slots, n_slots)
        Laid out like `Moments.pair`.
    """
    domain, codes = field.domain, np.ascontiguousarray(codes)
    total = np.zeros((domain.n_slots, domain.n_slots))
    for start in range(0, len(codes), _ROWS_AT_ONCE):
        rows, own = codes[start : start + _ROWS_AT_ONCE], weights[start : start + _ROWS_AT_ONCE]
        s, covariance = _expect(field, rows, own, n_threads)
        s += domain.indicators(rows)  # zero where values are missing
        total += (s.T * own) @ s + covariance + np.triu(covariance, 1).T
    total[(domain.slot_variables[:, None] == domain.slot_variables) & ~np.eye(domain.n_slots, dtype=bool)] = 0.0
    return (total + total.T) / 2


def _expect(field: Field, rows: Codes, weights: Vector, n_threads: int | None) -> tuple[Matrix, Matrix]:
    """Return the expected statistics of missing values, (n, n_slots), and the sum of their covariances."""
    size = field.domain.n_slots
    n_parts = max(1, min(_MOST_PARTS, len(rows), _MOST_SUMS // max(1, size * size)))
    cuts = [len(rows) * k // n_parts for k in range(n_parts + 1)]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    means, covariances = np.zeros((len(rows), size)), np.zeros((n_parts, size, size))
    n_states = count_ways(field.domain, rows)
    arguments = _arguments(field)

    def run(k: int, own: slice) -> None:
        most = int(n_states[own].max())
        expect_rows(rows[own], weights[own], *arguments, means[own], covariances[k], most)

    _run_in_pieces(run, parts, n_states, n_threads)
    return means, covariances.sum(axis=0)


def conditional_variances(field: Field, codes: Codes, move: Matrix, *, n_threads: int | None = None) -> Vector:
    """Return the variance, given the observed cells of each row, of the inner product of a move and the statistics.

    Parameters
    ----------
    field : Field
        The model.
    codes : ndarray of shape (n, n_variables)
        Rows, as for `expected_products`.
    move : ndarray of shape (n_slots, n_slots)
        Laid out like `Moments.pair`; each parameter counts once.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    main, codes = np.ascontiguousarray(np.diagonal(move)), np.ascontiguousarray(codes)
    variances = np.empty(len(codes))
    n_states = count_ways(field.domain, codes)
    arguments = _arguments(field)

    def run(_: int, own: slice) -> None:
        most = int(n_states[own].max())
        vary_rows(codes[own], *arguments, main, move, variances[own], most)

    shares = _threads.share(len(codes), n_threads, _SECONDS_PER_STATE * n_states.sum())
    _run_in_pieces(run, shares, n_states, n_threads)
    return variances


def fill_by_enumeration(
    field: Field,
    rows: Codes,
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    uniforms: Vector,
    codes: Codes,
    n_threads: int | None,
) -> None:
    """Draw the missing values of rows into the codes from spans[0][r] to spans[1][r] - 1, a uniform number for each."""
    n_states = count_ways(field.domain, rows)
    arguments = _arguments(field)

    def run(_: int, own: slice) -> None:
        most = int(n_states[own].max())
        draw_rows(rows[own], spans[0][own], spans[1][own], *arguments, uniforms, codes, most)

    drawn = (spans[1] - spans[0]) * np.count_nonzero(rows == MISSING, axis=1)
    work = n_states + _STATES_PER_DRAWN_CELL * drawn
    shares = _threads.share(len(rows), n_threads, _SECONDS_PER_STATE * work.sum())
    _run_in_pieces(run, shares, work, n_threads)


def _run_in_pieces(
    function: Callable[[int, slice], None], parts: Sequence[slice], work: Vector, n_threads: int | None
) -> None:
    """Call a function of parts and of rows of theirs, whose work is counted in states, for a tenth of a second at once.

    The rows of a part come one after the other, so that what is summed up for a part does not depend on the cuts.
    """
    total = float(work.sum())
    shares = _threads.share(len(parts), n_threads, _SECONDS_PER_STATE * total)
    most = max(1.0, _threads.LONGEST_CALL / (_SECONDS_PER_STATE * len(shares)))
    ranges = [slice(parts[share.start].start, parts[share.stop - 1].stop) for share in shares]

    def run(share: slice, piece: slice) -> None:
        for k in range(len(parts))[share]:
            own = slice(max(piece.start, parts[k].start), min(piece.stop, parts[k].stop))
            if own.start < own.stop:
                function(k, own)

    # (Most tables need no cuts: to look for them would take as long as 200 rows with two missing values each.)
    cuts = [[rows] if total <= most else _cut(rows, work, most) for rows in ranges]
    for pieces in zip_longest(*cuts, fillvalue=slice(0, 0)):
        _threads.run(run, list(zip(shares, pieces, strict=True)))


def _cut(rows: slice, work: Vector, most: float) -> list[slice]:
    """Cut rows into pieces, in each of which all but the last one have less work than given."""
    own = work[rows]
    piece = (np.cumsum(own) - own) // most
    cuts = rows.start + np.flatnonzero(np.diff(piece, prepend=-1.0, append=np.inf))
    return [slice(a, b) for a, b in pairwise(cuts.tolist())]


def _arguments(field: Field) -> tuple[NDArray[Any], ...]:
    """Return what the kernels ask of a field: levels, the slot of each level or -1, main effects and interactions."""
    domain = field.domain
    slots = np.full((domain.n_variables, domain.n_levels.max()), -1, dtype=np.int64)
    slots[domain.slot_variables, domain.slot_levels] = np.arange(domain.n_slots)
    return domain.n_levels, slots, field.main, field.interactions
