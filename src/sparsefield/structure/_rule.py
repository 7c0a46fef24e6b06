"""Which pairs of variables have an edge: a rule that needs no draws, so that no seed decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield._deadline import OutOfTimeError
from sparsefield.data import Domain, Table, count
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Features
from sparsefield.structure._design import Design
from sparsefield.structure._independence import Independence, judge_independence
from sparsefield.structure._nodes import Nodes
from sparsefield.structure._prior import FIRST_GUESS, EdgePrior
from sparsefield.structure._search import Search

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

# So many tables of independent variables may be given an edge.
RISK = 0.05


@dataclass(frozen=True, eq=False)
class Structure:
    """The edges of a table, and what they rest on.

    Parameters
    ----------
    domain : Domain
        The variables.
    is_edge : ndarray of shape (n_variables, n_variables), bool
        Whether a pair has an edge.
    model : PairwiseMRF
        The field of the regressions: weights are means of those from both ends of an edge.
    independence : Independence
        The test that all variables are independent.
    prior : EdgePrior or None
        How many edges there are, and how large, before one looks at a pair; None where variables may be independent.
    n : float
        How many rows there are, by their weights.
    is_whole : bool
        Whether the search came to its end; false where time was up.
    """

    domain: Domain
    is_edge: Mask
    model: PairwiseMRF
    independence: Independence
    prior: EdgePrior | None
    n: float
    is_whole: bool = True

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return int(np.count_nonzero(np.triu(self.is_edge, 1)))

    @property
    def support(self) -> Mask:
        """The interactions of the edges, (n_slots, n_slots)."""
        variables = self.domain.slot_variables
        return np.asarray(self.is_edge[variables[:, None], variables])

    def __str__(self) -> str:
        """Say how the edges were found, and what they cost."""
        if self.prior is None:
            return (
                f"There is no edge: all variables may be independent (p = {self.independence.p_value:.2g} by the "
                f"strongest pair and by all pairs together, and {RISK} is asked for)."
            )
        size = np.sqrt(self.prior.variance)
        ended = "" if self.is_whole else " There was no time to find all of them: give more seconds."
        return (
            f"{count(self.n_edges, 'edge').capitalize()}: each is more probable than none given all others, by what "
            f"the table tells of edges: {self.prior.share:.2g} of all pairs have one, with weights of about "
            f"{size:.2g} in size.{ended}"
        )


def find_structure(table: Table, weights: Values | None = None, *, n_threads: int | None = None) -> Structure:
    """Find the edges of a table.

    A pair has an edge where that is more probable than none, given all other edges, by the likelihoods of its two
    variables given their neighbours. What it takes depends on the table alone, and not on the order of its rows,
    columns or levels: no random number has a part in it.

    Parameters
    ----------
    table : Table
        Observations, some of which may be missing.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    design = Design.of(table, weights)
    nodes = Nodes(design, n_threads)
    independence = judge_independence(nodes)
    prior, is_whole = None, True
    if independence.p_value < RISK:
        search = Search(nodes)
        try:
            search.run()
        except OutOfTimeError:
            is_whole = False
        prior = FIRST_GUESS if search.prior is None else search.prior
    return Structure(table.domain, nodes.support, _make_model(nodes), independence, prior, design.n, is_whole)


def _make_model(nodes: Nodes) -> PairwiseMRF:
    """Make a field of regressions: slopes in contrasts, and intercepts less what the means of neighbours add."""
    design = nodes.design
    coordinates = Features(design.domain, "contrasts")
    basis = coordinates.basis
    theta = np.zeros((coordinates.size,) * 2)
    at = [np.flatnonzero((basis.variables == i) & basis.interacts) for i in range(design.n_variables)]
    for i, fit in enumerate(nodes.fits):
        own = design.variables[i]
        for j in fit.neighbours.tolist():
            slopes = own.axes @ fit.slopes_of(j) @ design.variables[j].axes.T / 2
            theta[np.ix_(at[i], at[j])] += slopes
            theta[np.ix_(at[j], at[i])] += slopes.T
    ends = np.cumsum(design.domain.n_levels)
    main = np.zeros(coordinates.size)
    for i, (fit, n_levels) in enumerate(zip(nodes.fits, design.domain.n_levels, strict=True)):
        levels = slice(ends[i] - n_levels, ends[i])
        # A level that no row shows is as rare as half a row of the rarest that some do.
        exponents = np.full(n_levels, fit.intercepts.min() - np.log(2))
        exponents[design.variables[i].levels] = fit.intercepts
        main += basis.inverse[:, levels] @ exponents
    means = np.zeros(coordinates.size)
    for i, own in enumerate(design.variables):
        means[at[i]] = own.means
    np.fill_diagonal(theta, main - theta @ means)
    return PairwiseMRF.of_theta(design.domain, coordinates.to_slots(theta))
