"""Backtracking line search: how far to go along a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")


def backtrack(
    go: Callable[[float], tuple[float, _T]], limit: float | np.floating[Any], most: int
) -> tuple[float, float, _T] | None:
    """Find the first of the shares 1, 1/2, 1/4 ... of a step that leads low enough (backtracking line search).

    Parameters
    ----------
    go : callable
        Returns what is to be low after a share of the step, and whatever else there is.
    limit : float
        What is low enough; compared in its own precision.
    most : int
        How many shares are tried.

    Returns
    -------
    tuple of float, float and any, or None
        The share, and what `go` returns of it; None where no share leads low enough.
    """
    for halvings in range(most):
        share = 0.5**halvings
        value, found = go(share)
        if value <= limit:
            return share, value, found
    return None
