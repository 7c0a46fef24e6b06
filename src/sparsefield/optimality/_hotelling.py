"""Upper confidence limits for a Newton decrement that draws estimate: Hotelling's T^2."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, chndtr

from sparsefield._typing import Values

# The denominator of F is averaged over as many equally likely values: it has a standard deviation of sqrt(2 / (n - k)),
# and the limits differ by less than 1e-3 of themselves from those of scipy's noncentral F (see the tests).
_NODES = 40

# No limit is below 1 / n: the simulation error of a single statistic, in units of its variance.
_LEAST = 1.0

# A decrement of 100 is far beyond what a quadratic model can say anything about.
_LARGEST = 100.0


def limit_decrement(decrement: float, k: int, n: int, risk: float) -> float:
    """Return the upper confidence limit of delta^2 = v . H^-1 v, from its estimate by means and covariance of n draws.

    T^2 = n (estimate) is (n - 1) k / (n - k) times a noncentral F with k and n - k degrees of freedom and the
    noncentrality n delta^2, for normal statistics (Anderson 2003, Theorem 5.2.2).

    Parameters
    ----------
    decrement : float
        The estimate, with the covariance of divisor n - 1.
    k : int
        How many statistics.
    n : int
        How many draws, more than k.
    risk : float
        Probability with which the limit may be exceeded.
    """
    if not 0 <= decrement < _LARGEST:
        return np.inf
    freedom = n - k
    shares = (np.arange(_NODES) + 0.5) / _NODES
    numerators = n * decrement * freedom / (n - 1) * chdtri(freedom, 1 - shares) / freedom

    def below(noncentrality: float) -> float:
        return float(chndtr(numerators, k, noncentrality).mean()) - risk

    if below(_LEAST) <= 0:
        return _LEAST / n
    high = max(4.0, 2 * n * decrement)
    while below(high) > 0:
        high *= 2
    return float(brentq(below, _LEAST, high, rtol=1e-6)) / n


def widen_limit(limit: float, decrement: float, k: int, values: Values) -> float:
    """Move a limit away from its centre where statistics are further from normal than it assumes.

    Each draw moves the estimate by 2 x - x^2 over n, x = c . (s - mean), whose variance is 4 delta^2 + 2 delta^4 for
    normal statistics. Where it is more, the distance from the centre grows with its square root.

    Parameters
    ----------
    limit, decrement : float
        The limit, and the estimate that it was made of.
    k : int
        How many statistics.
    values : ndarray of shape (n,)
        x for each draw.
    """
    n = len(values)
    inflation = (2 * values - values**2).var() / max(4 * decrement + 2 * decrement**2, 1e-300)
    centre = remove_errors(decrement, k, n)
    return float(centre + max(0.0, limit - centre) * np.sqrt(max(1.0, inflation)))


def remove_errors(decrement: float, k: int, n: int) -> float:
    """Return the decrement less what the simulation error of k means adds to its estimate on average."""
    return max(0.0, decrement * (n - k) / n - k / n)
