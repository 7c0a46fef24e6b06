"""The rival that needs no sampling: L1-penalised pseudo-likelihood, jointly over all variables."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sparsefield._domain import Domain
from sparsefield._kernels._descent import descend_pairs
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments
from sparsefield._problem import Matrix, Problem, choose_active
from sparsefield._result import Fit, Status, StepInfo
from sparsefield._table import Table
from sparsefield.certificates._certificate import norm

_ROWS_AT_ONCE = 8192  # whose indicators are held as floats at one time
_MOST_HELD = 2**28  # cells whose indicators are kept from one iteration to the next
_MOST_DOUBLE = 2**18  # cells that are computed with in double precision; in single precision beyond that
_MOST_CURVATURES = 2**26  # entries of the quadratic model that are held at one time
_MOST_EPOCHS, _INNER_TOL = 50, 0.05  # of a quadratic model: how far it is solved, as a share of the largest violation
_MOST_HALVINGS = 30

Floats = NDArray[np.floating[Any]]


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
        n_cells = table.n_rows * self.domain.n_slots
        self.dtype: type[np.floating[Any]] = np.float64 if n_cells <= _MOST_DOUBLE else np.float32
        self._table, self._weights = table, weights / weights.sum()
        self._held = list(self._make_rows()) if n_cells <= _MOST_HELD else None

    def _make_rows(self) -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, self._table.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            s = self.domain.indicators(self._table.codes[part]).T
            yield np.ascontiguousarray(s, dtype=self.dtype), self._weights[part].astype(self.dtype)

    def _rows(self) -> Iterable[tuple[Floats, Floats]]:
        """Return indicators (n_slots, rows) and weights (rows,), some rows at a time."""
        return self._make_rows() if self._held is None else self._held

    def evaluate(self, theta: Matrix) -> tuple[float, Matrix]:
        """Return the loss and its gradient."""
        size = self.domain.n_slots
        total, pairs, slopes = 0.0, np.zeros((size, size), dtype=self.dtype), np.zeros(size)
        for s, w in self._rows():
            fields = _fields(s, theta)
            chances, seen = _conditionals(fields, s, self.domain)
            total -= float(seen @ w)
            residuals = (chances - s) * w
            pairs += residuals @ s.T
            slopes += residuals.sum(axis=1, dtype=np.float64)
        gradient = (pairs + pairs.T).astype(np.float64) / 2
        # Inside a variable there is nothing to learn but the main effects.
        gradient[self.domain.slot_variables[:, None] == self.domain.slot_variables] = 0.0
        np.fill_diagonal(gradient, slopes / 2)
        return total / 2, gradient

    def curvatures(self, theta: Matrix, active: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the Hessian of each conditional in the parameters that are active, (n_slots, n_slots) and symmetric.

        Block i is about the fields of the slots of variable i: the parameters of their rows of `active`, row by row,
        where a slot's own place is its main effect. Blocks come by rows, one after the other, with their starts.
        """
        sizes = count_by_variable(self.domain, active)
        starts = np.concatenate([[0], np.cumsum(sizes**2)])
        blocks = np.zeros(starts[-1], dtype=self.dtype)
        slots = [np.flatnonzero(self.domain.slot_variables == i) for i in range(len(sizes))]
        members = [np.flatnonzero(row) for row in active]
        for s, w in self._rows():
            chances, _ = _conditionals(_fields(s, theta), s, self.domain)
            for i, own in enumerate(slots):
                block = blocks[starts[i] : starts[i + 1]].reshape(sizes[i], sizes[i])
                cuts = np.cumsum([0, *(len(members[a]) for a in own)])
                features = [s[members[a]] for a in own]
                for a, rows in zip(own, features, strict=True):
                    rows[members[a] == a] = 1
                # The Hessian of a logistic conditional in its fields is diag(q) - q q'.
                for (k, a), (m, b) in itertools.product(enumerate(own), repeat=2):
                    spread = chances[a] * ((a == b) - chances[b]) * w
                    part = block[cuts[k] : cuts[k + 1], cuts[m] : cuts[m + 1]]
                    part += (features[k] * spread) @ features[m].T
        return blocks, starts


def count_by_variable(domain: Domain, active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the parameters of `active` that are in the fields of each variable."""
    counts = np.zeros(domain.n_variables, dtype=np.int64)
    np.add.at(counts, domain.slot_variables, active.sum(axis=1))
    return counts


def _fields(s: Floats, theta: Matrix) -> Floats:
    main = np.diagonal(theta)
    return np.asarray((theta - np.diag(main)).astype(s.dtype) @ s + main.astype(s.dtype)[:, None])


def _conditionals(fields: Floats, s: Floats, domain: Domain) -> tuple[Floats, NDArray[np.float64]]:
    """Return P(slot | the others) for slots and rows, and the log-probability of each row: what was seen, given it."""
    if domain.is_binary:
        seen = np.logaddexp(0, np.where(s == 1, -fields, fields)).sum(axis=0, dtype=np.float64)
        return np.asarray(expit(fields)), -seen
    variables = domain.slot_variables
    starts = np.flatnonzero(np.diff(variables, prepend=-1))
    own = np.searchsorted(variables[starts], variables)  # the place of each slot's variable among those with slots
    floor = fields.dtype.type(-np.inf if domain.reference is None else 0.0)  # the field of the reference level
    top = np.maximum(np.maximum.reduceat(fields, starts, axis=0), floor)
    weights = np.exp(fields - top[own])
    totals = np.add.reduceat(weights, starts, axis=0) + np.exp(floor - top)
    seen = (s * fields).sum(axis=0, dtype=np.float64) - (top + np.log(totals)).sum(axis=0, dtype=np.float64)
    return weights / totals[own], seen


def solve_pseudo_likelihood(
    table: Table,
    alpha: float,
    *,
    penalize_main: bool = True,
    weights: NDArray[np.float64] | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
    watch: Callable[[StepInfo], None] | None = None,
) -> Fit:
    """Minimise half the negative pseudo-log-likelihood plus a penalty, by proximal Newton steps.

    Each step minimises a quadratic model plus the penalty over a working set, by coordinate descent, and goes as far
    that way as the objective falls. The working set has the parameters that are not zero, and those zeros that violate
    optimality most. The penalty is alpha for an interaction and alpha / 2 for a main effect, whose slope is halved too.
    """
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: use a whole number from one on.")
    size = table.domain.n_slots
    nothing = Moments(np.zeros(size), np.zeros((size, size)), table.n_rows)
    problem = Problem(nothing, table.domain, alpha, penalize_main)
    # A main effect is in one conditional only, so half the loss has half its slope: so has its penalty.
    np.fill_diagonal(problem.penalty, np.diagonal(problem.penalty) / 2)
    loss = PseudoLikelihoodLoss(table, np.ones(table.n_rows) if weights is None else weights)

    def fits(active: NDArray[np.bool_]) -> bool:
        return bool((count_by_variable(table.domain, active) ** 2).sum() <= _MOST_CURVATURES)

    clock = time.perf_counter()
    theta, steps = np.zeros((size, size)), list[StepInfo]()
    status = Status("max_iter", f"Stopped after max_iter = {max_iter} iterations: raise max_iter to go on.")
    try:
        value, gradient = loss.evaluate(theta)
        for k in range(1, max_iter + 1):
            violation = problem.violation(theta, gradient)
            # Main effects first: without them every pair looks as if it interacted.
            active = np.eye(size, dtype=bool) if k == 1 else choose_active(theta, violation, fits)
            move = _solve_model(problem, loss, theta, gradient, violation, active)
            last = value + problem.penalty_of(theta)
            for halvings in range(_MOST_HALVINGS):
                share = 0.5**halvings
                after = theta + share * move
                value, gradient = loss.evaluate(after)
                objective = value + problem.penalty_of(after)
                if objective <= last + np.finfo(loss.dtype).eps * abs(last):
                    break
            theta = after
            length = norm(problem.violation(theta, gradient))
            nonzero, seconds = int(np.count_nonzero(np.triu(theta))), time.perf_counter() - clock
            steps.append(
                StepInfo(k, 0, 0, None, None, False, length, 0.0, share, objective, nonzero, seconds, "no sampling")
            )
            if watch is not None:
                watch(steps[-1])
            if length <= tol:
                status = Status("converged", f"Converged in {k} iterations: the slope is down to {length:.2g}.")
                break
    except KeyboardInterrupt:
        status = Status("interrupted", f"Interrupted after {len(steps)} iterations: this is what there was by then.")
    return Fit(problem.model(theta), status, tuple(steps))


def _solve_model(
    problem: Problem,
    loss: PseudoLikelihoodLoss,
    theta: Matrix,
    gradient: Matrix,
    violation: Matrix,
    active: NDArray[np.bool_],
) -> Matrix:
    """Return the move that minimises the quadratic model over the working set."""
    blocks, starts = loss.curvatures(theta, active)
    a, b = np.nonzero(np.triu(active))
    # Where a parameter stands in the blocks of its two variables.
    variables = problem.domain.slot_variables
    ends = np.cumsum(count_by_variable(problem.domain, active))
    places = np.cumsum(active).reshape(active.shape) - 1 - np.concatenate([[0], ends])[variables][:, None]
    pairs = np.column_stack([variables[a], places[a, b], variables[b], places[b, a]])
    tol = _INNER_TOL * np.abs(violation[a, b]).max(initial=0.0)
    moves = descend_pairs(pairs, theta[a, b], gradient[a, b], problem.penalty[a, b], blocks, starts, _MOST_EPOCHS, tol)
    move = np.zeros_like(theta)
    move[a, b] = move[b, a] = moves
    return move


def pseudo_log_likelihood(model: PairwiseMRF, table: Table) -> float:
    """Return the mean over rows of the sum of the log-probabilities of each value given the others."""
    total = 0.0
    for i in range(model.domain.n_variables):
        rows = np.log(np.maximum(model.conditional(i, table.codes), 1e-300))
        total += float(rows[np.arange(table.n_rows), table.codes[:, i]].mean())
    return total
