"""A path: fits of one table with smaller and smaller penalties, each of which starts at the last one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield._deadline import OutOfTimeError, until
from sparsefield._near_misses import refuse_names
from sparsefield._typing import Matrix
from sparsefield.data import Rows, Table, TableError, count
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Newton, Options
from sparsefield.gradients import Enumerated, Known
from sparsefield.model import PairwiseMRF, as_theta, independent_theta
from sparsefield.objective import find_nonzero
from sparsefield.pseudolikelihood import Filling, solve_pseudo_likelihood
from sparsefield.selection.choices._degrees_of_freedom import count_nonzero
from sparsefield.selection.choices._null_edges import largest_error
from sparsefield.selection.paths._alpha_max import largest_alpha
from sparsefield.selection.paths._likelihoods import Likelihood, Likelihoods
from sparsefield.selection.paths._relax import free
from sparsefield.tables import read_rows

# A path ends where sampling error makes edges of about a third of all pairs: at the largest standard error of a pair's
# frequency among independent variables, or a tenth of the largest alpha where that is smaller.
_LEAST_SHARE = 0.1

_GAP = 0.05  # nats per row, of each fit: seeds need not agree on the edges of a fit that nobody chose

# Fits of enumerated tables leave about half a nat of an information criterion at most, -2 n times the log-likelihood,
# in which a parameter costs log(n): 1 / (4 n) of the log-likelihood. Half of that takes 116 steps in place of 94.
_OF_CRITERION = 0.5

# With few rows that is much: a step of length d, along parameters that pay alpha, changes the log-likelihood by
# alpha d. At an alpha of 0.02 all weights together are off by 0.01 then, in the last digit that people look at.
_MOST_LEFT = 2e-4

WatchFits = Callable[[int, int, Fit], None]
Stop = Callable[[Fit], bool]
Objective = Literal["likelihood", "pseudolikelihood"]


@dataclass(frozen=True, eq=False)
class Path:
    """Fits of one table, from the largest alpha to the smallest.

    Parameters
    ----------
    fits : tuple of Fit
        The fits.
    likelihoods : tuple of Likelihood or None
        The log-likelihood of each, in nats per row, where it can be had.
    seconds : tuple of float
        How long each fit took.
    n_rows : float
        How many rows there were, weights added up.
    is_whole : bool
        Whether all penalties are there; time or an interrupt may have ended the path.
    relaxed : tuple of Fit
        Where it was asked for, the edges of each fit without their penalty (`relax`).
    relaxed_likelihoods : tuple of Likelihood or None
        The log-likelihood of each of these.
    """

    fits: tuple[Fit, ...]
    likelihoods: tuple[Likelihood | None, ...]
    seconds: tuple[float, ...]
    n_rows: float
    is_whole: bool = True
    relaxed: tuple[Fit, ...] = ()
    relaxed_likelihoods: tuple[Likelihood | None, ...] = ()

    def __len__(self) -> int:
        return len(self.fits)

    def __repr__(self) -> str:
        if not self.fits:
            return "<Path: no fits>"
        edges = self.table["edges"]
        whole = "" if self.is_whole else ", not whole"
        return (
            f"<Path: {count(len(self), 'fit')}, alpha {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}, "
            f"{edges[0]} to {count(edges[-1], 'edge')}{whole}>"
        )

    @property
    def alphas(self) -> tuple[float, ...]:
        """The penalties."""
        return tuple(float(fit.settings["alpha"]) for fit in self.fits)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each penalty: edges, parameters that are not zero, log-likelihood per row, time, how it ended."""
        known = self.likelihoods
        return pl.DataFrame(
            {
                "alpha": self.alphas,
                "edges": [count_edges(fit.model) for fit in self.fits],
                "parameters": [count_nonzero(fit) for fit in self.fits],
                "log_likelihood": [None if own is None else own.value for own in known],
                "error": [None if own is None else own.error for own in known],
                "gap": [None if fit.optimality is None else fit.optimality.gap for fit in self.fits],
                "seconds": self.seconds,
                "status": [fit.status.code for fit in self.fits],
            },
            schema_overrides={"log_likelihood": pl.Float64, "error": pl.Float64, "gap": pl.Float64},
        )


class _Way(Protocol):
    """What fits one penalty after the other."""

    @property
    def known(self) -> Known | None:
        """Draws at the last fit, or its enumerated states, where there are some."""
        ...

    def learn(self, alpha: float) -> Fit:
        """Fit, from where the last fit ended."""
        ...


def path(
    data: Any,
    alphas: Sequence[float] | None = None,
    *,
    n_alphas: int = 30,
    objective: Objective = "likelihood",
    relax: bool = False,
    likelihoods: bool = True,
    sample_weight: ArrayLike | None = None,
    max_seconds: float | None = None,
    watch: WatchFits | None = None,
    stop: Stop | None = None,
    **options: Any,
) -> Path:
    """Fit a table with one penalty after the other, from the largest to the smallest.

    Each fit starts where the last one ended, with the draws there, and has no marks. Log-likelihoods come with it:
    neighbouring models bridge each other, from the field of independent variables on, whose normalising constant is
    known.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    alphas : sequence of float, optional
        The penalties. Unless given, `n_alphas` from `alpha_max` down to the sampling error of a frequency.
    n_alphas : int
        How many there are, unless they are given.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    relax : bool
        Whether the edges of each fit are fitted again, by the likelihood and without their penalty.
    likelihoods : bool
        Whether log-likelihoods are wanted, which take most of the time where interactions are strong.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    max_seconds : float, optional
        Time after which the path ends, with the fits that there are.
    watch : callable, optional
        Called with the number of fits made, that of all, and the last fit.
    stop : callable, optional
        Called with each fit: whether it is to be the last one (early stopping). The path counts as whole then.
    **options
        Those of `learn`. The gap is 0.05 unless given, and not "auto". Where all states are enumerated, a fit ends when
        1 / (4 n) is left to gain of objective and log-likelihood, or 0.0002 or the gap where that is less; a `tol` of
        one's own decides alone.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> found = sf.path(table, n_alphas=5)
    >>> found.table["edges"][0], len(found)
    (0, 5)
    """
    began = time.perf_counter()
    names = ("alphas", "n_alphas", "objective", "relax", "likelihoods", "sample_weight", "watch", "stop")
    refuse_names("path", options, [*names, *(field.name for field in fields(Options))], rule=None)
    asked = Options(**{"gap": _GAP, **options})
    learner = Learner(read_rows(data, sample_weight, missing=asked.missing, n_threads=asked.n_threads), asked)
    check_objective(objective)
    wanted = order_alphas(alphas) if alphas is not None else grid(learner, n_alphas)
    way: _Way = _ByLikelihood(learner) if objective == "likelihood" else _ByPseudoLikelihood(learner)
    known_by = Likelihoods(learner) if likelihoods else None
    beside = _Relaxed(learner)
    rows: list[tuple[Fit, Likelihood | None, float]] = []
    others: list[tuple[Fit, Likelihood | None]] = []
    is_whole = False
    with until(np.inf if max_seconds is None else began + max_seconds), suppress(OutOfTimeError):
        for fit, took in _fit_each(way, wanted):
            own = None if known_by is None else known_by.of(fit, way.known)
            if relax:
                others.append(beside.of(fit, way.known, known_by))
            rows.append((fit, own, took))
            if watch is not None:
                watch(len(rows), len(wanted), fit)
            is_last = stop is not None and stop(fit)
            is_whole = is_last or len(rows) == len(wanted)
            if is_whole:
                break
    fits, known, seconds = zip(*rows, strict=True) if rows else ((), (), ())
    relaxed, relaxed_known = zip(*others[: len(rows)], strict=True) if others else ((), ())
    return Path(fits, known, seconds, learner.rows.n, is_whole, relaxed, relaxed_known)


def find_enough(learner: Learner) -> float:
    """Return how much fits of enumerated tables may leave to gain; zero where a `tol` of one's own decides."""
    if learner.options.steps.tol != Newton.tol:
        return 0.0
    return min(learner.options.largest_gap, _OF_CRITERION / (2 * learner.rows.n), _MOST_LEFT)


def _fit_each(way: _Way, alphas: Sequence[float]) -> Iterator[tuple[Fit, float]]:
    """Fit each penalty, as far as time and people allow."""
    for alpha in alphas:
        clock = time.perf_counter()
        fit = way.learn(alpha)
        if fit.status.code in ("interrupted", "max_seconds"):
            return
        yield fit, time.perf_counter() - clock


class _ByLikelihood:
    """Fits of the likelihood."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._last: Matrix | None = independent_start(learner)
        self._enough = find_enough(learner)
        self.known: Known | None = None

    def learn(self, alpha: float) -> Fit:
        """Fit, from where the last fit ended, with the draws or the enumerated states there."""
        start = self._last if self.known is None else self.known
        fit = self._learner.solve(alpha, start=start, enough=self._enough)
        self._last, self.known = as_theta(fit.model), self._learner.known
        return fit


class _ByPseudoLikelihood:
    """Fits of the pseudo-likelihood.

    Missing values are drawn from the last fit, with the same random numbers for all fits and seeds: with random numbers
    of their own edges of a path would come and go, and its choice would depend on the seed.
    """

    known = None

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._last: PairwiseMRF | None = None
        has_missing = bool(learner.table.n_missing.any())
        self._filling = Filling(learner.table, learner.weights, 0) if has_missing else None

    def learn(self, alpha: float) -> Fit:
        """Fit, from where the last fit ended."""
        options, rows, last = self._learner.options, self._learner.rows, self._last
        if self._filling is not None:
            drawn = self._filling.draw(self._filling.start() if last is None else last)
            rows = Rows(self._filling.join(drawn), self._filling.shares)
        fit = solve_pseudo_likelihood(
            rows.table,
            alpha,
            penalty=options.penalty,
            penalize_main=options.penalize_main,
            weights=rows.weights,
            start=None if last is None else as_theta(last),
            tol=options.steps.tol,
            moments=rows.moments if last is None else None,
            n_threads=options.n_threads,
        )
        self._last = fit.model
        return replace(fit, settings={"alpha": alpha, **self._learner.rows.facts})


class _Relaxed:
    """The edges of fits without their penalty; fits of the same edges have the same."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._enough = find_enough(learner)
        self._support: NDArray[np.bool_] | None = None
        self._found: tuple[Fit, Likelihood | None] | None = None
        self._last: Enumerated | None = None

    def of(self, fit: Fit, known: Known | None, likelihoods: Likelihoods | None) -> tuple[Fit, Likelihood | None]:
        """Return the relaxed fit and its log-likelihood."""
        support = fit.model.interactions != 0
        if self._found is None or self._support is None or not np.array_equal(support, self._support):
            penalty, begin = free(self._learner, fit), self._find_start(fit, known)
            start = as_theta(fit.model) if begin is None else begin
            found = self._learner.solve(penalty.alpha, penalty=penalty, start=start, enough=self._enough)
            self._support, own = support, self._learner.known
            nearby = None if own is None else own.near(own.theta)
            self._last = self._last if nearby is None else nearby
            self._found = found, None if likelihoods is None else likelihoods.beside(found, own)
        return self._found

    def _find_start(self, fit: Fit, known: Known | None) -> Known | None:
        """Return where to start: of enumerated tables at the last relaxed fit, as far as the support has its edges."""
        last = self._last
        if last is None or known is None or known.drawn is not None:
            return known
        kept = find_nonzero(self._learner.make_penalty(1.0), fit.model)
        np.fill_diagonal(kept, val=True)
        return last.near(np.where(kept, last.theta, 0.0))


def check_objective(objective: str, table: Table | None = None) -> None:
    """Refuse what nothing can be penalised of, and missing cells where it is the pseudo-likelihood."""
    if objective not in get_args(Objective):
        raise ValueError(f"objective is {objective!r}: use 'likelihood' or 'pseudolikelihood'.")
    if table is not None and objective == "pseudolikelihood" and table.n_missing.any():
        name = table.domain.names[int(table.n_missing.argmax())]
        raise TableError(
            f"The table has {count(int(table.n_missing.sum()), 'missing value')}, most in column {name!r}, which the "
            "pseudo-likelihood cannot take",
            "penalise the likelihood, or set {option} to 'drop' or 'zero'",
            column=name,
            option="missing",
        )


def count_edges(model: PairwiseMRF) -> int:
    """Count the pairs of variables that interact."""
    return int(np.count_nonzero(find_edges(model)))


def find_edges(model: PairwiseMRF) -> NDArray[np.bool_]:
    """Say for each pair of variables whether it interacts, in the order of `np.triu_indices`."""
    p, variables = model.domain.n_variables, model.domain.slot_variables
    a, b = np.nonzero(np.triu(model.interactions, 1))
    is_edge = np.zeros((p, p), dtype=bool)
    is_edge[variables[a], variables[b]] = True  # slots are in the order of their variables
    return is_edge[np.triu_indices(p, 1)]


def independent_start(learner: Learner) -> Matrix | None:
    """Return the parameters of independent variables, where main effects are free; else none."""
    if learner.options.penalize_main:
        return None
    return independent_theta(learner.table.domain, learner.data.moments.main)


def grid(learner: Learner, n_alphas: int, at_least: float = 0.0, last: float | None = None) -> list[float]:
    """Return penalties from the smallest without an edge down to the sampling error of a frequency, equal ratios apart.

    Parameters
    ----------
    learner : Learner
        The table.
    n_alphas : int
        How many penalties.
    at_least : float
        The first one is no smaller.
    last : float, optional
        The last one; unless it is given and between zero and the first, the sampling error of a frequency, or a tenth
        of the first where that is smaller.
    """
    if not isinstance(n_alphas, int | np.integer) or n_alphas < 1:
        raise ValueError(f"n_alphas is {n_alphas!r}: use a whole number from one on.")
    most, error = largest_alpha(learner), largest_error(learner)
    if most == 0:
        return [error]
    # A fit ends when its smallest subgradient, a difference of frequencies like alpha, is down to `tol`: at the largest
    # alpha itself it may leave an edge of next to no weight. With whole rows and free main effects it begins at the
    # optimum there.
    if learner.options.penalize_main or learner.table.n_missing.any():
        most += learner.options.steps.tol
    most = max(most, at_least)
    end = last if last is not None and 0 < last < most else min(_LEAST_SHARE * most, error)
    return [float(alpha) for alpha in np.geomspace(most, end, n_alphas)]


def order_alphas(alphas: Sequence[float]) -> list[float]:
    """Return penalties from the largest to the smallest, each once."""
    found = sorted({float(alpha) for alpha in alphas}, reverse=True)
    if not found or not found[-1] >= 0 or not np.isfinite(found[0]):
        raise ValueError(f"alphas are {list(alphas)!r}: use numbers from zero on, at least one.")
    return found
