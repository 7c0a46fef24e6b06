"""How sure every pair of a table is, whatever holds the table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield._near_misses import explain_names
from sparsefield.data import Table, TableError, count, resolve_missing, take_counted
from sparsefield.fits import Fit, as_model
from sparsefield.model import PairwiseMRF
from sparsefield.pairs import Inference, Rate, check_rate, infer_table
from sparsefield.progress import PairsBar
from sparsefield.tables import Ordinal, open_rows


@explain_names
def infer(
    data: Any,
    table: Any = None,
    *,
    fdr: float = 0.1,
    rate: Rate = "bh",
    level: float = 0.95,
    ordinal: Ordinal = None,
    missing: Literal["model", "zero", "drop", "error"] = "model",
    sample_weight: ArrayLike | None = None,
    frequency: bool = False,
    clusters: ArrayLike | None = None,
    n_threads: int | None = None,
    progress: bool | Literal["auto"] = "auto",
) -> Inference:
    """Say how sure every pair of variables is: an estimate, an interval, a p-value and a false discovery rate for each.

    By the likelihood of two variables given all others, which has no partition function: no draws are made, and no
    random number has a part in it. Estimates are almost unbiased (Firth's penalty). Intervals forgive neighbours that
    were missed (double selection), and speak of sampling error, that is, of other rows of the same population, as
    `certify` does of simulation error. Rows must be independent, or in clusters that are named.

    Parameters
    ----------
    data : Table, array, data frame or path; or Fit, fitted estimator or PairwiseMRF
        Observations, one row each; see `encode`. A fit says which variables and levels there are, for a table that is
        given beside it; its edges and weights have no part in what is found.
    table : Table, array, data frame or path, optional
        Observations, where a fit comes first.
    fdr : float
        The rate at which pairs are edges: of so many of them, at most this share is false in the mean.
    rate : "bh", "by" or "holm"
        Which rate: the false discovery rate (Benjamini and Hochberg); the same under any dependence (Benjamini and
        Yekutieli); or the probability that any edge is false (Holm).
    level : float
        The level of the intervals, each by itself.
    ordinal : iterable of names, mapping of names, bool, optional
        Which columns have ordered levels, besides those that the table declares; see `encode`.
    missing : "model", "zero", "drop" or "error"
        What to do with missing values: take for each pair the rows that show both, and sum over the states that their
        missing neighbours can have; count them as the first level; drop their rows; or refuse them.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of a survey. Their scale does not matter: n rows count as (sum w)^2 / sum w^2.
    frequency : bool
        Whether weights are counts of equal rows instead.
    clusters : array-like of shape (n_rows,), optional
        What rows have in common, such as a school or a person: rows of the same need not be independent.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" shows one in a terminal, from ten seconds on.

    Returns
    -------
    Inference
        `table` has a row for each pair, `edges` those that are edges; `nodes` the strengths of nodes with intervals,
        `total` the sum of all weights, `differences()` compares edges; `describe(a, b)` says it in a sentence.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> found = sf.infer(table)
    >>> print(found)
    3 edges among 15 pairs, of which at most one is expected to be false (false discovery rate 0.1).
    >>> found.edges.columns
    ['first', 'second', 'estimate', 'low', 'high', 'p', 'q', 'edge', 'detectable', 'verdict']
    """
    _check(fdr, rate, level)
    rows = _read(data, table, ordinal)
    together = None if clusters is None else _number(clusters, rows.n_rows)
    rows, weights = take_counted(rows, sample_weight)
    if together is not None and sample_weight is not None:
        together = together[np.asarray(sample_weight, dtype=np.float64) > 0]
    if together is not None and missing == "drop":
        together = together[~rows.mask.any(axis=1)]
    rows, weights = resolve_missing(rows, missing, weights)
    if together is not None:
        together = np.unique(together, return_inverse=True)[1].astype(np.int64)
        if not together.any():
            raise ValueError("All rows are in one cluster: give at least two, as one says nothing of others.")
    with PairsBar(progress) as watch:
        return infer_table(
            rows,
            weights,
            counts_rows=frequency,
            clusters=together,
            fdr=fdr,
            rate=rate,
            level=level,
            n_threads=n_threads,
            watch=watch,
        )


def _check(fdr: float, rate: str, level: float) -> None:
    """Refuse what cannot be asked for."""
    for name, value, usual in (("fdr", fdr, 0.1), ("level", level, 0.95)):
        if not 0 < value < 1:
            raise ValueError(f"{name} is {value}: use a number between 0 and 1, such as {usual}.")
    check_rate(rate)


def _read(data: Any, table: Any, ordinal: Ordinal) -> Table:
    """Return the rows, with the variables of a fit where one is given."""
    rows: Table
    if isinstance(data, Fit | PairwiseMRF) or hasattr(data, "fit_"):
        domain = as_model(data).domain
        if table is None:
            raise TypeError("infer needs the rows: give the table beside the fit, infer(fit, table).")
        if ordinal is not None:
            raise ValueError("ordinal is given with a fit, which knows what is ordered: leave one of them out.")
        rows = table
        if not (isinstance(table, Table) and table.domain == domain):
            rows = open_rows(table.to_frame() if isinstance(table, Table) else table, domain=domain)
        domain.check_codes(rows, allow_missing=True)
    elif table is not None:
        raise TypeError("infer was given two tables: give one, or a fit and its table.")
    elif isinstance(data, Table) and ordinal is not None:
        raise ValueError("ordinal is for tables that are read here: give it to encode, which made this one.")
    else:
        rows = data if isinstance(data, Table) else open_rows(data, ordinal=ordinal)
    if not rows.is_in_memory:
        raise TableError(
            f"The {rows.n_rows} rows of this table are counted and not in memory, and pairs need them all",
            "encode the whole table where it fits into memory, or a sample of its rows",
        )
    rows = rows.sample
    if rows.n_rows < 2:
        raise TableError(
            f"The table has {count(rows.n_rows, 'row')}", "give at least two: one says nothing of other rows"
        )
    return rows


def _number(clusters: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Give each cluster of rows a number."""
    own = np.asarray(clusters)
    if own.shape != (n_rows,):
        raise ValueError(f"clusters have shape {own.shape}: give one for each of the {n_rows} rows.")
    is_missing = np.array([value is None or value != value for value in own.tolist()])
    if is_missing.any():
        raise ValueError(f"Row {int(np.argmax(is_missing))} has no cluster: give it one of its own, or leave it out.")
    return np.unique(own, return_inverse=True)[1].astype(np.int64)
