"""The rival that needs no sampling: L1-penalised pseudo-likelihood, jointly over all variables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield._domain import Domain
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem, sum_once
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._table import Table
from sparsefield.certificates._certificate import norm

_ROWS_AT_ONCE = 8192  # whose indicators are held as floats at one time
_MOST_HELD = 2**30  # bytes of indicators that are kept from one iteration to the next


class PseudoLikelihoodLoss:
    """Half the mean negative pseudo-log-likelihood of a table without holes; theta is laid out as in `Problem`.

    The pseudo-likelihood of a row is the product of the probabilities of each value given the others. An interaction
    is in two of them. Half of it makes its gradient comparable with that of the likelihood, and so the penalty: where
    main effects are fitted and there are no interactions, the entries for interactions are the same.

    Parameters
    ----------
    table : Table
        Observations.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    """

    def __init__(self, table: Table, weights: NDArray[np.float64]) -> None:
        self.domain = table.domain
        self._table, self._weights = table, weights / weights.sum()
        is_small = 4 * table.n_rows * self.domain.n_slots <= _MOST_HELD
        self._held = list(self._make_rows()) if is_small else None

    def _make_rows(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        for start in range(0, self._table.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            s = self.domain.indicators(self._table.codes[part]).astype(np.float32)
            yield s, self._weights[part].astype(np.float32)

    def _rows(self) -> Iterable[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        return self._make_rows() if self._held is None else self._held

    def value(self, theta: Matrix) -> float:
        """Return the loss."""
        total = 0.0
        for s, w in self._rows():
            total -= float(w @ _conditionals(_fields(s, theta), s, self.domain)[1])
        return total / 2

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient, in single precision."""
        size = self.domain.n_slots
        pairs, slopes = np.zeros((size, size), dtype=np.float32), np.zeros(size)
        for s, w in self._rows():
            residuals = (_conditionals(_fields(s, theta), s, self.domain, likelihood=False)[0] - s) * w[:, None]
            pairs += s.T @ residuals
            slopes += residuals.sum(axis=0, dtype=np.float64)
        gradient = (pairs + pairs.T).astype(np.float64) / 2
        # Inside a variable there is nothing to learn but the main effects.
        gradient[self.domain.slot_variables[:, None] == self.domain.slot_variables] = 0.0
        np.fill_diagonal(gradient, slopes / 2)
        return gradient

    def largest_curvature(self) -> float:
        """Bound the largest eigenvalue of the Hessian.

        A conditional probability has a curvature of at most 1/4 (1/2 with more than two levels) in its fields, and the
        fields are the indicators, with a constant, times the parameters: that times the largest eigenvalue of their
        second moments, halved as the loss is, and doubled since an interaction is in two conditionals.
        """
        size = self.domain.n_slots
        second = np.zeros((size + 1, size + 1))
        for s, w in self._rows():
            one = np.column_stack([s, np.ones(len(s), dtype=np.float32)])
            second += (one.T * w) @ one
        share = 0.25 if self.domain.is_binary else 0.5
        return share * float(np.linalg.eigvalsh(second)[-1])


def _fields(s: NDArray[np.float32], theta: Matrix) -> NDArray[np.float32]:
    main = np.diagonal(theta)
    return np.asarray(s @ (theta - np.diag(main)).astype(np.float32) + main.astype(np.float32))


def _conditionals(
    fields: NDArray[np.float32], s: NDArray[np.float32], domain: Domain, *, likelihood: bool = True
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return P(slot | the others) for each row, and the sum of the log-probabilities of what was seen, if wanted."""
    if domain.is_binary:
        seen = -np.logaddexp(0.0, np.where(s == 1, -fields, fields)).sum(axis=1) if likelihood else np.zeros(0)
        return np.asarray(expit(fields)), seen
    variables = domain.slot_variables
    starts = np.flatnonzero(np.diff(variables, prepend=-1))
    own = np.searchsorted(variables[starts], variables)  # the place of each slot's variable among those with slots
    floor = -np.inf if domain.reference is None else 0.0  # the field of the reference level
    top = np.maximum(np.maximum.reduceat(fields, starts, axis=1), floor)
    weights = np.exp(fields - top[:, own])
    totals = np.add.reduceat(weights, starts, axis=1) + np.exp(floor - top)
    log_likelihood = (s * fields).sum(axis=1) - (top + np.log(totals)).sum(axis=1)
    return weights / totals[:, own], log_likelihood


def solve_pseudo_likelihood(
    table: Table,
    alpha: float,
    *,
    penalize_main: bool = True,
    weights: NDArray[np.float64] | None = None,
    max_iter: int = 2000,
    tol: float = 1e-4,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Minimise half the negative pseudo-log-likelihood plus a penalty, by accelerated proximal gradients.

    The penalty is alpha for an interaction and alpha / 2 for a main effect, whose slope is halved too. Momentum starts
    anew when it points uphill (Beck and Teboulle 2009; O'Donoghue and Candes 2015).
    """
    size = table.domain.n_slots
    nothing = Moments(np.zeros(size), np.zeros((size, size)), table.n_rows)
    problem = Problem(nothing, table.domain, alpha, penalize_main)
    # A main effect is in one conditional only, so half the loss has half its slope: so has its penalty.
    np.fill_diagonal(problem.penalty, np.diagonal(problem.penalty) / 2)
    loss = PseudoLikelihoodLoss(table, np.ones(table.n_rows) if weights is None else weights)
    theta = ahead = np.zeros((size, size))
    step_size, momentum = 1 / max(loss.largest_curvature(), 1e-12), 1.0
    clock = time.perf_counter()
    steps: list[StepInfo] = []
    status = Status("max_iter", f"Stopped after max_iter = {max_iter} iterations: raise max_iter to go on.")
    for k in range(1, max_iter + 1):
        after = problem.update(ahead, loss.gradient(ahead), step_size)
        length = norm(after - ahead) / step_size
        nonzero, seconds = int(np.count_nonzero(np.triu(after))), time.perf_counter() - clock
        steps.append(StepInfo(k, 0, 0, None, False, length, 0.0, step_size, None, nonzero, seconds, "no sampling"))
        if watch is not None:
            watch(steps[-1])
        is_uphill = sum_once((ahead - after) * (after - theta)) > 0
        following = 1.0 if is_uphill else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after if is_uphill else after + (momentum - 1) / following * (after - theta)
        theta, momentum = after, following
        if length <= tol:
            status = Status("converged", f"Converged in {k} iterations: the step map is down to {length:.2g}.")
            break
    return Fit(problem.model(theta), status, tuple(steps))


def pseudo_log_likelihood(model: PairwiseMRF, table: Table) -> float:
    """Return the mean over rows of the sum of the log-probabilities of each value given the others."""
    total = 0.0
    for i in range(model.domain.n_variables):
        rows = np.log(np.maximum(model.conditional(i, table.codes), 1e-300))
        total += float(rows[np.arange(table.n_rows), table.codes[:, i]].mean())
    return total
