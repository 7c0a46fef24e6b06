"""Which pairs of variables have an edge: a rule that needs no draws, so that no seed decides."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sparsefield._deadline import OutOfTimeError
from sparsefield._typing import Mask
from sparsefield.data import Domain, Rows, count
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Features
from sparsefield.structure._design import Design
from sparsefield.structure._independence import Independence, judge_independence
from sparsefield.structure._nodes import Nodes
from sparsefield.structure._prior import FIRST_GUESS, EdgePrior
from sparsefield.structure._regression import Regression
from sparsefield.structure._search import Search

# With eight features a pair has 64 slopes, and a variable with ten neighbours a curvature of 640 x 640 numbers.
_MOST_FEATURES = 8

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
    said : str
        How the edges were found, where it was in another way.
    """

    domain: Domain
    is_edge: Mask
    model: PairwiseMRF
    independence: Independence
    prior: EdgePrior | None
    n: float
    is_whole: bool = True
    said: str = ""

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return int(np.count_nonzero(np.triu(self.is_edge, 1)))

    @property
    def ridge(self) -> float:
        """The strength of the ridge that is the prior of the weights: 1 / (n variance)."""
        return 0.0 if self.prior is None else 1 / (self.n * self.prior.variance)

    @property
    def support(self) -> Mask:
        """The interactions of the edges, (n_slots, n_slots)."""
        variables = self.domain.slot_variables
        return np.asarray(self.is_edge[variables[:, None], variables])

    def __str__(self) -> str:
        """Say how the edges were found, and what they cost."""
        if self.said:
            return self.said
        if self.prior is None and not self.is_whole:
            return "There was no time to look for edges: give more seconds, or an alpha."
        if self.prior is None:
            return (
                f"There is no edge: all variables may be independent (p = {self.independence.p_value:.2g} by the "
                f"strongest pair and by all pairs together, and {RISK} is asked for)."
            )
        if not self.n_edges:
            return (
                f"There is no edge: all variables are hardly independent (p = {self.independence.p_value:.2g}), but no "
                "pair is more probably joined than not."
            )
        found = (
            f"{count(self.n_edges, 'edge')}: given all the others, each is more probable than no edge. As the table "
            f"tells, {self.prior}."
        )
        return found if self.is_whole else f"{found} There was no time to find all of them: give more seconds."


def is_feasible(domain: Domain) -> bool:
    """Say whether the edges of such a table can be found: regressions hold the curvature of all slopes of a variable.

    Of variables without an order an edge has the product of their numbers of levels, less one each.
    """
    own = np.where(domain.is_ordered, 1, domain.n_levels - 1)
    return bool(own.max(initial=0) <= _MOST_FEATURES)


def find_structure(rows: Rows, *, n_threads: int | None = None) -> Structure:
    """Find the edges of a table.

    A pair has an edge where that is more probable than none, given all other edges, by the likelihoods of its two
    variables given their neighbours. What it takes depends on the table alone, and not on the order of its rows,
    columns or levels: no random number has a part in it.

    Parameters
    ----------
    rows : Rows
        Observations, some of which may be missing, and how often each counts.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    design = Design.of(rows.table, rows.counts)
    is_edge = np.zeros((design.n_variables,) * 2, dtype=bool)
    fits: Sequence[Regression] = [Regression.alone(variable) for variable in design.variables]
    independence, prior, is_whole = Independence(1.0), None, False
    with suppress(OutOfTimeError):
        nodes = Nodes(design, n_threads)
        independence = judge_independence(nodes)
        is_whole = independence.p_value >= RISK
        if not is_whole:
            search = Search(nodes)
            is_whole = search.run()
            prior = FIRST_GUESS if search.prior is None else search.prior
            is_edge, fits = nodes.support, nodes.fits
    return Structure(rows.table.domain, is_edge, _make_model(design, fits), independence, prior, design.n, is_whole)


def settle(rows: Rows, is_edge: Mask, *, said: str, n_threads: int | None = None) -> Structure:
    """Return edges that were found in another way, with the prior that they tell.

    Parameters
    ----------
    rows, n_threads
        As for `find_structure`.
    is_edge : ndarray of shape (n_variables, n_variables), bool
        The edges.
    said : str
        How they were found.
    """
    design = Design.of(rows.table, rows.counts)
    nodes = Nodes(design, n_threads)
    independence = judge_independence(nodes)
    pairs = [(i, j) for i, j in np.argwhere(np.triu(is_edge, 1)).tolist()]
    nodes.set_edges(pairs, are_there=True)
    if design.has_missing:
        nodes.fill()
    seen = nodes.look(pairs)
    squares, variances = np.array([own.square for own in seen]), np.array([own.variance for own in seen])
    degrees = design.degrees[np.triu(is_edge, 1)]
    prior = EdgePrior.of_edges(squares, degrees, variances, int(np.count_nonzero(np.triu(design.degrees, 1))))
    nodes.expect(prior.variance)
    model = _make_model(design, nodes.fits)
    return Structure(rows.table.domain, nodes.support, model, independence, prior, design.n, said=said)


def _make_model(design: Design, fits: Sequence[Regression]) -> PairwiseMRF:
    """Make a field of regressions: slopes in contrasts, and intercepts less what the means of neighbours add."""
    coordinates = Features(design.domain, "contrasts")
    basis = coordinates.basis
    theta = np.zeros((coordinates.size,) * 2)
    at = [np.flatnonzero((basis.variables == i) & basis.interacts) for i in range(design.n_variables)]
    for i, fit in enumerate(fits):
        own = design.variables[i]
        for j in fit.neighbours.tolist():
            slopes = own.axes @ fit.slopes_of(j) @ design.variables[j].axes.T / 2
            theta[np.ix_(at[i], at[j])] += slopes
            theta[np.ix_(at[j], at[i])] += slopes.T
    ends = np.cumsum(design.domain.n_levels)
    main = np.zeros(coordinates.size)
    for i, (fit, n_levels) in enumerate(zip(fits, design.domain.n_levels, strict=True)):
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
