"""Pictures for the check of the headline."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sparsefield.fits import Fit
from sparsefield.model import PairwiseMRF
from sparsefield.plotting import Curve, place_nodes, plot_curves, plot_dots, plot_network
from sparsefield_experiments._record import Record
from sparsefield_experiments._votes import COLORS, NELSON, ROCKEFELLER, Votes

_TWO = {ROCKEFELLER: "#e08214", NELSON: "#1f5fa8"}
_MOST_MISSED, _MOST_LINKS = 15, 25


def draw_networks(record: Record, votes: Votes, models: dict[str, PairwiseMRF]) -> None:
    """Draw the networks side by side, nodes at the same positions, with the names of those that link the parties."""
    graphs = {title: votes.graph(model) for title, model in models.items()}
    positions = place_nodes(list(graphs.values())[1], seed=1)
    figure = Figure(figsize=(16, 6), layout="constrained")
    for ax, (title, graph) in zip(figure.subplots(1, len(models)), graphs.items(), strict=True):
        links = votes.links_across(models[title].interactions)
        order = np.argsort(-links, kind="stable")[:12]
        named = dict.fromkeys([ROCKEFELLER, NELSON, *(votes.names[k] for k in order if links[k] > 0)])
        plot_network(graph, groups=votes.party, colors=COLORS, positions=positions, labels=list(named), ax=ax)
        ax.set_title(f"{title}: {int(links.sum()) // 2} of {graph.number_of_edges()} links across parties")
    record.draw(figure, "headline-networks")


def draw_paths(
    record: Record, votes: Votes, paths: NDArray[np.int64], short: NDArray[np.int64], fits: dict[str, Fit]
) -> None:
    """Draw the Republican links of two Democrats from iteration to iteration, with long steps and with short ones."""
    figure = Figure(figsize=(12, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    iterations = np.arange(1, paths.shape[1] + 1)
    for name, color in _TWO.items():
        k = votes.names.index(name)
        plot_curves(left, [Curve("", iterations, path[:, k], color=color) for path in paths])
        plot_curves(right, [Curve(name, np.arange(1, len(short) + 1), short[:, k], color=color)])
        for fit, style in zip(fits.values(), ("--", ":"), strict=True):
            right.axhline(int(votes.links_across(fit.model.interactions)[k]), color=color, linestyle=style, linewidth=1)
    for line in left.lines:
        line.set(alpha=0.5, linewidth=1)
    left.set(
        title=f"steps of 0.4, as in the paper: {len(paths)} runs", xlabel="iteration", ylabel="links with Republicans"
    )
    right.set(title="steps of 1 / L (dashed, dotted: converged, nays, modelled)", xlabel="iteration")
    right.set_xscale("log")
    right.legend(frameon=False)
    record.draw(figure, "headline-paths")


def draw_missed(record: Record, votes: Votes) -> None:
    """Draw how many votes senators missed, those who missed most."""
    order = np.argsort(-votes.table.n_missing, kind="stable")[:_MOST_MISSED]
    names = [votes.names[k] for k in order]
    colors = [COLORS[votes.party[name]] for name in names]
    figure = Figure(figsize=(6, 4), layout="constrained")
    missed = [votes.table.n_missing[order].tolist()]
    title = f"votes missed, of {votes.table.n_rows}"
    plot_dots(figure.subplots(), names, missed, labels=[""], colors=["#333333"], name_colors=colors, x=title)
    record.draw(figure, "headline-missed")


def draw_links(record: Record, links: pl.DataFrame) -> None:
    """Draw how often links across parties are there when roll calls are resampled, the most frequent ones."""
    shown = links.head(_MOST_LINKS)
    names = [f"{a} \N{EN DASH} {b}" for a, b in shown.select("democrat", "republican").iter_rows()]
    figure = Figure(figsize=(8, 0.24 * len(names) + 1.3), layout="constrained")
    ax = figure.subplots()
    plot_dots(
        ax,
        names,
        [shown["resamples_nay"].to_list(), shown["resamples_modelled"].to_list()],
        labels=["missing votes as nays", "missing votes modelled"],
        colors=["#e08214", "#7b3294"],
        x="share of the resamples in which the link is there",
    )
    ax.set_xlim(0, 1.02)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    record.draw(figure, "headline-links")
