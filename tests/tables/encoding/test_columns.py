"""The order of levels: as categories are declared, and otherwise that of the alphabet, however rows lie."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sparsefield as sf

WORDS = ["low", "mid", "high", "low"]


@pytest.mark.parametrize(
    "make",
    [
        lambda words: pl.DataFrame({"x": words}),
        lambda words: pl.DataFrame({"x": pl.Series(words, dtype=pl.Categorical)}),
        lambda words: pa.table({"x": pa.array(words).dictionary_encode()}),
        lambda words: pd.DataFrame({"x": words}, dtype="category"),
    ],
)
def test_what_declares_no_order_is_alphabetical_however_rows_lie(make):
    for words in (WORDS, WORDS[::-1]):
        domain = sf.encode(make(words)).domain
        assert domain.levels == (("high", "low", "mid"),)
        assert not domain.is_ordered.any()


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_pandas_keep_the_order_in_which_they_are_declared(ordered):
    column = pd.Categorical(WORDS, ["low", "mid", "high", "never"], ordered=ordered)
    domain = sf.encode(pd.DataFrame({"x": column})).domain
    assert domain.levels == (("low", "mid", "high"),)
    assert domain.is_ordered.tolist() == [ordered]


def test_enums_of_polars_are_ordered_as_declared():
    column = pl.Series(WORDS, dtype=pl.Enum(["low", "mid", "high", "never"]))
    domain = sf.encode(pl.DataFrame({"x": column})).domain
    assert domain.levels == (("low", "mid", "high"),)
    assert domain.is_ordered.tolist() == [True]
    assert domain.scores[0] == (0.0, 1.0, 2.0)
