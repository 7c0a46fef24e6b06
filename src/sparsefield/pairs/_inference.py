"""What a table tells of every pair of its variables, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from scipy.stats import norm

from sparsefield._typing import Index, Mask, Values
from sparsefield.data import Domain, count
from sparsefield.model import has_sign
from sparsefield.pairs._design_effects import Sample
from sparsefield.pairs._fits import PairFit, fit_pairs
from sparsefield.pairs._pair_rows import PairRows
from sparsefield.pairs._rates import RATES, Rate
from sparsefield.pairs._shrunken import Shrunken
from sparsefield.pairs._writing import as_level, as_q

# A pair whose rows would miss even this weight more than once in five times cannot be told: an odds ratio of 55.
UNTOLD = 4.0

_SAME = 0.99  # a correlation of columns that say the same, but for a few rows

_MOST_NUMBERS = 2**27  # one for each edge and each row: 1 GiB


@dataclass(frozen=True, eq=False)
class Inference:
    """How sure every pair is: an estimate, an interval, a p-value and a q-value, and which pairs are edges at a rate.

    Weights are those of `edge_table`: interactions where both variables have two levels (log odds ratios given all
    others), in general four times the root mean square of the interactions of their levels in the zero-sum gauge.

    Parameters
    ----------
    domain : Domain
        The variables.
    pairs : ndarray of shape (n_pairs, 2)
        All pairs.
    estimate, error, low, high : ndarray of shape (n_pairs,)
        The weight, which is almost unbiased, its standard error, and the ends of its interval; nan where a variable is
        constant.
    p_value, q_value : ndarray of shape (n_pairs,)
        The p-value of no edge; the least false discovery rate at which the pair is an edge.
    detectable : ndarray of shape (n_pairs,)
        The weight that such a table would find four times out of five.
    degrees : ndarray of shape (n_pairs,)
        How many interactions the pair has.
    fdr, rate, level : float, str and float
        What was asked for: the false discovery rate, of which kind, and the level of the intervals.
    n_rows : int
        How many rows the table has.
    n_effective : float
        How many independent rows of equal weight would tell as much, by the weights alone.
    design_effect : float
        How much larger variances are, in the median, by weights, clusters and missing cells.
    n_clusters : int or None
        How many clusters rows come in.
    rows : PairRows
        The rows, for `nodes`, `total` and `differences`.
    sample : Sample or None
        Which rows belong together, where they are weighted or in clusters.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> found = sf.infer(table)
    >>> found.edges.select("first", "second").rows()
    [('x3', 'x5'), ('x1', 'x5'), ('x0', 'x3')]
    >>> found.describe("x1", "x2").split(";")[1]
    ' one of 0.55 would have been found four times out of five.'
    """

    domain: Domain
    pairs: Index
    estimate: Values
    error: Values
    low: Values
    high: Values
    p_value: Values
    q_value: Values
    detectable: Values
    degrees: Index
    fdr: float
    rate: Rate
    level: float
    n_rows: int
    n_effective: float
    design_effect: float
    n_clusters: int | None
    rows: PairRows = field(repr=False)
    sample: Sample | None = field(default=None, repr=False)

    @property
    def is_edge(self) -> Mask:
        """Which pairs are edges at the rate that was asked for."""
        return np.asarray(self.q_value <= self.fdr)

    @property
    def is_told(self) -> Mask:
        """Of which pairs the rows can tell whether there is an edge."""
        return np.asarray(self.is_edge | (self.detectable <= UNTOLD))

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return int(self.is_edge.sum())

    @cached_property
    def index(self) -> dict[frozenset[str], int]:
        """The place of each pair, by its names."""
        names = self.domain.names
        return {frozenset((names[i], names[j])): k for k, (i, j) in enumerate(self.pairs.tolist())}

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each pair, those with the smallest p-values first.

        `estimate`, `low` and `high`: the weight and its interval; `p` and `q`; `edge`: whether q is at most the rate
        asked for; `detectable`: the weight that would be found four times out of five; and `verdict`, in words: "edge",
        "none found" or "cannot be told".
        """
        order = np.lexsort([-np.abs(np.nan_to_num(self.estimate)), np.nan_to_num(self.p_value, nan=2.0)])
        names = np.array(self.domain.names, dtype=object)
        verdict = np.where(self.is_edge, "edge", np.where(self.is_told, "none found", "cannot be told"))
        frame = pl.DataFrame(
            {
                "first": pl.Series(names[self.pairs[order, 0]].tolist(), dtype=pl.String),
                "second": pl.Series(names[self.pairs[order, 1]].tolist(), dtype=pl.String),
                "estimate": self.estimate[order],
                "low": self.low[order],
                "high": self.high[order],
                "p": self.p_value[order],
                "q": self.q_value[order],
                "edge": self.is_edge[order],
                "detectable": self.detectable[order],
                "verdict": pl.Series(verdict[order].tolist(), dtype=pl.String),
            }
        )
        return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).with_columns(
            pl.when(pl.col("detectable").is_finite()).then(pl.col("detectable")).alias("detectable")
        )

    @property
    def edges(self) -> pl.DataFrame:
        """The rows of `table` that are edges."""
        return self.table.filter("edge")

    def describe(self, first: str, second: str) -> str:
        """Say in a sentence what the rows tell of a pair.

        Parameters
        ----------
        first, second : str
            The variables.
        """
        a, b = self.domain.index_of(first), self.domain.index_of(second)
        if a == b:
            raise ValueError(f"{first!r} is given twice: a pair has two different variables.")
        k = self.index[frozenset((first, second))]
        q = f"q = {as_q(self.q_value[k])}".replace("= <", "< ")
        if not self.is_told[k]:
            return f"Whether {first} and {second} are related cannot be told from these rows: {self._excuse(k)}."
        if self.is_edge[k]:
            form = "+.2f" if has_sign(self.domain)[a, b] else ".2f"
            low, high = format(self.low[k], form), format(self.high[k], form)
            return (
                f"{first} and {second} have an edge of {self.estimate[k]:{form}} ({as_level(self.level)} interval "
                f"{low} to {high}; {q})."
            )
        return (
            f"No edge was found between {first} and {second} ({q}); one of "
            f"{self.detectable[k]:.2g} would have been found four times out of five."
        )

    def _excuse(self, k: int) -> str:
        """Say why a pair cannot be told."""
        i, j = self.pairs[k].tolist()
        for v in (i, j):
            if not self.rows.design.sizes[v]:
                return f"all of them have the same {self.domain.names[v]}"
        if self.rows.design.n_together[i, j] == 0:
            return "none of them shows both"
        likeness, sizes = self.rows.likeness, self.rows.design.sizes
        if likeness[i, j] > _SAME:
            repeats = sizes[i] == sizes[j] == 1
            return "the two columns repeat each other" if repeats else "their levels go together nearly always"
        for v in (i, j):
            twin = int(np.argmax(np.where(np.arange(len(likeness)) == v, 0.0, likeness[v])))
            if likeness[v, twin] > _SAME:
                first, second = self.domain.names[v], self.domain.names[twin]
                if sizes[v] == sizes[twin] == 1:
                    return f"{first} repeats {second}"
                return f"levels of {first} and {second} go together nearly always"
        return f"even a weight of {UNTOLD:g} could easily be missed, because answers that go together are too rare"

    @property
    def sentence(self) -> str:
        """How many edges there are, how many of them are false, and of how many pairs nothing can be told."""
        n_untold = int((~self.is_told).sum())
        told = "" if not n_untold else f" Of {count(n_untold, 'pair')} nothing can be told."
        if not self.n_edges:
            return f"No pair is an edge at a {RATES[self.rate].split(' (')[0]} of {self.fdr:g}.{told}"
        pairs = f"{count(self.n_edges, 'edge')} among {count(len(self.pairs), 'pair')}"
        if self.rate == "holm":
            return f"{pairs}; the probability that any of them is false is at most {self.fdr:g}.{told}"
        false = self.fdr * self.n_edges
        some = "at most one is" if false <= 1 else "about one at most is"
        if false >= 1.5:
            some = f"about {false:.0f} at most are"
        return f"{pairs}, of which {some} expected to be false (false discovery rate {self.fdr:g}).{told}"

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Inference: {self.sentence}>"

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """The strength of each node, the sum of absolute weights of its edges, and its influence, the sum with signs.

        They are about the edges that were found: what pairs without one add is not known. Edges are found where
        estimates are large, so that their sum is too large in the mean: these are the sums of what is expected of the
        weights, given what all pairs tell of how large weights are, each with its interval. A node without an edge has
        no interval.
        """
        ends, p, n = self.pairs[self.is_edge], self.domain.n_variables, self.n_edges
        z = float(norm.isf((1 - self.level) / 2))
        degree = np.bincount(ends.ravel(), minlength=p)
        member = np.zeros((p, n))
        for side in ends.T:
            member[side, np.arange(n)] = 1.0
        columns: dict[str, Values] = {}
        for name, (values, covariance) in (("strength", self._sizes), ("influence", self._expected)):
            value = member @ values
            squared = np.maximum(np.einsum("ik,kl,il->i", member, covariance, member), 0.0)
            error = np.where(degree > 0, np.sqrt(squared), np.nan)
            columns |= {name: value, f"{name}_low": value - z * error, f"{name}_high": value + z * error}
        columns["strength_low"] = np.maximum(columns["strength_low"], 0.0)
        found = pl.DataFrame({"node": list(self.domain.names), "edges": degree, **columns})
        return found.with_columns(pl.col(pl.Float64).fill_nan(None))

    @property
    def total(self) -> tuple[float, float, float]:
        """The sum of the absolute weights of the edges that were found, and the ends of its interval: see `nodes`."""
        sizes, covariance = self._sizes
        value = float(sizes.sum())
        reach = float(norm.isf((1 - self.level) / 2) * np.sqrt(max(0.0, float(covariance.sum()))))
        return value, max(0.0, value - reach), value + reach

    def differences(self, edges: Sequence[tuple[str, str]] | None = None) -> pl.DataFrame:
        """Compare the weights of edges, two by two.

        Parameters
        ----------
        edges : sequence of pairs of names, optional
            The edges to compare, any pairs; those found unless given, strongest first.

        Returns
        -------
        polars.DataFrame
            For each two edges, `first` - `second` and `other_first` - `other_second`: the `difference` of their
            weights, `low` and `high`, and `p`. Nothing corrects for the number of comparisons.
        """
        if edges is None:
            places = np.flatnonzero(self.is_edge)
            places = places[np.argsort(-np.abs(self.estimate[places]), kind="stable")]
        else:
            for pair in edges:
                if len(pair) != 2 or frozenset(pair) not in self.index:
                    raise ValueError(f"edges has {pair!r}: use pairs of two different names of variables.")
            places = np.array([self.index[frozenset(pair)] for pair in edges], dtype=np.int64)
        covariance = self._find_covariance(places)
        a, b = np.triu_indices(len(places), 1)
        weights = self.estimate[places]
        difference = weights[a] - weights[b]
        error = np.sqrt(np.maximum(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b], 1e-300))
        z = float(norm.isf((1 - self.level) / 2))
        names = np.array(self.domain.names, dtype=object)
        columns = {
            name: pl.Series(names[self.pairs[places[own], side]].tolist(), dtype=pl.String)
            for own, side, name in ((a, 0, "first"), (a, 1, "second"), (b, 0, "other_first"), (b, 1, "other_second"))
        }
        return pl.DataFrame(
            {
                **columns,
                "difference": difference,
                "low": difference - z * error,
                "high": difference + z * error,
                "p": 2 * norm.sf(np.abs(difference) / error),
            }
        )

    @cached_property
    def _sizes(self) -> tuple[Values, Values]:
        """What is expected of the absolute weights of the edges, and their covariance."""
        own = self._shrunken
        signs = np.sign(self.estimate[self.is_edge])
        return own.size, self._share_errors(own.share * signs, own.size_variance)

    @cached_property
    def _expected(self) -> tuple[Values, Values]:
        """What is expected of the weights of the edges, and their covariance."""
        return self._shrunken.mean, self._share_errors(self._shrunken.share, self._shrunken.variance)

    @cached_property
    def _shrunken(self) -> Shrunken:
        """What is expected of the weights of the edges, given all pairs."""
        known = np.flatnonzero(self.degrees > 0)
        found = Shrunken.of(self.estimate[known], self.error[known], self.p_value[known])
        return found.take(self.is_edge[known])

    def _share_errors(self, shares: Values, variances: Values) -> Values:
        """Return the covariance of what is expected of edges: of each its variance, of two what estimates share."""
        found = shares[:, None] * self._moves * shares
        np.fill_diagonal(found, variances)
        return np.asarray(found)

    @cached_property
    def _moves(self) -> Values:
        """The covariance of the estimates of the edges."""
        return self._find_covariance(np.flatnonzero(self.is_edge))

    def _find_covariance(self, places: Index) -> Values:
        """Return the covariance of the weights of some pairs.

        Standard errors are those of the pairs, and correlations those of what rows move weights by.
        """
        n = len(self.rows.design.counts)
        if n * len(places) > _MOST_NUMBERS:
            raise ValueError(
                f"{len(places)} edges and {n} rows are too many for what edges have in common: compare fewer edges "
                "(differences), or infer from a sample of the rows."
            )
        moved = np.zeros((len(places), n))

        def use(k: int, fit: PairFit) -> None:
            i, j = self.pairs[places[k]].tolist()
            theta, moves = fit.both.theta, fit.both.moves
            assert moves is not None
            scale = self.rows.kinds.scale(i, j)
            if len(theta) == 1:
                moved[k] = np.sqrt(scale[0, 0]) * moves[0]
            else:
                moved[k] = (scale @ theta) @ moves / max(float(np.sqrt(theta @ scale @ theta)), 1e-300)

        if (self.degrees[places] == 0).any():
            raise ValueError("A pair of which one variable is constant has no weight: leave it out.")
        fit_pairs(self.rows, self.pairs[places], use, z_ends=np.zeros(len(places)), with_moves=True)
        if self.sample is None:
            moved /= np.sqrt(self.rows.design.counts)  # equal rows are one here, which moves as many times as much
        else:
            moved = self.sample.sum(moved.T).T
        size = np.sqrt((moved**2).sum(axis=1))
        moved /= np.maximum(size, 1e-300)[:, None]
        return np.asarray(moved @ moved.T * np.outer(self.error[places], self.error[places]))
