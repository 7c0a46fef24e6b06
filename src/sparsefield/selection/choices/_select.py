"""The choice of a penalty by a rule, as a function of a table."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, Protocol, get_args

from numpy.typing import ArrayLike

from sparsefield._near_misses import refuse_names
from sparsefield.data import listed
from sparsefield.fitting import Learner, Options
from sparsefield.parallel import Watch
from sparsefield.selection.choices._criteria import Choice
from sparsefield.selection.choices._path_rule import PathRule
from sparsefield.selection.choices._rules import EBIC, HeldOut, StARS
from sparsefield.selection.paths._path import Objective
from sparsefield.structure import Structure
from sparsefield.tables import read_rows

Criterion = Literal["ebic", "cv", "stars"]


class Rule(Protocol):
    """What may decide on the edges of a fit, in place of a number: `alpha` of `SparseMRF` takes any object that does.

    Rules that estimators hold are copied with `copy.deepcopy`, unless they have `get_params` and `set_params`.
    """

    def choose(
        self, learner: Learner, *, objective: Objective, seconds: float | None, watch: Watch | None
    ) -> float | Choice | Structure:
        """Return a penalty, or edges that were found without one.

        Parameters
        ----------
        learner : Learner
            The table (`learner.table`, `learner.rows`), and what is asked of its fit (`learner.options`).
        objective : "likelihood" or "pseudolikelihood"
            What is penalised.
        seconds : float or None
            How long it may take; None where time is not limited.
        watch : callable or None
            To be called with what is done, what there is, and the seconds that are left (or None).
        """
        ...


def make_rule(criterion: Criterion | PathRule) -> PathRule:
    """Return the rule that a word names; a rule stays what it is."""
    if isinstance(criterion, PathRule):
        return criterion
    known = {"ebic": EBIC, "cv": HeldOut, "stars": StARS}
    if not isinstance(criterion, str) or criterion not in known:
        raise ValueError(
            f"rule is {criterion!r}: use {listed(get_args(Criterion))}, or a rule of a path, such as EBIC(gamma=0.5)."
        )
    return known[criterion]()


def select(
    data: Any,
    rule: Criterion | PathRule = "ebic",
    *,
    objective: Objective = "likelihood",
    sample_weight: ArrayLike | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Choice:
    """Choose the penalty of a table.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    rule : "ebic", "cv", "stars", or a rule of a path
        "ebic", `EBIC()`: the least extended BIC of the edges of each fit, refitted without their penalty, to find
        edges. "cv", `HeldOut()`: the largest alpha whose log-likelihood of rows that were held out is within one
        standard error of the best, to predict. "stars", `StARS()`: the smallest alpha on whose edges subsamples agree
        (Liu, Roeder and Wasserman 2010), for edges that other rows would show too; it needs no likelihood.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised. Where fits of the likelihood take draws and only their edges are asked for, the path is that
        of the pseudo-likelihood all the same (see Notes).
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts. With folds and subsamples, a row that counts three times is three rows, which these
        may part; where not all weights are whole numbers, a row stays whole and takes its weight along.
    max_seconds : float, optional
        With `EBIC`: time after which the choice is among the penalties that were tried by then.
    seed : int
        Where the random numbers start.
    n_threads, watch
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
    Refits: with `EBIC` the likelihood is that of the edges of each fit without their penalty, refitted variable by
    variable: what the neighbours tell of each, a logistic regression, which needs no draws (Barber and Drton 2015). On
    known fields, likelihoods of the refitted whole field (Foygel and Drton 2010) chose edges that were no better in six
    times the time, and those of the penalised fits, whose edges are shrunken, worse ones.

    Sampling error: among independent variables, the frequency of a pair of levels has a standard error, and exceeds
    alpha with a probability that follows. The sum over all pairs is how many edges it makes. With the group penalty the
    same holds of the norm of what two variables have in common, and pairs are pairs of variables. With `EBIC`,
    penalties at which sampling error would give more than a tenth of as many edges to independent variables are passed
    over: EBIC alone gives edges to many tables of independent variables that have few rows.

    Draws: with `EBIC` and `StARS` a path is judged by its edges. Those of fits on draws change with the seed, so that
    such paths are of the pseudo-likelihood, whose fits have no simulation error, for tables with more than 2^20 states
    and free main effects. The same alpha then leaves nearly the same edges of the likelihood. Missing cells are drawn
    from the last fit of the path, with the same random numbers for every seed.

    Missing cells: with `HeldOut`, log-likelihoods are those of the observed cells. With `EBIC`, neighbours that are
    missing are drawn, five times, from the fit with the smallest penalty at which sampling error makes no edge.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> table = truth.sample(5000, method="perfect", seed=1)
    >>> choice = sf.selection.select(table, sf.EBIC(n_alphas=10))
    >>> int((truth.interactions != 0).sum()) // 2, choice.table["edges"][choice.index]
    (3, 3)
    """
    own = make_rule(rule)
    known = ("rule", "objective", "sample_weight", "watch", *(field.name for field in fields(Options)))
    refuse_names("select", options, known, rule="rule")
    asked = Options(**options, seed=seed, n_threads=n_threads)
    learner = Learner(read_rows(data, sample_weight, missing=asked.missing, n_threads=n_threads), asked)
    return own.choose(learner, objective=objective, seconds=max_seconds, watch=watch, **options)
