"""Networks at other penalties, for two of them side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsefield.fits import Fit
from sparsefield.model import has_sign
from sparsefield.selection import PathWeights

# Two networks side by side need a few choices that differ; twelve are listed on a screen, and are small in the file.
_MOST_ALPHAS = 12


def describe_alternatives(path: PathWeights, fit: Fit) -> dict[str, Any] | None:
    """Return the edges at a few penalties of a path, by the indices of the variables of a fit, at three digits.

    Parameters
    ----------
    path : PathWeights
        The weights along a path, of the same variables.
    fit : Fit
        The fit of the page.

    Returns
    -------
    dict or None
        The penalties, their edges as lists of first, second, weight and whether that has a sign, and which two are
        shown at first: that of the fit and a larger one. None where no two penalties have different edges.
    """
    own, others = fit.model.domain.names, path.names
    if set(own) != set(others):
        odd = sorted(set(own) ^ set(others))[0]
        raise ValueError(
            f"The alternatives are about other variables than the fit ({odd!r}): give those of the same table."
        )
    alpha = fit.sparsity
    kept = _choose_alphas(path, alpha)
    if len(kept) < 2:
        return None
    index = np.array([own.index(name) for name in others])
    first, second = np.sort(index[path.pairs], axis=1).T
    is_signed = has_sign(fit.model.domain)[first, second]
    edges = []
    for k in kept:
        weights = path.values[k]
        order = [j for j in np.argsort(-np.abs(weights), kind="stable") if weights[j] != 0]
        edges.append([[int(first[j]), int(second[j]), float(f"{weights[j]:.3g}"), bool(is_signed[j])] for j in order])
    near = 0 if alpha is None else int(np.argmin([abs(path.alphas[k] - alpha) for k in kept]))
    left, right = sorted((near, near - 1 if near else 1))
    return {
        "alphas": [float(f"{path.alphas[k]:.3g}") for k in kept],
        "edges": edges,
        "first": left,
        "second": right,
    }


def _choose_alphas(path: PathWeights, alpha: float | None) -> list[int]:
    """Return which penalties are kept: of those with the same edges one, and of many a few, the fit's among them."""
    support = path.values != 0
    changed = [
        k for k in range(len(path.alphas)) if support[k].any() and (k == 0 or (support[k] != support[k - 1]).any())
    ]
    if alpha is not None and path.alphas:
        near = int(np.argmin(np.abs(np.array(path.alphas) - alpha)))
        if support[near].any():
            changed = sorted({k for k in changed if not np.array_equal(support[k], support[near])} | {near})
    else:
        near = -1
    if len(changed) <= _MOST_ALPHAS:
        return changed
    spread = np.linspace(0, len(changed) - 1, _MOST_ALPHAS).round().astype(int)
    kept = {changed[k] for k in spread}
    if near in changed and near not in kept:
        kept.remove(min(kept - {changed[0], changed[-1]}, key=lambda k: abs(k - near)))
        kept.add(near)
    return sorted(kept)
