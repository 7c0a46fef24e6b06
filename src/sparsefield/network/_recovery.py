"""How well the edges of a known field are found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sparsefield.model import PairwiseMRF
from sparsefield.network._network import Network


def edge_auc(interactions: NDArray[np.float64], truth: PairwiseMRF) -> NDArray[np.float64]:
    """Return the area under the ROC curve of edges ranked by the size of their interaction, against a known field.

    It is the probability that an edge of the truth ranks above a pair without one, ties counting half.

    Parameters
    ----------
    interactions : ndarray of shape (..., n_variables, n_variables)
        One or more matrices of interactions.
    truth : PairwiseMRF
        The field whose edges should be found: some, but not all pairs.
    """
    first, second = np.triu_indices(truth.domain.n_variables, 1)
    is_edge = Network.of(truth).strengths[first, second] != 0
    n_edges, n_others = int(is_edge.sum()), int((~is_edge).sum())
    if n_edges == 0 or n_others == 0:
        raise ValueError("An area under the ROC curve needs a truth with an edge and a pair without one.")
    ranks = rankdata(np.abs(interactions[..., first, second]), axis=-1)
    found = (ranks[..., is_edge].sum(axis=-1) - n_edges * (n_edges + 1) / 2) / (n_edges * n_others)
    return np.asarray(found)
