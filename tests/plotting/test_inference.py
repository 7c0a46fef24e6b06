"""Pictures of inferences, read back from their axes."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

import sparsefield as sf
from sparsefield.plotting import PairsDisplay, StrengthDisplay
from sparsefield.plotting._colors import LIGHT
from support.inferences import make_inference

NAMES = ["a", "b", "c", "d"]
WEIGHTS = {(0, 1): 1.25, (1, 2): -0.5, (0, 3): 0.75}


def marks_of(ax):
    """Return the dots and the bars, from top to bottom."""
    (dots,) = (own for own in ax.collections if isinstance(own, PathCollection))
    (bars,) = (own for own in ax.collections if isinstance(own, LineCollection))
    return dots, bars


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def labels_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_every_edge_has_its_estimate_its_interval_and_its_q():
    found = make_inference(NAMES, WEIGHTS, q_values={(0, 1): 2e-5, (1, 2): 0.0123})
    display = PairsDisplay.from_inference(found).plot()
    ax = display.ax_
    assert labels_of(ax) == ["a - b", "a - d", "b - c"]  # from the largest to the least
    dots, bars = marks_of(ax)
    np.testing.assert_array_equal(dots.get_offsets(), [[1.25, 0], [0.75, 1], [-0.5, 2]])
    assert [tuple(end[:, 0]) for end in bars.get_segments()] == [(0.75, 1.75), (0.25, 1.25), (-1.0, 0.0)]
    assert texts_of(ax) == ["<0.001", "0.004", "0.012", "q"]
    assert ax.get_title() == "3 edges among 6 pairs (q at most 0.1)"
    assert ax.get_xlabel() == "weight, with its 95% interval"
    low, high = ax.get_ylim()
    assert low > high  # the first on top


def test_colours_tell_signs_and_dots_which_pairs_are_edges():
    display = PairsDisplay.from_inference(make_inference(NAMES, WEIGHTS)).plot()
    dots, _ = marks_of(display.ax_)
    colors = [to_hex(color) for color in dots.get_edgecolors()]
    assert colors == [to_hex(LIGHT[sign]) for sign in ("positive", "positive", "negative")]
    assert [to_hex(color) for color in dots.get_facecolors()] == colors
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["positive", "negative"]
    none = PairsDisplay.from_inference(make_inference(NAMES, {})).plot()
    hollow, _ = marks_of(none.ax_)
    assert {to_hex(color) for color in hollow.get_facecolors()} == {to_hex(LIGHT["background"])}
    assert none.ax_.get_title() == "no edge among 6 pairs (q at most 0.1)"
    assert len(labels_of(none.ax_)) == 6


def test_weights_of_levels_have_no_sign():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (200, 3))
    rows[:120, 1] = rows[:120, 0]
    display = PairsDisplay.from_inference(sf.infer(rows)).plot()
    assert set(display.table["sign"]) == {"unsigned"}
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["no sign"]


def test_the_surest_are_drawn_where_there_are_many():
    names = [f"item {k} with a name that takes much more room than there is" for k in range(9)]
    weights = {(i, j): 0.5 + i + j / 10 for j in range(9) for i in range(j)}
    q_values = {pair: 0.001 * (k + 1) for k, pair in enumerate(sorted(weights))}
    display = PairsDisplay.from_inference(make_inference(names, weights, q_values=q_values), most=5).plot()
    assert display.ax_.get_title() == "surest 5 of 36 edges among 36 pairs (q at most 0.1)"
    assert display.table["q"].sort().to_list() == pytest.approx([0.001, 0.002, 0.003, 0.004, 0.005])
    assert display.table["estimate"].is_sorted(descending=True)
    assert all(len(label) <= 2 * 24 + 3 for label in labels_of(display.ax_))


def test_one_edge_is_one():
    display = PairsDisplay.from_inference(make_inference(["a", "b"], {(0, 1): 1.0}, level=0.9)).plot()
    assert display.ax_.get_title() == "1 edge among 1 pair (q at most 0.1)"
    assert display.ax_.get_xlabel() == "weight, with its 90% interval"


def test_names_are_no_formulas():
    display = PairsDisplay.from_inference(make_inference(["$x$", "$y_1$"], {(0, 1): 1.0})).plot()
    display.figure_.canvas.draw()
    assert labels_of(display.ax_) == ["$x$ - $y_1$"]
    assert not any(text.get_parse_math() for text in display.ax_.get_yticklabels())


@pytest.fixture(scope="module")
def inferred():
    return sf.infer(sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1))


@pytest.mark.parametrize("measure", ["strength", "influence"])
def test_strengths_have_their_intervals(inferred, measure):
    display = StrengthDisplay.from_inference(inferred, measure=measure).plot()
    nodes = inferred.nodes.filter(inferred.nodes["edges"] > 0).sort(measure, descending=True, maintain_order=True)
    assert labels_of(display.ax_) == nodes["node"].to_list()
    dots, bars = marks_of(display.ax_)
    np.testing.assert_array_equal(dots.get_offsets()[:, 0], nodes[measure])
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    np.testing.assert_array_equal(ends, nodes.select(f"{measure}_low", f"{measure}_high").to_numpy())
    assert display.ax_.get_xlabel() == f"{measure}, with its 95% interval"
    few = StrengthDisplay.from_inference(inferred, measure=measure, most=2).plot()
    assert labels_of(few.ax_) == nodes["node"].to_list()[:2]


def test_pictures_are_written(inferred, tmp_path):
    for display in (PairsDisplay.from_inference(inferred), StrengthDisplay.from_inference(inferred)):
        for ending in ("png", "svg", "pdf"):
            display.save(tmp_path / f"a.{ending}")
            assert (tmp_path / f"a.{ending}").stat().st_size > 1000


def test_what_cannot_be_drawn_is_refused(inferred):
    with pytest.raises(TypeError, match=r"This Table is no Inference: give what sf.infer\(table\) returns"):
        PairsDisplay.from_inference(sf.encode([[0, 1], [1, 0]]))
    with pytest.raises(TypeError, match="no Inference"):
        StrengthDisplay.from_inference(inferred.table)
    with pytest.raises(ValueError, match="measure is 'degree': use 'strength' or 'influence'"):
        StrengthDisplay.from_inference(inferred, measure="degree")
    with pytest.raises(ValueError, match="No pair is an edge at this rate: no node has a strength"):
        StrengthDisplay.from_inference(make_inference(NAMES, {}))
    constant = sf.infer(sf.Table(sf.Domain.binary(3), np.ones((5, 3), dtype=np.uint8, order="F")))
    with pytest.raises(ValueError, match="No pair has a weight that these rows tell of"):
        PairsDisplay.from_inference(constant)
