"""Quadratic models of the pseudo-likelihood over a working set: which parameters they are about, and their minima."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._descent import descend_pairs
from sparsefield._typing import Mask, Matrix
from sparsefield.model import count_once, scatter
from sparsefield.objective import L1, Group, Quadratic, choose_active
from sparsefield.pseudolikelihood._loss import PseudoLikelihoodLoss, count_by_variable
from sparsefield.pseudolikelihood._policy import PseudoPolicy


class BlockModel:
    """The model in parameters of slots (`Slots`): a block of curvature for each conditional.

    Parameters
    ----------
    loss : PseudoLikelihoodLoss
        The smooth part.
    penalty : L1
        The penalty.
    policy : PseudoPolicy
        How large the model may be, and how far it is minimised.
    """

    def __init__(self, loss: PseudoLikelihoodLoss, penalty: L1 | Group, policy: PseudoPolicy) -> None:
        self._loss, self._penalty, self._policy = loss, penalty, policy
        self._variables = penalty.coordinates.variables

    def choose(self, theta: Matrix, violation: Matrix) -> Mask | None:
        """Choose a working set."""

        def fits(active: Mask) -> bool:
            return bool((count_by_variable(self._variables, active) ** 2).sum() <= self._policy.most_curvatures)

        return choose_active(theta, violation, fits)

    def minimise(self, theta: Matrix, gradient: Matrix, violation: Matrix, active: Mask) -> Matrix:
        """Return the move that minimises the model plus the penalty over the working set."""
        blocks, starts = self._loss.curvatures(theta, active)
        a, b = np.nonzero(np.triu(active))
        # Which row of the blocks of its two variables is a parameter's.
        variables = self._variables
        ends = np.cumsum(count_by_variable(variables, active))
        rows = np.cumsum(active).reshape(active.shape) - 1 - np.concatenate([[0], ends])[variables][:, None]
        pairs = np.column_stack([variables[a], rows[a, b], variables[b], rows[b, a]])
        given = theta[a, b], gradient[a, b], self._penalty.weights[a, b], blocks, starts
        tol = self._policy.inner_tol * np.abs(violation[a, b]).max(initial=0.0)
        return scatter(a, b, descend_pairs(pairs, *given, self._policy.most_epochs, tol), len(theta))


class FeatureModel:
    """The model in parameters of features (`Features`): one matrix.

    Parameters
    ----------
    loss : PseudoLikelihoodLoss
        The smooth part.
    penalty : L1 or Group
        The penalty.
    policy : PseudoPolicy
        How large the model may be, and how far it is minimised.
    """

    def __init__(self, loss: PseudoLikelihoodLoss, penalty: L1 | Group, policy: PseudoPolicy) -> None:
        self._loss, self._penalty, self._policy = loss, penalty, policy

    def choose(self, theta: Matrix, violation: Matrix) -> Mask | None:
        """Choose a working set; None where groups that are to be in it do not fit."""
        most, sizes = self._policy.most_active, self._penalty.sizes(violation)
        active = choose_active(theta, sizes, lambda some: count_once(some) <= most, self._penalty.groups)
        is_all = not np.any((theta != 0) & ~active) and count_once(theta) <= most // 2
        return active if is_all or self._penalty.groups is None else None

    def minimise(self, theta: Matrix, gradient: Matrix, violation: Matrix, active: Mask) -> Matrix:
        """Return the move that minimises the model plus the penalty over the working set."""
        a, b = np.nonzero(np.triu(active))
        quadratic = Quadratic(a, b, self._loss.feature_curvature(theta, a, b), 1.0, np.zeros(len(a)), None)
        tol, most = self._policy.inner_tol * np.abs(violation[a, b]).max(initial=0.0), self._policy.most_epochs
        moves, _ = self._penalty.minimise(quadratic, theta, gradient, tol=tol, max_epochs=most)
        return scatter(a, b, moves, len(theta))
