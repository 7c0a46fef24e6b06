"""What the edges of an estimator owe to the choice of rows: resamples of a table, fitted as the estimator would."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _is_fitted

from sparsefield.data import Rows, Table
from sparsefield.estimators._field_estimator import FieldEstimator
from sparsefield.fitting import Options
from sparsefield.learning import Alpha, seed_of
from sparsefield.progress import PiecesBar
from sparsefield.resampling import Bootstrap, Stability
from sparsefield.resampling import bootstrap as draw_again
from sparsefield.resampling import stability as drop_rows
from sparsefield.selection import Choice
from sparsefield.tables import encode

_OPTIONS = {own.name for own in fields(Options)}


def bootstrap(
    estimator: FieldEstimator,
    data: Any,
    *,
    n: int = 100,
    seed: Any = None,
    share: float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Bootstrap:
    """Draw the rows of a table again and again, and fit each resample, to see what edges owe to the choice of rows.

    Each fit starts at that of the whole table, and has no marks. A level that a resample lacks stays a level of the
    variable, and never stops the run. `selected` tells how often an edge is found. Weights are those of a penalised
    fit, shrunken towards zero, and their percentiles no intervals of the true ones: these are those of `infer`.

    Parameters
    ----------
    estimator : SparseMRF, SparseMRFCV or PseudoLikelihood
        How to fit. Edges are found in each resample as the estimator finds them. A penalty is the same for all: that of
        the estimator if it is fitted or given one, and otherwise the one that it chooses for the whole table.
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    n : int
        How many resamples.
    seed : int, RandomState or Generator, optional
        Where the random numbers start; where those of the estimator do (`random_state`) unless given. Each resample has
        its own, whoever fits it.
    share : float, optional
        The share of rows that each resample keeps, drawn without replacement; as many rows as there are, with
        replacement, unless given.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts. Rows are drawn as if each stood there as often.
    n_jobs, checkpoint
        As for `parallel.run_pieces`: resamples at a time, and a folder that keeps those that are finished.

    Returns
    -------
    Bootstrap
        How often each edge is found, and how much its shrunken weight varies; the fit of all rows; differences.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> found = sf.bootstrap(sf.SparseMRF(random_state=1), table, n=20)
    >>> print(found)
    20 resamples of 500 rows, drawn with replacement.
    >>> found.table.columns
    ['first', 'second', 'weight', 'selected', 'low', 'high', 'same_sign']
    """
    asked = _Asked(estimator, data, seed, sample_weight)
    with PiecesBar(asked.progress, "resamples") as watch:
        return draw_again(
            asked.table,
            asked.alpha,
            n=n,
            share=share,
            n_jobs=n_jobs,
            checkpoint=checkpoint,
            watch=watch,
            **asked.options,
        )


def stability(
    estimator: FieldEstimator,
    data: Any,
    *,
    shares: Sequence[float] = (0.75, 0.625, 0.5, 0.375, 0.25),
    n: int = 100,
    seed: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Stability:
    """Fit fewer and fewer rows, drawn without replacement, and compare with the fit of all of them.

    This is the case-dropping bootstrap of Epskamp, Borsboom and Fried (2018), with their CS coefficients.

    Parameters
    ----------
    estimator, data, seed, sample_weight, n_jobs, checkpoint
        As for `bootstrap`; weights must be whole numbers.
    shares : sequence of float
        The shares of rows that are kept.
    n : int
        Subsamples for each share.

    Returns
    -------
    Stability

    Examples
    --------
    Do weights and strengths stay what they are when half of the rows are dropped?

    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(5, seed=1).sample(400, method="perfect", seed=1)
    >>> kept = sf.stability(sf.SparseMRF(0.02, random_state=1), table, shares=(0.75, 0.5), n=10)
    >>> kept.table.columns
    ['share', 'edges', 'edges_reached', 'strength', 'strength_reached']
    >>> kept.coefficient("edges")
    0.5
    """
    asked = _Asked(estimator, data, seed, sample_weight)
    with PiecesBar(asked.progress, "subsamples") as watch:
        return drop_rows(
            asked.table,
            asked.alpha,
            shares=shares,
            n=n,
            n_jobs=n_jobs,
            checkpoint=checkpoint,
            watch=watch,
            **asked.options,
        )


class _Asked:
    """What an estimator asks of each fit of a table."""

    def __init__(self, estimator: FieldEstimator, data: Any, seed: Any, sample_weight: ArrayLike | None) -> None:
        if not isinstance(estimator, FieldEstimator):
            raise TypeError(
                f"estimator is of type {type(estimator).__name__}: give SparseMRF(), SparseMRFCV() or "
                "PseudoLikelihood(). (selection.bootstrap takes a table and a penalty.)"
            )
        self.table = data if isinstance(data, Table) else encode(data, ordinal=estimator.ordinal)
        given = estimator.get_params()
        self.progress = given["progress"]
        self.alpha = _find_alpha(estimator, self.table, sample_weight)
        self.options = {
            **{name: value for name, value in given.items() if name in _OPTIONS},
            "objective": estimator._objective,
            "sample_weight": sample_weight,
            "seed": _find_seed(seed, given.get("random_state")),
        }


def _find_seed(seed: Any, random_state: Any) -> int:
    """Return the seed that is given, by itself or by a source of random numbers, or that of the estimator."""
    if isinstance(seed, int | np.integer):
        return int(seed)
    return seed_of(random_state if seed is None else seed)


def _find_alpha(estimator: FieldEstimator, table: Table, sample_weight: ArrayLike | None) -> Alpha:
    """Return the penalty that an estimator has, by itself or by a choice; "auto" where it is for `learn` to choose."""
    is_chosen = estimator.get_params().get("alpha", "auto") == "auto" and _is_fitted(estimator, "alpha_")
    if is_chosen:
        return "auto" if estimator.alpha_ is None else float(estimator.alpha_)
    chosen = estimator._choose_for(Rows.of(table, sample_weight, estimator.missing))
    return chosen.alpha if isinstance(chosen, Choice) else chosen
