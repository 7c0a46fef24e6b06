"""Rows drawn again and fitted again: the pieces of work of a bootstrap and of case-dropping."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from sparsefield._seeds import make_generator
from sparsefield._typing import Matrix
from sparsefield.data import Domain, Rows, Table, describe_rows, distinct_rows, find_unseen
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Options
from sparsefield.inference import is_own_machine
from sparsefield.learning import Alpha, choose, is_rule, learn_with
from sparsefield.model import as_theta, pair_weights, scatter
from sparsefield.parallel import Result, Watch, run_pieces
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield.resampling._asked import Asked
from sparsefield.selection import Choice, Objective, Rule, check_objective, count_nonzero, relax
from sparsefield.structure import Structure
from sparsefield.tables import read_rows

# The largest gap of a resample, in nats per row, unless one is given: seeds need not agree on its edges.
_GAP = 0.05

# N draws add H^-1 / N to the covariance H^-1 / n that weights have by the choice of n rows. A tenth of the variance
# makes intervals 5% wider; with as few draws as the gap above asks for in long tables, no step would be worth its noise
# and every resample would end at the fit of the whole table.
_NOISE = 0.1


class Piece(NamedTuple):
    """One resample: the seed of the run, the index of the share of rows and of the resample, and that share."""

    seed: int
    key: tuple[int, int]
    share: float | None


@dataclass(frozen=True, eq=False)
class Refit:
    """Draw rows of a table again, and fit them from the fit of the whole table on.

    Variables and levels stay those of the whole table, whatever a resample shows.

    Parameters
    ----------
    table : Table
        The distinct rows.
    counts : ndarray of shape (n_distinct,)
        How often each is there.
    n_rows : int
        How many rows there are.
    start : ndarray of shape (n_slots, n_slots)
        The parameters of the fit of the whole table.
    alpha : float, "auto" or rule
        Strength of the penalty; or what finds the edges of each resample without one.
    options : Options
        What is asked of each fit.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    is_relaxed : bool
        Whether the edges of each fit are fitted again without the penalty.
    """

    table: Table
    counts: NDArray[np.float64]
    n_rows: int
    start: Matrix
    alpha: Alpha
    options: Options
    objective: Objective
    is_relaxed: bool = False

    def __call__(self, piece: Piece, n_threads: int) -> dict[str, Any]:
        """Fit one resample: the interactions that are not zero, how the fit ended, and what its rows lack."""
        counts, seed = self.draw(piece)
        n_own = n_threads if is_own_machine(self.options.device) else None  # a backend has its own
        options = replace(self.options, seed=seed, n_threads=n_own)
        learner = Learner(Rows.of(self.table, counts, options.missing), options)
        fit = fit_rows(learner, self.alpha, self.objective, self.start, is_relaxed=self.is_relaxed)
        a, b = np.nonzero(np.triu(fit.model.interactions, 1))
        before, seen = _count_seen(self.table), _count_seen(learner.table)
        return {
            "a": a.astype(np.int32),
            "b": b.astype(np.int32),
            "values": fit.model.interactions[a, b],
            "status": fit.status.code,
            "is_moved": not np.array_equal(as_theta(fit.model), self.start),
            "n_unseen": (before - seen).sum(),
            "n_constant": ((seen <= 1) & (before > 1)).sum(),
        }

    def draw(self, piece: Piece) -> tuple[NDArray[np.float64], int]:
        """Draw how often each distinct row is in a resample, and the seed of its fit."""
        rng = make_generator(piece.seed, *piece.key)
        if piece.share is None:
            counts = rng.multinomial(self.n_rows, self.counts / self.counts.sum())
        else:
            n_kept = max(1, round(piece.share * self.n_rows))
            counts = rng.multivariate_hypergeometric(self.counts.astype(np.int64), n_kept)
        return counts.astype(np.float64), int(rng.integers(2**63))

    def run(
        self,
        pieces: Sequence[Piece],
        identity: Mapping[str, object],
        *,
        n_jobs: int | None,
        checkpoint: str | os.PathLike[str] | None,
        watch: Watch | None,
    ) -> list[Result]:
        """Fit all resamples. What tells the run from others is added to the identity."""
        options = {
            name: value if isinstance(value, str | int | float | None) else type(value).__name__
            for name, value in self.options.settings().items()
            if name not in ("n_threads", "init")  # the result does not depend on it; the start stands for it
        }
        own = {
            **describe_rows(self.table, self.counts),
            "rows": self.n_rows,  # which may count equal ones as often as one likes
            "alpha": _name_rule(self.alpha) if is_rule(self.alpha) else self.alpha,
            "relaxed": self.is_relaxed,
            "objective": self.objective,
            "start": sha256(self.start.tobytes()).hexdigest()[:16],
            **options,
            **identity,
        }
        n_threads = self.options.n_threads
        return run_pieces(
            self, pieces, identity=own, checkpoint=checkpoint, n_jobs=n_jobs, n_threads=n_threads, watch=watch
        )


def fit_whole(asked: Asked, *, seed: int, sample_weight: ArrayLike | None, drops: bool) -> tuple[Fit, Refit]:
    """Fit a whole table, and return what fits its resamples.

    Parameters
    ----------
    asked : Asked
        The table, and what is asked of all fits. A penalty that is chosen is that of the whole table for all.
    seed : int
        Where the random numbers start.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    drops : bool
        Whether rows are to be dropped, which those that count in part cannot be.
    """
    options, objective, alpha = Options(**{**asked.options, "seed": seed}), asked.objective, asked.alpha
    given: dict[str, Any] = {"missing": options.missing, "n_threads": options.n_threads}
    learner = Learner(read_rows(asked.data, sample_weight, **given), options)
    check_objective(objective, learner.table)
    weights = np.ones(learner.table.n_rows) if learner.weights is None else learner.weights
    if drops and (weights != np.round(weights)).any():
        raise ValueError("Some weights are not whole numbers: rows that count in part cannot be dropped one by one.")
    with threadpool_limits(1, user_api="blas"):  # as for the resamples, which start here: the same bits everywhere
        chosen = choose(learner, alpha, objective=objective)
        kept: Alpha
        is_relaxed = isinstance(chosen, Choice) and chosen.relax
        if isinstance(chosen, Structure):
            kept, fit = alpha, learn_with(learner, chosen)
        else:
            kept = chosen.alpha if isinstance(chosen, Choice) else chosen
            fit = fit_rows(learner, kept, objective, is_relaxed=is_relaxed)
        if isinstance(chosen, Choice):
            said = chosen.of(fit.model.n_edges).sentence
            fit = replace(fit, settings={**fit.settings, "choice": said})
    if fit.status.code == "interrupted":
        raise KeyboardInterrupt
    rows, of = distinct_rows(learner.table.codes)
    n_rows = round(learner.rows.n)
    theta = as_theta(fit.model)
    gap = asked.options.get("gap", min(_GAP, _NOISE * max(1, count_nonzero(fit)) / (2 * n_rows)))
    table = Table(learner.table.domain, np.asfortranarray(rows))
    own = replace(options, gap=gap, certify=False)
    return fit, Refit(
        table, np.bincount(of, weights).astype(np.float64), n_rows, theta, kept, own, objective, is_relaxed
    )


def fit_rows(
    learner: Learner, alpha: Alpha, objective: Objective, start: Matrix | None = None, *, is_relaxed: bool = False
) -> Fit:
    """Fit the rows of a learner: their edges without a penalty, or with one; from a start, without marks."""
    if isinstance(alpha, str) or is_rule(alpha):
        return learn_with(learner, choose(learner, alpha))
    if objective == "likelihood":
        fit = learner.learn(alpha) if start is None else learner.solve(alpha, start=start)
        return relax(learner, fit, learner.known) if is_relaxed else fit
    options = learner.options
    limit: dict[str, Any] = {} if options.steps.max_iter is None else {"max_iter": options.steps.max_iter}
    fit = solve_pseudo_likelihood(
        learner.table,
        alpha,
        penalty=options.penalty,
        penalize_main=options.penalize_main,
        weights=learner.weights,
        start=start,
        tol=options.steps.tol,
        n_threads=options.n_threads,
        max_seconds=options.max_seconds,
        **limit,
    )
    return replace(fit, settings={"alpha": alpha, **learner.rows.facts})


def _name_rule(rule: Rule) -> str:
    """Return what tells a rule from others: as it shows itself, or its kind and what it holds."""
    has_words = type(rule).__repr__ is not object.__repr__
    return repr(rule) if has_words else f"{type(rule).__qualname__}({getattr(rule, '__dict__', {})!r})"


def weights_of(domain: Domain, result: Result) -> Matrix:
    """Return the weights of all pairs of variables in a resample, (n_variables, n_variables)."""
    return pair_weights(domain, scatter(result["a"], result["b"], result["values"], domain.n_slots))


def check_resamples(n: int) -> None:
    """Refuse a number of resamples that says nothing."""
    if not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"n is {n!r}: use a whole number of resamples, at least two.")


def check_share(share: float) -> None:
    """Refuse what is no share of the rows."""
    if not 0 < share < 1:
        raise ValueError(f"share is {share!r}: use a number between zero and one, or None to draw with replacement.")


def _count_seen(table: Table) -> NDArray[np.int64]:
    """Count the levels of each variable that some row shows."""
    unseen = [i for i, _ in find_unseen(table).levels]
    return np.asarray(table.domain.n_levels - np.bincount(unseen, minlength=table.domain.n_variables))
