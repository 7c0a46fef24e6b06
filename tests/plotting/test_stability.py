"""Pictures of stability, read back from their axes."""

import numpy as np
import pytest

from sparsefield.plotting import StabilityDisplay
from sparsefield.resampling import Stability
from support.many_fits import ENDS, make_fit


def test_stability_shows_means_and_bands_against_rows_kept():
    rng = np.random.default_rng(1)
    edges = np.sort(rng.uniform(0.75, 1.0, (3, 40)), axis=1)
    strength = edges - [[0.5], [0.0], [0.2]]
    found = Stability(make_fit({}), (0.25, 0.75, 0.5), edges, strength, ENDS)
    ax = StabilityDisplay.from_stability(found).plot().ax_
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[0] == "weights of edges (CS coefficient 0.75)"
    assert legend[1] == "strengths of variables (CS coefficient 0.25)"
    for line, values in zip(ax.lines, (edges, strength), strict=False):
        np.testing.assert_allclose(
            line.get_xydata(), np.column_stack([(0.75, 0.5, 0.25), values.mean(axis=1)[[1, 2, 0]]])
        )
    for band, values in zip(ax.collections, (edges, strength), strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(np.quantile(values, 0.05, axis=1).min())
        assert heights.max() == pytest.approx(np.quantile(values, 0.95, axis=1).max())
    assert list(ax.lines[2].get_ydata()) == [0.7, 0.7]
    left, right = ax.get_xlim()
    assert left > right
