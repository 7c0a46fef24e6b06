"""Margins of parameters where covariances of statistics far apart in the graph are simulation error alone."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._local_inverses import invert_blocks
from sparsefield._typing import Index, Mask, Values
from sparsefield.gradients import Drawn
from sparsefield.marks._covariance import Covariance, least_ridge
from sparsefield.marks._curvatures import NearCurvature, NotLocalError
from sparsefield.marks._narrowing import Candidates
from sparsefield.marks._optimum import Optimum, margin
from sparsefield.marks._policy import MarksPolicy
from sparsefield.objective import Quadratic, SparseQuadratic, find_near


class BlockMargins:
    """Margins of parameters from local regressions: on blocks of statistics that are near in the graph.

    The entry of an inverse covariance that belongs to a statistic is, but for simulation error, that of the block of
    those near it. Draws say whether it is: covariances of what a regression on its block leaves of a statistic, with
    all others. With 1000 variables, 3039 statistics and 30,000 draws variances from blocks of reach 0, 1, 2 and 3 are
    0.975, 0.991, 0.991 and 0.992 of those from the whole covariance at the least; the medians are 1.000.

    Parameters
    ----------
    here : Drawn
        Draws at the fit; its penalty is a sum over parameters of slots.
    found : Optimum
        The optimum that they lead to, without bias; its curvature is sparse.
    reach : int
        How many neighbours apart its statistics are at most.
    policy : MarksPolicy
        Where blocks fail.
    """

    def __init__(self, here: Drawn, found: Optimum[NearCurvature], reach: int = 1, *, policy: MarksPolicy) -> None:
        theta, draws, penalty = here.theta, here.draws, here.problem.penalty.weights
        assert penalty is not None
        self._blocks = found.quadratic
        a, b = self._blocks.first, self._blocks.second
        # Two statistics of a block are so far apart at most: either is near one of the two variables in the middle.
        near = find_near(theta, here.problem.domain.slot_variables, a, b, 2 * reach + 1)
        self.candidates = Candidates.of(theta[a, b], found.theta, penalty[a, b])
        self._rows, self._n = SparseQuadratic.of(draws, a, b, near), self._blocks.n
        self._a, self._b, self._draws, self._found, self._policy = a, b, draws, found, policy
        self._variances = self._rows.variances + least_ridge(self._rows.variances)

    def value_margins(self, some: Index, possible: Mask) -> Values:
        """Return how far from zero each of some must be to differ from it, NotLocalError where blocks fail.

        Those that are beyond the margins of their blocks have what matters outside these in theirs; of others margins
        are infinite.
        """
        inverses, members, solutions = self._invert(some, possible)
        sizes, margins = (members >= 0).sum(axis=1), np.full(len(some), np.inf)
        own_margins = self._margins(some, inverses, sizes, possible)
        for batch in self._batches(self.candidates.sizes[some] / own_margins):
            excess, outside = self._probe(some[batch], inverses[batch], members[batch], solutions[batch], possible)
            if excess > self._policy.most_excess or len(outside) > self._policy.most_outside:
                raise NotLocalError
            own = inverses[batch]
            if len(outside):
                own = np.array([self._invert_with(members[k], outside) for k in batch])
            margins[batch] = self._margins(some[batch], own * (1 + excess), sizes[batch] + len(outside), possible)
        return margins

    def largest_gradients(self, some: Index, certain: Mask) -> Values:
        """Return how large the gradient of each of some may be, if only what is certain differs from zero.

        A regression on those near it leaves no less than one on all of them.
        """
        inverses, members, _ = self._invert(some, certain)
        sizes = (members >= 0).sum(axis=1) - 1
        # Where a block has no inverse the variance itself serves.
        left = np.where(np.isfinite(inverses), self._n / (self._n - sizes) / inverses, self._variances[some])
        margins = margin(np.sqrt(left / self._found.n), self._found.spans[some] / self._found.n)
        return np.asarray(np.abs(self._found.gradient[some]) + margins)

    def _invert(self, some: Index, among: Mask) -> tuple[Values, Index, Values]:
        """Return entries of inverse covariances, blocks that they are from, and the columns that they are in."""
        blocks, rows = self._blocks, self._rows
        width = 1 + int(np.diff(blocks.starts).max(initial=0))
        members, solutions = np.empty((len(some), width), dtype=np.int64), np.empty((len(some), width))
        parts = blocks.starts, blocks.columns, rows.starts, rows.columns, rows.values, self._variances
        return invert_blocks(*parts, some, among, members, solutions), members, solutions

    def _margins(self, some: Index, inverses: Values, sizes: Index, possible: Mask) -> Values:
        """Return the margins of some, from their entries of inverses of covariances.

        An inverse of the covariance of k statistics over n draws is on average n / (n - k) times what it is. All that
        are possible count, as they would in the inverse of the whole.
        """
        whole = inverses * (self._n - sizes) / (self._n - np.count_nonzero(possible))
        variances = whole / self._found.n
        return margin(np.sqrt(variances), variances * self._found.spans[some])

    def _batches(self, ratios: Values) -> list[Index]:
        """Return those beyond their margins in batches whose error hides nothing that could lead to another answer.

        Were the entry of an inverse r times as large, or more, one with the ratio r would be within its margin. For
        that it takes a correlation c with 1 - c^2 = 1 / r, to which a batch of m adds an error of sqrt(m / n).
        """
        order = np.argsort(-ratios, kind="stable")
        order = order[ratios[order] > 1]
        rooms = self._n * (1 - 1 / ratios[order]) / self._policy.standard_errors**2
        found, start = [], 0
        while start < len(order) and rooms[start] >= 1:
            fits = rooms[start:] >= np.arange(1, len(order) - start + 1)
            size = len(fits) if fits.all() else int(np.argmin(fits))
            found.append(order[start : start + size])
            start += size
        return found

    def _probe(
        self, some: Index, inverses: Values, members: Index, solutions: Values, possible: Mask
    ) -> tuple[float, Index]:
        """Say what share the statistics outside blocks add to variances together, and which ones matter alone.

        What regressions on its block leave of each statistic, with a sign of its own, is added up: a single pass over
        the draws has the covariances with all others.
        """
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(some)) / np.sqrt(inverses)
        y, held = np.zeros(len(possible)), members >= 0
        np.add.at(y, members[held], (signs[:, None] * solutions)[held])
        moved = y != 0
        values = self._draws.along_some(y[moved], self._a[moved], self._b[moved])
        covariances = self._draws.project_onto(values, self._a, self._b)
        covariances[some] -= signs
        correlations = np.where(possible, covariances / np.sqrt(self._variances * values.var()), 0.0)
        excess = float((correlations**2).sum()) - np.count_nonzero(possible) / self._n
        limit = self._policy.standard_errors / np.sqrt(self._n)
        return max(0.0, excess), np.flatnonzero(np.abs(correlations) > limit)

    def _invert_with(self, members: Index, outside: Index) -> float:
        """Return the entry of the inverse covariance of a block and of statistics outside it."""
        middle, block = members[members >= 0][-1], members[members >= 0]
        some = np.append(np.setdiff1d(np.union1d(block, outside), middle), middle)
        covariance = Covariance.of(Quadratic.of(self._draws, self._a[some], self._b[some]))
        try:
            _, root = covariance.factor(np.ones(len(some), dtype=bool), np.array([len(some) - 1]))
        except np.linalg.LinAlgError:
            return np.inf
        return float(root[0, 0] ** 2)
