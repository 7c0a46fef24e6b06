"""Charts as SVG: scales, ticks, what is drawn and what is said of it."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsefield as sf
from sparsefield.report._charts import Interval, draw_path, draw_trace, place_intervals
from sparsefield.report._scales import Scale, as_tick, make_scale
from sparsefield.report._svg import Chart, Series, draw
from sparsefield.selection import PathWeights
from support.pages import HOSTILE

numbers = st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-9)


@given(st.lists(numbers, min_size=1, max_size=8), st.booleans())
def test_ticks_are_few_round_and_on_the_scale(values, down):
    scale = make_scale(values, down=down)
    low, high = sorted((scale.start, scale.end))
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7
    room = 1e-6 * (high - low)
    assert all(low - room <= tick <= high + room for tick in ticks)
    steps = np.diff(ticks)
    if len(steps):
        mantissa = float(f"{steps[0]:e}".split("e")[0])
        assert min(abs(mantissa - k) for k in (1, 2, 5, 10)) < 1e-3


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=8))
def test_ticks_of_powers_are_on_the_scale(values):
    scale = make_scale(values, is_log=True)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7
    assert all(0 <= scale.share(tick) <= 1 for tick in ticks)


@given(st.lists(numbers, min_size=2, max_size=8), st.booleans())
def test_all_values_are_within_a_scale(values, down):
    scale = make_scale(values, down=down)
    assert all(0 <= scale.share(value) <= 1 for value in values)
    assert (scale.share(min(values)) >= scale.share(max(values))) == down or min(values) == max(values)


def test_shares_are_those_of_the_definition():
    assert Scale(2.0, 4.0).share(3.5) == 0.75
    assert Scale(100.0, 0.01, is_log=True).share(10.0) == pytest.approx(0.25)


def test_values_that_are_not_known_do_not_stretch_a_scale():
    assert make_scale([1.0, None, float("nan"), float("inf"), 2.0]) == make_scale([1.0, 2.0])
    assert make_scale([1.0, 0.0, -3.0, 100.0], is_log=True) == make_scale([1.0, 100.0], is_log=True)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf"), None])
def test_values_that_are_not_known_are_not_drawn(odd):
    ends = [float("nan") if odd is None else odd, 1.0, 2.0, 3.0]
    line = Series("line", [1.0, 2.0, 3.0, 4.0], [odd, 1.0, 2.0, 3.0], "line-1", list("abcd"), ends, ends)
    html = draw(Chart("chart", "a line", Scale(0.0, 5.0), Scale(0.0, 4.0), "x", "y", [line]))
    assert re.search("nan|inf", html) is None
    assert html.count("<title>") == 3
    assert len(re.search(r'<polygon[^>]*points="([^"]*)"', html)[1].split()) == 6


def test_numbers_at_ticks_are_brief():
    assert [as_tick(value) for value in (0.0, 0.05, -2.5, 1500.0, 2e-8)] == ["0", "0.05", "−2.5", "1,500", "2e−8"]  # noqa: RUF001


def make_chart(**more):
    series = [Series(HOSTILE[1], [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, None, 3.0], "line-1", HOSTILE[:4])]
    return Chart("a", HOSTILE[0], Scale(0.0, 3.0), Scale(0.0, 3.0), HOSTILE[2], HOSTILE[3], series, **more)


def test_texts_of_charts_are_escaped():
    text = str(
        draw(make_chart(upright=((1.0, HOSTILE[0], "line-2"),), above=((1.0, HOSTILE[1]),), above_name=HOSTILE[0]))
    )
    assert "<script" not in text
    assert "<img" not in text
    assert "<b>bold" not in text
    assert "&lt;script&gt;window.hit = 1&lt;/script&gt;" in text


def test_lines_are_cut_where_a_value_is_not_known():
    text = str(draw(make_chart()))
    assert re.findall(r'<polyline class="line-1" points="([^"]*)"', text) == ["0.0,1000.0 333.3,666.7"]
    assert re.findall(r'<circle cx="([^"]*)" cy="([^"]*)"', text) == [
        ("0.00%", "100.00%"),
        ("33.33%", "66.67%"),
        ("100.00%", "0.00%"),
    ]


def test_fits_without_iterations_have_no_trace():
    model = sf.datasets.make_chain(3, seed=1)
    fit = sf.Fit(model, sf.fits.Status("converged", ""), ())
    assert draw_trace(fit) is None


def make_path(n_alphas=4, n_pairs=300):
    names = tuple(f"v{k}" for k in range(30))
    pairs = np.array([(a, b) for a in range(30) for b in range(a + 1, 30)][:n_pairs])
    sizes = np.linspace(1.0, 0.1, n_pairs) * np.linspace(0, 1, n_alphas)[:, None]
    return PathWeights(tuple(np.geomspace(0.5, 0.05, n_alphas)), names, pairs, sizes)


def test_a_path_shows_its_strongest_edges_in_colours():
    text = str(draw_path(make_path(), 0.05))
    assert text.count("<polyline") == 200  # the strongest
    names = re.findall(r"</svg>([^<]*)</li>", text)
    assert names == [*(f"v0 – v{k}" for k in range(1, 7)), "chosen: 0.05"]  # noqa: RUF001
    assert text.index('class="line-other"') < text.index('polyline class="line-1"')  # which is on top


def test_a_path_without_edges_or_with_one_penalty_is_not_drawn():
    assert draw_path(make_path(n_alphas=1), None) is None
    path = make_path()
    assert draw_path(PathWeights(path.alphas, path.names, path.pairs, 0 * path.values), None) is None


def test_a_penalty_of_zero_is_not_on_the_scale():
    path = make_path()
    text = str(draw_path(PathWeights((*path.alphas[:3], 0.0), path.names, path.pairs, path.values), 0.0))
    assert "chosen" not in text
    assert "alpha = 0:" not in text


def test_intervals_share_a_scale_with_zero():
    first = Interval("a", "b", 2.0, True, 1.0, 3.0, "90%", "<0.001")
    rows, ticks = place_intervals([first, Interval("c", "d", -0.5, True, -1.0, 0.0, "90%", "0.2", 0.25)])
    at = {name: [float(row[name].rstrip("%")) for row in rows] for name in ("zero", "weight", "low", "width")}
    assert at["zero"][0] == at["zero"][1]
    unit = (at["weight"][0] - at["zero"][0]) / 2
    assert at["weight"][1] == pytest.approx(at["zero"][1] - unit / 2, abs=0.02)  # places have two digits
    assert at["low"] == pytest.approx([at["zero"][0] + unit, at["zero"][0] - unit], abs=0.02)
    assert at["width"] == pytest.approx([2 * unit, unit], abs=0.02)
    assert rows[0]["title"].endswith("2 (90% interval 1 to 3), q <0.001")
    assert rows[1]["title"].endswith("-0.5 (90% interval -1 to 0), q = 0.2, found in 25% of resamples")
    assert [text for _, text in ticks] == ["−1", "0", "1", "2", "3"]  # noqa: RUF001


def test_weights_without_an_interval_have_a_dot_alone():
    (row,), _ = place_intervals([Interval("a", "b", -2.0, True, share=0.5)])
    assert row["low"] is None
    assert row["sign"] == "negative"
    assert row["title"].endswith(": -2, found in 50% of resamples")


def test_the_strongest_lines_of_a_path_have_names_whatever_their_sign():
    weights = np.array([[0.0, 0.0, 0.0], [0.1, -2.0, 0.5]])
    html = draw_path(PathWeights((0.2, 0.1), ("a", "b", "c"), np.array([[0, 1], [0, 2], [1, 2]]), weights), None)
    assert re.findall(r"</svg>([^<]*)</li>", html)[:3] == ["a – c", "b – c", "a – b"]  # noqa: RUF001
