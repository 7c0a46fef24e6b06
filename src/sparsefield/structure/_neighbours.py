"""Neighbours of every variable, chosen leniently: whoever asks about a pair wants no neighbour to be missed."""

from __future__ import annotations

import numpy as np

from sparsefield.structure._design import Design
from sparsefield.structure._nodes import Nodes
from sparsefield.structure._search import Search

# The extended Bayesian information criterion (Chen and Chen 2008), with the half of its usual gamma.
_GAMMA = 0.25


def find_neighbours(design: Design, n_threads: int | None = None) -> Nodes:
    """Regress every variable on its neighbours: those whose likelihood ratio is above the price of the extended BIC.

    What it takes depends on the rows alone, not on their order. Where cells are missing, what is expected of them is
    found once more when neighbours are known, and these are chosen again.

    Parameters
    ----------
    design : Design
        The rows.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """
    nodes = Nodes(design, n_threads)
    price = float(np.log(max(design.n, 2.0)) + 2 * _GAMMA * np.log(max(design.n_variables, 2)))
    search = Search(nodes, price=price)
    search.climb()
    if design.has_missing:
        nodes.fill()
        search.climb()
    return nodes
