"""The choice of a penalty: paths of a table and of parts of it, a rule, and a sentence that says why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield.data import Table, TableError, describe_rows, listed
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.selection._criteria import Choice
from sparsefield.selection._noise import count_noise, edge_of_noise
from sparsefield.selection._parts import Part, PathOfPart, seed_of_part
from sparsefield.selection._path import Objective, grid, order_alphas
from sparsefield.selection._pieces import Watch, run_pieces
from sparsefield.selection._rules import ByHoldingOut, ByInformation, ByStability, Found, Rule
from sparsefield.solvers import Learner, Options

Criterion = Literal["ebic", "bic", "aic", "cv", "stars"]
_CRITERIA = ("ebic", "bic", "aic", "cv", "stars")


def select(
    data: Any,
    *,
    criterion: Criterion = "ebic",
    alphas: Sequence[float] | None = None,
    n_alphas: int = 30,
    gamma: float = 0.25,
    n_folds: int = 5,
    beta: float = 0.05,
    n_subsamples: int = 20,
    relax_criterion: bool | Literal["auto"] = "auto",
    objective: Objective = "likelihood",
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    n_threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Choice:
    """Choose the penalty of a table.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    criterion : "ebic", "bic", "aic", "cv" or "stars"
        "ebic", "bic", "aic": the least information criterion (`information`), to find edges. "cv": the largest alpha
        whose log-likelihood of rows that were held out is within one standard error of the best, to predict. "stars":
        the smallest alpha on whose edges subsamples agree (Liu, Roeder and Wasserman 2010), for edges that other rows
        would show too; it needs no likelihood.
    alphas : sequence of float, optional
        The penalties to choose from. Unless given, `n_alphas` from `alpha_max` down to the noise of a frequency; with
        "stars", from the noise of a subsample where that is larger.
    n_alphas : int
        How many there are, unless they are given.
    gamma : float
        What EBIC adds for the choice among sets of edges, from 0 (BIC) to 1.
    n_folds : int
        With "cv": how many folds the rows are shuffled into, each held out once.
    beta : float
        With "stars": on which share of all pairs two subsamples may disagree.
    n_subsamples : int
        With "stars": how many subsamples are drawn, each of 10 sqrt(n) of n rows without replacement, or of 0.8 n of
        them where there are no more than 144.
    relax_criterion : bool or "auto"
        Whether log-likelihoods are those of the edges of each fit without their penalty (`relax`). "auto": in
        information criteria they are, as Foygel and Drton (2010) have it, and not in "cv", which judges the fits.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts. With "cv" and "stars", a row that counts three times is three rows, which folds and
        subsamples may part; where not all weights are whole numbers, a row stays whole and takes its weight along.
    seed : int
        Where the random numbers start.
    n_jobs, n_threads, checkpoint, watch
        As for `run_pieces`. The whole table is a piece, and so is each fold or subsample.
    **options
        Those of `learn`, but for `max_seconds`. Unless it is given, the gap is slots / (8 rows), from 0.001 to 0.05:
        what draws take from a likelihood is then little beside what criteria ask for a parameter.

    Returns
    -------
    Choice
        The chosen alpha, the whole table, and why in a sentence: also where there is no edge, or alpha is so small that
        noise makes edges.

    Notes
    -----
    Information criteria and "cv" need the likelihood, which is not known for rows with missing values: with those, use
    "stars", or have them filled or dropped (`missing`).

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> table = truth.sample(5000, method="perfect", seed=1)
    >>> choice = sf.selection.select(table, n_alphas=10)
    >>> int((truth.interactions != 0).sum()) // 2, choice.table["edges"][choice.index]
    (3, 3)
    """
    if "max_seconds" in options:
        raise ValueError("max_seconds is not for a choice, which needs all fits: use fewer alphas or parts.")
    if not isinstance(relax_criterion, bool) and relax_criterion != "auto":
        raise ValueError(f"relax_criterion is {relax_criterion!r}: use True, False or 'auto'.")
    relaxes = criterion in ("ebic", "bic", "aic") if relax_criterion == "auto" else relax_criterion
    rule = _make_rule(criterion, gamma, n_folds, beta, n_subsamples, relaxes=relaxes)
    learner = Learner(data, Options(**options, seed=seed, n_threads=n_threads), sample_weight)
    _refuse_missing(rule, learner.table)
    table, weights = learner.table, learner.weights
    if rule.takes != "all rows":
        table, weights = _part_rows(table, weights)
    first = rule.first_alpha(learner, table.n_rows)
    wanted = order_alphas(alphas) if alphas is not None else grid(learner, n_alphas, first)
    work = PathOfPart(table, weights, wanted, objective, relaxes and rule.needs_likelihood, options)
    whole, *others = run_pieces(
        work,
        [Part(seed_of_part(seed, 0)), *rule.parts(table.n_rows, seed)],
        identity=_identify(work, rule.takes, learner.options),
        checkpoint=checkpoint,
        n_jobs=n_jobs,
        n_threads=n_threads,
        watch=watch,
    )
    _check_likelihoods(rule, [whole, *others])
    found = Found(wanted, table.domain.n_variables, whole, others)
    return _conclude(found, rule, learner)


def _make_rule(
    criterion: Criterion, gamma: float, n_folds: int, beta: float, n_subsamples: int, *, relaxes: bool
) -> Rule:
    if criterion == "cv":
        return ByHoldingOut(n_folds)
    if criterion == "stars":
        return ByStability(beta, n_subsamples)
    if criterion not in _CRITERIA:
        raise ValueError(f"criterion is {criterion!r}: use {listed(_CRITERIA)}.")
    return ByInformation(criterion, gamma, relaxes)


def _part_rows(table: Table, weights: NDArray[np.float64] | None) -> tuple[Table, NDArray[np.float64] | None]:
    """Make a row of each time that a row counts, where all weights are whole numbers."""
    if weights is None or (weights != np.floor(weights)).any():
        return table, weights
    return table[np.repeat(np.arange(table.n_rows), weights.astype(np.int64))], None


def _refuse_missing(rule: Rule, table: Table) -> None:
    missing = table.n_missing
    if rule.needs_likelihood and missing.any():
        name = table.domain.names[int(missing.argmax())]
        raise TableError(
            f"The table has {missing.sum()} missing value(s) (NaN or null), most in column {name!r}, and the "
            "likelihood of rows with missing values is not known",
            "use criterion='stars', which needs none, or set {option} to 'drop' or 'zero'",
            column=name,
            option="missing",
        )


def _check_likelihoods(rule: Rule, results: Sequence[dict[str, NDArray[Any]]]) -> None:
    """Refuse to choose among likelihoods that are not all known."""
    n_unknown = sum(int(np.isnan(result["log_likelihood"]).sum()) for result in results)
    if rule.needs_likelihood and n_unknown:
        raise ValueError(
            f"The log-likelihood of {n_unknown} fits is out of reach: use criterion='stars', which needs none, or "
            "larger alphas."
        )


def _identify(work: PathOfPart, takes: str, options: Options) -> dict[str, object]:
    """Return what the paths depend on; other rules for the same paths may share a checkpoint."""
    own = {name: value for name, value in options.settings().items() if name != "n_threads"}
    if isinstance(options.init, PairwiseMRF):
        own["init"] = sha256(as_theta(options.init).tobytes()).hexdigest()[:16]
    own["backend"] = type(options.backend).__name__
    return {
        "what": "choice of a penalty",
        "parts": takes,
        "alphas": [float(alpha) for alpha in work.alphas],
        "objective": work.objective,
        "relaxed": work.relaxes,
        "domain": sha256(repr(work.table.domain).encode()).hexdigest()[:16],
        **describe_rows(work.table, work.weights),
        **own,
    }


def _conclude(found: Found, rule: Rule, learner: Learner) -> Choice:
    """Choose, and make the table and the sentence."""
    verdict = rule.judge(found)
    whole, index = found.whole, verdict.index
    alpha, n_edges = found.alphas[index], int(whole["edges"][index])
    known = {name: whole[name] for name in ("edges", "parameters", "log_likelihood", "error", "status")}
    table = pl.DataFrame({"alpha": list(found.alphas), **known, **verdict.columns}).with_columns(
        pl.col("log_likelihood", "error").fill_nan(None)
    )
    edges = {0: "no edge", 1: "one edge"}.get(n_edges, f"{n_edges} edges")
    sentences = [f"alpha = {alpha:.3g} {verdict.reason}. It leaves {edges}."]
    sentences.append(rule.without_edges if n_edges == 0 else _describe_noise(alpha, learner))
    if index == len(found.alphas) - 1 > 0:
        sentences.append("It is the smallest alpha that was tried: smaller ones may be better.")
    return Choice(index, alpha, table, " ".join(filter(None, sentences)))


def _describe_noise(alpha: float, learner: Learner) -> str:
    """Say that noise makes edges at a penalty, where it does."""
    noise = edge_of_noise(learner)
    if alpha >= noise:
        return ""
    n_pairs = count_noise(learner, alpha)
    what = (
        f"about {n_pairs:.2g} pairs of levels would have an edge"
        if n_pairs >= 1
        else (f"there would be an edge with a probability of up to {n_pairs:.2g}")
    )
    return (
        f"This alpha is below {noise:.2g}, the noise of the table: were all variables independent, {what} at it all "
        "the same. Some of the edges may be noise."
    )
