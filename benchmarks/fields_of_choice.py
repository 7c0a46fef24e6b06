"""The kinds of fields of `choice.py`: those that networks of symptoms are tried on, the paper's, chains and grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np

import sparsefield as sf
from sparsefield_experiments._trials import BURN_IN, EDGE_PROBABILITY, STRENGTH

Rng = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """A kind of field, made from a seed, and how many rows a table has."""

    name: str
    n_rows: int
    make: Callable[[int], sf.PairwiseMRF]


def weigh(graph: nx.Graph, rng: Rng, *, is_mixed: bool, size: tuple[float, float] | None = None) -> sf.PairwiseMRF:
    """Give edges weights, sizes of a normal distribution unless given, and levels that are about equally frequent.

    As van Borkulo et al. (2014): the main effect is minus half of the sum of the weights of a variable.
    """
    p = graph.number_of_nodes()
    weights = np.zeros((p, p))
    for i, j in graph.edges:
        own = abs(rng.normal()) if size is None else rng.uniform(*size)
        weights[i, j] = weights[j, i] = -own if is_mixed and rng.random() < 0.5 else own
    return sf.PairwiseMRF.binary(-weights.sum(axis=1) / 2, weights)


def make_random(p: int, share: float, is_mixed: bool, seed: int) -> sf.PairwiseMRF:
    """Make a field each pair of which has an edge with the same probability."""
    rng = np.random.default_rng([1, seed])
    return weigh(nx.gnp_random_graph(p, share, seed=int(rng.integers(2**31))), rng, is_mixed=is_mixed)


def make_scale_free(p: int, is_mixed: bool, seed: int) -> sf.PairwiseMRF:
    """Make a tree that grew by preferential attachment."""
    rng = np.random.default_rng([2, seed])
    return weigh(nx.barabasi_albert_graph(p, 1, seed=int(rng.integers(2**31))), rng, is_mixed=is_mixed)


def make_small_world(p: int, is_mixed: bool, seed: int) -> sf.PairwiseMRF:
    """Make a ring of degree 4, a tenth of whose edges are moved."""
    rng = np.random.default_rng([3, seed])
    return weigh(nx.watts_strogatz_graph(p, 4, 0.1, seed=int(rng.integers(2**31))), rng, is_mixed=is_mixed)


def make_rare(p: int, seed: int) -> sf.PairwiseMRF:
    """Make symptoms that 3% to 15% would have by themselves, each tied to three others, mostly positively."""
    rng = np.random.default_rng([4, seed])
    graph = nx.gnp_random_graph(p, 3 / (p - 1), seed=int(rng.integers(2**31)))
    weights = np.zeros((p, p))
    for i, j in graph.edges:
        weights[i, j] = weights[j, i] = rng.uniform(1.0, 2.5) * (1 if rng.random() < 0.85 else -1)
    share = rng.uniform(0.03, 0.15, p)
    return sf.PairwiseMRF.binary(np.log(share / (1 - share)), weights)


def make_pairs(p: int, n_pairs: int, seed: int) -> sf.PairwiseMRF:
    """Make a few strong pairs, and variables that have nothing to do with any other."""
    rng = np.random.default_rng([5, seed])
    weights, order = np.zeros((p, p)), rng.permutation(p)
    for i, j in order[: 2 * n_pairs].reshape(-1, 2):
        weights[i, j] = weights[j, i] = rng.choice([-1, 1]) * rng.uniform(1.5, 2.5)
    return sf.PairwiseMRF.binary(rng.normal(0, 0.5, p) - weights.sum(axis=1) / 2, weights)


def make_graph(graph: nx.Graph, seed: int) -> sf.PairwiseMRF:
    """Make edges of size 0.5 to 1.5 on a graph."""
    return weigh(
        nx.convert_node_labels_to_integers(graph), np.random.default_rng([6, seed]), is_mixed=True, size=(0.5, 1.5)
    )


def make_paper(p: int, seed: int) -> sf.PairwiseMRF:
    """Make a field of the paper."""
    return sf.datasets.make_field(p, EDGE_PROBABILITY, STRENGTH, seed=seed)


def make_none(p: int, seed: int) -> sf.PairwiseMRF:
    """Make independent variables whose ones have frequencies from 0.05 to 0.95."""
    share = np.random.default_rng([7, seed]).uniform(0.05, 0.95, p)
    return sf.PairwiseMRF.binary(np.log(share / (1 - share)), np.zeros((p, p)))


KINDS = (
    *(Kind("random 30%, 10", n, partial(make_random, 10, 0.3, True)) for n in (250, 1000)),
    Kind("random 10%, 20", 250, partial(make_random, 20, 0.1, True)),
    Kind("random 30%, 20", 1000, partial(make_random, 20, 0.3, True)),
    *(Kind("random 30%, 20, positive", n, partial(make_random, 20, 0.3, False)) for n in (250, 1000)),
    Kind("scale-free, 20", 250, partial(make_scale_free, 20, True)),
    Kind("scale-free, 20, positive", 1000, partial(make_scale_free, 20, False)),
    Kind("small world, 20", 250, partial(make_small_world, 20, True)),
    Kind("small world, 20, positive", 1000, partial(make_small_world, 20, False)),
    *(Kind("the paper's, 10", n, partial(make_paper, 10)) for n in (250, 1000)),
    *(Kind("the paper's, 20", n, partial(make_paper, 20)) for n in (1000, 4000)),
    Kind("rare, 12", 500, partial(make_rare, 12)),
    Kind("rare, 16", 2000, partial(make_rare, 16)),
    Kind("chain, 20", 100, partial(make_graph, nx.path_graph(20))),
    Kind("grid, 16", 250, partial(make_graph, nx.grid_2d_graph(4, 4))),
    *(Kind("random 10%, 50", n, partial(make_random, 50, 0.1, True)) for n in (250, 1000)),
    Kind("small world, 30, positive", 250, partial(make_small_world, 30, False)),
    Kind("six pairs, 50", 250, partial(make_pairs, 50, 6)),
)
EMPTY = tuple(
    Kind(f"none, {p}", n, partial(make_none, p)) for p, n in ((10, 100), (20, 100), (20, 250), (50, 250), (20, 1000))
)


def draw(kind: Kind, seed: int) -> tuple[sf.PairwiseMRF, sf.Table]:
    """Return the field of a seed, and a table drawn from it: exactly, but of the paper's fields as the paper does."""
    truth = kind.make(seed)
    if kind.name.startswith("the paper"):
        return truth, truth.sample(kind.n_rows, n_sweeps=BURN_IN, seed=seed)
    return truth, truth.sample(kind.n_rows, method="perfect", seed=seed)
