"""Exact draws of missing values given the observed cells of their rows: by enumeration or coupling from the past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain
from sparsefield.inference._checks import MOST_BOUNDED, check_request
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import CHOICES, make_source
from sparsefield.inference.missing._clamped import ClampedChains
from sparsefield.inference.missing._clamped_coupling import Coupling, MissingRows, refuse_row
from sparsefield.inference.missing._enumerated_rows import MOST_STATES, count_ways, fill_by_enumeration, is_enumerable


@dataclass(frozen=True)
class EnumerationPolicy:
    """Which rows have their missing values enumerated, and not drawn."""

    # An enumeration takes 15 ns a state, and at least 5 microseconds, as long as 300 states. A coupled draw takes 30 to
    # 90 ns a cell: 1.7 microseconds for 20 variables of which 65% are missing, 2.9 for the Senate's 100 with 3% (one
    # core of a Zen 3).
    always_cheap: int = 256
    states_per_cell: int = 4


ENUMERATION = EnumerationPolicy()


@dataclass(frozen=True)
class ClampedRun:
    """What exact draws of missing values took.

    Parameters
    ----------
    n_enumerated, n_coupled : int
        Draws made by enumeration, and by coupling from the past.
    sweeps_per_draw : float
        Sweeps of a chain for each coupled draw, waiting for the slowest chain included; the pilot is not.
    """

    n_enumerated: int
    n_coupled: int
    sweeps_per_draw: float


def is_cheap(
    n_states: NDArray[np.float64], n_draws: NDArray[Any], domain: Domain, policy: EnumerationPolicy = ENUMERATION
) -> NDArray[np.bool_]:
    """Say of rows whether their missing values are better enumerated than drawn so many times by coupled chains."""
    limits = policy.states_per_cell * domain.n_variables * np.asarray(n_draws)
    return np.asarray(n_states <= np.clip(limits, policy.always_cheap, MOST_STATES))


def draw_missing(
    field: Field, codes: NDArray[np.uint8], *, seed: int, max_sweeps: int, n_threads: int | None = None
) -> tuple[ClampedChains, ClampedRun]:
    """Draw the missing values of each row exactly, given its observed cells: chains that stand at the draws.

    Parameters are those of `fill_exactly`.
    """
    filled, run = fill_exactly(field, codes, seed=seed, max_sweeps=max_sweeps, n_threads=n_threads)
    return ClampedChains.standing_at(field.domain, codes, filled, seed=seed, n_threads=n_threads), run


def fill_exactly(
    field: Field,
    codes: NDArray[np.uint8],
    *,
    seed: int,
    max_sweeps: int,
    n_threads: int | None = None,
    couple: Callable[..., Coupling] = Coupling,
) -> tuple[NDArray[np.uint8], ClampedRun]:
    """Fill the missing values of each row with an exact draw given its observed cells.

    Which rows are enumerated is decided by how many values they miss, and by pilot runs with random numbers of their
    own; coupled chains are all waited for. So no state is favoured for being reached fast.

    Parameters
    ----------
    field : Field
        The model.
    codes : ndarray of shape (n, n_variables)
        Rows, 255 where a value is missing. For several draws of a row repeat it; repeats that follow each other share
        their work.
    seed : int
        Where the random numbers start.
    max_sweeps : int
        Sweeps within which half of the bounding chains of each row must meet, in a pilot run.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    couple : callable
        Makes the chains that draw: those of this machine unless given.
    """
    check_request(len(codes), seed)
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps}: use at least one.")
    codes = np.ascontiguousarray(codes)
    rows, filled = MissingRows.of(codes), codes.copy()
    cheap, n_swept = _choose_cheap(field, rows), 0.0
    if not cheap.all():
        how = {"seed": seed, "max_sweeps": max_sweeps, "n_threads": n_threads}
        coupling = couple(field, rows, np.flatnonzero(~cheap), **how)
        cheap = ~np.isin(np.arange(len(rows.codes)), coupling.rows)
        n_swept = coupling.fill(filled)
    spans = rows.first[cheap], rows.last[cheap]
    uniforms = np.random.Generator(make_source(seed, CHOICES)).random(len(codes))
    fill_by_enumeration(field, rows.codes[cheap], spans, uniforms, filled, n_threads)
    n_coupled = len(codes) - int((spans[1] - spans[0]).sum())
    return filled, ClampedRun(len(codes) - n_coupled, n_coupled, n_swept / max(1, n_coupled))


def _choose_cheap(field: Field, rows: MissingRows) -> NDArray[np.bool_]:
    """Say which rows are to be enumerated: all of them, where a variable has too many levels for coupled chains."""
    n_states = count_ways(field.domain, rows.codes)
    if np.all(field.domain.n_levels <= MOST_BOUNDED):
        return is_cheap(n_states, rows.last - rows.first, field.domain)
    if not is_enumerable(n_states):
        why = f"coupled chains are for up to {MOST_BOUNDED} levels"
        raise refuse_row(field.domain, rows.codes[n_states.argmax()], why, "")
    return np.ones(len(n_states), dtype=bool)
