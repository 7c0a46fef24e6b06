"""How often the variables of a table agree, as a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sparsefield.data import Table, count_codes
from sparsefield.plotting._colors import choose_colors
from sparsefield.tables import encode


def plot_agreement(
    table: Any,
    *,
    groups: Sequence[str] | None = None,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of rows on which two variables take the same level, among the rows where both were observed.

    Parameters
    ----------
    table : Table, array, pandas or polars data frame, or path
        Variables with the same levels; missing values are left out pair by pair.
    groups : sequence of str, optional
        A group for each variable, whose name is written in the group's colour.
    colors : mapping of group to colour, optional
        The colours; chosen unless given.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
        Variables are ordered so that those that agree stand together.
    """
    table = table if isinstance(table, Table) else encode(table)
    share = agreement(table)
    order = order_by_likeness(share)
    if ax is None:
        ax = plt.subplots(figsize=(9, 8), layout="constrained")[1]
    image = ax.imshow(share[np.ix_(order, order)], cmap="BrBG", vmin=0, vmax=1, interpolation="nearest")
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, label="share of rows on which two agree")
    bar.outline.set_visible(False)
    write_names(ax, [table.domain.names[k] for k in order])
    if groups is not None:
        own = choose_colors(groups, colors)
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            for label, k in zip(labels, order, strict=True):
                label.set_color(own[groups[k]])
    return ax


def agreement(table: Table) -> NDArray[np.float64]:
    """Return the share of rows on which two variables take the same level; NaN where they never meet."""
    levels = table.domain.levels
    if len(set(levels)) > 1:
        other = next(i for i, own in enumerate(levels) if own != levels[0])
        raise ValueError(
            f"Variables {table.domain.names[0]!r} and {table.domain.names[other]!r} have different levels: "
            "agreement needs the same for all."
        )
    domain = replace(table.domain, reference=None)
    counts = count_codes(table.codes, domain).astype(np.float64)
    p, k = domain.n_variables, len(levels[0])
    blocks = counts.reshape(p, k, p, k)
    with np.errstate(invalid="ignore"):
        share: NDArray[np.float64] = np.einsum("iaja->ij", blocks) / blocks.sum(axis=(1, 3))
    return share


def order_by_likeness(share: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order variables by average linkage on 1 - likeness, which is from 0 to 1."""
    if len(share) < 3:
        return np.arange(len(share))
    distance = 1 - np.nan_to_num(share, nan=0.5)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)


def write_names(ax: Axes, names: Sequence[str]) -> None:
    """Write the names of variables along both axes of a map."""
    size = float(np.clip(480 / len(names), 3.5, 10))
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.set_yticks(range(len(names)), names, fontsize=size)
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set_parse_math(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
