"""The choice of a penalty: paths of a table and of parts of it, a rule, and a sentence that says why."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Literal, get_args

import joblib
import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield._kernels._compiling import seconds_compiling
from sparsefield.data import Rows, listed
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Options
from sparsefield.inference import MOST_ENTRIES, count_entries
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.parallel import Result, Watch, run_pieces
from sparsefield.selection.choices._criteria import Choice, Worth, say_edges
from sparsefield.selection.choices._null_edges import count_along, count_null_edges, null_alpha
from sparsefield.selection.choices._row_subsets import Part, PathOfPart, RowIndex, seed_of_part
from sparsefield.selection.choices._rules import ByHoldingOut, ByInformation, ByStability, Found, Rule
from sparsefield.selection.paths._path import Objective, WatchFits, check_objective, grid, order_alphas
from sparsefield.selection.paths._path_weights import PathWeights
from sparsefield.tables import read_rows

Criterion = Literal["ebic", "cv", "stars"]

_WITHOUT_TIME = "alpha = {:.3g} is the {}. There was no time to try others: give more seconds, or an alpha."


def select(
    data: Any,
    *,
    criterion: Criterion = "ebic",
    alphas: Sequence[float] | None = None,
    n_alphas: int = 30,
    gamma: float = 0.25,
    n_folds: int | Sequence[tuple[RowIndex, RowIndex]] = 5,
    beta: float = 0.05,
    n_subsamples: int = 20,
    objective: Objective = "likelihood",
    sample_weight: ArrayLike | None = None,
    max_seconds: float | None = None,
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
    criterion : "ebic", "cv" or "stars"
        "ebic": the least extended BIC of the edges of each fit, refitted without their penalty, to find edges. "cv":
        the largest alpha whose log-likelihood of rows that were held out is within one standard error of the best, to
        predict. "stars": the smallest alpha on whose edges subsamples agree (Liu, Roeder and Wasserman 2010), for edges
        that other rows would show too; it needs no likelihood.
    alphas : sequence of float, optional
        The penalties to choose from. Unless given, `n_alphas` from `alpha_max` down to where chance would explain more
        than a tenth of the edges even if all pairs had one (see Notes); with "cv" and "stars", down to the sampling
        error of a frequency, and with "stars", from the sampling error of a subsample where that is larger.
    n_alphas : int
        How many there are, unless they are given.
    gamma : float
        With "ebic": what it adds for the choice among sets of edges, from 0 (the BIC) to 1.
    n_folds : int or sequence of pairs of arrays
        With "cv": how many folds the rows are shuffled into, each held out once; or the indices of the rows to fit and
        to hold out, for each fold.
    beta : float
        With "stars": on which share of all pairs two subsamples may disagree.
    n_subsamples : int
        With "stars": how many subsamples are drawn, each of 10 sqrt(n) of n rows without replacement, or of 0.8 n of
        them where there are no more than 144.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised. Where fits of the likelihood take draws and only their edges are asked for, the path is that
        of the pseudo-likelihood all the same (see Notes).
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts. With "cv" and "stars", a row that counts three times is three rows, which folds and
        subsamples may part; where not all weights are whole numbers, a row stays whole and takes its weight along.
    max_seconds : float, optional
        With "ebic": time after which the choice is among the penalties that were tried by then.
    seed : int
        Where the random numbers start.
    n_jobs, n_threads, checkpoint, watch
        As for `run_pieces`. The whole table is a piece, and so is each fold or subsample; where there are none,
        `watch` counts the penalties.
    **options
        Those of `learn`. Unless it is given, the gap is slots / (8 rows), from 0.001 to 0.05:
        what draws take from a likelihood is then little beside what criteria ask for a parameter.

    Returns
    -------
    Choice
        The chosen alpha, the whole table, and why in a sentence: also where there is no edge, or alpha is so small that
        sampling error makes edges.

    Notes
    -----
    Refits: with "ebic" the likelihood is that of the edges of each fit without their penalty, refitted variable by
    variable: what the neighbours tell of each, a logistic regression, which needs no draws (Barber and Drton 2015). On
    known fields, likelihoods of the refitted whole field (Foygel and Drton 2010) chose edges that were no better in six
    times the time, and those of the penalised fits, whose edges are shrunken, worse ones.

    Sampling error: among independent variables, the frequency of a pair of levels has a standard error, and exceeds
    alpha with a probability that follows. The sum over all pairs is how many edges it makes. With the group penalty the
    same holds of the norm of what two variables have in common, and pairs are pairs of variables. With "ebic",
    penalties at which sampling error would give more than a tenth of as many edges to independent variables are passed
    over: EBIC alone gives edges to many tables of independent variables that have few rows.

    Draws: with "ebic" and "stars" a path is judged by its edges. Those of fits on draws change with the seed, so that
    such paths are of the pseudo-likelihood, whose fits have no simulation error, for tables with more than 2^20 states
    and free main effects. The same alpha then leaves nearly the same edges of the likelihood. Missing cells are drawn
    from the last fit of the path, with the same random numbers for every seed.

    Missing cells: with "cv", log-likelihoods are those of the observed cells. With "ebic", neighbours that are missing
    are drawn, five times, from the fit with the smallest penalty at which sampling error makes no edge.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> table = truth.sample(5000, method="perfect", seed=1)
    >>> choice = sf.selection.select(table, n_alphas=10)
    >>> int((truth.interactions != 0).sum()) // 2, choice.table["edges"][choice.index]
    (3, 3)
    """
    rule = _make_rule(criterion, gamma, n_folds, beta, n_subsamples)
    if max_seconds is not None and (rule.takes != "all rows" or checkpoint is not None):
        raise ValueError(
            "max_seconds is for criterion='ebic' without a checkpoint: others need all of their fits. Use fewer "
            "alphas, folds or subsamples."
        )
    asked = Options(**options, seed=seed, n_threads=n_threads)
    learner = Learner(read_rows(data, sample_weight, missing=asked.missing, n_threads=n_threads), asked)
    check_objective(objective)
    rows = learner.rows
    if rule.takes == "subsamples" or (rule.takes == "folds" and not isinstance(n_folds, Sequence)):
        rows = _part_rows(rows)
    n_rows = rows.table.n_rows
    first = rule.first_alpha(learner, n_rows)
    wanted = order_alphas(alphas) if alphas is not None else grid(learner, n_alphas, first, rule.last_alpha(learner))
    noise = count_along(learner, wanted)
    own = options if max_seconds is None else {**options, "max_seconds": max_seconds}
    is_here = rule.takes == "all rows" and joblib.effective_n_jobs(n_jobs) == 1
    work = PathOfPart(
        rows,
        wanted,
        _choose_path(objective, rule, learner),
        rule.needs_likelihood,
        rule.worth,
        noise,
        own,
        _watch_fits(watch) if is_here and watch is not None else None,
    )
    results = run_pieces(
        work,
        [Part(seed_of_part(seed, 0)), *rule.parts(n_rows, seed)],
        identity=_identify(work, _name_parts(rule, n_folds), learner.options),
        checkpoint=checkpoint,
        n_jobs=n_jobs,
        n_threads=n_threads,
        watch=None if is_here else watch,
    )
    n_tried = len(results[0]["edges"])
    if n_tried == 0:
        which = "smallest penalty that leaves no edge" if alphas is None else "largest penalty that was given"
        said = _WITHOUT_TIME.format(wanted[0], which)
        return Choice(0, wanted[0], pl.DataFrame(schema={"alpha": pl.Float64}), said)
    n_known = _count_known(results) if rule.needs_likelihood else n_tried
    whole, *others = [_take_first(result, n_tried, n_known) for result in results]
    found = Found(wanted[:n_known], rows.table.domain.n_variables, whole, others, noise[:n_known])
    is_out_of_time = not results[0]["is_whole"]
    return _conclude(found, rule, learner, n_tried=n_tried, n_wanted=len(wanted), is_out_of_time=is_out_of_time)


def _choose_path(objective: Objective, rule: Rule, learner: Learner) -> Objective:
    """Return what the fits of a path maximise: the pseudo-likelihood where their edges alone are asked for.

    Edges of fits on draws change from seed to seed, and so would what is chosen by them; those of the pseudo-likelihood
    do not, and the same alpha leaves about the same edges where main effects are free. Fields that are enumerated need
    no draws.
    """
    takes_draws = count_entries(learner.table.domain) > MOST_ENTRIES
    is_alike = not learner.options.penalize_main
    return "pseudolikelihood" if takes_draws and not rule.needs_likelihood and is_alike else objective


def _watch_fits(watch: Watch) -> WatchFits:
    """Tell how many penalties are done, and how long the rest takes, by those after the first.

    Time that kernels took to be compiled does not count: the first fits compile one after another.
    """
    ends: list[float] = []

    def tell(n_done: int, n_all: int, fit: Fit) -> None:  # noqa: ARG001
        ends.append(time.perf_counter() - seconds_compiling())
        n_timed = len(ends) - 1
        watch(n_done, n_all, (ends[-1] - ends[0]) / n_timed * (n_all - n_done) if n_timed else None)

    return tell


def _make_rule(
    criterion: Criterion,
    gamma: float,
    n_folds: int | Sequence[tuple[RowIndex, RowIndex]],
    beta: float,
    n_subsamples: int,
) -> Rule:
    if criterion == "ebic":
        return ByInformation(Worth(gamma))
    if criterion == "cv":
        return ByHoldingOut(n_folds)
    if criterion == "stars":
        return ByStability(beta, n_subsamples)
    raise ValueError(f"criterion is {criterion!r}: use {listed(get_args(Criterion))}.")


def _part_rows(rows: Rows) -> Rows:
    """Make a row of each time that a row counts, where all weights are whole numbers."""
    weights = rows.weights
    if weights is None or (weights != np.floor(weights)).any():
        return rows
    return Rows(rows.table[np.repeat(np.arange(rows.table.n_rows), weights.astype(np.int64))])


def _name_parts(rule: Rule, n_folds: int | Sequence[tuple[RowIndex, RowIndex]]) -> str:
    """Return what tells the parts of a table from others."""
    if rule.takes != "folds" or not isinstance(n_folds, Sequence):
        return rule.takes
    rows = [np.asarray(own, dtype=np.int64).tobytes() for fold in n_folds for own in fold]
    return f"folds {sha256(b'|'.join(rows)).hexdigest()[:16]}"


def _count_known(results: Sequence[Result]) -> int:
    """Count the penalties, from the largest on, whose log-likelihoods are all known."""
    is_unknown = np.zeros(len(results[0]["log_likelihood"]), dtype=bool)
    for result in results:
        for name in {"log_likelihood", "held_out"} & set(result):
            is_unknown |= np.isnan(result[name])
    n_known = int(np.argmax(is_unknown)) if is_unknown.any() else len(is_unknown)
    if n_known == 0:
        raise ValueError(
            "The log-likelihood of the fits is out of reach: use criterion='ebic' or 'stars', which do without, or "
            "larger alphas."
        )
    return n_known


def _take_first(result: Result, n_tried: int, n: int) -> Result:
    """Keep what is about the first n of the penalties."""
    return {name: own[:n] if own.ndim and len(own) == n_tried else own for name, own in result.items()}


def _identify(work: PathOfPart, takes: str, options: Options) -> dict[str, object]:
    """Return what the paths depend on: what edges are worth may end them early."""
    own = {name: value for name, value in options.settings().items() if name != "n_threads"}
    if isinstance(options.init, PairwiseMRF):
        own["init"] = sha256(as_theta(options.init).tobytes()).hexdigest()[:16]
    own["backend"] = type(options.backend).__name__
    return {
        "what": "choice of a penalty",
        "parts": takes,
        "alphas": [float(alpha) for alpha in work.alphas],
        "objective": work.objective,
        "log_likelihoods": work.needs_likelihood,
        **({} if work.worth is None else asdict(work.worth)),
        "domain": sha256(repr(work.rows.table.domain).encode()).hexdigest()[:16],
        **work.rows.facts,
        **own,
    }


def _conclude(
    found: Found, rule: Rule, learner: Learner, *, n_tried: int, n_wanted: int, is_out_of_time: bool
) -> Choice:
    """Choose, and make the table and the sentence."""
    verdict = rule.judge(found)
    whole, index = found.whole, verdict.index
    alpha, n_edges = found.alphas[index], int(whole["edges"][index])
    table = _tabulate(found, verdict.columns)
    sentences = [f"alpha = {alpha:.3g} {verdict.reason}. {say_edges(n_edges)}"]
    sentences.append(rule.without_edges if n_edges == 0 else describe_null_edges(alpha, learner))
    if len(found.alphas) < n_tried:
        sentences.append(
            f"The log-likelihood of {n_tried - len(found.alphas)} smaller penalties is out of reach: they were not "
            "compared."
        )
    elif n_tried < n_wanted and is_out_of_time:
        sentences.append(f"There was time for {n_tried} of {n_wanted} penalties: smaller ones may be better.")
    elif index == n_wanted - 1 > 0:
        sentences.append("It is the smallest alpha that was tried: smaller ones may be better.")
    sentence, weights = " ".join(filter(None, sentences)), _find_weights(found, learner)
    return Choice(index, alpha, table, sentence, verdict.threshold, weights, n_edges)


def _find_weights(found: Found, learner: Learner) -> PathWeights | None:
    """Return the weights along the path; folders of finished parts that have none may be older."""
    whole = found.whole
    if "weights" not in whole:
        return None
    return PathWeights(tuple(found.alphas), learner.table.domain.names, whole["joined"][0], whole["weights"])


def _tabulate(found: Found, columns: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """Return a row for each penalty: what is known of its fit, and by what it was judged."""
    names = ("edges", "parameters", "log_likelihood", "pseudo_log_likelihood", "error", "status")
    known = {name: found.whole[name] for name in names if name in found.whole}
    return pl.DataFrame({"alpha": np.array(found.alphas), **known, **columns})


def describe_null_edges(alpha: float, learner: Learner) -> str:
    """Say that sampling error makes edges at a penalty, where it does; how many is known for free main effects."""
    least = 0.0 if learner.options.penalize_main else null_alpha(learner)
    if alpha >= least:
        return ""
    n_pairs, kind = count_null_edges(learner, alpha), learner.make_penalty(alpha)
    of = "levels" if kind.groups is None else "variables"
    what = (
        f"about {n_pairs:{'.2g' if n_pairs < 10 else '.0f'}} pairs of {of} would have an edge"
        if n_pairs >= 1
        else (f"there would be an edge with a probability of up to {n_pairs:.2g}")
    )
    return (
        f"{_tell_apart(alpha, least)}, the noise of the table: were all variables independent, {what} at it all "
        "the same. Some of the edges may be noise."
    )


def _tell_apart(alpha: float, least: float) -> str:
    """Say that a penalty is below the least without false edges, with as many digits as tell the two numbers apart."""
    if float(f"{least:.2g}") > float(f"{alpha:.3g}"):  # as many as the sentence of a choice has
        return f"This alpha is below {least:.2g}"
    digits = next(n for n in range(3, 18) if f"{alpha:.{n}g}" != f"{least:.{n}g}")  # 17 tell any two floats apart
    return f"This alpha, {alpha:.{digits}g}, is below {least:.{digits}g}"
