"""Ratios of normalising constants, by bridges between models of which there are draws (Bennett 1976)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sparsefield._typing import Values

# A sum of skewness g, standardised by a standard error from the same draws, falls below -z with a probability that is
# more than the normal one by g (2 z^2 + 1) phi(z) / 6, and exceeds z with one that is less by as much (Hall 1992,
# section 2.6). At z = 2.576, the interval of 0.99, this is 0.0344 g: with this g one side has the whole risk of 0.01.
LARGEST_SKEWNESS = 0.145

_MOST_STEPS = 1000  # halving the range of the largest parameters, 1e100, down to 1e-12 takes 374


@dataclass(frozen=True, eq=False)
class Bridge:
    """The logarithm of the ratio of two normalising constants, and what each draw contributed to it.

    Parameters
    ----------
    log_ratio : float
        Estimate of log Z_1 - log Z_0.
    before, after : ndarray of shape (n_0,), (n_1,)
        Influence of each draw of the model before and of the model after on the estimate. Its error is their sum, to
        first order.
    overlap : float
        From 0 where no draw of one model could be one of the other, to 1 where the two are the same.
    """

    log_ratio: float
    before: Values
    after: Values
    overlap: float

    @property
    def error(self) -> float:
        """Standard error of the logarithm of the ratio."""
        return chain_bridges([self])[1]


def bridge(forward: Values, backward: Values) -> Bridge:
    """Estimate the logarithm of the ratio of the normalising constants of two models from draws of both.

    Let w(x) = (theta_1 - theta_0) . s(x). If all draws are put together, x is one of model 1 with the log-odds
    w(x) - r + log(n_1 / n_0), r = log Z_1 / Z_0. Bennett's estimate is the r for which the probabilities p of this
    add up to n_1: the maximum of a likelihood (Shirts and Chodera 2008), which no other estimate from these w betters
    as draws become many. The influence of a draw on it is (p - mean of p over the draws of its model), divided by the
    sum of p (1 - p) over all draws.

    Parameters
    ----------
    forward : ndarray of shape (n_0,)
        w of independent draws of model 0.
    backward : ndarray of shape (n_1,)
        w of independent draws of model 1.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.inference import Perfect
    >>> from sparsefield.model import bridge
    >>> near = sf.PairwiseMRF.binary([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> far = sf.PairwiseMRF.binary([0.5, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    >>> moved = sf.model.as_theta(far) - sf.model.as_theta(near)
    >>> draws = [Perfect(10_000, seed).run(model).draws() for seed, model in enumerate((near, far))]
    >>> found = bridge(*(own.along(moved) for own in draws))
    >>> abs(found.log_ratio - float(far.log_partition()) + float(near.log_partition())) < 4 * found.error
    True
    """
    n_before, n_after = len(forward), len(backward)
    if not n_before or not n_after:
        raise ValueError("One of two models has no draws: a bridge needs draws of both.")
    offset = np.log(n_after / n_before)

    def excess(r: float) -> float:
        return float(expit(forward - r + offset).sum() - expit(r - backward - offset).sum())

    # All log-odds are above log(n_1 / n_0) for an r below all values, and below it for one above them.
    least, most = min(forward.min(), backward.min()), max(forward.max(), backward.max())
    r = float(brentq(excess, least - 1, most + 1, xtol=1e-12, maxiter=_MOST_STEPS))
    before, after = expit(forward - r + offset), expit(backward - r + offset)
    total = float((before * (1 - before)).sum() + (after * (1 - after)).sum())
    overlap = total * (1 / n_before + 1 / n_after)
    if not total:
        return Bridge(r, np.full(n_before, np.inf), np.full(n_after, np.inf), 0.0)
    return Bridge(r, (before - before.mean()) / total, (after - after.mean()) / total, overlap)


def chain_bridges(bridges: Sequence[Bridge]) -> tuple[float, float]:
    """Add up bridges between models 0, 1, 2, ...; return log Z_last - log Z_0 and its standard error.

    A model in the middle has the same draws for the bridges on both of its sides, so that these do not err
    independently: a draw's influence on the sum is the sum of its two influences.
    """
    total = sum(own.log_ratio for own in bridges)
    return total, float(np.sqrt(sum(_variance(values) for values in add_influences(bridges))))


def add_influences(bridges: Sequence[Bridge]) -> list[Values]:
    """Return the influence of every draw on the sum of bridges: an array for each model, the first to the last."""
    for left, right in pairwise(bridges):
        if len(left.after) != len(right.before):
            raise ValueError(
                f"A bridge ends with {len(left.after)} draws and the next begins with {len(right.before)}: "
                "neighbours share the draws of the model between them."
            )
    middle = [left.after + right.before for left, right in pairwise(bridges)]
    return [bridges[0].before, *middle, bridges[-1].after] if bridges else []


def skewness_of_sum(influences: Sequence[Values]) -> float:
    """Return the skewness of the error of an estimate from the influences of all draws, an array for each model.

    Intervals of two standard errors and a half can be believed up to `LARGEST_SKEWNESS`.
    """
    square = sum(float((own**2).sum()) for own in influences)
    return sum(float((own**3).sum()) for own in influences) / square**1.5 if square else 0.0


def _variance(influences: Values) -> float:
    """Return the variance of a sum of independent influences; their mean over the draws of a model is zero."""
    n = len(influences)
    return float((influences**2).sum()) * n / max(1, n - 1)
