"""Log-likelihoods of the fits of a path, by bridge sampling from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._seeds import Use, derive_seed
from sparsefield.fits import Fit
from sparsefield.fitting import Learner
from sparsefield.gradients import Drawn, Known
from sparsefield.inference import OutOfReachError, make_backend
from sparsefield.model import (
    LARGEST_SKEWNESS,
    Bridge,
    PairwiseMRF,
    add_influences,
    bridge,
    chain_bridges,
    skewness_of_sum,
)
from sparsefield.selection.paths._observed import ObservedRows

# A bridge between models whose overlap is below this is not built: with n draws of each its squared error would be more
# than 2 (1 / 0.2 - 1) / n = 8 / n, four times that of an overlap of one half, and few draws would tell it.
_LEAST_OVERLAP = 0.2


@dataclass(frozen=True)
class Likelihood:
    """A log-likelihood of the observed cells, in nats per row.

    Parameters
    ----------
    value : float
        The log-likelihood.
    error : float
        Its standard error, by the draws behind the normalising constant and those of missing values; zero where both
        are exact.
    log_partition : float
        The log-partition function behind it, which makes the log-likelihood of other rows too.
    """

    value: float
    error: float
    log_partition: float


class Likelihoods:
    """Log-likelihoods of fits of one table, one after the other.

    Parameters
    ----------
    learner : Learner
        The table.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        options = learner.options
        self._backend = make_backend(options.device, options.n_threads)
        self._rows = ObservedRows(
            learner.table,
            learner.weights,
            seed=seed_of_missing(options.seed),
            backend=self._backend,
            unseen=learner.unseen,
            max_sweeps=options.steps.max_sweeps,
        )
        self._last: Drawn | None = None
        self._first, self._error = 0.0, 0.0  # log-partition where the bridges begin, and its standard error
        self._bridges: list[Bridge] = []

    def of(self, fit: Fit, known: Known | None) -> Likelihood | None:
        """Return the log-likelihood of the rows; None where it cannot be had."""
        found, rows = self._partition(fit.model, known), self._rows.at(fit.model)
        if found is None or rows is None:
            return None
        return Likelihood(rows[0] - found[0], float(np.hypot(rows[1], found[1])), found[0])

    def beside(self, fit: Fit, known: Known | None) -> Likelihood | None:
        """Return the log-likelihood of a fit beside the last one, from which the next one does not go on."""
        kept = self._last, self._first, self._error, self._bridges.copy(), self._rows.reached
        found = self.of(fit, known)
        self._last, self._first, self._error, self._bridges, self._rows.reached = kept
        return found

    def _partition(self, model: PairwiseMRF, known: Known | None) -> tuple[float, float] | None:
        """Return the log-partition function and its standard error, by a bridge from the last model if there is one."""
        if known is not None and known.log_normaliser is not None:
            return known.log_normaliser, 0.0
        drawn = None if known is None else known.drawn
        if self._last is not None and drawn is not None and self._extend(drawn):
            total, error = chain_bridges(self._bridges)
            return self._first + total, float((error**2 + self._error**2) ** 0.5)
        try:
            found = model.log_partition("auto", seed=self._learner.options.seed, device=self._backend)
        except OutOfReachError:
            self._last = None
            return None
        self._first, self._error, self._bridges = found.value, found.error, []
        is_needed = found.method != "exact" or not model.interactions.any()
        self._last = drawn if is_needed and has_exact_draws(drawn) else None
        return found.value, found.error

    def _extend(self, drawn: Drawn) -> bool:
        """Add a bridge to the last ones, if there are exact draws of both models, and its error can be trusted."""
        last = self._last
        if last is None or not has_exact_draws(drawn):
            return False
        step = drawn.theta - last.theta
        if not step.any():
            return True
        found = bridge(last.draws.along(step), drawn.draws.along(step))
        longer = [*self._bridges, found]
        if found.overlap < _LEAST_OVERLAP or abs(skewness_of_sum(add_influences(longer))) > LARGEST_SKEWNESS:
            return False
        self._bridges, self._last = longer, drawn
        return True


def has_exact_draws(drawn: Drawn | None) -> bool:
    """Say whether there are draws whose law is the model's: bridges have no room for a bias."""
    if drawn is None or drawn.draws.n is None:
        return False
    certificate = drawn.estimate.certificate
    return certificate is not None and drawn.estimate.is_certified and certificate.total == 0


def seed_of_missing(seed: int) -> int:
    """Return where the random numbers of missing values start, beside those of fits from the same seed."""
    return derive_seed(seed, Use.MISSING_OF_PATH)
