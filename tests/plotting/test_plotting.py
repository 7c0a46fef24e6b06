import io
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from sparsefield import SparseMRF
from sparsefield.datasets import make_field
from sparsefield.network import make_graph
from sparsefield.plotting import (
    Curve,
    HeatmapDisplay,
    NetworkDisplay,
    RocDisplay,
    TraceDisplay,
    plot_curves,
    plot_dots,
    plot_network,
)


@pytest.fixture
def graph():
    """A dense network of 40 nodes and three without edges."""
    graph = make_graph(make_field(40, degree=12, seed=1))
    graph.add_nodes_from(["alone", "also alone", "alone too"])
    return graph


def test_names_do_not_cover_each_other(graph):
    ax = plot_network(graph, seed=1)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 20 < len(boxes) <= 43
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_names_asked_for_come_first(graph):
    ax = plot_network(graph, labels=["x3", "alone"], seed=1)
    assert [text.get_text() for text in ax.texts] == ["x3", "alone"]


def test_colours_say_sign_or_group():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", -1.0)])
    lines = next(c for c in plot_network(graph).collections if isinstance(c, LineCollection))
    negative, positive = lines.get_colors()
    assert positive[2] > positive[0]  # blue
    assert negative[0] > negative[2]  # orange
    assert lines.get_linewidths()[1] > lines.get_linewidths()[0]
    groups = {"a": "one", "b": "one", "c": "two"}
    ax = plot_network(graph, groups=groups, colors={"one": "#ff0000", "two": "#00ff00"})
    lines, dots = ax.collections
    np.testing.assert_allclose(lines.get_colors()[:, :3], [to_rgba("#c2410c")[:3], to_rgba("#ff0000")[:3]])
    np.testing.assert_allclose(
        dots.get_facecolors()[:, :3], [to_rgba(c)[:3] for c in ("#ff0000", "#ff0000", "#00ff00")]
    )


def test_networks_without_edges_or_nodes_can_be_drawn():
    for graph in (nx.empty_graph(3), nx.Graph()):
        picture = io.BytesIO()
        plot_network(graph).figure.savefig(picture)
        assert picture.getvalue().startswith(b"\x89PNG")


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


# --- Displays ---


def test_displays_draw_on_axes_of_ones_own():
    ax = Figure().subplots()
    display = NetworkDisplay.from_fit(make_field(8, seed=1)).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["positive", "negative"]


def test_groups_of_a_network_are_in_its_legend():
    model = make_field(4, seed=1)
    groups = {"x0": "b", "x1": "a", "x2": "a", "x3": "b"}
    display = NetworkDisplay.from_fit(model, groups=groups).plot()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "a",
        "b",
        "positive, between groups",
        "negative",
    ]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_displays_are_saved(tmp_path, ending):
    path = tmp_path / f"map.{ending}"
    HeatmapDisplay.from_fit(make_field(8, seed=1)).save(path)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[ending])
    assert [own.name for own in tmp_path.iterdir()] == [path.name]


def test_pictures_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"does not end in \.png"):
        HeatmapDisplay.from_fit(make_field(8, seed=1)).save(tmp_path / "map.bmp")


def test_a_heatmap_shows_each_interaction_between_its_names():
    model = make_field(7, seed=2)
    display = HeatmapDisplay.from_fit(model, groups={f"x{k}": str(k % 2) for k in range(7)}).plot()
    (image,) = display.ax_.get_images()
    order = [int(text.get_text()[1:]) for text in display.ax_.get_xticklabels()]
    np.testing.assert_array_equal(image.get_array(), model.interactions[np.ix_(order, order)])
    colors = {text.get_color() for text in display.ax_.get_xticklabels()}
    assert len(colors) == 2
    HeatmapDisplay.from_fit(make_field(2, 0.0, seed=1)).plot()  # nothing to show is no error


def test_a_trace_has_the_columns_of_the_fit():
    table = make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    options = {"solver": "spg", "max_iter": 20, "random_state": 1}
    with pytest.warns(ConvergenceWarning):
        fit = SparseMRF(0.05, **options).fit(table).fit_
    ax = TraceDisplay.from_fit(fit).plot().ax_
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_array_equal(lines["penalised gradient"], fit.trace["step_map_norm"])
    found = lines["certificate: its bias is at most"]
    expected = fit.trace["certificate"].to_numpy()
    np.testing.assert_array_equal(found[expected > 0], expected[expected > 0])
    exact = SparseMRF(0.05, random_state=1).fit(table).fit_
    assert "no bias" in TraceDisplay.from_fit(exact).plot().ax_.get_title()
    with pytest.raises(ValueError, match="no iterations"):
        TraceDisplay.from_fit(replace(exact, steps=()))


def test_a_roc_curve_has_its_area():
    truth = make_field(10, seed=3)
    guess = make_field(10, seed=4)
    display = RocDisplay.from_fit(guess, truth).plot()
    area = np.trapezoid(display.true_positives, display.false_positives)
    assert display.auc == pytest.approx(area, abs=1e-12)
    assert f"AUC {area:.3f}" in display.ax_.get_legend().get_texts()[0].get_text()
    with pytest.raises(ValueError, match="different variables"):
        RocDisplay.from_fit(make_field(9, seed=1), truth)
