"""What looks wrong and is legal is asked about, and clean tables are left alone."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_digits

import sparsefield as sf
from sparsefield.tables import find_suspicions


def look(columns, **options):
    """Return what is suspected of columns: kinds with columns and levels."""
    frame = columns if isinstance(columns, pl.DataFrame) else pl.DataFrame(columns)
    return [(own.kind, own.columns, own.values) for own in find_suspicions(frame, **options)]


def answers(*levels, n=200, seed=1):
    """Answers on a scale, each level about as often as the others."""
    return np.random.default_rng(seed).choice(levels, n)


@pytest.mark.parametrize(
    ("scale", "codes"),
    [
        ((1, 2, 3, 4, 5), (-99,)),
        ((1, 2, 3, 4, 5), (999,)),
        ((1, 2, 3, 4, 5), (-1,)),
        ((1, 2, 3, 4, 5), (9,)),
        ((1, 2, 3, 4, 5, 6, 7), (9,)),
        ((0, 1), (9,)),
        ((1, 2), (-9, -8)),
        ((1, 2, 3, 4), (8, 9)),
        ((-1, 0, 1), (-9,)),
        ((-3, -2, -1, 0, 1, 2, 3), (-99,)),
        (tuple(range(11)), (77, 88, 99)),
    ],
)
def test_numbers_apart_from_a_scale_are_codes(scale, codes):
    column = np.concatenate([answers(*scale), np.repeat(codes, 5)])
    (found,) = find_suspicions(pl.DataFrame({"q": column}))
    assert (found.kind, found.columns, found.values) == ("missing code", ("q",), codes)
    assert str(found).endswith(
        "If this means a missing value, leave such cells empty, or read the file with missing_markers."
    )


@pytest.mark.parametrize(
    "levels",
    [
        (-1, 1),  # spins
        (-1, 0, 1),
        (-2, -1, 0, 1, 2),
        (-2, -1, 1, 2),
        (-9, -6, -3, 0, 3, 6, 9),
        tuple(range(1, 10)),
        tuple(range(11)),
        (1, 3, 5, 7),
        (1, 3, 5, 7, 9),
        (0, 9),
        (1, 2, 3, 4, 5, 7),  # nobody chose 6
        (7, 8, 9),
        (10, 20, 30, 40),
    ],
)
def test_scales_have_no_codes(levels):
    assert look({"q": answers(*levels)}) == []


def test_the_tail_of_a_count_is_no_code():
    counts = np.random.default_rng(1).poisson(1.2, 2000)
    counts = np.concatenate([counts[counts <= 5], [5, 9]])
    assert look({"children": counts}) == []
    # Where 9 is a code in another column, it is one here too.
    scale = np.concatenate([answers(1, 2, 3, n=len(counts) - 2), [9, 9]])
    assert look({"children": counts, "q": scale}) == [("missing code", ("children", "q"), (9,))]


@pytest.mark.parametrize("levels", [(0, 1), (0, 1, 2, 3), (1, 2, 3, 4, 5)])
def test_a_rare_code_is_none_the_less_one(levels):
    falling = np.repeat(levels, np.arange(100, 100 - 10 * len(levels), -10))
    assert look({"q": np.concatenate([falling, [9]])}) == [("missing code", ("q",), (9,))]


def test_columns_with_the_same_code_are_named_together():
    columns = {f"q{k}": np.concatenate([answers(1, 2, 3, seed=k), [-99, -99]]) for k in range(8)}
    (found,) = find_suspicions(pl.DataFrame(columns))
    assert found.columns == tuple(columns)
    assert str(found).startswith("Columns 'q0', 'q1', 'q2', 'q3', 'q4', ... have the number -99 apart from the other")


@pytest.mark.parametrize("word", ["n/a", "N/A", "#N/A", "-", ".", "?", "refused", "Don't know", "missing"])
def test_words_for_missing_values_are_asked_about(word):
    assert look({"q": answers("no", "yes", word)}) == [("missing word", ("q",), (word,))]


def test_words_that_are_levels_are_left_alone():
    assert (
        look(
            {"q": answers("+", "-"), "much": answers("None", "Some", "Much"), "x": answers("unknown", "known", seed=2)}
        )
        == []
    )
    letters = {f"x{k}": answers(*"-ACDE", seed=k) for k in range(3)} | {"x3": answers("-", "C", seed=9)}
    assert look(letters) == []  # an alignment, whose gaps are levels


def test_names_and_numbers_of_rows_are_asked_about():
    n = 25
    frame = {"who": [f"p{k}" for k in range(n)], "nr": range(100, 100 + n), "q": answers(0, 1, n=n)}
    found = [own for own in look(frame) if own[0] == "row names"]
    assert found == [("row names", ("who",), ()), ("row names", ("nr",), ())]
    ages = np.random.default_rng(2).permutation(np.arange(20, 45))
    assert not [own for own in look({"age": ages}) if own[0] == "row names"]
    # Beyond what a column may hold they are refused, with the same reason.
    for column in ([f"p{k}" for k in range(40)], list(range(40))):
        with pytest.raises(sf.TableError, match="seems to name the rows: leave it out"):
            sf.encode(pl.DataFrame({"who": column}))
    with pytest.raises(sf.TableError, match=r"40 levels .*: group them"):
        sf.encode(pl.DataFrame({"income": np.random.default_rng(1).permutation(40)}))


def test_values_of_rows_that_are_dropped_name_no_rows():
    whole, left = [f"p{k}" for k in range(20)] * 3, [f"p{k}" for k in range(5)] * 4
    found = find_suspicions({"a": [None] * 60 + [0, 1] * 10, "b": [*whole, *left]}, missing="drop")
    assert [own.kind for own in found] == ["mostly missing", "rows left out", "few rows"]
    assert str(found[1]).endswith("Missing values can stay with missing='model'.")


def test_remedies_in_python_are_those_that_python_has():
    frame = pl.DataFrame({"a": [0, 1] * 10, "who": [f"p{k}" for k in range(20)], "again": ["x", "y"] * 10})
    said = [str(own) for own in find_suspicions(frame)]
    assert said[0].endswith("leave it out with drop, a method of the data frame.")
    assert "leave out all but one with drop, a method of the data frame, unless" in said[1]


def test_variants_of_a_level_are_asked_about():
    kinds = look({"q": answers("Yes", "yes ", "YES", "no"), "gene": answers("AA", "Aa", "aa")})
    assert kinds == [("variants", ("q",), ("YES", "Yes", "yes "))]


def test_counts_are_asked_about():
    counts = np.minimum(np.random.default_rng(1).geometric(0.2, 3000) - 1, 17)
    frame = pl.DataFrame({"visits": counts, "q": answers(0, 1, n=3000)})
    (found,) = find_suspicions(frame)
    assert str(found) == (
        "Column 'visits' holds 18 different numbers, from 0 to 17: each counts as a category of its own. Cut counts "
        "and measurements into a few levels, such as 0, 1, 2, 3 or more; or name them in ordinal, and each of their "
        "edges is a single number."
    )
    assert find_suspicions(sf.encode(frame, ordinal=["visits"])) == ()
    assert look({"q": answers(*range(11), n=3000)}) == []


def test_typos_are_asked_about():
    words = np.concatenate([answers("yes", "no"), ["yess", "ys", "eys", "I"]])
    assert look({"q": words}) == [("rare", ("q",), ("eys",)), ("rare", ("q",), ("yess",))]
    assert look({"q": np.concatenate([answers(1, 2, 3, 4, 5), [44]])}) == [("rare", ("q",), (44,))]
    # Levels that few people have are no typos.
    for column in (np.concatenate([answers(1, 2, 3, 4), [5]]), np.concatenate([answers("D", "R"), ["I"]])):
        assert look({"q": column}) == []


def test_copies_are_asked_about_unless_chance_makes_them():
    column = answers(0, 1, 2)
    frame = {"a": column, "b": np.array(["z", "x", "y"])[column], "c": answers(0, 1, 2, seed=2)}
    assert look(frame) == [("copies", ("a", "b"), ())]
    # Of 40 columns of six rows many are the same.
    few = np.vstack([np.random.default_rng(1).integers(0, 2, (4, 40)), [[0] * 40, [1] * 40]])
    assert not [own for own in look(pl.DataFrame(few)) if own[0] == "copies"]
    one = np.zeros(400, dtype=int)
    one[7] = 1
    assert look({"a": one, "b": one} | {f"x{k}": answers(0, 1, n=400, seed=k) for k in range(20)}) == []


def test_missing_cells_and_dropped_rows_are_counted():
    column = pl.Series(answers(0, 1)).to_frame("a").with_columns(pl.when(pl.int_range(200) < 60).then("a").alias("a"))
    frame = column.with_columns(b=pl.Series(answers(0, 1, seed=2)))
    (found,) = find_suspicions(frame)
    assert str(found).startswith("Column 'a' is missing in 140 of 200 rows. Little can be said of such columns")
    found = find_suspicions(frame, missing="drop")
    assert [own.kind for own in found] == ["mostly missing", "rows left out"]
    assert str(found[1]).startswith(
        "60 of 200 rows remain: the others have a missing value, most of them in column 'a'."
    )


@pytest.mark.parametrize("n_levels", [2, 5])
def test_rows_are_few_where_large_associations_cannot_be_told_from_noise(n_levels):
    """Of 45 pairs, noise makes one exceed n w^2 = q, the quantile of 0.05 / 45, in one table of twenty."""
    levels = range(n_levels)
    n = int(np.ceil(chi2.isf(0.05 / 45, (n_levels - 1) ** 2) / 0.5**2))
    for rows, kinds in ((n - 1, ["few rows"]), (n, [])):
        columns = {f"x{k}": answers(*levels, n=rows, seed=k) for k in range(10)}
        assert [own[0] for own in look(columns)] == kinds
    weights = np.full(20, n / 20)
    columns = {f"x{k}": np.concatenate([levels, answers(*levels, n=20 - n_levels, seed=k)]) for k in range(10)}
    assert look(columns, sample_weight=weights) == []
    assert [own[0] for own in look(columns, sample_weight=weights / n)] == ["few rows"]  # shares


def test_noise_alone_reaches_the_limit_in_one_table_of_twenty():
    """Cohen's w of independent columns exceeds what can be told from sampling error in 0.05 of tables at most."""
    rng, n, p, n_tables = np.random.default_rng(3), 40, 10, 2000
    codes = rng.integers(0, 2, (n_tables, n, p)) - 0.5
    centred = codes - codes.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).sum(axis=1))
    w = np.abs(np.einsum("tni,tnj->tij", centred, centred)) / np.maximum(scale[:, :, None] * scale[:, None, :], 1e-9)
    largest = np.triu(w, 1).max(axis=(1, 2))
    table = sf.encode(rng.integers(0, 2, (n, p)))
    (found,) = find_suspicions(table)
    limit = float(str(found).partition("w = ")[2].partition(" ")[0])
    share = (largest > limit + 0.005).mean()  # the sentence rounds to 0.01
    # Five standard errors of a share of 0.05 in 2000 tables: a false alarm has a probability below 1e-6.
    assert share <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / n_tables)


def test_tables_of_frequencies_are_asked_about():
    frame = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "Freq": [30, 12, 5, 40]})
    assert ("frequencies", ("Freq",), ()) in look(frame)
    repeated = pl.concat([frame, frame])
    assert "frequencies" not in [own[0] for own in look(repeated)]


def test_clean_tables_are_left_alone():
    assert find_suspicions(sf.datasets.load_senate().votes) == ()
    field = sf.datasets.make_field(12, seed=3)
    assert find_suspicions(field.sample(500, method="perfect", seed=1)) == ()
    # Hand-written digits, each pixel in three shades.
    assert find_suspicions((load_digits().data // 6).astype(int)[:, 19:22]) == ()
