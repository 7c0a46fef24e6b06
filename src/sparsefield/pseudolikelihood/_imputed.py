"""The pseudo-likelihood of tables with missing values (multiple imputation), which the fit itself fills."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Codes
from sparsefield.data import MISSING, Table, count
from sparsefield.fits import Fit, Status
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.pseudolikelihood._solve import solve_pseudo_likelihood


@dataclass(frozen=True)
class FillPolicy:
    """How often rows with missing values are filled, and in how many rounds."""

    # Rows with missing values are filled so many times, each with a share of the weight. Five are the convention of
    # multiple imputation (Rubin 1987), which fills once. Here each fit fills for the next, so that noise adds up: m
    # draws add g / (1 - g) / m to the variance of a parameter, g the share of missing information, of which they are to
    # make a tenth. With half of the cells missing g is 3/4 of an interaction: 30 draws. (6000 rows of 8 variables: 5,
    # 20 and 60 of them led to errors of 0.38, 0.25 and 0.25 of what whole rows lead to.)
    # Small tables have more, so that another seed finds about the same: a hundred leave a tenth of the noise of one.
    noise: float = 0.1
    fewest_copies: int = 5
    enough_copies: int = 30
    most_copies: int = 100
    filled_rows: int = 2**14  # up to which there are more copies than that takes: some seconds with 100 variables

    # A round leaves the share g of the distance to where rounds lead: ten leave a thousandth of it, for g of one half.
    most_rounds: int = 10


FILLING = FillPolicy()

Weights = NDArray[np.float64]


class Filling:
    """Rows whose missing values are drawn several times from a model, each with a share of the weight.

    Parameters
    ----------
    table : Table
        The rows, some cells of which are missing.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    seed : int
        Where the random numbers start: they are the same for every model, so that draws change only as far as it does.
    policy : FillPolicy, optional
        How often rows are filled.

    Attributes
    ----------
    n_copies : int
        How often.
    shares : ndarray of shape (n_filled,)
        How often each filled row counts.
    """

    def __init__(self, table: Table, weights: Weights | None, seed: int, policy: FillPolicy = FILLING) -> None:
        self._table, self._seed = table, seed
        self._weights = np.ones(table.n_rows) if weights is None else weights
        is_whole = ~table.mask.any(axis=1)
        needed, n_open = _count_needed(table, self._weights, policy), np.count_nonzero(~is_whole)
        self.n_copies = int(np.clip(policy.filled_rows // n_open, needed, policy.most_copies))
        self._whole, open_ = np.flatnonzero(is_whole), np.repeat(np.flatnonzero(~is_whole), self.n_copies)
        self.shares = np.concatenate([self._weights[self._whole], self._weights[open_] / self.n_copies])
        self.wanted = table.codes[open_]

    def start(self) -> PairwiseMRF:
        """Return independent variables with the frequencies of observed values."""
        return _start(self._table, self._weights)

    def draw(self, model: PairwiseMRF) -> Codes:
        """Draw the missing values."""
        return np.asarray(model.impute(self.wanted, seed=self._seed).codes)

    def join(self, drawn: Codes) -> Table:
        """Return all rows, with the missing values that were drawn."""
        codes = np.concatenate([self._table.codes[self._whole], drawn])
        return Table(self._table.domain, np.asfortranarray(codes))


def solve_filled_pseudo_likelihood(
    table: Table, alpha: float, *, weights: Weights | None, seed: int, filling: FillPolicy = FILLING, **options: Any
) -> Fit:
    """Fit rows whose missing values are drawn from the fit itself, given the observed cells, in rounds.

    A round draws the missing values of each row from the last fit, several times, and minimises the penalised
    pseudo-likelihood of the filled rows. Without a penalty and with many draws the rounds end where the expected
    gradient given the observed cells is zero: an unbiased estimating equation where values are missing at random, since
    that of whole rows is one (Elashoff and Ryan 2004, an EM algorithm for estimating equations). The first round
    draws from independent variables. Draws of all rounds have the same random numbers, so that they change only as far
    as the fit does.

    Parameters
    ----------
    table : Table
        The rows, some cells of which are missing.
    alpha : float
        The strength of the penalty.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    seed : int
        Where the random numbers start.
    filling : FillPolicy, optional
        How often rows are filled.
    **options
        As for `solve_pseudo_likelihood`.

    Returns
    -------
    Fit
        Of the last round; its status says how many there were, and what share of the draws the last one changed.
    """
    own = Filling(table, weights, seed, filling)
    model, fit, drawn, n_rounds, change = own.start(), None, own.wanted, 0, 1.0
    try:
        while n_rounds < filling.most_rounds and not _is_over(fit):
            last, drawn = drawn, own.draw(model)
            change = np.count_nonzero(drawn != last) / np.count_nonzero(own.wanted == MISSING)
            if change == 0:
                break
            n_rounds += 1
            start = None if fit is None else as_theta(model)
            fit = solve_pseudo_likelihood(own.join(drawn), alpha, weights=own.shares, start=start, **options)
            model = fit.model
    except KeyboardInterrupt:  # of draws: a fit that is interrupted says so itself
        if fit is None:
            raise
        fit = replace(fit, status=Status("interrupted", "Interrupted: this is what there was by then."))
    assert fit is not None
    sentence = f"{fit.status.sentence} {_describe(n_rounds, own.n_copies, change)}"
    return replace(fit, status=replace(fit.status, sentence=sentence))


def _count_needed(table: Table, weights: Weights, filling: FillPolicy) -> int:
    """Return how many draws of missing values a tenth of noise takes, from the pairs of cells that were observed."""
    n_seen, n = (~table.mask).sum(axis=1), table.domain.n_variables
    both = float(np.average(n_seen * (n_seen - 1), weights=weights)) / max(1, n * (n - 1))
    wanted = (1 - both) / max(both, 1e-12) / filling.noise
    return int(np.clip(np.ceil(wanted), filling.fewest_copies, filling.enough_copies))


def _is_over(fit: Fit | None) -> bool:
    """Say whether a fit leaves no time for another one."""
    return fit is not None and fit.status.code in ("interrupted", "max_seconds")


def _start(table: Table, weights: Weights) -> PairwiseMRF:
    """Return independent variables with the frequencies of observed values; half a row more shows each level."""
    domain, means = table.domain, np.empty(table.domain.n_slots)
    for i, column in enumerate(table.codes.T):
        is_seen, slots = column != MISSING, domain.slot_variables == i
        seen = np.bincount(column[is_seen], weights[is_seen], minlength=domain.n_levels[i]) + 0.5
        means[slots] = (seen / seen.sum())[domain.slot_levels[slots]]
    return PairwiseMRF.independent(domain, means)


def _describe(n_rounds: int, n_copies: int, change: float) -> str:
    """Say how missing values were filled."""
    if n_rounds == 1 and change:
        return "Missing values were drawn from independent variables: there was no time for a second round."
    rounds = f"{count(n_rounds, 'round')} of draws and fits"
    return f"Missing values were drawn {n_copies} times from the fit itself, in {rounds}" + (
        f": the last changed {100 * change:.2g}% of them." if change else ", after which they would not change."
    )
