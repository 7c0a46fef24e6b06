"""Main effects that are penalised, of a model without edges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from sparsefield._typing import Matrix, Values
from sparsefield.model import sum_once
from sparsefield.objective import L1, Features, Group, Quadratic, backtrack

# Newton's steps double the digits of the main effects; they end where the objective falls no further than rounding.
_MOST_STEPS, _MOST_HALVINGS, _MOST_EPOCHS = 100, 40, 1000
_PRECISE, _ROUNDING = 1e-13, 1e-15


class MainEffects:
    """Frequencies of levels where main effects, and nothing else, are penalised.

    Newton steps minimise the sum over variables of c (log Z - h . observed) plus the penalty of their main effects h,
    with c the share of rows that show a variable: of missing cells a model expects its own frequencies.

    Parameters
    ----------
    penalty : L1 or Group
        The penalty; its alpha does not count.
    observed : ndarray of shape (n_slots,)
        Frequencies of levels, of the rows that show their variable.
    seen : ndarray of shape (n_slots,)
        The share of the rows that do.
    """

    def __init__(self, penalty: L1 | Group, observed: Values, seen: Values) -> None:
        assert isinstance(penalty.coordinates, Features)
        self._penalty, self._coordinates, self._domain = penalty, penalty.coordinates, penalty.domain
        self._shares = np.zeros(self._domain.n_variables)
        self._shares[self._domain.slot_variables] = seen
        self._target = self._coordinates.pull(np.diag(observed))
        self._theta = np.zeros((self._coordinates.size,) * 2)

    def means(self, alpha: float) -> Values:
        """Return the frequencies of levels with a penalty, (n_slots,), from where the last one left them."""
        penalty, indices = replace(self._penalty, alpha=alpha), np.arange(self._coordinates.size)

        def go(start: Matrix, move: Matrix, share: float) -> tuple[float, tuple[Matrix, Matrix, Matrix, Values]]:
            after = start + share * move
            loss, gradient, curvature, means = self._evaluate(after)
            return loss + penalty.value(after), (after, gradient, curvature, means)

        value, (theta, gradient, curvature, means) = go(self._theta, np.zeros_like(self._theta), 0.0)
        for _ in range(_MOST_STEPS):
            quadratic = Quadratic(indices, indices, curvature, 1.0, np.zeros(len(indices)), None)
            moves, _ = penalty.minimise(quadratic, theta, gradient, tol=_PRECISE, max_epochs=_MOST_EPOCHS)
            made = backtrack(partial(go, theta, np.diag(moves)), value + _ROUNDING * abs(value), _MOST_HALVINGS)
            if made is None:
                break
            last, (_, value, (theta, gradient, curvature, means)) = theta, made
            if np.abs(theta - last).max() <= _PRECISE:
                break
        self._theta = theta
        return np.asarray(means)

    def _evaluate(self, theta: Matrix) -> tuple[float, Matrix, Matrix, Values]:
        """Return the loss, its gradient and curvature in the main effects, and the frequencies of levels."""
        slots, domain = self._coordinates.to_slots(theta), self._domain
        main, variables = np.diagonal(slots), domain.slot_variables
        logs = np.zeros(domain.n_variables)
        for i in range(domain.n_variables):
            own = main[variables == i]
            logs[i] = logsumexp(own if domain.reference is None else np.append(own, 0.0)) if len(own) else 0.0
        means = np.exp(main - logs[variables])
        own = self._coordinates.pull(np.diag(means))
        scales = np.diag(self._shares[self._coordinates.variables])
        loss = float(self._shares @ logs) - sum_once(scales * theta * self._target)
        rows = self._coordinates.basis.rows.toarray()
        # The covariance of indicators of one variable, seen through the features.
        inner = np.where(variables[:, None] == variables, -np.outer(means, means), 0.0) + np.diag(means)
        curvature = np.sqrt(scales) @ (rows.T @ inner @ rows) @ np.sqrt(scales)
        return loss, scales * (own - self._target), curvature, means
