"""Newton steps on the pseudo-likelihood of binary variables, over the pairs that may interact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from sparsefield._kernels._descent import descend_pairs
from sparsefield._typing import Matrix, Values
from sparsefield.data import Domain, Moments, count
from sparsefield.fits import NewtonStep, Status, StepInfo
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1
from sparsefield.pseudolikelihood._binary_loss import BinaryPairLoss, Neighbours, count_active
from sparsefield.pseudolikelihood._screening import Screen, Violations
from sparsefield.solvers import stalled

# The quadratic model holds at most so many entries at one time: 256 MiB in single precision.
_MOST_CURVATURES = 2**26

# A quadratic model is solved to this share of the largest violation, in so many epochs at most. On 50 spikes, a dense
# field of 50 variables and a sparse one of 1000, shares of 0.005 and 0.5 take 0.8 to 1.0 and 1.3 to 1.4 times as long.
# With 20 and with 100 variables `make bench-constants` counts 3 and 3 iterations, and 4 and 5 with 5 epochs.
_MOST_EPOCHS, _INNER_TOL = 50, 0.05

# Steps over a working set go on until the smallest subgradient over it is down to this share of what it was.
# With 0.01 and 0.5 in place of 0.1 the same fits take 0.9 to 1.2 and 0.9 to 1.2 times as long.
_OUTER_TOL = 0.1

# The last halving leaves 2^-29 = 2e-9 of a step, which moves parameters of order one by less than single precision.
_MOST_HALVINGS = 30


class BinarySteps:
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
    """

    def __init__(self, loss: BinaryPairLoss, penalty: L1, tol: float, start: Moments | Matrix) -> None:
        self._loss, self._alpha, self._tol = loss, penalty.alpha, tol
        self._main_alpha = penalty.alpha * penalty.main
        p, none = loss.n_variables, np.zeros(0, dtype=np.int64)
        self._screen = Screen(loss, penalty.alpha, start if isinstance(start, Moments) else None)
        if isinstance(start, Moments):
            self.main = _independent(start.main, self._main_alpha)
            self._near, self.values = Neighbours.of_pairs(p, none, none), np.zeros(0)
        else:
            self.main = np.diagonal(start).copy()
            first, second = np.nonzero(np.triu(start, 1))
            self._near, self.values = Neighbours.of_pairs(p, first, second), start[first, second]
        self._at: tuple[float, Values, Values] | None = None  # the loss and its gradient, at the parameters
        self._new: Violations | None = None
        self._n_made, self._is_stalled = 0, False

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
        share = self._minimise(max(0.5 * self._tol, _OUTER_TOL * left))
        self._new = self._look()
        self._n_made += 1
        left = float(np.hypot(np.linalg.norm(self._subgradient()), self._new.norm))
        return NewtonStep(
            iteration=self._n_made,
            objective=self._objective(),
            n_nonzero=self.n_nonzero,
            seconds=0.0,  # told by the loop
            reason="no sampling",
            subgradient_norm=left,
            share=share,
        )

    def judge(self, steps: Sequence[StepInfo]) -> Status | None:
        """Say whether the smallest subgradient vanished, or no step leads down any more."""
        left = steps[-1].violation
        if left > self._tol:
            return stalled(len(steps)) if self._is_stalled else None
        said = f"Converged in {count(len(steps), 'iteration')}: the smallest subgradient is down to {left:.2g}."
        return Status("converged", said)

    def _look(self) -> Violations:
        """Find the pairs outside the working set that violate optimality."""
        return self._screen.find((self._near, self.main, self.values))

    def _take(self, new: Violations) -> None:
        """Make the working set: what is not zero, and about as many of those that violate optimality most."""
        held = self.values != 0
        n_new = max(2 * self._loss.n_variables, int(np.count_nonzero(held)))
        some = np.arange(len(new.sizes))
        if n_new < len(some):
            some = np.argpartition(-new.sizes, n_new)[:n_new]
        first = np.concatenate([self._near.first[held], new.first[some]])
        second = np.concatenate([self._near.second[held], new.second[some]])
        values = np.concatenate([self.values[held], np.zeros(len(some))])
        order = np.lexsort((second, first))
        self.values = values[order]
        self._near = Neighbours.of_pairs(self._loss.n_variables, first[order], second[order])
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
        return np.concatenate(
            [_smallest(self.main, main, self._main_alpha), _smallest(self.values, gradient, self._alpha)]
        )

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
        tol = _INNER_TOL * np.abs(left).max(initial=0.0)
        found = descend_pairs(pairs, theta, gradient, weights, blocks, starts, _MOST_EPOCHS, tol)
        moves = np.zeros(len(self.values))
        moves[is_active] = found[p:]
        return found[:p], moves

    def _choose_active(self, sizes: Values) -> NDArray[np.bool_]:
        """Choose which interactions move: all, or as many as fit of those that violate optimality most."""
        n = len(sizes)
        is_active = np.ones(n, dtype=bool)
        while n > 1 and (count_active(self._near, is_active) ** 2).sum() > _MOST_CURVATURES:
            n = 3 * n // 4
            is_active = np.zeros(len(sizes), dtype=bool)
            is_active[np.argpartition(-sizes, n)[:n]] = True
        return is_active

    def _go(self, main_moves: Values, moves: Values) -> float:
        """Go as far along moves as the objective falls, or nowhere; return the share made."""
        last = self._objective()
        for halvings in range(_MOST_HALVINGS):
            share = 0.5**halvings
            main, values = self.main + share * main_moves, self.values + share * moves
            at = self._loss.evaluate(self._near, main, values)
            if at[0] + self._penalty(main, values) <= last + np.finfo(self._loss.dtype).eps * abs(last):
                self.main, self.values, self._at = main, values, at
                return share
        self._is_stalled = True
        return 0.0


def _smallest(values: Values, gradient: Values, alpha: float) -> Values:
    """Return the smallest subgradient of a smooth function plus alpha times absolute values."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - alpha, 0.0)
    return np.where(values != 0, gradient + alpha * np.sign(values), at_zero)


def _independent(means: Values, alpha: float) -> Values:
    """Return the main effects that are optimal where nothing interacts: (q - mean) / 2 is within the penalty."""
    return np.asarray(
        logit(np.where(means > 0.5, np.maximum(means - 2 * alpha, 0.5), np.minimum(means + 2 * alpha, 0.5)))
    )
