"""Ordered levels: who says that they are, in which order, and with which scores."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.data import Domain, TableError

LEVELS = ["low", "mid", "high"]


def _frame(column):
    return pl.DataFrame({"mood": column, "other": [0, 1, 1, 0]})


def test_ordered_categories_of_a_table_are_ordered():
    for frame in (
        _frame(pl.Series(["mid", "low", "high", "low"], dtype=pl.Enum(LEVELS))),
        _frame(pl.Series(["mid", "low", "high", "low"]))
        .to_pandas()
        .astype({"mood": pd.CategoricalDtype(LEVELS, True)}),
    ):
        domain = sf.encode(frame).domain
        assert domain.levels[0] == tuple(LEVELS)
        assert domain.scores == ((0.0, 1.0, 2.0), None)
        assert domain.is_ordered.tolist() == [True, False]


def test_numbers_text_and_categories_of_one_scale_have_the_same_scores():
    """Also where a level of the scale does not occur."""
    numbers = _frame([2, 1, 5, 1])
    scale = ["a", "b", "c", "d", "e"]
    text = _frame([scale[k - 1] for k in numbers["mood"]])
    categories = text.cast({"mood": pl.Enum(scale)})
    found = [
        sf.encode(numbers, ordinal=["mood"]),
        sf.encode(text, ordinal={"mood": scale}),
        sf.encode(categories),
        sf.encode(numbers, ordinal=True),
        sf.encode(numbers, ordinal={"mood": [0, 1, 4]}),
    ]
    assert {table.domain.scores for table in found} == {((0.0, 1.0, 4.0), None)}
    assert all((table.codes == found[0].codes).all() for table in found)


def test_nothing_is_ordered_that_nobody_called_so():
    assert sf.encode(_frame([2, 1, 5, 1])).domain.scores is None
    assert sf.encode(_frame(["low", "mid", "high", "low"])).domain.scores is None
    assert (
        sf.encode(_frame(pl.Series(["mid", "low", "high", "low"], dtype=pl.Enum(LEVELS))), ordinal=False).domain.scores
        is None
    )
    assert sf.encode(_frame([1, 0, 1, 1]), ordinal=True).domain.scores is None  # two levels are in no order
    assert sf.encode(_frame(["low", "mid", "high", "low"]), ordinal=True).domain.scores is None  # words neither


@pytest.mark.parametrize(
    ("column", "ordinal", "says"),
    [
        (["x", "y", "z", "x"], ["mood"], "'mood' is text"),
        ([1, 2, 3, 1], ["moods"], "'moods', which the table does not have"),
        ([1, 2, 3, 1], {"mood": [0, 1]}, "3 levels, 1, 2, 3, but 2 scores"),
        (["x", "y", "z", "x"], {"mood": [0, 1, 2]}, "scores do not say in which order"),
        ([1, 2, 3, 1], {"mood": True}, "ordinal has True for column 'mood'"),
        (["x", "y", "z", "x"], {"mood": ["x", 1, "z"]}, "give a list of its levels in order"),
        (["x", "y", "z", "x"], {"mood": ["x", "y"]}, "'z'"),
        (["x", "y", "z", "x"], {"mood": ["x", "y", "z", "x"]}, "lists a level twice"),
        ([1, 2, 3, 1], {"mood": ["a", "b", "c"]}, "not text, but its order is"),
    ],
)
def test_orders_that_make_no_sense_are_refused(column, ordinal, says):
    with pytest.raises(TableError, match=says):
        sf.encode(_frame(column), ordinal=ordinal)


def test_a_single_name_and_arrays_of_scores_are_taken():
    assert sf.encode(_frame([1, 2, 3, 1]), ordinal="mood").domain.is_ordered.tolist() == [True, False]
    given = {"mood": np.array([0, 1, 4])}
    assert sf.encode(_frame([1, 2, 3, 1]), ordinal=given).domain.scores == ((0.0, 1.0, 4.0), None)
    with pytest.raises(ValueError, match="given with a domain"):
        sf.encode(_frame([1, 2, 3, 1]), domain=sf.encode(_frame([1, 2, 3, 1])).domain, ordinal=["mood"])


def test_scores_are_saved_with_a_field(tmp_path):
    domain = Domain(("a", "b"), ((1, 2, 3), (0, 1)), (0, 0), ((0, 1, 4), None))
    sf.PairwiseMRF(domain, [0.0] * 3, [[0.0] * 3] * 3).save(tmp_path / "a.field")
    assert sf.PairwiseMRF.load(tmp_path / "a.field").domain == domain
