"""The data term of a table with missing values: what the model expects of them given the observed cells."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparsefield._seeds import Use, derive_seed
from sparsefield._typing import Matrix
from sparsefield.data import MISSING, Moments, Table, Unseen, distinct_rows, weighted_moments
from sparsefield.inference import (
    ENUMERATION,
    Backend,
    ChainStates,
    EnumerationPolicy,
    Field,
    Given,
    OutOfReachError,
    count_ways,
    is_cheap,
)
from sparsefield.model import PairwiseMRF, across_variables, norm

Vector = NDArray[np.float64]

_ROWS_AT_ONCE = 8192  # whose statistics are held as floats at one time; an even number, for pairs of draws


@dataclass(frozen=True)
class CompletedPolicy:
    """How what a model expects of missing values is found."""

    # Sweeps within which chains must meet for exact draws, unless given: as many as for draws of the model
    # (`BestDraws`).
    max_sweeps: int = 2000

    # Draws of missing values that are held at one time have this many cells, a byte each while they are made: 128 MiB.
    # Rows with missing values have at least two draws each, also where they are more.
    most_cells: int = 2**27

    # Where exact draws are out of reach, Gibbs chains make this many sweeps for a model, and go on from the last one.
    # With a tenth of the values filled so, 1, 5 and 20 end at smallest subgradients of the same norm (`make
    # bench-constants`: medians of 0.053, 0.054 and 0.053 after Newton steps): one sweep would do there, and five are a
    # reserve.
    gibbs_sweeps: int = 5
    most_gibbs_copies: int = 100  # chains of a row, which leave a tenth of the noise of one

    enumeration: EnumerationPolicy = ENUMERATION  # which rows are enumerated, and not drawn


COMPLETED = CompletedPolicy()


class Completed:
    """A table whose rows with missing values are completed by what a model expects of them.

    The data moments are those of the whole rows, and those that the model expects of the others given their observed
    cells. Rows with few missing values are enumerated: their expectations are exact. Others have several exact draws
    each, in proportion to their weights, so that the simulation error is at most that of as many draws of the model.
    Where exact draws are out of reach, Gibbs chains that keep the observed cells take their place: then there is a
    `caveat`.

    Before it is `given` a model, missing values count as uniform.

    Parameters
    ----------
    table : Table
        Observations, some of them missing.
    n_chains : int
        Gibbs chains, about, should they be needed; at least two and at most 100 for each row.
    seed : int
        Where the random numbers start; every model that it is given has its own.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    backend : Backend
        What enumerates and draws.
    unseen : Unseen, optional
        Levels that no row shows, and that count all the same.
    max_sweeps : int, optional
        Sweeps within which half of the bounding chains of each row must meet, for exact draws; 2000 unless given.
    policy : CompletedPolicy
        Tuning constants.
    """

    is_fixed = False

    def __init__(
        self,
        table: Table,
        n_chains: int,
        seed: int,
        weights: Vector | None,
        backend: Backend,
        unseen: Unseen | None = None,
        max_sweeps: int | None = None,
        *,
        policy: CompletedPolicy = COMPLETED,
    ) -> None:
        self._backend, self._n_chains, self._seed, self._policy = backend, n_chains, seed, policy
        self._max_sweeps = policy.max_sweeps if max_sweeps is None else max_sweeps
        self._domain, self._n_rows = table.domain, table.n_rows
        self._unseen = Unseen(table.domain, (), table.n_rows) if unseen is None else unseen
        shares = np.full(table.n_rows, 1 / table.n_rows) if weights is None else weights / weights.sum()
        is_whole = ~table.mask.any(axis=1)
        # Rows that show the same have the same expectations: they count as one.
        self._rows, of = distinct_rows(table.codes[~is_whole])
        self._shares: Vector = np.bincount(of, shares[~is_whole]).astype(np.float64)
        self._n_states = count_ways(table.domain, self._rows)
        # What whole rows contribute does not change.
        self._whole = np.zeros((table.domain.n_slots,) * 2)
        if is_whole.any():
            whole = Table(table.domain, np.asfortranarray(table.codes[is_whole]))
            self._whole = weighted_moments(whole, shares[is_whole]).pair * shares[is_whole].sum()
        self._n_given = 0
        self._enumerated = np.zeros(0, dtype=np.int64)  # the rows whose expectations are exact
        self._chains: ChainStates | None = None
        self._is_hard: NDArray[np.bool_] | None = None  # the rows of these chains
        self._model: PairwiseMRF | None = None
        self._drawn: _Drawn | None = None
        self.caveat = ""
        self.moments = self._add_up(self._fill_uniformly())

    @property
    def n_effective(self) -> float:
        """How many draws of the model are as good: the error covariance is at most the missing information over it."""
        return np.inf if self._drawn is None else 1 / float(self._drawn.shares.max())

    def given(self, model: PairwiseMRF, n_draws: int) -> Completed:
        """Return the data term at a model, with a simulation error of at most that of n draws of it."""
        other = copy.copy(self)
        other._model, other._n_given = model, self._n_given + 1
        other._drawn, other.caveat = None, ""
        n_copies, policy = _count_copies(self._shares, n_draws), self._policy
        is_hard = self._is_hard
        if is_hard is None:
            is_hard = ~is_cheap(self._n_states, n_copies, self._domain, policy.enumeration)
        if is_hard.any():
            n_cells = n_copies[is_hard].sum() * self._domain.n_variables
            if n_cells > policy.most_cells:
                n_copies = _count_copies(self._shares, n_draws * policy.most_cells / n_cells)
            other._draw(is_hard, n_copies[is_hard])
        other._enumerated = np.flatnonzero(~is_hard)
        easy = self._backend.clamped_products(model, self._rows[~is_hard], self._shares[~is_hard])
        other.moments = other._add_up(easy if other._drawn is None else easy + other._drawn.products())
        return other

    def expecting(self, field: Field, most_work: int) -> Expecting | None:
        """Return the rows as fields with these interactions see them exactly, where that is in reach.

        The tables that rows are summed over have at most so many entries together. Levels that no row shows count as
        half a row, which is no part of what is expected: with these there is none.
        """
        given = Given(field, self._rows)
        if self._unseen.levels or not given.is_in_reach.all() or given.work > most_work:
            return None
        return Expecting(given, self._shares, self._whole, self._n_rows)

    def simulation_error(self, counted: NDArray[np.bool_]) -> float:
        """Return the expected norm of the simulation error in the counted ones of the moments."""
        return 0.0 if self._drawn is None else norm(np.sqrt(self._drawn.variances) * counted)

    def variance_along(self, move: Matrix) -> float:
        """Return the mean over rows of the variance, given the observed cells, of a move times the statistics.

        That is move . M move, M the missing information: what it takes from the information of whole rows.
        """
        if self._model is None:
            raise ValueError("The variance depends on the model: ask the data term that is given one.")
        rows, shares = self._rows[self._enumerated], self._shares[self._enumerated]
        total = float(shares @ self._backend.clamped_variances(self._model, rows, move))
        return total if self._drawn is None else total + self._drawn.variance_along(move)

    def _draw(self, is_hard: NDArray[np.bool_], n_copies: NDArray[np.int64]) -> None:
        """Draw missing values exactly, or by chains where that is out of reach."""
        assert self._model is not None
        rows, shares = self._rows[is_hard], self._shares[is_hard]
        codes = np.repeat(rows, n_copies, axis=0)
        seed, limit = self._seed_of(Use.MISSING_DRAWS), self._max_sweeps
        try:
            chains, _ = self._backend.clamped_draw(self._model, codes, seed=seed, max_sweeps=limit)
        except OutOfReachError as error:
            self.caveat = f"{error.reason}: they are filled by Gibbs chains without a certificate"
            n_copies = np.minimum(_count_copies(shares / shares.sum(), self._n_chains), self._policy.most_gibbs_copies)
            chains = self._sweep(np.repeat(rows, n_copies, axis=0))
            self._chains, self._is_hard = chains, is_hard
        self._drawn = _Drawn(chains, np.repeat(shares / n_copies, n_copies))

    def _sweep(self, codes: NDArray[np.uint8]) -> ChainStates:
        """Sweep chains of rows towards the model: those of the last one, or new ones."""
        assert self._model is not None
        if self._chains is None:
            chains = self._backend.clamped_chains(self._domain, codes, seed=self._seed_of(Use.MISSING_CHAINS))
        else:
            chains = self._chains.copy()
        chains.sweep(self._backend.prepare(self._model), self._policy.gibbs_sweeps)
        return chains

    def _seed_of(self, use: int) -> int:
        """Return the seed for this model, for one of two uses."""
        return derive_seed(self._seed, Use.ITERATION_ZERO, self._n_given, use)

    def _fill_uniformly(self) -> Matrix:
        """Return what rows with missing values contribute where these are uniform and independent."""
        i = self._domain.slot_variables
        total = np.zeros_like(self._whole)
        for start in range(0, len(self._rows), _ROWS_AT_ONCE):
            rows, shares = self._rows[start : start + _ROWS_AT_ONCE], self._shares[start : start + _ROWS_AT_ONCE]
            s = np.where(rows[:, i] == MISSING, 1 / self._domain.n_levels[i], self._domain.indicators(rows))
            total += (s.T * shares) @ s
            np.fill_diagonal(total, np.diagonal(total) + shares @ (s - s**2))
        return across_variables(self._domain, total)

    def _add_up(self, incomplete: Matrix) -> Moments:
        return self._unseen.fill(Moments.of_pairs(self._whole + incomplete, self._n_rows))


class Expecting:
    """Rows with missing values, whose expectations are found exactly by summing over these.

    Parameters
    ----------
    given : Given
        The rows, and which variables interact.
    shares : ndarray of shape (n,)
        The share of each of them in all rows.
    whole : ndarray of shape (n_slots, n_slots)
        What whole rows add to the moments.
    n_rows : int
        How many rows there are.
    """

    def __init__(self, given: Given, shares: Vector, whole: Matrix, n_rows: int) -> None:
        self._given, self._shares, self._whole, self._n_rows = given, shares, whole, n_rows

    def expect(self, field: Field) -> tuple[float, Moments]:
        """Return the mean over rows of the logarithm of the sum of exp(-energy) over what they could be, and moments.

        Moments are those of pairs that interact: others are taken for independent where both are missing.
        """
        log_sums, products = self._given.at(field).expect(self._shares)
        told = field.main @ np.diagonal(self._whole) + (field.interactions * self._whole).sum() / 2
        return float(told + self._shares @ log_sums), Moments.of_pairs(self._whole + products, self._n_rows)


class _Drawn:
    """Draws of missing values, two and two of one row.

    Parameters
    ----------
    chains : ChainStates
        They stand at the draws. Draws 2 t and 2 t + 1 are of one row, and independent given that.
    shares : ndarray of shape (n,)
        How much each draw counts.
    """

    def __init__(self, chains: ChainStates, shares: Vector) -> None:
        self._chains, self.shares = chains, shares

    def products(self) -> Matrix:
        """Return the sum of the products of the statistics."""
        total = self.shares.sum()
        if np.ptp(self.shares) <= 1e-12 * total / len(
            self.shares
        ):  # equal, but for rounding: whole numbers are counted
            return np.asarray(self._chains.moments().pair * total)
        filled = Table(self._chains.domain, self._chains.codes())
        return np.asarray(weighted_moments(filled, self.shares).pair * total)

    @cached_property
    def variances(self) -> Matrix:
        """The variance of the simulation error in each of the products.

        The variance of a statistic is half the probability that two draws of a row differ in it.
        """
        codes, domain, squares = self._chains.codes(), self._chains.domain, self.shares**2
        total = np.zeros((domain.n_slots, domain.n_slots))
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            s, own = domain.indicators(codes[start : start + _ROWS_AT_ONCE]), squares[start : start + _ROWS_AT_ONCE]
            both = s[::2] * s[1::2]
            total += (s.T * own) @ s - 2 * (both.T * own[::2]) @ both
        return np.maximum(across_variables(domain, total), 0.0)

    def variance_along(self, move: Matrix) -> float:
        """Return the sum over rows of the variance of a move times the statistics, each with the share of its row."""
        values = self._chains.draws().along(move)
        return float(self.shares[::2] @ (values[::2] - values[1::2]) ** 2)


def _count_copies(shares: Vector, n_draws: float) -> NDArray[np.int64]:
    """Return an even number of draws for each row, of which none counts more than one of so many of the model."""
    # What is whole but for rounding is whole: shares add up to one with an error far below 1e-9.
    return np.asarray(2 * np.maximum(1, np.ceil(shares * n_draws / 2 - 1e-9)), dtype=np.int64)
