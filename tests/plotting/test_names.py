"""Names of edges, shares in words, and heights of names."""

import numpy as np

from sparsefield.plotting._names import as_percent, name_edge, spread


def test_heights_are_moved_apart_and_no_further():
    np.testing.assert_allclose(spread([0.5, 0.5, 0.9], 0.1), [0.45, 0.55, 0.9])
    np.testing.assert_allclose(spread([1.0, 0.0, 1.0], 0.2), [0.8, 0.0, 1.0])
    assert len(spread([], 0.1)) == 0


def test_edges_have_short_names_and_shares_are_rounded_down():
    assert name_edge("a", "x" * 25) == "a - " + "x" * 23 + "…"
    assert [as_percent(share) for share in (0, 0.004, 0.29, 0.996, 1)] == ["0%", "<1%", "29%", "99%", "100%"]
