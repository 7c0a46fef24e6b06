"""The pseudo-likelihood's solver: proximal Newton steps that need no sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix, Values
from sparsefield.data import Domain, Moments, Table, Unseen, check_observed, find_unseen, weighted_moments
from sparsefield.fits import Fit, StepInfo
from sparsefield.model import PairwiseMRF, count_once, independent_theta, norm
from sparsefield.objective import L1, Group, PenaltyKind, choose_penalty, pick_largest
from sparsefield.pseudolikelihood._accelerated import Accelerated
from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss
from sparsefield.pseudolikelihood._binary_solver import BinarySteps
from sparsefield.pseudolikelihood._loss import PseudoLikelihoodLoss
from sparsefield.pseudolikelihood._policy import PSEUDO, PseudoPolicy
from sparsefield.pseudolikelihood._quadratic_models import BlockModel, FeatureModel
from sparsefield.pseudolikelihood._steps import Steps
from sparsefield.solvers import Limits, run
from sparsefield.solvers import WatchSteps as Watch


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
    policy: PseudoPolicy = PSEUDO,
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
    method: Steps
    if isinstance(own, L1) and table.domain.is_binary:
        if start is None and moments is None:
            moments = weighted_moments(table, weights)
        at = start if moments is None or start is not None else unseen.fill(moments)
        assert at is not None
        loss = BinaryPairLoss(table, weights, unseen, tol, n_threads, policy)
        method = BinarySteps(loss, own, tol, at, policy)
    else:
        method = _PseudoSteps.on_table(table, own, tol, weights, unseen, start, policy)
    steps, status = run(method, limits, watch)
    status = replace(status, sentence=f"{status.sentence} {unseen}".rstrip())
    return Fit(method.model(table.domain), status, steps, penalty=type(own).__name__, penalize_main=penalize_main)


class _PseudoSteps(Steps):
    """Newton steps on the pseudo-likelihood of any table, one after the other."""

    def __init__(
        self, loss: PseudoLikelihoodLoss, penalty: L1 | Group, tol: float, start: Matrix | None, policy: PseudoPolicy
    ) -> None:
        super().__init__(tol, loss.dtype, policy)
        self._loss, self._penalty = loss, penalty
        self._coordinates = penalty.coordinates
        self._quadratic = (BlockModel if self._coordinates.is_plain else FeatureModel)(loss, penalty, policy)
        # Main effects first: without them every pair looks as if it interacted. Those that are free are known.
        self._is_ready = start is not None
        self.theta = np.zeros((self._coordinates.size,) * 2) if start is None else start
        self._at: tuple[float, Matrix] | None = None  # loss and gradient at theta
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
        policy: PseudoPolicy,
    ) -> _PseudoSteps:
        """Start on a table, without interactions unless a start is given."""
        own = np.ones(table.n_rows) if weights is None else weights
        loss = PseudoLikelihoodLoss(table, own, unseen, penalty.coordinates, policy)
        if start is None and penalty.frees_main:
            start = independent_theta(table.domain, unseen.fill(loss.moments()).main)
        return cls(loss, penalty, tol, None if start is None else penalty.coordinates.of_slots(start), policy)

    def model(self, domain: Domain) -> PairwiseMRF:
        """Return the field that the steps have led to."""
        slots = self._coordinates.to_slots(self.theta)
        main = np.diagonal(slots)
        return PairwiseMRF(domain, main, slots - np.diag(main))

    def advance(self) -> StepInfo:
        """Make one step."""
        value, gradient = self._loss.evaluate(self.theta) if self._at is None else self._at
        violation = self._penalty.subgradient(self.theta, gradient)
        is_first = self._n_made == 0 and not self._is_ready
        active = np.eye(len(violation), dtype=bool) if is_first else self._quadratic.choose(self.theta, violation)
        if active is None:
            objective, share = self._descend_pairs(violation)
        else:
            move = self._quadratic.minimise(self.theta, gradient, violation, active)
            objective, share = self._go(value + self._penalty.value(self.theta), move)
        _, gradient = (value, gradient) if self._at is None else self._at
        left = norm(self._penalty.subgradient(self.theta, gradient))
        return self._describe(objective, count_once(self.theta), left, share)

    def _go(self, last: float, move: Matrix) -> tuple[float, float]:
        """Go as far along a move as the objective falls, or nowhere; return the objective and the share made."""

        def go(share: float) -> tuple[float, tuple[Matrix, tuple[float, Matrix]]]:
            after = self.theta + share * move
            at = self._loss.evaluate(after)
            return at[0] + self._penalty.value(after), (after, at)

        made = self._search(go, last)
        if made is None:
            return last, 0.0
        share, objective, (self.theta, self._at) = made
        return objective, share

    def _descend_pairs(self, violation: Matrix) -> tuple[float, float]:
        """Make gradient steps over some pairs of variables, where their parameters are too many for a quadratic model.

        They are those that interact, and as many of the others as violate optimality most.
        """
        penalty, pairs = self._penalty, self._choose_pairs(violation)
        loss = self._loss.of_pairs(pairs, is_free=bool(penalty.frees_main))
        mains = np.flatnonzero(np.diff(self._coordinates.variables, prepend=-1))  # those of a variable are one group
        weights = [np.diagonal(penalty.weights)[mains], self._weights_of(pairs)]
        steps = Accelerated(loss, np.concatenate([mains, loss.starts]), np.concatenate(weights), self._policy)
        tol = max(0.5 * self._tol, self._policy.inner_tol * norm(violation))
        found, self._step_size = steps.run(loss.take(self.theta), tol, self._step_size)
        self.theta = loss.put(found, self._coordinates.size)
        self._at = self._loss.evaluate(self.theta)
        return self._at[0] + penalty.value(self.theta), 1.0

    def _choose_pairs(self, violation: Matrix) -> list[tuple[int, int]]:
        """Choose a working set of whole pairs of variables, by the norms of their groups."""
        held = np.triu(self.theta, 1) != 0
        sizes = np.triu(self._penalty.sizes(np.where(held, 0.0, violation)), 1)
        inside, strength = set(self._pairs_of(held)), dict[tuple[int, int], float]()
        is_new = (sizes > 0) & ~held
        for pair, size in zip(self._pairs_of(is_new), sizes[is_new].tolist(), strict=True):
            strength[pair] = max(strength.get(pair, 0.0), size)
        new = [pair for pair in strength if pair not in inside]
        some = pick_largest(np.array([strength[pair] for pair in new]), max(self._policy.fewest_pairs, len(inside)))
        return sorted(inside | {new[k] for k in some})

    def _pairs_of(self, marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Return the variables of each marked parameter."""
        a, b = np.nonzero(marks)
        return list(zip(self._coordinates.variables[a].tolist(), self._coordinates.variables[b].tolist(), strict=True))

    def _weights_of(self, pairs: Sequence[tuple[int, int]]) -> Values:
        """Return what the norms of the interactions of pairs pay."""
        first = np.searchsorted(self._coordinates.variables, np.arange(self._loss.domain.n_variables))
        return np.array([self._penalty.weights[first[i], first[j]] for i, j in pairs], dtype=np.float64)
