"""From p-values to false discovery rates."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Rate = Literal["bh", "by", "holm"]

RATES: dict[str, str] = {
    "bh": "false discovery rate (Benjamini and Hochberg 1995)",
    "by": "false discovery rate under any dependence (Benjamini and Yekutieli 2001)",
    "holm": "probability of any false edge (Holm 1979)",
}


def adjust(p_values: Values, rate: Rate = "bh") -> Values:
    """Return the least rate at which each test would be a discovery.

    Parameters
    ----------
    p_values : ndarray of shape (n,)
        Those of all tests; tests that cannot be made have 1.
    rate : "bh", "by" or "holm"
        What is to be held: the false discovery rate, for tests that are independent or positively dependent, or for any;
        or the probability of a single false discovery.

    Examples
    --------
    >>> import numpy as np
    >>> adjust(np.array([0.01, 0.02, 0.5])).tolist()
    [0.03, 0.03, 0.5]
    """
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, n + 1)
    if rate == "holm":
        found = np.maximum.accumulate(p_values[order] * (n - ranks + 1))
    else:
        times = (1 / ranks).sum() if rate == "by" else 1.0
        found = np.minimum.accumulate((p_values[order] * n * times / ranks)[::-1])[::-1]
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(found, 1.0)
    return adjusted


def largest_discovery(p_values: Values, at: float, rate: Rate = "bh") -> float:
    """Return the p-value up to which one more test would have been a discovery.

    With R discoveries among n tests it is at (R + 1) / n for Benjamini and Hochberg: what a pair that is none must reach.
    """
    n = max(1, len(p_values))
    n_found = int(np.count_nonzero(adjust(p_values, rate) <= at)) if len(p_values) else 0
    if rate == "holm":
        return at / max(1, n - n_found)
    times = (1 / np.arange(1, n + 1)).sum() if rate == "by" else 1.0
    return float(min(at, at * (n_found + 1) / (n * times)))
