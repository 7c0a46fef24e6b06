"""The Senate as in the paper: its settings, the network of positive links, and a file for Gephi."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from sparsefield._typing import Matrix
from sparsefield._writing import write_text
from sparsefield.fits import GradientStep
from sparsefield.gradients import Simulation, Tay
from sparsefield.model import PairwiseMRF
from sparsefield.plotting import NetworkDisplay, place_nodes
from sparsefield_experiments._record import Record
from sparsefield_experiments._trials import STEP_SIZE, follow
from sparsefield_experiments._votes import ALPHA, COLORS, N_CHAINS, N_ITER, NELSON, ROCKEFELLER, Votes, load_votes

MOST_SWEEPS = {False: 100, True: 10}  # where the paper's criterion is not met; for a quick run


def run_senate(record: Record) -> None:
    """Fit the votes with the paper's settings, and draw its network."""
    votes = load_votes()
    model, steps = fit_as_paper(votes, seed=1, max_sweeps=MOST_SWEEPS[record.quick], tell=record.tell)[:2]
    graph = votes.graph(model)
    positions = place_nodes(graph, seed=1)
    names = {"R": "Republican", "D": "Democrat", "I": "Independent"}
    groups = {name: names[party] for name, party in votes.party.items()}
    colors = {names[key]: color for key, color in COLORS.items()}
    figure = Figure(figsize=(11, 7), layout="constrained")
    NetworkDisplay(graph, groups=groups, colors=colors, positions=positions).plot(figure.subplots())
    record.draw(figure, "senate")
    _write_gexf(record, graph, positions)
    numbers = {
        "settings": {
            "alpha": ALPHA,
            "step_size": STEP_SIZE,
            "n_chains": N_CHAINS,
            "n_iter": N_ITER,
            "max_sweeps": MOST_SWEEPS[record.quick],
            "seed": 1,
        },
        **describe_steps(steps),
        **describe_links(votes, model),
    }
    record.state(numbers, "senate")


def fit_as_paper(
    votes: Votes, *, seed: int, max_sweeps: int, tell: Any = None
) -> tuple[PairwiseMRF, list[GradientStep], list[Matrix]]:
    """Run TAY with the paper's settings; return the field, what each iteration says, and the parameters after each."""
    steps, thetas = [], []
    schedule, simulation = Tay("paper", max_sweeps=max_sweeps), Simulation(N_CHAINS, seed)
    for _, info, theta in follow(votes.problem, schedule, simulation, N_ITER):
        steps.append(info)
        thetas.append(theta)
        if tell is not None:
            tell(len(steps) / N_ITER)
    return votes.problem.model(thetas[-1]), steps, thetas


def describe_steps(steps: list[GradientStep]) -> dict[str, float]:
    """Return how often the criterion of TAY was met, and the norm of the last step map."""
    return {"certified": float(np.mean([info.is_certified for info in steps])), "step_norm": steps[-1].step_map_norm}


def describe_links(votes: Votes, model: PairwiseMRF) -> dict[str, Any]:
    """Return how positive links lie within and across the parties."""
    graph = votes.graph(model)
    links = votes.links_across(model.interactions)
    democrats = {name: int(links[k]) for k, name in enumerate(votes.names) if votes.party[name] == "D"}
    order = sorted(democrats, key=lambda name: -democrats[name])
    n_within = sum(votes.party[a] == votes.party[b] for a, b in graph.edges)
    # Where all links are within one party, or there are none, assortativity is not defined.
    mixing = nx.attribute_assortativity_coefficient(graph, "party") if graph.number_of_edges() else np.nan
    return {
        "positive": graph.number_of_edges(),
        "negative": int((np.triu(model.interactions) < 0).sum()),
        "within": n_within,
        "assortativity": float(mixing) if np.isfinite(mixing) else None,
        "across": int(links.sum()) // 2,
        "leaders": [[name, democrats[name]] for name in order[:5]],
        "rockefeller": democrats[ROCKEFELLER],
        "ben_nelson": democrats[NELSON],
    }


def _write_gexf(record: Record, graph: nx.Graph, positions: dict[str, Any]) -> None:
    """Write the network for Gephi, with the colours and positions of the picture."""
    graph = graph.copy()
    for name, (x, y) in positions.items():
        red, green, blue = (round(255 * part) for part in to_rgb(COLORS[graph.nodes[name]["party"]]))
        graph.nodes[name]["viz"] = {
            "color": {"r": red, "g": green, "b": blue, "a": 1.0},
            "position": {"x": 500 * float(x), "y": 500 * float(y), "z": 0.0},
            "size": 8.0,
        }
    write_text(record.folder / "senate.gexf", "\n".join(nx.generate_gexf(graph)) + "\n")
