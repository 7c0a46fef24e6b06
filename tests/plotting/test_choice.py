"""Pictures of choices, read back from their axes."""

import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.plotting import ChoiceDisplay
from sparsefield.selection import Choice, select
from support.many_fits import make_choice


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


@pytest.mark.parametrize(
    ("column", "threshold", "label"),
    [
        ("ebic", None, None),
        ("held_out", -1.5, "best less one standard error: -1.5"),
        ("instability", 0.05, "beta: 0.05"),
    ],
)
def test_a_choice_shows_its_criterion_and_what_it_was_compared_with(column, threshold, label):
    errors = {"standard_error": [0.5, 0.25, 1.0]} if column == "held_out" else {}
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


def test_criteria_without_folds_have_no_band():
    ax = ChoiceDisplay.from_choice(make_choice({"ebic": [3.0, 1.0, 2.0]})).plot().ax_
    assert not ax.collections
    assert not any("error" in text.get_text() for text in ax.get_legend().get_texts())


def test_a_choice_of_zero_is_not_on_the_scale():
    choice = make_choice({"ebic": [3.0, 1.0, 2.0]})
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
    alphas = [0.1, 0.05, 0.02]
    by_rows = select(table, sf.HeldOut(cv=3, alphas=alphas), seed=1)
    best = int(by_rows.table["held_out"].arg_max())
    assert by_rows.criterion == "held_out"
    assert by_rows.threshold == by_rows.table["held_out"][best] - by_rows.table["standard_error"][best]
    assert by_rows.table["held_out"][by_rows.index] >= by_rows.threshold
    by_stability = select(table, sf.StARS(beta=0.1, n_subsamples=3, alphas=alphas), seed=1)
    assert (by_stability.criterion, by_stability.threshold) == ("instability", 0.1)
    by_information = select(table, sf.EBIC(alphas=alphas), seed=1)
    assert (by_information.criterion, by_information.threshold) == ("ebic", None)
