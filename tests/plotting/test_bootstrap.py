"""Pictures of resamples, read back from their axes."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield.plotting import DifferencesDisplay, SharesDisplay
from support.inferences import make_inference
from support.many_fits import make_bootstrap, make_fit


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


def test_shares_show_weights_intervals_and_how_often_edges_are_found():
    bootstrap = make_bootstrap()
    ax = SharesDisplay.from_bootstrap(bootstrap).plot().ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a - b", "b - c", "c - d"]
    assert list(lines_of(ax)["weight in the fit"].get_xdata()) == [2.0, -0.5, 0.1]
    assert not ax.collections  # percentiles of shrunken weights are no intervals of the true ones
    assert [text.get_text() for text in ax.texts] == ["100%", "100%", "71%", "found in"]
    darkness = [1 - np.mean(own.get_facecolor()[:3]) for own in ax.patches]
    assert darkness[0] == darkness[1] > darkness[2]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the strongest is on top


def test_intervals_beside_shares_are_those_of_the_inference():
    bootstrap = make_bootstrap()
    names = bootstrap.fit.model.domain.names
    inference = make_inference(names, {(0, 1): 2.5, (2, 3): 0.9}, level=0.9)
    display = SharesDisplay.from_bootstrap(bootstrap, inference=inference).plot()
    ax = display.ax_
    assert display.table["estimate"].to_list() == [2.5, 0.05, 0.9]
    (bars,) = ax.collections
    assert bars.get_label() == "estimate, not shrunken, and 90% interval"
    ends = [line[:, 0].tolist() for line in bars.get_segments()]
    np.testing.assert_allclose(ends, [[2.0, 3.0], [-0.45, 0.55], [0.4, 1.4]])
    assert list(lines_of(ax)["weight in the fit"].get_xdata()) == [2.0, -0.5, 0.1]


def test_so_many_edges_are_shown():
    ax = SharesDisplay.from_bootstrap(make_bootstrap(), most=2).plot().ax_
    assert len(ax.get_yticklabels()) == 2
    assert ax.get_title() == "strongest 2 of 3 edges, 100 resamples"


def test_differences_are_black_where_the_interval_excludes_zero():
    """All three move together, but for the last, which is zero in 29 of 100: it may be the same as the second."""
    bootstrap = make_bootstrap()
    bootstrap.weights[:5, 3] = -1.0
    ax = DifferencesDisplay.from_bootstrap(bootstrap).plot().ax_
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a - b", "c - d", "b - c"]
    (image,) = ax.get_images()
    colors = image.to_rgba(image.get_array())[..., :3].mean(axis=2)
    white, grey, black = 1.0, colors[1, 2], colors[0, 1]
    assert black < 0.1 < grey < 0.9
    np.testing.assert_allclose(colors, [[white, black, black], [black, white, grey], [black, grey, white]])
    assert [text.get_text() for text in ax.texts] == ["2.00", "0.10", "-0.50"]


def test_the_strongest_edges_are_compared():
    display = DifferencesDisplay.from_bootstrap(make_bootstrap(), most=2)
    assert display.names == ("a - b", "b - c")
    assert display.differs.tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("display", [SharesDisplay, DifferencesDisplay])
def test_fits_without_edges_have_no_picture_of_them(display):
    bootstrap = replace(make_bootstrap(), fit=make_fit({}))
    with pytest.raises(ValueError, match="no edge"):
        display.from_bootstrap(bootstrap)
