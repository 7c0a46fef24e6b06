"""The votes as the paper has them, and links across parties."""

import numpy as np

from sparsefield import PairwiseMRF
from sparsefield_experiments._votes import NELSON, load_votes


def test_links_across_parties_are_between_democrats_and_republicans():
    votes = load_votes()
    assert votes.is_across.sum() == 2 * 44 * 55
    interactions = np.zeros((100, 100))
    a, b, c = (votes.names.index(name) for name in (NELSON, "Hagel (R-NE)", "Jeffords (I-VT)"))
    for i, j, weight in [(a, b, 1.0), (a, c, 1.0), (b, c, -1.0)]:
        interactions[i, j] = interactions[j, i] = weight
    links = votes.links_across(interactions)
    assert links[a] == links[b] == 1
    assert links.sum() == 2
    graph = votes.graph(PairwiseMRF(votes.table.domain, np.zeros(100), interactions))
    assert {frozenset(edge) for edge in graph.edges} == {
        frozenset((NELSON, "Hagel (R-NE)")),
        frozenset((NELSON, "Jeffords (I-VT)")),
    }
    assert graph.nodes[NELSON]["party"] == "D"
    assert not np.any(votes.nays.mask)
