"""Pictures of many fits, read back from their axes."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from inferences import make_inference
from sparsefield import Fit, PairwiseMRF
from sparsefield.data import Domain
from sparsefield.fits import Status
from sparsefield.plotting import ChoiceDisplay, DifferencesDisplay, PathDisplay, SharesDisplay, StabilityDisplay
from sparsefield.plotting._names import as_percent, name_edge, spread
from sparsefield.resampling import Bootstrap, Ends, Stability
from sparsefield.selection import Choice, Path, select

ENDS = Ends((), np.ones(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def make_fit(weights, n_variables=4, alpha=0.1):
    """A fit of binary variables that has these edges."""
    interactions = np.zeros((n_variables, n_variables))
    for (i, j), weight in weights.items():
        interactions[i, j] = interactions[j, i] = weight
    model = PairwiseMRF.binary(
        np.zeros(n_variables), interactions, names=list("abcdefghijklmnopqrstuvwxyz"[:n_variables])
    )
    return Fit(model, Status("converged", "Made up."), (), settings={"alpha": alpha})


def make_path(alphas=(0.4, 0.2, 0.1)):
    fits = (
        make_fit({}, alpha=alphas[0]),
        make_fit({(0, 1): 1.0}, alpha=alphas[1]),
        make_fit({(0, 1): 2.0, (1, 2): -0.5, (2, 3): 0.1}, alpha=alphas[2]),
    )
    return Path(fits, (None,) * 3, (0.0,) * 3, 100.0)


def make_bootstrap():
    """Three edges, of which the second has another sign, and a pair that only resamples join."""
    fit = make_fit({(0, 1): 2.0, (1, 2): -0.5, (2, 3): 0.1})
    pairs = np.array([[0, 1], [0, 3], [1, 2], [2, 3]])
    weights = np.tile([2.0, 0.0, -0.5, 0.1], (100, 1)) + np.linspace(-0.2, 0.2, 100)[:, None] * [1, 0, 1, 1]
    weights[:29, 3] = 0
    weights[:5, 1] = 0.3
    return Bootstrap(fit, pairs, weights, ENDS, 500)


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


# --- Paths ---


def test_a_path_shows_each_weight_at_its_alpha():
    ax = PathDisplay.from_path(make_path(), chosen=0.2).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    shown = sorted(tuple(map(tuple, line)) for line in lines.get_segments())
    assert shown == sorted(
        tuple(zip((0.4, 0.2, 0.1), weights, strict=True)) for weights in [(0, 1, 2), (0, 0, -0.5), (0, 0, 0.1)]
    )
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    assert left > right
    assert any(list(line.get_xdata()) == [0.2, 0.2] for line in ax.lines)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["chosen: 0.2"]


def test_the_strongest_edges_of_a_path_have_names_in_their_colour():
    ax = PathDisplay.from_path(make_path(), labels=2).plot().ax_
    assert [text.get_text() for text in ax.texts] == ["a - b", "b - c"]
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    colors = {line[-1, 1]: to_hex(color) for line, color in zip(lines.get_segments(), lines.get_colors(), strict=True)}
    assert [text.get_color() for text in ax.texts] == [colors[2.0], colors[-0.5]]
    assert len(set(colors.values())) == 3


def test_names_of_a_path_do_not_cover_each_other():
    many = {(i, j): 1 + 0.001 * (i + 26 * j) for i in range(15) for j in range(i)}
    fits = tuple(make_fit({pair: own * k for pair, own in many.items()}, 15, 0.4 / (1 + k)) for k in range(2))
    display = PathDisplay.from_path(Path(fits, (None,) * 2, (0.0,) * 2, 100.0), labels=105).plot()
    display.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert 25 < len(boxes) < 105
    assert not any(box.overlaps(other) for k, box in enumerate(boxes) for other in boxes[:k])
    whole = display.figure_.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)


def test_weights_without_a_sign_are_dashed():
    domain = Domain(("a", "b", "c"), ((0, 1, 2), (0, 1), (0, 1)), (0, 0, 0))
    interactions = np.zeros((4, 4))
    interactions[0, 2] = interactions[2, 0] = -1.0
    interactions[2, 3] = interactions[3, 2] = -2.0
    fits = [
        Fit(
            PairwiseMRF(domain, np.zeros(4), k * interactions),
            Status("converged", ""),
            (),
            settings={"alpha": 1 / (1 + k)},
        )
        for k in range(2)
    ]
    ax = PathDisplay.from_path(Path(tuple(fits), (None,) * 2, (0.0,) * 2, 9.0)).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    dashes = {line[-1, 1]: style[1] for line, style in zip(lines.get_segments(), lines.get_linestyles(), strict=True)}
    (unsigned,) = (end for end in dashes if end > 0)
    assert dashes[-2.0] is None
    assert dashes[unsigned] is not None
    assert "no sign" in ax.get_legend().get_texts()[0].get_text()


def test_an_alpha_of_zero_is_left_out_and_said():
    ax = PathDisplay.from_path(make_path((0.4, 0.2, 0.0)), chosen=0.0).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    assert all(len(line) == 2 for line in lines.get_segments())
    assert "zero is not shown" in ax.get_xlabel()


def test_a_path_without_edges_says_so():
    fits = (make_fit({}, alpha=0.1), make_fit({}, alpha=0.05))
    ax = PathDisplay.from_path(Path(fits, (None,) * 2, (0.0,) * 2, 9.0)).plot().ax_
    assert ax.get_title() == "no edge at any alpha"
    assert ax.get_ylim() == (-1, 1)


def test_paths_without_fits_and_other_alphas_are_refused():
    with pytest.raises(ValueError, match="no fits"):
        PathDisplay.from_path(Path((), (), (), 10.0))
    with pytest.raises(ValueError, match=r"from 0\.1 to 0\.4"):
        PathDisplay.from_path(make_path(), chosen=0.5)
    only = Path((make_fit({(0, 1): 1.0}, alpha=0.0),), (None,), (0.0,), 10.0)
    with pytest.raises(ValueError, match="only alpha is zero"):
        PathDisplay.from_path(only).plot()


def test_heights_are_moved_apart_and_no_further():
    np.testing.assert_allclose(spread([0.5, 0.5, 0.9], 0.1), [0.45, 0.55, 0.9])
    np.testing.assert_allclose(spread([1.0, 0.0, 1.0], 0.2), [0.8, 0.0, 1.0])
    assert len(spread([], 0.1)) == 0


def test_edges_have_short_names_and_shares_are_rounded_down():
    assert name_edge("a", "x" * 25) == "a - " + "x" * 23 + "…"
    assert [as_percent(share) for share in (0, 0.004, 0.29, 0.996, 1)] == ["0%", "<1%", "29%", "99%", "100%"]


# --- Choices ---


def make_choice(columns, threshold=None):
    table = pl.DataFrame({"alpha": [0.4, 0.2, 0.1], "edges": [0, 2, 5], **columns})
    return Choice(1, 0.2, table, "Made up.", threshold)


@pytest.mark.parametrize(
    ("column", "threshold", "label"),
    [
        ("ebic", None, None),
        ("held_out", -1.5, "best less one standard error: -1.5"),
        ("instability", 0.05, "beta: 0.05"),
    ],
)
def test_a_choice_shows_its_criterion_and_what_it_was_compared_with(column, threshold, label):
    errors = {} if column == "instability" else {"standard_error": [0.5, 0.25, 1.0]}
    display = ChoiceDisplay.from_choice(make_choice({column: [3.0, 1.0, 2.0], **errors}, threshold)).plot()
    lines = lines_of(display.ax_)
    curve = lines[display.ax_.get_ylabel()]
    np.testing.assert_array_equal(curve.get_xydata(), [[0.4, 3.0], [0.2, 1.0], [0.1, 2.0]])
    assert list(lines["chosen: 0.2"].get_xdata()) == [0.2, 0.2]
    bands = display.ax_.collections
    if errors:
        heights = bands[0].get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == (0.75, 3.5)
    assert len(bands) == len(errors)
    assert {own for own in lines if own.startswith(("best", "beta"))} == ({label} if label else set())
    if label:
        assert list(lines[label].get_ydata()) == [threshold, threshold]
    (edges,) = (ax for ax in display.figure_.axes if ax is not display.ax_)
    np.testing.assert_array_equal(edges.lines[0].get_ydata(), [0, 2, 5])
    assert display.ax_.get_title() == "alpha = 0.2: 2 edges"


def test_criteria_without_simulation_error_have_no_band():
    ax = ChoiceDisplay.from_choice(make_choice({"ebic": [3.0, 1.0, 2.0], "standard_error": [0.0, 0.0, 0.0]})).plot().ax_
    assert not ax.collections
    assert not any("error" in text.get_text() for text in ax.get_legend().get_texts())


def test_a_choice_of_zero_is_not_on_the_scale():
    choice = make_choice({"ebic": [3.0, 1.0, 2.0], "standard_error": [0.5, 0.25, 1.0]})
    table = choice.table.with_columns(alpha=pl.Series([0.4, 0.2, 0.0]))
    ax = ChoiceDisplay.from_choice(Choice(2, 0.0, table, "Made up.")).plot().ax_
    assert list(lines_of(ax)["EBIC"].get_xdata()) == [0.4, 0.2]
    assert ax.get_title() == "alpha = 0: 5 edges"
    assert "zero is not shown" in ax.get_xlabel()


def test_choices_without_penalties_are_refused():
    with pytest.raises(ValueError, match="No penalty was tried"):
        ChoiceDisplay.from_choice(Choice(0, 0.1, pl.DataFrame(schema={"alpha": pl.Float64}), "Made up."))


def test_choices_know_what_they_were_compared_with():
    table = np.random.default_rng(1).integers(0, 2, (150, 4))
    options = {"alphas": [0.1, 0.05, 0.02], "seed": 1}
    by_rows = select(table, criterion="cv", n_folds=3, **options)
    best = int(by_rows.table["held_out"].arg_max())
    assert by_rows.criterion == "held_out"
    assert by_rows.threshold == by_rows.table["held_out"][best] - by_rows.table["standard_error"][best]
    assert by_rows.table["held_out"][by_rows.index] >= by_rows.threshold
    by_stability = select(table, criterion="stars", beta=0.1, n_subsamples=3, **options)
    assert (by_stability.criterion, by_stability.threshold) == ("instability", 0.1)
    by_information = select(table, **options)
    assert (by_information.criterion, by_information.threshold) == ("ebic", None)


# --- Resamples ---


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


def test_pictures_are_drawn_on_axes_of_ones_own_and_saved(tmp_path):
    choice = make_choice({"ebic": [3.0, 1.0, 2.0], "standard_error": [0.5, 0.25, 1.0]})
    values = np.full((2, 3), 0.9)
    found = Stability(make_fit({}), (0.75, 0.5), values, values, ENDS)
    displays = [
        PathDisplay.from_path(make_path()),
        ChoiceDisplay.from_choice(choice),
        SharesDisplay.from_bootstrap(make_bootstrap()),
        DifferencesDisplay.from_bootstrap(make_bootstrap()),
        StabilityDisplay.from_stability(found),
    ]
    axes = Figure(figsize=(30, 8)).subplots(1, 5)
    for k, (display, ax) in enumerate(zip(displays, axes, strict=True)):
        assert display.plot(ax).ax_ is ax
        display.save(tmp_path / f"{k}.png", dpi=20)
        assert (tmp_path / f"{k}.png").read_bytes().startswith(b"\x89PNG")
