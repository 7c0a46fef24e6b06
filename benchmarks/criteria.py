"""One path of a table, and what every criterion chooses of it.

Information criteria of one path are found together, with the same numbers that `select` takes. A path ends where all of
them have been above their least value for `PATIENCE` penalties: what comes after has so many edges that fits without
their penalty take most of the time of all, and is chosen by AIC alone, which has the whole path. `choice.py` compares
the choices with those of whole paths.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparsefield as sf
from sparsefield.data import Moments
from sparsefield.fits import Fit
from sparsefield.model import count_once
from sparsefield.selection import Choice, Likelihood, information, select
from sparsefield.selection._likelihoods import Likelihoods
from sparsefield.selection._noise import edge_of_noise
from sparsefield.selection._parts import _find_gap, seed_of_part
from sparsefield.selection._path import _ByLikelihood, _Relaxed, count_edges, grid
from sparsefield.selection._rules import ByStability
from sparsefield.solvers import Learner, Options

N_ALPHAS = 30  # the default of `select`
PATIENCE = 4
EDGES_A_VARIABLE = 4  # for cross-validation, fits with their penalty go on until there are more
BETA, N_SUBSAMPLES = 0.05, 20  # the defaults of `select`

# Which criterion of which fits: kind, gamma, and whether fits are relaxed.
INFORMATION: dict[str, tuple[Any, float, bool]] = {
    "EBIC": ("ebic", 0.25, True),
    "EBIC, gamma 0.5": ("ebic", 0.5, True),
    "EBIC of shrunken fits": ("ebic", 0.25, False),
    "BIC": ("bic", 0.0, True),
}
WITH_AIC: dict[str, tuple[Any, float, bool]] = {**INFORMATION, "AIC": ("aic", 0.0, True)}


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a criterion chose.

    Parameters
    ----------
    fit : Fit
        The fit with its penalty.
    likelihood : Likelihood
        The log-likelihood of the rows, and the log-partition function.
    index, n_fits : int
        Its place on the path, and the fits that there were to choose from.
    seconds : float
        Processor seconds of all fits that were needed.
    relaxed : tuple of Fit and Likelihood, optional
        Its edges without their penalty.
    """

    fit: Fit
    likelihood: Likelihood
    index: int
    n_fits: int
    seconds: float
    relaxed: tuple[Fit, Likelihood] | None = None

    def held_out(self, moments: Moments) -> float:
        """Return the log-likelihood of other rows, in nats per row."""
        return self.likelihood.of_moments(self.fit.model, moments)

    def held_out_relaxed(self, moments: Moments) -> float | None:
        """Return the same without the penalty of its edges, where that is known."""
        return None if self.relaxed is None else self.relaxed[1].of_moments(self.relaxed[0].model, moments)


class Walk:
    """The path of a table, fit by fit as `path` makes it, until nothing more can be chosen.

    Parameters
    ----------
    table : Table
        The rows.
    seed : int
        As for `select`.
    is_whole : bool
        Whether all penalties are fitted.
    relaxes : bool
        Whether fits are relaxed.
    goes_on : bool
        Whether fits go on until there are many edges, as cross-validation needs them.
    """

    def __init__(
        self, table: sf.Table, seed: int, *, is_whole: bool = False, relaxes: bool = True, goes_on: bool = False
    ) -> None:
        options = Options(gap=_find_gap(table, None), seed=seed_of_part(seed, 0), n_threads=1)
        self._learner, self._is_whole, self._relaxes = Learner(table, options), is_whole, relaxes
        self._most_edges = EDGES_A_VARIABLE * table.domain.n_variables if goes_on else 0
        self.alphas = grid(self._learner, N_ALPHAS)
        self.fits: list[tuple[Fit, Likelihood]] = []
        self.relaxed: list[tuple[Fit, Likelihood]] = []
        self.seconds, self.relaxing_seconds = 0.0, 0.0
        self._follow()

    def _follow(self) -> None:
        way, likelihoods, beside = _ByLikelihood(self._learner), Likelihoods(self._learner), _Relaxed(self._learner)
        for alpha in self.alphas:
            began = time.process_time()
            fit = way.learn(alpha)
            if fit.status.code == "interrupted":
                raise KeyboardInterrupt
            self.fits.append((fit, _known(likelihoods.of(fit, way.stand))))
            self.seconds += time.process_time() - began
            if self._is_whole or (self._relaxes and not self._is_past(is_relaxed=True)):
                began = time.process_time()
                relaxed, known = beside.of(fit, way.stand, likelihoods)
                self.relaxed.append((relaxed, _known(known)))
                self.relaxing_seconds += time.process_time() - began
            elif self._is_past(is_relaxed=False) and count_edges(fit.model) > self._most_edges:
                return

    def _is_past(self, *, is_relaxed: bool) -> bool:
        """Say whether all criteria have been above their least value for some penalties."""
        own = [criterion for criterion in INFORMATION.values() if criterion[2] == is_relaxed]
        values = [self.values(*criterion) for criterion in own]
        return all(len(v) > PATIENCE and (v[-PATIENCE:] > v[:-PATIENCE].min()).all() for v in values)

    def values(self, kind: Any, gamma: float, is_relaxed: bool) -> NDArray[np.float64]:
        """Return an information criterion of all fits that there are, as `select` has it."""
        fits, table = self.relaxed if is_relaxed else self.fits, self._learner.table
        n_edges = np.array([count_once(fit.model.interactions) for fit, _ in fits], dtype=np.int64)
        known = np.array([likelihood.value for _, likelihood in fits])
        p = table.domain.n_variables
        return information(kind, known, n_edges + p, n_edges, float(table.n_rows), p, gamma)

    def choose(self, kind: Any, gamma: float, is_relaxed: bool) -> Chosen:
        """Return the fit with the least value."""
        values = self.values(kind, gamma, is_relaxed)
        index = int(np.argmin(values))
        seconds = self.seconds + (self.relaxing_seconds if is_relaxed else 0.0)
        relaxed = self.relaxed[index] if index < len(self.relaxed) else None
        return Chosen(*self.fits[index], index, len(values), seconds, relaxed)

    def hold_out(self, table: sf.Table, seed: int) -> Chosen:
        """Choose by five folds, among the penalties that there are."""
        alphas = self.alphas[: len(self.fits)]
        choice, seconds = _clock(partial(select, table, criterion="cv", alphas=alphas, seed=seed, n_threads=1))
        relaxed = self.relaxed[choice.index] if choice.index < len(self.relaxed) else None
        return Chosen(*self.fits[choice.index], choice.index, len(self.fits), seconds, relaxed)


def agree(table: sf.Table, seed: int) -> Chosen:
    """Choose by the stability of edges, among the penalties from the first one on that is not stable enough."""
    options = Options(gap=_find_gap(table, None), seed=seed_of_part(seed, 0), n_threads=1)
    learner, rule = Learner(table, options), ByStability(BETA, N_SUBSAMPLES)
    alphas = grid(learner, N_ALPHAS, rule.first_alpha(learner, table.n_rows))
    # Independent variables would disagree on more than beta of all pairs at two thirds of where they have no edge.
    end = edge_of_noise(learner, rule.size(table.n_rows)) / 2
    seconds, n = 0.0, sum(alpha >= end for alpha in alphas) + 1
    while True:
        choice, took = _clock(partial(select, table, criterion="stars", alphas=alphas[:n], seed=seed, n_threads=1))
        seconds += took
        if n >= len(alphas) or choice.table["instability"][-1] > BETA:
            break
        n += 5
    found = sf.path(table, alphas[: choice.index + 1], gap=_find_gap(table, None), seed=0, n_threads=1)
    return Chosen(found.fits[-1], _known(found.likelihoods[-1]), choice.index, n, seconds)


def _clock(action: Callable[[], Choice]) -> tuple[Choice, float]:
    """Return what an action returns, and the processor seconds that it took."""
    began = time.process_time()
    return action(), time.process_time() - began


def _known(likelihood: Likelihood | None) -> Likelihood:
    if likelihood is None:
        raise ValueError("A log-likelihood is out of reach, so that nothing can be chosen.")
    return likelihood
