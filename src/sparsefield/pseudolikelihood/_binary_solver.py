"""Newton steps on the pseudo-likelihood of binary variables, over the pairs that may interact."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from sparsefield._kernels._descent import descend_pairs
from sparsefield._typing import Mask, Matrix, Values
from sparsefield.data import Domain, Moments
from sparsefield.fits import StepInfo
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, count_zeros, pick_largest, shrink_to_fit, smallest_subgradient
from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss, PairNeighbours, count_active
from sparsefield.pseudolikelihood._policy import PSEUDO, PseudoPolicy
from sparsefield.pseudolikelihood._screening import Screen, Violations
from sparsefield.pseudolikelihood._steps import Steps


class BinarySteps(Steps):
    """Newton steps on the pseudo-likelihood of a binary table.

    An iteration takes the pairs that interact, and those others that violate optimality most, minimises over these, and
    looks at all pairs.

    Parameters
    ----------
    loss : BinaryPairLoss
        The smooth part.
    penalty : L1
        The penalty; main effects pay a multiple of it.
    tol : float
        When the smallest subgradient vanishes.
    start : Moments or ndarray of shape (p, p)
        The moments of the data, to start where nothing interacts, or the parameters to start from.
    policy : PseudoPolicy, optional
        How steps are made.
    """

    def __init__(
        self,
        loss: BinaryPairLoss,
        penalty: L1,
        tol: float,
        start: Moments | Matrix,
        policy: PseudoPolicy = PSEUDO,
    ) -> None:
        super().__init__(tol, loss.dtype, policy)
        self._loss, self._alpha = loss, penalty.alpha
        self._main_alpha = penalty.alpha * penalty.main
        p, none = loss.n_variables, np.zeros(0, dtype=np.int64)
        self._screen = Screen(loss, penalty.alpha, start if isinstance(start, Moments) else None, policy)
        if isinstance(start, Moments):
            self.main = _independent(start.main, self._main_alpha)
            self._near, self.values = PairNeighbours.of_pairs(p, none, none), np.zeros(0)
        else:
            self.main = np.diagonal(start).copy()
            first, second = np.nonzero(np.triu(start, 1))
            self._near, self.values = PairNeighbours.of_pairs(p, first, second), start[first, second]
        self._at: tuple[float, Values, Values] | None = None  # the loss and its gradient, at the parameters
        self._new: Violations | None = None

    @property
    def n_nonzero(self) -> int:
        """How many parameters are not zero."""
        return int(np.count_nonzero(self.main) + np.count_nonzero(self.values))

    def model(self, domain: Domain) -> PairwiseMRF:
        """Return the field that the steps have led to."""
        found = np.zeros((self._loss.n_variables,) * 2)
        found[self._near.first, self._near.second] = found[self._near.second, self._near.first] = self.values
        return PairwiseMRF(domain, self.main, found)

    def advance(self) -> StepInfo:
        """Minimise over one working set, and look at all pairs."""
        if self._new is None:
            self._new = self._look()
        self._take(self._new)
        left = float(np.linalg.norm(self._subgradient()))
        share = self._minimise(max(0.5 * self._tol, self._policy.outer_tol * left))
        self._new = self._look()
        left = float(np.hypot(np.linalg.norm(self._subgradient()), self._new.norm))
        return self._describe(self._objective(), self.n_nonzero, left, share)

    def _look(self) -> Violations:
        """Find the pairs outside the working set that violate optimality."""
        return self._screen.find((self._near, self.main, self.values))

    def _take(self, new: Violations) -> None:
        """Make the working set: what is not zero, and about as many of those that violate optimality most."""
        held = self.values != 0
        some = pick_largest(new.sizes, count_zeros(int(np.count_nonzero(held)), self._loss.n_variables))
        first = np.concatenate([self._near.first[held], new.first[some]])
        second = np.concatenate([self._near.second[held], new.second[some]])
        values = np.concatenate([self.values[held], np.zeros(len(some))])
        order = np.lexsort((second, first))
        self.values = values[order]
        self._near = PairNeighbours.of_pairs(self._loss.n_variables, first[order], second[order])
        self._at = self._loss.evaluate(self._near, self.main, self.values)

    def _objective(self) -> float:
        assert self._at is not None
        return self._at[0] + self._penalty(self.main, self.values)

    def _penalty(self, main: Values, values: Values) -> float:
        return float(self._main_alpha * np.abs(main).sum() + self._alpha * np.abs(values).sum())

    def _subgradient(self) -> Values:
        """Return the smallest subgradient over main effects and the working set, one after the other."""
        assert self._at is not None
        _, main, gradient = self._at
        on = smallest_subgradient(self.main, main, self._main_alpha)
        return np.concatenate([on, smallest_subgradient(self.values, gradient, self._alpha)])

    def _minimise(self, tol: float) -> float:
        """Make Newton steps over the working set until the smallest subgradient is below tol; return the last share."""
        share = 1.0
        while not self._is_stalled:
            left = self._subgradient()
            if np.linalg.norm(left) <= tol:
                break
            share = self._go(*self._solve_model(left))
        return share

    def _solve_model(self, left: Values) -> tuple[Values, Values]:
        """Return the moves that minimise the quadratic model, of main effects and of the working set."""
        assert self._at is not None
        near, p = self._near, self._loss.n_variables
        is_active = self._choose_active(np.abs(left[p:]))
        blocks, starts = self._loss.curvatures(near, self.main, self.values, is_active)
        ranks = np.cumsum(np.concatenate([[0], is_active[near.pairs]]))
        rows = 1 + ranks[near.places] - ranks[near.starts[np.stack([near.first, near.second])]]
        own, ones = np.arange(p), np.zeros(p, dtype=np.int64)
        pairs = np.column_stack([near.first, rows[0], near.second, rows[1]])[is_active]
        pairs = np.concatenate([np.column_stack([own, ones, own, ones]), pairs])
        theta = np.concatenate([self.main, self.values[is_active]])
        gradient = np.concatenate([self._at[1], self._at[2][is_active]])
        weights = np.repeat([self._main_alpha, self._alpha], [p, len(pairs) - p])
        tol, most = self._policy.inner_tol * np.abs(left).max(initial=0.0), self._policy.most_epochs
        found = descend_pairs(pairs, theta, gradient, weights, blocks, starts, most, tol)
        moves = np.zeros(len(self.values))
        moves[is_active] = found[p:]
        return found[:p], moves

    def _choose_active(self, sizes: Values) -> Mask:
        """Choose which interactions move: all, or as many as fit of those that violate optimality most."""

        def take(n: int) -> Mask:
            is_active = np.zeros(len(sizes), dtype=bool)
            is_active[pick_largest(sizes, n)] = True
            return is_active

        def fits(is_active: Mask) -> bool:
            return bool((count_active(self._near, is_active) ** 2).sum() <= self._policy.most_curvatures)

        return shrink_to_fit(take, len(sizes), fits)

    def _go(self, main_moves: Values, moves: Values) -> float:
        """Go as far along moves as the objective falls, or nowhere; return the share made."""

        def go(share: float) -> tuple[float, tuple[Values, Values, tuple[float, Values, Values]]]:
            main, values = self.main + share * main_moves, self.values + share * moves
            at = self._loss.evaluate(self._near, main, values)
            return at[0] + self._penalty(main, values), (main, values, at)

        made = self._search(go, self._objective())
        if made is None:
            return 0.0
        share, _, (self.main, self.values, self._at) = made
        return share


def _independent(means: Values, alpha: float) -> Values:
    """Return the main effects that are optimal where nothing interacts: (q - mean) / 2 is within the penalty."""
    return np.asarray(
        logit(np.where(means > 0.5, np.maximum(means - 2 * alpha, 0.5), np.minimum(means + 2 * alpha, 0.5)))
    )
