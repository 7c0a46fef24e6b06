"""The exact law of Gibbs chains of a small binary field, to compare certificates with."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from sparsefield._typing import Matrix
from sparsefield.model import PairwiseMRF


class Law:
    """The exact law of chains that are swept towards a field, over all of its 2^p states.

    Laws are arrays (starts, 2^p), the first variable slowest.
    """

    def __init__(self, model: PairwiseMRF) -> None:
        p = model.domain.n_variables
        self.model, self.p = model, p
        self.states = (np.arange(2**p)[:, None] >> np.arange(p - 1, -1, -1) & 1).astype(np.float32)
        self.ones = [self._probability(i) for i in range(p)]
        self.target = _normalise(-model.energy(self.states.astype(np.uint8)))
        self.exact = self.pairs(self.target[None])[0]

    def _probability(self, i: int) -> Matrix:
        """Return P(x_i = 1 | the others), once for both values of x_i."""
        fields = self.model.main[i] + self.states @ self.model.interactions[i]
        return np.asarray(expit(fields.reshape(2**i, 2, -1)[:, 0]))

    def starts(self) -> Matrix:
        """Return the starts as laws: all of them if they are few."""
        if self.p <= 10:
            return np.eye(2**self.p)
        laws = np.zeros((4, 2**self.p))
        for row, number in enumerate((0, -1, int(self.target.argmax()), int(self.target.argmin()))):
            laws[row, number] = 1
        return laws

    def sweep(self, laws: Matrix) -> Matrix:
        """Carry the laws through a sweep, in place."""
        for i, one in enumerate(self.ones):
            parts = laws.reshape(len(laws), 2**i, 2, -1)
            both = parts[:, :, 0] + parts[:, :, 1]
            np.multiply(both, one, out=parts[:, :, 1])
            np.subtract(both, parts[:, :, 1], out=parts[:, :, 0])
        return laws

    def pairs(self, laws: Matrix) -> Matrix:
        """Return the moments of each law."""
        x = self.states
        return np.stack([(x.T * law) @ x for law in laws])

    def bias(self, laws: Matrix) -> float:
        """Return the largest L2 norm of the bias over the starts."""
        errors = (self.pairs(laws) - self.exact)[:, *np.triu_indices(self.p)]
        return float(np.sqrt((errors**2).sum(axis=1)).max())

    def expect(self, n_sweeps: int) -> Matrix:
        """Return the expected statistics (2^p, m) after n sweeps from each start.

        Backwards: the last update of the last sweep is averaged over first. That takes m columns, a law from each
        start 2^p of them.
        """
        first, second = np.triu_indices(self.p)
        found = (self.states[:, first] * self.states[:, second]).astype(np.float64)
        for _ in range(n_sweeps):
            for i in range(self.p - 1, -1, -1):
                parts = found.reshape(2**i, 2, -1, len(first))
                one = self.ones[i][:, :, None]
                parts[:] = (parts[:, 0] + one * (parts[:, 1] - parts[:, 0]))[:, None]
        return found

    def biases(self, n_sweeps: int) -> tuple[float, float]:
        """Return the L2 norm of the bias after n sweeps from the worst start, and from a start at random."""
        errors = self.expect(n_sweeps) - self.exact[np.triu_indices(self.p)]
        return float(np.sqrt((errors**2).sum(axis=1)).max()), float(np.sqrt((errors.mean(axis=0) ** 2).sum()))


def _normalise(exponents: Matrix) -> Matrix:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())
