"""The pseudo-likelihood's solver: proximal Newton steps that need no sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._descent import descend_pairs
from sparsefield._typing import Matrix
from sparsefield.data import Domain, Moments, Table, Unseen, check_observed, count, find_unseen, weighted_moments
from sparsefield.fits import Fit, NewtonStep, Status, StepInfo
from sparsefield.model import PairwiseMRF, count_once, independent_theta, norm, scatter
from sparsefield.objective import L1, Group, PenaltyKind, Quadratic, Slots, choose_active, choose_penalty
from sparsefield.pseudolikelihood._accelerated import Accelerated
from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss
from sparsefield.pseudolikelihood._binary_solver import BinarySteps
from sparsefield.pseudolikelihood._loss import PseudoLikelihoodLoss, count_by_variable
from sparsefield.solvers import Limits, run, stalled
from sparsefield.solvers import WatchSteps as Watch

# The quadratic model holds at most so many entries at one time: 256 MiB in single precision, and 512 MiB in double
# precision, which is for tables of up to 2^18 cells.
_MOST_CURVATURES = 2**26

# In features the model is one matrix, 128 MiB with so many parameters. Where more than half of them differ from zero,
# there is no room for as many zeros, and gradient steps are made in place of Newton's.
_MOST_ACTIVE = 4096

# Gradient steps are about the pairs that interact and as many others, fifty at least, until the smallest subgradient
# over them is down to the share that quadratic models are minimised to, or for so many steps.
_FEWEST_PAIRS, _MOST_STEPS = 50, 200

# A quadratic model is solved to this share of the largest violation, in so many epochs at most, as in `_binary_steps`.
_MOST_EPOCHS, _INNER_TOL = 50, 0.05

# The last halving leaves 2^-29 = 2e-9 of a step, which moves parameters of order one by less than single precision.
_MOST_HALVINGS = 30


def solve_pseudo_likelihood(
    table: Table,
    alpha: float,
    *,
    penalty: PenaltyKind = "auto",
    penalize_main: bool = False,
    weights: NDArray[np.float64] | None = None,
    start: Matrix | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    began: float | None = None,
    moments: Moments | None = None,
    n_threads: int | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Minimise half the negative pseudo-log-likelihood plus a penalty, by proximal Newton steps.

    Each step minimises a quadratic model plus the penalty over a working set, by coordinate descent, and goes as far
    that way as the objective falls. The working set has the parameters that are not zero, and those zeros that violate
    optimality most. The penalty is alpha for an interaction and alpha / 2 for a main effect, whose gradient is halved
    too: a main effect is in one conditional only, an interaction in two. Where main effects are free, a level that no
    row shows counts as half a row (`Unseen`). It starts without interactions unless a start is given.

    The moments of the table, where somebody has counted them, and the number of threads are for binary variables; the
    result does not depend on either.
    """
    check_observed(table)
    limits = Limits(max_iter, tol, max_seconds, began)
    own = choose_penalty(table.domain, alpha, penalty, penalize_main=0.5 * penalize_main)
    is_free = bool(own.frees_main)
    unseen = find_unseen(table, weights, is_free=is_free)
    method: BinarySteps | _PseudoSteps
    if isinstance(own, L1) and table.domain.is_binary and own.coordinates.is_plain:
        if start is None and moments is None:
            moments = weighted_moments(table, weights)
        at = start if moments is None or start is not None else unseen.fill(moments)
        assert at is not None
        method = BinarySteps(BinaryPairLoss(table, weights, unseen, tol, n_threads), own, tol, at)
    else:
        method = _PseudoSteps.on_table(table, own, tol, weights, unseen, start)
    steps, status = run(method, limits, watch)
    status = replace(status, sentence=f"{status.sentence} {unseen}".rstrip())
    return Fit(method.model(table.domain), status, steps, penalty=type(own).__name__, penalize_main=penalize_main)


class _PseudoSteps:
    """Newton steps on the pseudo-likelihood of any table, one after the other."""

    def __init__(self, loss: PseudoLikelihoodLoss, penalty: L1 | Group, tol: float, start: Matrix | None) -> None:
        self._loss, self._penalty, self._tol = loss, penalty, tol
        self._coordinates = penalty.coordinates
        # Main effects first: without them every pair looks as if it interacted. Those that are free are known.
        self._is_ready = start is not None
        self.theta = np.zeros((self._coordinates.size,) * 2) if start is None else start
        self._at: tuple[float, Matrix] | None = None  # loss and gradient at theta
        self._n_made, self._is_stalled = 0, False
        self._step_size = 1.0  # of gradient steps

    @classmethod
    def on_table(
        cls,
        table: Table,
        penalty: L1 | Group,
        tol: float,
        weights: NDArray[np.float64] | None,
        unseen: Unseen,
        start: Matrix | None,
    ) -> _PseudoSteps:
        """Start on a table, without interactions unless a start is given."""
        own = np.ones(table.n_rows) if weights is None else weights
        loss = PseudoLikelihoodLoss(table, own, unseen, penalty.coordinates)
        if start is None and penalty.frees_main:
            start = independent_theta(table.domain, unseen.fill(loss.moments()).main)
        return cls(loss, penalty, tol, None if start is None else penalty.coordinates.of_slots(start))

    def model(self, domain: Domain) -> PairwiseMRF:
        """Return the field that the steps have led to."""
        slots = self._coordinates.to_slots(self.theta)
        main = np.diagonal(slots)
        return PairwiseMRF(domain, main, slots - np.diag(main))

    def advance(self) -> StepInfo:
        """Make one step."""
        value, gradient = self._loss.evaluate(self.theta) if self._at is None else self._at
        violation = self._penalty.subgradient(self.theta, gradient)
        active = self._choose_active(violation)
        if active is None:
            objective, share = self._descend_pairs(violation)
        else:
            move = self._solve_model(gradient, violation, active)
            objective, share = self._go(value + self._penalty.value(self.theta), move)
        _, gradient = (value, gradient) if self._at is None else self._at
        self._n_made += 1
        return NewtonStep(
            iteration=self._n_made,
            objective=objective,
            n_nonzero=count_once(self.theta),
            seconds=0.0,  # told by the loop
            reason="no sampling",
            subgradient_norm=norm(self._penalty.subgradient(self.theta, gradient)),
            share=share,
        )

    def _go(self, last: float, move: Matrix) -> tuple[float, float]:
        """Go as far along a move as the objective falls, or nowhere; return the objective and the share made."""
        for halvings in range(_MOST_HALVINGS):
            share = 0.5**halvings
            after = self.theta + share * move
            value, gradient = self._loss.evaluate(after)
            objective = value + self._penalty.value(after)
            if objective <= last + np.finfo(self._loss.dtype).eps * abs(last):
                self.theta, self._at = after, (value, gradient)
                return objective, share
        self._is_stalled = True
        return last, 0.0

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether the smallest subgradient vanished, or no step leads down any more."""
        left = steps[-1].violation
        if left > self._tol:
            return stalled(len(steps)) if self._is_stalled else None
        said = f"Converged in {count(len(steps), 'iteration')}: the smallest subgradient is down to {left:.2g}."
        return Status("converged", said)

    def _descend_pairs(self, violation: Matrix) -> tuple[float, float]:
        """Make gradient steps over some pairs of variables, where their parameters are too many for a quadratic model.

        They are those that interact, and as many of the others as violate optimality most.
        """
        penalty, variables = self._penalty, self._coordinates.variables
        assert isinstance(penalty, Group)
        held = np.triu(self.theta, 1) != 0
        sizes = np.triu(penalty.sizes(np.where(held, 0.0, violation)), 1)
        strength: dict[tuple[int, int], float] = {}
        for a, b in np.argwhere((sizes > 0) & ~held):
            pair = int(variables[a]), int(variables[b])
            strength[pair] = max(strength.get(pair, 0.0), float(sizes[a, b]))
        inside = {(int(variables[a]), int(variables[b])) for a, b in np.argwhere(held)}
        new = sorted(set(strength) - inside, key=strength.__getitem__, reverse=True)
        pairs = sorted(inside | set(new[: max(_FEWEST_PAIRS, len(inside))]))
        loss = self._loss.of_pairs(pairs, is_free=bool(penalty.frees_main))
        mains = np.flatnonzero(np.diff(variables, prepend=-1))  # those of a variable are one group
        weights = [np.diagonal(penalty.weights)[mains], self._weights_of(pairs)]
        steps = Accelerated(loss, np.concatenate([mains, loss.starts]), np.concatenate(weights))
        tol = max(0.5 * self._tol, _INNER_TOL * norm(violation))
        found, self._step_size = steps.run(loss.take(self.theta), tol, _MOST_STEPS, self._step_size)
        self.theta = loss.put(found, len(variables))
        self._at = self._loss.evaluate(self.theta)
        return self._at[0] + penalty.value(self.theta), 1.0

    def _weights_of(self, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Return what the norms of the interactions of pairs pay."""
        first = np.searchsorted(self._coordinates.variables, np.arange(self._loss.domain.n_variables))
        return np.array([self._penalty.weights[first[i], first[j]] for i, j in pairs], dtype=np.float64)

    def _choose_active(self, violation: Matrix) -> NDArray[np.bool_] | None:
        """Choose a working set; None where what it is to have does not fit."""
        if self._n_made == 0 and not self._is_ready:
            return np.eye(len(violation), dtype=bool)
        groups, sizes = self._penalty.groups, self._penalty.sizes(violation)
        if self._coordinates.is_plain:
            variables = self._coordinates.variables

            def fits(active: NDArray[np.bool_]) -> bool:
                return bool((count_by_variable(variables, active) ** 2).sum() <= _MOST_CURVATURES)

            return choose_active(self.theta, violation, fits)
        active = choose_active(self.theta, sizes, lambda some: count_once(some) <= _MOST_ACTIVE, groups)
        is_all = not np.any((self.theta != 0) & ~active) and count_once(self.theta) <= _MOST_ACTIVE // 2
        return active if is_all or not isinstance(self._penalty, Group) else None

    def _solve_model(self, gradient: Matrix, violation: Matrix, active: NDArray[np.bool_]) -> Matrix:
        """Return the move that minimises the quadratic model over the working set."""
        theta, weights = self.theta, self._penalty.weights
        if not isinstance(self._coordinates, Slots):
            return self._solve_features(gradient, violation, active)
        blocks, starts = self._loss.curvatures(theta, active)
        a, b = np.nonzero(np.triu(active))
        # Which row of the blocks of its two variables is a parameter's.
        variables = self._coordinates.variables
        ends = np.cumsum(count_by_variable(variables, active))
        rows = np.cumsum(active).reshape(active.shape) - 1 - np.concatenate([[0], ends])[variables][:, None]
        pairs = np.column_stack([variables[a], rows[a, b], variables[b], rows[b, a]])
        tol = _INNER_TOL * np.abs(violation[a, b]).max(initial=0.0)
        moves = descend_pairs(pairs, theta[a, b], gradient[a, b], weights[a, b], blocks, starts, _MOST_EPOCHS, tol)
        return scatter(a, b, moves, len(theta))

    def _solve_features(self, gradient: Matrix, violation: Matrix, active: NDArray[np.bool_]) -> Matrix:
        """Return the move that minimises the quadratic model of parameters of features."""
        a, b = np.nonzero(np.triu(active))
        curvature = self._loss.feature_curvature(self.theta, a, b)
        quadratic = Quadratic(a, b, curvature, 1.0, np.zeros(len(a)), None)
        tol = _INNER_TOL * np.abs(violation[a, b]).max(initial=0.0)
        moves, _ = self._penalty.minimise(quadratic, self.theta, gradient, tol=tol, max_epochs=_MOST_EPOCHS)
        return scatter(a, b, moves, len(self.theta))
