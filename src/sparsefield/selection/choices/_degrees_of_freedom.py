"""Degrees of freedom: how many parameters fits have, as their penalty has them, and how many choices these were."""

from __future__ import annotations

import numpy as np

from sparsefield._typing import Mask
from sparsefield.data import Table
from sparsefield.fits import Fit
from sparsefield.model import PairwiseMRF, as_theta, count_once
from sparsefield.objective import L1, Group, find_nonzero, make_penalty


def count_nonzero(fit: Fit) -> int:
    """Count the parameters of a fit that are not zero, those that its penalty is about where that is known."""
    penalty = make_penalty(fit.model.domain, 1.0, fit.penalty, bool(fit.penalize_main), fit.support)
    return count_once(as_theta(fit.model) if penalty is None else find_nonzero(penalty, fit.model))


class Parameters:
    """What fits of a table with a penalty have of parameters.

    Parameters
    ----------
    penalty : L1 or Group
        The penalty.
    table : Table
        The rows. Of a level that none of them shows nothing can be told: it adds nothing to the parameters of a group.
    """

    def __init__(self, penalty: L1 | Group, table: Table) -> None:
        self._penalty, domain = penalty, table.domain
        self._n_main = domain.n_slots - (domain.n_variables if domain.reference is None else 0)
        seen = np.array([len(np.unique(own[own < n])) for own, n in zip(table.codes.T, domain.n_levels, strict=True)])
        self._of_main = np.maximum(seen - 1, 0)
        self._of_edges = np.where(domain.is_ordered, np.minimum(self._of_main, 1), self._of_main)

    def count_interactions(self, model: PairwiseMRF) -> int:
        """Count the parameters of the interactions: of two variables, of all that their rows can tell."""
        if self._penalty.groups is None:
            return self.count_chosen(model)
        a, b = np.nonzero(np.triu(self._find_pairs(model), 1))
        return int((self._of_edges[a] * self._of_edges[b]).sum())

    def count_chosen(self, model: PairwiseMRF) -> int:
        """Count what the penalty chose one by one: interactions, or with groups pairs of variables."""
        return self._penalty.count_chosen(np.triu(find_nonzero(self._penalty, model), 1))

    def count_free(self, model: PairwiseMRF) -> int:
        """Count interactions and all main effects; without a reference, one of each variable follows from others."""
        return self._n_main + self.count_interactions(model)

    def count_at_both_ends(self, model: PairwiseMRF) -> int:
        """Count the parameters of regressions of all variables, where an edge has its own at each of its ends."""
        return self.count_free(model) + self.count_interactions(model)

    def count(self, model: PairwiseMRF) -> int:
        """Count the parameters that the rows chose: free main effects, also those that happen to be zero."""
        if self._penalty.frees_main:
            return self.count_free(model)
        if self._penalty.groups is not None:
            is_there = np.diagonal(self._find_pairs(model))
            return int(self._of_main[is_there].sum()) + self.count_interactions(model)
        return count_once(find_nonzero(self._penalty, model))

    def _find_pairs(self, model: PairwiseMRF) -> Mask:
        """Say which variables interact, (n_variables, n_variables), and on the diagonal which have main effects."""
        p, variables = model.domain.n_variables, self._penalty.coordinates.variables
        found = np.zeros((p, p), dtype=bool)
        a, b = np.nonzero(find_nonzero(self._penalty, model))
        found[variables[a], variables[b]] = True
        return found
