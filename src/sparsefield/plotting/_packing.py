"""Rectangles side by side, in a picture of a given shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_N_WIDTHS = 40  # that are tried


def pack(sizes: Sequence[NDArray[np.float64]], aspect: float) -> tuple[list[NDArray[np.float64]], float, float]:
    """Put rectangles into a picture that is `aspect` times as wide as high, the largest first.

    Parameters
    ----------
    sizes : sequence of ndarray of shape (2,)
        Width and height of each.
    aspect : float
        The shape of the picture.

    Returns
    -------
    list of ndarray of shape (2,)
        The lower left corner of each; no two rectangles overlap.
    float, float
        Width and height of all together.
    """
    if not len(sizes):
        return [], 0.0, 0.0
    widest, area = max(float(w) for w, _ in sizes), sum(float(w * h) for w, h in sizes)
    total = sum(float(w) for w, _ in sizes)
    tried = np.geomspace(widest, max(min(total, 3 * widest + 3 * np.sqrt(area * aspect)), widest), _N_WIDTHS)
    found = [_fill(sizes, float(width)) for width in tried]
    return min(found, key=lambda own: max(own[1] / aspect, own[2]))


def _fill(sizes: Sequence[NDArray[np.float64]], width: float) -> tuple[list[NDArray[np.float64]], float, float]:
    """Put each rectangle where it ends lowest, above what is there already (a skyline: pieces of x, and how high)."""
    skyline = [(0.0, width, 0.0)]
    corners: list[NDArray[np.float64]] = [np.zeros(2)] * len(sizes)
    for k in sorted(range(len(sizes)), key=lambda k: (-float(np.prod(sizes[k])), k)):
        w, h = (float(own) for own in sizes[k])
        floor, x = min(
            (max(top for left, right, top in skyline if left < start + w - 1e-9 and right > start + 1e-9), start)
            for start, _, _ in skyline
            if start + w <= width + 1e-9
        )
        corners[k] = np.array([x, floor])
        kept = [
            piece
            for left, right, top in skyline
            for piece in ((left, min(right, x), top), (max(left, x + w), right, top))
        ]
        skyline = sorted([piece for piece in kept if piece[1] - piece[0] > 1e-9] + [(x, x + w, floor + h)])
    most = max(corner[0] + size[0] for corner, size in zip(corners, sizes, strict=True))
    return corners, float(most), max(top for _, _, top in skyline)
