"""Levels that differ in case and blanks alone are made one where that is asked for."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sparsefield as sf

WORDS = ["Yes", "yes ", "YES", "Yes", "no", None, "No", "no", "new  york", "New York", "New York"]


@pytest.mark.parametrize(
    "make",
    [
        lambda words: pl.DataFrame({"q": words}),
        lambda words: pd.DataFrame({"q": words}),
        lambda words: pd.DataFrame({"q": pd.Categorical(words)}),
        lambda words: pl.DataFrame({"q": pl.Series(words, dtype=pl.Categorical)}),
        lambda words: np.array(words, dtype=object)[:, None],
    ],
)
def test_the_most_frequent_spelling_counts(make):
    plain = sf.encode(make(WORDS))
    assert len(plain.domain.levels[0]) == 7
    for how in (True, list(plain.domain.names), plain.domain.names[0]):
        table = sf.encode(make(WORDS), merge_levels=how)
        assert table.domain.levels == (("New York", "Yes", "no"),)
        assert table.codes[:, 0].tolist() == [1, 1, 1, 1, 2, 255, 2, 2, 0, 0, 0]
    again = sf.encode(make(["YES", "no"]), merge_levels=True, domain=table.domain)
    assert again.codes[:, 0].tolist() == [1, 2]


def test_numbers_and_other_columns_are_left_alone():
    frame = pl.DataFrame({"n": [1, 2, 1], "b": [True, False, True], "q": ["a", "A", "b"], "r": ["a", "A", "b"]})
    table = sf.encode(frame, merge_levels=["n", "b", "q"])
    assert table.domain.levels == ((1, 2), (False, True), ("A", "b"), ("A", "a", "b"))


def test_an_order_that_is_given_says_how_levels_are_spelled():
    frame = pl.DataFrame({"mood": ["LOW", "LOW", "mid", "High ", "high"]})
    table = sf.encode(frame, ordinal={"mood": ["low", "mid", "high"]}, merge_levels=True)
    assert table.domain.levels == (("low", "mid", "high"),)
    assert table.codes[:, 0].tolist() == [0, 0, 1, 2, 2]


def test_what_cannot_be_merged_gets_a_sentence():
    with pytest.raises(sf.TableError, match="merge_levels names column 'y', which the table does not have"):
        sf.encode(pl.DataFrame({"x": ["a", "A"]}), merge_levels=["y"])
    ordered = pd.DataFrame({"x": pd.Categorical(["low", "Low", "high"], ["low", "Low", "high"], ordered=True)})
    with pytest.raises(sf.TableError, match="has ordered categories that differ in case or blanks alone: 'Low', 'low'"):
        sf.encode(ordered, merge_levels=True)


def test_levels_of_files_are_merged_too(tmp_path):
    path = tmp_path / "answers.csv"
    pl.DataFrame({"q": WORDS}).write_csv(path)
    assert sf.encode(path, merge_levels=True).domain.levels == (("New York", "Yes", "no"),)
