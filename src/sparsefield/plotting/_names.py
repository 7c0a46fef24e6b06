"""Names of variables and of edges, and room for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

_LONGEST = 24  # letters of a name: two of them take a third of the width of a picture


def name_edge(first: str, second: str) -> str:
    """Return the name of an edge; long names of variables are cut."""
    return f"{shorten(first)} - {shorten(second)}"


def shorten(name: str) -> str:
    """Return a name on one line, and cut it if it is long."""
    line = " ".join(name.splitlines())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def as_percent(share: float) -> str:
    """Return a share in percent, rounded down: 100% is all of them."""
    percent = int(np.floor(100 * share + 1e-9))  # 0.29 * 100 is 28.999999999999996
    return "<1%" if percent == 0 and share > 0 else f"{percent}%"


def spread(heights: Sequence[float] | NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Move heights, which are from 0 to 1, as little as possible, so that each is `gap` above the next lower one.

    Differences between where they are and where they were have the least sum of squares: with x_i = y_i - i gap in
    their order, this is a regression on a line that does not fall.
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(order))
    room = max(0.0, 1 - steps[-1]) if len(steps) else 0.0
    moved = np.clip(isotonic_regression(np.asarray(heights)[order] - steps).x, 0, room) + steps
    found = np.empty(len(order))
    found[order] = moved
    return found
