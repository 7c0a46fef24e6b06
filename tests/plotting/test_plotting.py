from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from sparsefield import SparseMRF
from sparsefield.datasets import make_field
from sparsefield.plotting import Curve, HeatmapDisplay, NetworkDisplay, RocDisplay, TraceDisplay, plot_curves, plot_dots


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
