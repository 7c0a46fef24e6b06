"""Curves and dots on axes."""

from matplotlib.figure import Figure

from sparsefield.plotting import Curve, plot_curves, plot_dots


def test_curves_have_a_band_where_they_are_means():
    ax = plot_curves(Figure().subplots(), [Curve("mean", [1, 2], [3, 4], [0.5, 1.0]), Curve("exact", [1, 2], [2, 2])])
    assert [line.get_label() for line in ax.lines] == ["mean", "exact"]
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (2.5, 5.0)


def test_dots_stand_in_the_order_given_first_on_top():
    ax = plot_dots(Figure().subplots(), ["a", "b"], [[1, 2], [3, 4]], labels=["x", "y"], colors=["red", "blue"])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    low, high = ax.get_ylim()
    assert low > high
    assert ax.lines[0].get_markerfacecolor() == "none"
    assert list(ax.lines[1].get_xdata()) == [3, 4]
