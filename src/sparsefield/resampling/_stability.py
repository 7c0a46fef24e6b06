"""Case-dropping: how few rows would have told the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sparsefield._seeds import Use
from sparsefield._typing import Matrix, Values
from sparsefield.data import count
from sparsefield.fits import Fit
from sparsefield.learning import Alpha
from sparsefield.model import pair_weights
from sparsefield.parallel import Watch
from sparsefield.progress import PiecesBar
from sparsefield.resampling._asked import Progress, ask
from sparsefield.resampling._endings import Ends
from sparsefield.resampling._resamples import Piece, check_resamples, check_share, fit_whole, weights_of
from sparsefield.selection import Objective

# Conventions of Epskamp, Borsboom and Fried (2018), who ask for coefficients of 0.25 at least, and better of 0.5.
_CORRELATION, _CONFIDENCE = 0.7, 0.95

Statistic = Literal["edges", "strength"]


@dataclass(frozen=True, eq=False)
class Stability:
    """Correlations of fits of fewer rows with the fit of all rows.

    Parameters
    ----------
    fit : Fit
        The fit of the whole table.
    shares : tuple of float
        Shares of the rows that were kept.
    edges : ndarray of shape (n_shares, n_resamples)
        For each subsample, the correlation of the weights of all pairs of variables with those in the fit.
    strength : ndarray of shape (n_shares, n_resamples)
        The same for the strength of each variable, the sum of the absolute weights of its edges.
    ends : Ends
        How the fits of all subsamples ended, share by share, and which levels their rows lack.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.resampling import stability
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> stability(table, alpha=0.02, shares=(0.5,), n=20).coefficient("edges")
    0.5
    """

    fit: Fit
    shares: tuple[float, ...]
    edges: Values
    strength: Values
    ends: Ends

    def coefficient(
        self, statistic: Statistic, correlation: float = _CORRELATION, confidence: float = _CONFIDENCE
    ) -> float:
        """Return the CS coefficient: the largest share of rows that can be dropped.

        Of the subsamples with so many rows dropped, a share of `confidence` or more has a correlation of `correlation`
        or more with the fit of all rows. It is one of the shares that were tried, or zero.
        """
        if statistic not in ("edges", "strength"):
            raise ValueError(f"statistic is {statistic!r}: use 'edges' or 'strength'.")
        values = self.edges if statistic == "edges" else self.strength
        reached = (values >= correlation).mean(axis=1) >= confidence
        return max((1 - share for share, is_enough in zip(self.shares, reached, strict=True) if is_enough), default=0.0)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each share of rows kept: mean correlations, and the share of those that are 0.7 or more."""
        return pl.DataFrame(
            {
                "share": self.shares,
                "edges": self.edges.mean(axis=1),
                "edges_reached": (self.edges >= _CORRELATION).mean(axis=1),
                "strength": self.strength.mean(axis=1),
                "strength_reached": (self.strength >= _CORRELATION).mean(axis=1),
            }
        )

    @property
    def sentence(self) -> str:
        """The two coefficients, and how many fits are odd."""
        edges, strength = self.coefficient("edges"), self.coefficient("strength")
        return (
            f"{self.edges.shape[1]} subsamples for each of {len(self.shares)} shares of the rows: {_CONFIDENCE:.0%} "
            f"keep a correlation of {_CORRELATION:g} with the fit of all rows where up to {edges:g} of the rows are "
            f"dropped, for the weights of edges, and up to {strength:g}, for strengths. {self.ends.sentence}"
        ).rstrip()

    def __repr__(self) -> str:
        return f"<Stability: {self.sentence}>"

    def __str__(self) -> str:
        return self.sentence


def stability(
    what: Any,
    data: Any = None,
    *,
    shares: Sequence[float] = (0.75, 0.625, 0.5, 0.375, 0.25),
    n: int = 100,
    seed: Any = None,
    alpha: Alpha | None = None,
    objective: Objective | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Stability:
    """Fit fewer and fewer rows, drawn without replacement, and compare with the fit of all of them.

    This is the case-dropping bootstrap of Epskamp, Borsboom and Fried (2018), with their CS coefficients.

    Parameters
    ----------
    what, data, seed, alpha, objective, sample_weight, n_jobs, checkpoint, progress, watch, **options
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
    check_resamples(n)
    if not isinstance(shares, Sequence | np.ndarray) or not len(shares):
        raise ValueError(f"shares are {shares!r}: give a list of at least one share of rows to keep.")
    for share in shares:
        check_share(share)
    asked = ask(what, data, alpha, objective, progress, options, ("stability", "shares"))
    start = asked.seed(seed)
    with PiecesBar(asked.progress if watch is None else False, "subsamples") as bar:
        fit, refit = fit_whole(asked, seed=start, sample_weight=sample_weight, drops=True)
        n_variables = fit.model.domain.n_variables
        if n_variables < 3:
            raise ValueError(f"The table has {count(n_variables, 'variable')}: correlations need three at least.")
        pieces = [
            Piece(start, (Use.STABILITY + j, k), float(share)) for j, share in enumerate(shares) for k in range(n)
        ]
        identity = {"what": "stability", "shares": tuple(float(share) for share in shares)}
        results = refit.run(pieces, identity, n_jobs=n_jobs, checkpoint=checkpoint, watch=watch or bar)
    domain = fit.model.domain
    whole = pair_weights(domain, fit.model.interactions)
    found = np.array([_compare(whole, weights_of(domain, result)) for result in results])
    edges, strength = found.T.reshape(2, len(shares), n)
    return Stability(fit, tuple(float(share) for share in shares), edges, strength, Ends.of(results))


def _compare(whole: Matrix, part: Matrix) -> tuple[float, float]:
    """Return the correlations of the weights of all pairs, and of the strengths of all variables."""
    pairs = np.triu_indices(len(whole), 1)
    return correlate(whole[pairs], part[pairs]), correlate(np.abs(whole).sum(axis=1), np.abs(part).sum(axis=1))


def correlate(x: Values, y: Values) -> float:
    """Return the correlation of two variables; zero, as in bootnet, where one of them does not vary."""
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else 0.0
