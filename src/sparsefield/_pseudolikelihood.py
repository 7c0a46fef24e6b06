"""The rival that needs no sampling: L1-penalised pseudo-likelihood, jointly over all variables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield._domain import Domain
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem, sum_once
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._table import Table
from sparsefield.certificates._certificate import norm

_ROWS_AT_ONCE = 8192  # whose indicators are held as floats at one time


def pseudo_likelihood(theta: Matrix, table: Table, weights: NDArray[np.float64]) -> tuple[float, Matrix]:
    """Return half the mean negative pseudo-log-likelihood and its gradient, theta laid out as in `Problem`.

    The pseudo-likelihood of a row is the product of the probabilities of each value given the others. An interaction
    is in two of them. Half of it makes its gradient comparable with that of the likelihood, and so the penalty: without
    interactions the two gradients are the same. Main effects count in full.
    """
    domain = table.domain
    main, interactions = np.diagonal(theta), theta - np.diag(np.diagonal(theta))
    value, gradient = 0.0, np.zeros_like(theta)
    slopes = np.zeros(domain.n_slots)
    for s, w in _rows(table, weights):
        fields = s @ interactions + main
        probabilities, log_likelihood = _conditionals(fields, s, domain)
        residuals = (probabilities - s) * w[:, None]
        value -= float(w @ log_likelihood)
        gradient += s.T @ residuals
        slopes += residuals.sum(axis=0)
    gradient = (gradient + gradient.T) / 2
    # Inside a variable there is nothing to learn but the main effects.
    gradient[domain.slot_variables[:, None] == domain.slot_variables] = 0.0
    np.fill_diagonal(gradient, slopes / 2)
    total = weights.sum()
    return value / total / 2, gradient / total


def _rows(table: Table, weights: NDArray[np.float64]) -> Iterator[tuple[Matrix, NDArray[np.float64]]]:
    for start in range(0, table.n_rows, _ROWS_AT_ONCE):
        yield (
            table.domain.indicators(table.codes[start : start + _ROWS_AT_ONCE]),
            weights[start : start + _ROWS_AT_ONCE],
        )


def _conditionals(fields: Matrix, s: Matrix, domain: Domain) -> tuple[Matrix, NDArray[np.float64]]:
    """Return P(slot | the others) for each row, and the sum of the log-probabilities of what was seen."""
    if domain.is_binary:
        return np.asarray(expit(fields)), -np.logaddexp(0.0, np.where(s == 1, -fields, fields)).sum(axis=1)
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
    max_iter: int = 1000,
    tol: float = 1e-5,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Minimise half the negative pseudo-log-likelihood plus alpha ||theta||_1, by accelerated proximal gradients.

    Momentum starts anew when it points uphill, and the step size is halved when it is too long (Beck and Teboulle 2009;
    O'Donoghue and Candes 2015).
    """
    domain = table.domain
    size = domain.n_slots
    weights = np.ones(table.n_rows) if weights is None else weights
    problem = Problem(Moments(np.zeros(size), np.zeros((size, size)), table.n_rows), domain, alpha, penalize_main)
    theta = ahead = np.zeros((size, size))
    step_size, momentum = 1.0, 1.0
    clock = time.perf_counter()
    steps: list[StepInfo] = []
    status = Status("max_iter", f"Stopped after max_iter = {max_iter} iterations: raise max_iter to go on.")
    for k in range(1, max_iter + 1):
        value, gradient = pseudo_likelihood(ahead, table, weights)
        while True:
            after = problem.update(ahead, gradient, step_size)
            moved = after - ahead
            limit = value + sum_once(gradient * moved) + norm(moved) ** 2 / (2 * step_size)
            if step_size < 1e-12 or pseudo_likelihood(after, table, weights)[0] <= limit + 1e-12 * abs(limit):
                break
            step_size /= 2
        length = norm(moved) / step_size
        objective = value + sum_once(problem.penalty * np.abs(ahead))
        nonzero = int(np.count_nonzero(np.triu(after)))
        seconds = time.perf_counter() - clock
        info = StepInfo(k, 0, 0, None, False, length, 0.0, step_size, objective, nonzero, seconds, "no sampling")
        steps.append(info)
        if watch is not None:
            watch(info)
        is_uphill = sum_once((ahead - after) * (after - theta)) > 0
        following = 1.0 if is_uphill else (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after if is_uphill else after + (momentum - 1) / following * (after - theta)
        theta, momentum = after, following
        if length <= tol:
            status = Status("converged", f"Converged in {k} iterations: the step map is down to {length:.2g}.")
            break
    return Fit(problem.model(theta), status, tuple(steps))
