"""What a table tells of its edges before one looks at a pair: how many there are, and how large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

Values = NDArray[np.float64]

# As many pairs without an edge as these are counted beside those of the table, and one with: a Beta(2, 11) prior.
_EDGES_MORE, _OTHERS_MORE = 1.0, 10.0

# One edge more with a squared weight of 1 is counted as well, and weights have a standard deviation of 0.5 at least.
_SQUARE_MORE, _LEAST_VARIANCE = 1.0, 0.25

_MOST_ROUNDS, _SETTLED = 1000, 1e-8


@dataclass(frozen=True)
class EdgePrior:
    """A pair has an edge with some probability, and then a normal weight of mean zero (spike and slab).

    Parameters
    ----------
    share : float
        The probability of an edge.
    variance : float
        The variance of a weight, in the parameters of contrasts.
    """

    share: float
    variance: float

    def prices(self, degrees: Values, variances: Values) -> Values:
        """Return the statistics from which on an edge is more probable than none.

        A statistic T of m degrees of freedom, whose weights have sampling variance v each, multiplies the odds of an
        edge by (1 - r)^(m / 2) exp(r T / 2), r = s / (s + v), s being the variance of weights.
        """
        r = self.variance / (self.variance + variances)
        return np.asarray((-2 * logit(self.share) - degrees * np.log1p(-r)) / r)

    def log_odds(self, statistics: Values, degrees: Values, variances: Values) -> Values:
        """Return the logarithms of the odds of an edge."""
        r = self.variance / (self.variance + variances)
        return np.asarray(logit(self.share) + degrees / 2 * np.log1p(-r) + r / 2 * statistics)


FIRST_GUESS = EdgePrior(0.1, 1.0)


def learn_prior(
    squares: Values, statistics: Values, degrees: Values, variances: Values, start: EdgePrior = FIRST_GUESS
) -> EdgePrior:
    """Find the prior that makes the statistics of all pairs most probable (EM).

    Parameters
    ----------
    squares : ndarray of shape (n_pairs,)
        Squared weights, as they are estimated.
    statistics : ndarray of shape (n_pairs,)
        Likelihood ratio or score statistics.
    degrees : ndarray of shape (n_pairs,)
        How many parameters an edge has.
    variances : ndarray of shape (n_pairs,)
        The sampling variance of each.
    start : EdgePrior, optional
        Where to begin.
    """
    prior = start
    for _ in range(_MOST_ROUNDS):
        odds = expit(prior.log_odds(statistics, degrees, variances))
        r = prior.variance / (prior.variance + variances)
        square = odds * (r**2 * squares + degrees * r * variances)
        share = (odds.sum() + _EDGES_MORE) / (len(odds) + _EDGES_MORE + _OTHERS_MORE)
        variance = max((square.sum() + _SQUARE_MORE) / ((odds * degrees).sum() + 1), _LEAST_VARIANCE)
        is_settled = abs(share - prior.share) < _SETTLED and abs(variance - prior.variance) < _SETTLED
        prior = EdgePrior(float(share), float(variance))
        if is_settled:
            break
    return prior
