"""The bootstrap: how much the edges of a fit owe to the choice of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield._seeds import Use
from sparsefield._typing import Values
from sparsefield.data import Domain, count
from sparsefield.fits import Fit
from sparsefield.learning import Alpha
from sparsefield.model import has_sign, pair_weights
from sparsefield.parallel import Result, Watch
from sparsefield.progress import PiecesBar
from sparsefield.resampling._asked import Progress, ask
from sparsefield.resampling._endings import Ends
from sparsefield.resampling._resamples import Piece, check_resamples, check_share, fit_whole, weights_of
from sparsefield.selection import Objective

_TAILS = (0.025, 0.975)  # intervals of 95%: a convention


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Fits of resampled rows, beside the fit of all rows.

    Parameters
    ----------
    fit : Fit
        The fit of the whole table.
    pairs : ndarray of shape (n_pairs, 2)
        The pairs of variables that have an edge in the fit or in a resample.
    weights : ndarray of shape (n_resamples, n_pairs)
        The weight of each pair in each resample, zero where it has no edge: the interaction where both variables have
        two levels, otherwise four times the root mean square of the interactions of their levels in the zero-sum gauge,
        with a sign where both are ordered.
    ends : Ends
        How the fits of the resamples ended, and which levels their rows lack.
    n_rows : int
        Rows of the table, weights added up.
    share : float or None
        The share of rows that a resample keeps; None where as many are drawn with replacement.
    """

    fit: Fit
    pairs: NDArray[np.int64]
    weights: Values
    ends: Ends
    n_rows: int
    share: float | None = None

    @property
    def n_resamples(self) -> int:
        """How many resamples there are."""
        return len(self.weights)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each pair that has an edge in the fit or in a resample, strongest in the fit first.

        `weight` is that in the fit; `selected` the share of resamples in which the pair has an edge; `low` and `high`
        the 2.5% and 97.5% percentiles of its weight over the resamples; `same_sign` the share, of the resamples with an
        edge, in which it has the sign of the fit: null where the weight has no sign, or either has no edge.
        """
        domain, weight = self.fit.model.domain, self._fitted(self.pairs)
        is_edge = self.weights != 0
        low, high = np.quantile(self.weights, _TAILS, axis=0)
        signed = has_sign(domain)[self.pairs[:, 0], self.pairs[:, 1]] & (weight != 0) & is_edge.any(axis=0)
        n_same = (np.sign(self.weights) == np.sign(weight)).sum(axis=0)
        same = [
            float(n / m) if known else None for n, m, known in zip(n_same, is_edge.sum(axis=0), signed, strict=True)
        ]
        columns = {
            **_name_pairs(domain, self.pairs, "first", "second"),
            "weight": weight,
            "selected": is_edge.mean(axis=0),
            "low": low,
            "high": high,
            "same_sign": pl.Series(same, dtype=pl.Float64),
        }
        order = np.lexsort([-columns["selected"], -np.abs(weight)])
        return pl.DataFrame(columns)[order]

    def differences(self, edges: Sequence[tuple[str, str]] | None = None) -> pl.DataFrame:
        """Compare the weights of edges, two by two, resample by resample.

        Parameters
        ----------
        edges : sequence of pairs of names, optional
            The edges to compare; those of the fit unless given, strongest first.

        Returns
        -------
        polars.DataFrame
            For each two edges, `first` - `second` and `other_first` - `other_second`: the `difference` of their weights
            in the fit, with the 2.5% and 97.5% percentiles, `low` and `high`, over the resamples; `greater`, the share
            of resamples in which the weight of the former is greater; and `differs`, whether the interval excludes
            zero. As in bootnet (Epskamp, Borsboom and Fried 2018), nothing corrects for the number of comparisons.
        """
        pairs = self._find_pairs(edges)
        weights, fitted = self._sampled(pairs), self._fitted(pairs)
        a, b = np.triu_indices(len(pairs), 1)
        found = [np.empty((3, 0))]
        for i in range(len(pairs) - 1):  # with one after the other there is no array of all resamples and comparisons
            own = weights[:, [i]] - weights[:, i + 1 :]
            found.append(np.vstack([np.quantile(own, _TAILS, axis=0), (own > 0).mean(axis=0)]))
        low, high, greater = np.concatenate(found, axis=1)
        return pl.DataFrame(
            {
                **_name_pairs(self.fit.model.domain, pairs[a], "first", "second"),
                **_name_pairs(self.fit.model.domain, pairs[b], "other_first", "other_second"),
                "difference": fitted[a] - fitted[b],
                "low": low,
                "high": high,
                "greater": greater,
                "differs": (low > 0) | (high < 0),
            }
        )

    @property
    def sentence(self) -> str:
        """How many resamples there are, and which of them are odd."""
        how = "drawn with replacement" if self.share is None else f"a share of {self.share:g} of which is kept"
        drawn = f"{count(self.n_resamples, 'resample')} of {count(self.n_rows, 'row')}, {how}."
        return f"{drawn} {self.ends.sentence}".rstrip()

    def __repr__(self) -> str:
        return f"<Bootstrap: {self.sentence}>"

    def __str__(self) -> str:
        return self.sentence

    def _fitted(self, pairs: NDArray[np.int64]) -> Values:
        """Return the weights of pairs in the fit."""
        model = self.fit.model
        return np.asarray(pair_weights(model.domain, model.interactions)[pairs[:, 0], pairs[:, 1]])

    def _sampled(self, pairs: NDArray[np.int64]) -> Values:
        """Return the weights of pairs in the resamples; those that never have an edge have zeros."""
        columns = {(int(i), int(j)): k for k, (i, j) in enumerate(self.pairs)}
        found = np.zeros((self.n_resamples, len(pairs)))
        for own, (i, j) in enumerate(pairs):
            if (int(i), int(j)) in columns:
                found[:, own] = self.weights[:, columns[int(i), int(j)]]
        return found

    def _find_pairs(self, edges: Sequence[tuple[str, str]] | None) -> NDArray[np.int64]:
        """Return the variables of edges by their names, the first of the table first."""
        if edges is None:
            weight = self._fitted(self.pairs)
            order = np.argsort(-np.abs(weight), kind="stable")
            return np.asarray(self.pairs[order[weight[order] != 0]])
        domain = self.fit.model.domain
        found = [sorted((domain.index_of(first), domain.index_of(second))) for first, second in edges]
        if any(i == j for i, j in found):
            raise ValueError(f"edges are {list(edges)!r}: an edge has two different variables.")
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def bootstrap(
    what: Any,
    data: Any = None,
    *,
    n: int = 100,
    seed: Any = None,
    share: float | None = None,
    alpha: Alpha | None = None,
    objective: Objective | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Bootstrap:
    """Draw the rows of a table again and again, and fit each resample, to see what edges owe to the choice of rows.

    Each fit starts at that of the whole table, and has no marks. A level that a resample lacks stays a level of the
    variable, and never stops the run. `selected` tells how often an edge is found. Weights of a penalised fit are
    shrunken towards zero, and their percentiles no intervals of the true ones: these are those of `infer`.

    Parameters
    ----------
    what : Table, array, pandas or polars data frame, path, or estimator
        Observations, one row each (see `encode`), or how to fit them: `SparseMRF()` or `PseudoLikelihood()`.
    data : Table, array, pandas or polars data frame, or path
        Observations, where an estimator comes first. One that is fitted has its penalty, if it has chosen one.
    n : int
        How many resamples.
    seed : int, RandomState or Generator, optional
        Where the random numbers start; unless given, 0, or where those of the estimator do (`random_state`). Each
        resample has its own, whoever fits it.
    share : float, optional
        The share of rows that each resample keeps, drawn without replacement; as many rows as there are, with
        replacement, unless given.
    alpha : float, "auto" or rule
        For a table: what decides on edges, as for `learn`. Edges that are found without a penalty are found in each
        resample anew; a penalty, given or chosen by the whole table, is the same for all.
    objective : "likelihood" or "pseudolikelihood"
        For a table: what is penalised.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts. Rows are drawn as if each stood there as often.
    n_jobs, checkpoint, watch
        As for `parallel.run_pieces`: resamples at a time, a folder that keeps those that are finished, and whom to tell
        in place of a progress bar.
    progress : bool or "auto"
        For a table: whether to show a progress bar; "auto" shows one in a terminal.
    **options
        For a table: those of `learn`, for all fits; `certify` is for the fit of the whole table alone. Unless the gap
        is given, that of resamples is 0.05, or less where the simulation error of so few draws would be more than a
        tenth of the variance that weights have by the choice of rows.

    Returns
    -------
    Bootstrap
        How often each edge is found, and how much its weight varies; the fit of all rows; differences.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> found = sf.bootstrap(table, n=20)
    >>> print(found)
    20 resamples of 500 rows, drawn with replacement.
    >>> found.table.columns
    ['first', 'second', 'weight', 'selected', 'low', 'high', 'same_sign']

    By an estimator:

    >>> sf.bootstrap(sf.SparseMRF(0.05, random_state=1), table, n=20).n_resamples
    20
    """
    check_resamples(n)
    if share is not None:
        check_share(share)
    asked = ask(what, data, alpha, objective, progress, options, ("bootstrap", "share"))
    start = asked.seed(seed)
    with PiecesBar(asked.progress if watch is None else False, "resamples") as bar:
        fit, refit = fit_whole(asked, seed=start, sample_weight=sample_weight, drops=share is not None)
        pieces = [Piece(start, (Use.BOOTSTRAP, k), share) for k in range(n)]
        identity = {"what": "bootstrap", "share": share}
        results = refit.run(pieces, identity, n_jobs=n_jobs, checkpoint=checkpoint, watch=watch or bar)
    return _collect(fit, results, refit.n_rows, share)


def _collect(fit: Fit, results: Sequence[Result], n_rows: int, share: float | None) -> Bootstrap:
    """Lay the weights of all resamples side by side, for pairs that have an edge anywhere."""
    domain = fit.model.domain
    p = domain.n_variables
    found = [_take_edges(weights_of(domain, result)) for result in results]
    own, _ = _take_edges(pair_weights(domain, fit.model.interactions))
    known = np.unique(np.concatenate([own, *(indices for indices, _ in found)]))
    weights = np.zeros((len(results), len(known)))
    for row, (indices, values) in zip(weights, found, strict=True):
        row[np.searchsorted(known, indices)] = values
    return Bootstrap(
        fit,
        np.column_stack([known // p, known % p]),
        weights,
        Ends.of(results),
        n_rows,
        share,
    )


def _take_edges(weights: Values) -> tuple[NDArray[np.int64], Values]:
    """Return the pairs that have an edge, by their index in the matrix, and their weights."""
    indices = np.flatnonzero(np.triu(weights, 1))
    return indices, weights.ravel()[indices]


def _name_pairs(domain: Domain, pairs: NDArray[np.int64], first: str, second: str) -> dict[str, Any]:
    names = [pl.Series([domain.names[i] for i in own], dtype=pl.String) for own in pairs.T]
    return dict(zip((first, second), names, strict=True))
