"""How probable a score is where cells are rare: tails by the saddlepoint (Lugannani and Rice 1980)."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm

from sparsefield._typing import Values

_MOST_STEPS = 60  # of Newton's, within a bracket

_NEAR = 1e-6  # of the score: how exactly the saddlepoint is found

_EDGE = 1e-9  # of the largest score: above that it is the largest one, whose probability is known

_SMALL = 1e-2  # roots below are far from deciding anything


def find_square(shares: Values, other_shares: Values, products: Values, weights: Values, score: float) -> float:
    """Return the square of the normal deviate that is as improbable as a score, where two variables are independent.

    A score is a sum over rows of numbers whose laws are known, given the neighbours: its cumulant generating function
    is a sum too, and its tail follows from the point where its derivative is the score. Where a few rows are all that
    a score can be made of, as where two rare levels meet once, this is far above the tail of a chi-square, and about
    that of an exact test less half of the probability of the score itself (the mid p-value): 0.7 to 1.1 of it where two
    levels are expected to meet 0.2 or 0.3 times.

    Parameters
    ----------
    shares, other_shares : ndarray of shape (n, n_levels) and (n, n_other_levels)
        The probabilities of the levels of both variables, for each kind of row.
    products : ndarray of shape (n, n_levels, n_other_levels)
        What a row with these levels adds to the score, whose mean is zero.
    weights : ndarray of shape (n,)
        How many rows of each kind there are.
    score : float
        The score.

    Examples
    --------
    Two levels of which 200 rows show one each, and one row both of them: an exact test has p = 0.005, and half of it.

    >>> import numpy as np
    >>> from scipy.stats import chi2
    >>> share = np.array([[0.995, 0.005]])
    >>> own = np.array([-0.005, 0.995])
    >>> products = np.outer(own, own)[None]
    >>> square = find_square(share, share, products, np.array([200.0]), 0.995)
    >>> round(float(chi2.sf(square, 1)), 4)
    0.0016
    """
    if score <= 0:
        return 0.0
    joint = shares[:, :, None] * other_shares[:, None, :]
    joint, values = joint.reshape(len(joint), -1), products.reshape(len(joint), -1)
    most = values.max(axis=1, where=joint > 0, initial=-np.inf)
    largest = float(weights @ most)
    if score >= largest * (1 - _EDGE):
        surely = np.where(values >= most[:, None], joint, 0.0).sum(axis=1)
        # Half of the probability of the score on either side.
        return float(norm.isf(min(0.5, np.exp(xlogy(weights, surely).sum()) / 2)) ** 2)

    def look(t: float) -> tuple[float, float, float]:
        """Return the cumulant generating function, and its first two derivatives."""
        tilted = joint * np.exp(t * (values - most[:, None]))
        sums = tilted.sum(axis=1)
        means = (tilted * values).sum(axis=1) / sums
        variances = (tilted * values**2).sum(axis=1) / sums - means**2
        return float(weights @ (np.log(sums) + t * most)), float(weights @ means), float(weights @ variances)

    low, high = 0.0, np.inf
    t = score / max(look(0.0)[2], 1e-300)
    for _ in range(_MOST_STEPS):
        value, slope, spread = look(t)
        if abs(slope - score) < _NEAR * score:
            break
        low, high = (t, high) if slope < score else (low, t)
        t += (score - slope) / max(spread, 1e-300)
        if not low < t < high:
            t = 2 * low if np.isinf(high) else (low + high) / 2
    root = np.sqrt(max(0.0, 2 * (t * score - value)))
    if root < _SMALL:
        return float(root**2)
    return float(max(0.0, root + np.log(t * np.sqrt(spread) / root) / root) ** 2)
