"""The Senate's votes as the paper reads them, and links between its parties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Table, moments_of_table
from sparsefield.datasets import Senate, load_senate
from sparsefield.model import PairwiseMRF
from sparsefield.network import make_graph
from sparsefield.objective import Problem
from sparsefield.plotting import PALETTE

ALPHA, N_CHAINS, N_ITER = 0.1, 5000, 100  # the paper's
MANY = 5  # links with the other party
ROCKEFELLER, NELSON = "Rockefeller (D-WV)", "Nelson (D-NE)"
COLORS = dict(zip("DRI", PALETTE["light"]["groups"], strict=False))  # which differ from those of edges to all readers


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes as they were cast, with nays for the missing ones, and the parties."""

    senate: Senate

    @property
    def table(self) -> Table:
        """Votes, missing where a senator did not vote."""
        return self.senate.votes

    @cached_property
    def nays(self) -> Table:
        """Votes, with nays where a senator did not vote: the paper's."""
        return self.table.fill_missing(0)

    @cached_property
    def problem(self) -> Problem:
        """What the paper minimises."""
        return Problem.with_l1(moments_of_table(self.nays), self.nays.domain, ALPHA)

    @property
    def names(self) -> tuple[str, ...]:
        """The senators."""
        return self.table.domain.names

    @cached_property
    def party(self) -> dict[str, str]:
        """The party of each senator."""
        return dict(zip(self.senate.members["name"], self.senate.members["party"], strict=True))

    @cached_property
    def is_across(self) -> NDArray[np.bool_]:
        """Whether one of two senators is a Democrat and the other a Republican (100, 100)."""
        parties = np.array([self.party[name] for name in self.names])
        across = np.outer(parties == "D", parties == "R")
        return across | across.T

    def links_across(self, interactions: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the positive interactions that each senator has with the other party."""
        return np.asarray(((interactions > 0) & self.is_across).sum(axis=-1))

    def graph(self, model: PairwiseMRF) -> nx.Graph:
        """Return the network of positive interactions, with the party of each senator."""
        whole = make_graph(model)
        graph = nx.Graph()
        graph.add_nodes_from((name, {"party": self.party[name]}) for name in whole)
        graph.add_weighted_edges_from(edge for edge in whole.edges(data="weight") if edge[2] > 0)
        return graph


def load_votes() -> Votes:
    """Load the votes."""
    return Votes(load_senate())
