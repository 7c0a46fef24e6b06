"""What the Newton decrement says about the gap: a theorem about a distribution that exists.

With p the field at theta, mu its moments and H their covariance, d the moments of the data, S a set of statistics that
holds all whose parameters are not zero or free, and t any vector within the penalties alpha of S:

    v = mu_S - d_S + t,    c = H_SS^-1 v,    h = -c . (s - mu)_S,    delta^2 = v . c = E h^2.

Where the distribution p (1 + h) exists and is feasible for the dual, the gap is at most a cost of t that is known, and
its divergence from p, which is delta^2 / 2 and terms of higher order. Where 1 + h is negative on some states, a part of
`excess` mends that. docs/math/optimality.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield._typing import Values

# Moments of these degrees bound the tail of h. With normal h of norm delta the best degree is about 1 / delta^2; at 40
# tails are of order 1e-9 where delta is 0.16, and an excess as small as that costs nothing.
_DEGREES = np.arange(4, 42, 2)

# Beyond this the part that mends the negative states is no small one, and more draws or a step are what helps.
_MOST_EXCESS = 1.0

# The least excess is a fixed point, reached from below. Each repetition asks for a thousandth more than the last one
# wanted, so that it ends as soon as that is enough; in practice after two or three.
_MORE = 1e-3
_MOST_REPEATS = 100


@dataclass(frozen=True)
class Tail:
    """Moments of the negative part of h, which bound how much of 1 + h is below zero.

    Parameters
    ----------
    moments : ndarray
        Means of max(0, -h)^r, r = 4, 6, ..., 40.
    """

    moments: Values

    @classmethod
    def of(cls, h: Values, probabilities: Values | None = None) -> Tail:
        """Return the tail of values, each of which counts the same unless probabilities are given."""
        square = np.minimum(h, 0.0) ** 2
        power, moments = square, []
        for _ in _DEGREES:
            power = power * square
            moments.append(float(power.mean() if probabilities is None else probabilities @ power))
        return cls(np.array(moments))

    def norms(self, scale: float) -> tuple[float, float]:
        """Bound the means of a and of a^2, a = max(0, -(1 + scale h)).

        For y >= 1, (y - 1)^q / y^r is largest at y = r / (r - q), which makes every moment a bound; the best counts.
        """
        r = _DEGREES.astype(np.float64)
        with np.errstate(over="ignore"):
            grown = self.moments * scale**r
        one = ((r - 1) / r) ** r / (r - 1)
        two = (2 / (r - 2)) ** 2 * ((r - 2) / r) ** r
        return float((one * grown).min()), float((two * grown).min())


def find_excess(tail: Tail, reach: float) -> float:
    """Return the least excess with excess >= tau + reach rho, or infinity where none is small enough.

    tau and T are the L1 and L2 norms of a = max(0, -(1 + (1 + excess) h)), rho = min(T, reach tau), and `reach` bounds
    the norm of the whitened statistics, |H_SS^-1/2 (s - mu)_S|, over all states.
    """
    excess = 0.0
    for _ in range(_MOST_REPEATS):
        one, two = tail.norms(1 + excess)
        wanted = one + reach * min(np.sqrt(two), reach * one)
        if wanted > _MOST_EXCESS:
            break
        if wanted <= excess:
            return excess
        excess = (1 + _MORE) * wanted
    return np.inf


def bound_divergence(delta2: float, third: float, fourth: float, excess: float, reach: float) -> float:
    """Bound the divergence of the feasible distribution from p.

    (1 + x) log(1 + x) is at most x + x^2, and at most x + x^2 / 2 + y^3 / 6 + y^4 / 3 with y = max(0, -x), for
    x >= -1; beyond, both are positive. They are needed at x = (1 + excess) h.

    Parameters
    ----------
    delta2 : float
        E h^2.
    third, fourth : float
        Means of the powers of max(0, -h).
    excess, reach : float
        As in `find_excess`.
    """
    if not np.isfinite(excess):
        return np.inf
    more = 1 + excess
    fine = more * delta2 / 2 + more**2 * third / 6 + more**3 * fourth / 3
    return float(min(more * delta2, fine) + (excess / reach**2 if reach > 0 else 0.0))


def bound_powers(h: Values, z: float) -> tuple[float, float]:
    """Return upper limits for the means of the third and fourth powers of max(0, -h), at a normal quantile z."""
    low = np.maximum(0.0, -h)
    third, fourth = low**3, low**4
    root = np.sqrt(len(h))
    return float(third.mean() + z * third.std() / root), float(fourth.mean() + z * fourth.std() / root)


def spill(tail: Tail, excess: float) -> float:
    """Bound how far the excess moves a moment off S, as a share of its range: no standard deviation is above half."""
    return float(np.sqrt(tail.norms(1 + excess)[1]) / 2)
