"""From p-values to false discovery rates."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sparsefield._typing import Values
from sparsefield.data import listed

Rate = Literal["bh", "by", "holm"]

RATES: dict[str, str] = {
    "bh": "false discovery rate (Benjamini and Hochberg 1995)",
    "by": "false discovery rate under any dependence (Benjamini and Yekutieli 2001)",
    "holm": "probability of any false edge (Holm 1979)",
}


def check_rate(rate: str) -> None:
    """Refuse words that name no rate."""
    if rate not in RATES:
        raise ValueError(f"rate is {rate!r}: use {listed(list(RATES))}.")


def adjust(p_values: Values, rate: Rate = "bh") -> Values:
    """Return the least rate at which each test would be a discovery.

    Parameters
    ----------
    p_values : ndarray of shape (n,)
        Those of all tests; tests that cannot be made have 1.
    rate : "bh", "by" or "holm"
        What is to be held: the false discovery rate, for tests that are independent or positively dependent, or for
        any; or the probability of a single false discovery.

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
    """Return the p-value up to which a test with p = 1 would have been a discovery.

    With R discoveries among n tests it is at (R + 1) / n for Benjamini and Hochberg, or more where the next tests are
    discoveries with its help.
    """
    n = len(p_values)
    if n == 0:
        return at
    if rate == "holm":
        return at / max(1, n - int(np.count_nonzero(adjust(p_values, rate) <= at)))
    ranks = np.arange(1, n + 1)
    limits = at * ranks / (n * ((1 / ranks).sum() if rate == "by" else 1.0))
    is_reached = np.sort(p_values)[:-1] <= limits[1:]  # by those before it
    return float(limits[np.flatnonzero(np.append(True, is_reached))[-1]])
