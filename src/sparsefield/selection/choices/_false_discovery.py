"""Edges at a false discovery rate, as the edges of a fit."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from sparsefield._parameters import Parameters, parameters
from sparsefield.data import Rows
from sparsefield.fitting import Learner, Options
from sparsefield.pairs import Inference, Rate, check_rate, infer_table
from sparsefield.structure import Structure, settle


@parameters
class FalseDiscovery(Parameters):
    """Edges at a false discovery rate, as `infer` finds them: of these, at most this share is false in the mean.

    Weights are the most probable ones of these edges, with a normal prior, as where edges are found by default.
    Weights of rows that are not whole numbers are those of a survey.

    Parameters
    ----------
    fdr : float
        The share of false edges.
    rate : "bh", "by" or "holm"
        How p-values are adjusted: Benjamini and Hochberg's; Benjamini and Yekutieli's, whatever the dependence; or
        Holm's, which bounds the probability of any false edge.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> sf.SparseMRF(sf.FalseDiscovery(0.05)).fit(table).graph().number_of_edges()
    3
    """

    fdr: float = 0.1
    rate: Rate = "bh"

    def check(self, options: Options) -> None:
        """Refuse what is no rate, and a penalty beside it."""
        if not (isinstance(self.fdr, Real) and 0 < self.fdr < 1):
            raise ValueError(
                f"fdr is {self.fdr!r}: use a number between zero and one, such as 0.1 for one false edge in ten."
            )
        check_rate(self.rate)
        if options.penalty != "auto" or options.penalize_main:
            raise ValueError("fdr is for edges that no penalty chooses: leave penalty and penalize_main out.")

    def choose(self, learner: Learner, **_: Any) -> Structure:
        """Find the edges of a table."""
        asked, rows = learner.options, learner.rows
        self.check(asked)
        found = infer_table(
            rows.table,
            rows.weights,
            counts_rows=rows.counts_rows,
            fdr=float(self.fdr),
            rate=self.rate,
            n_threads=asked.n_threads,
        )
        return take_discoveries(rows, found, asked.n_threads)


def take_discoveries(rows: Rows, found: Inference, n_threads: int | None = None) -> Structure:
    """Return the pairs of which an inference from the same table says that they are edges, as the edges of a fit."""
    is_edge = np.zeros((rows.table.domain.n_variables,) * 2, dtype=bool)
    a, b = found.pairs[found.is_edge].T
    is_edge[a, b] = is_edge[b, a] = True
    return settle(rows, is_edge, said=str(found), n_threads=n_threads)
