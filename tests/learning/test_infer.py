"""How sure pairs are, of whatever holds a table: what is read, what is refused, and the bar that is shown."""

import re
import time

import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.pairs import infer_table
from sparsefield.progress._bars import PairsBar


@pytest.fixture(scope="module")
def table():
    return sf.datasets.make_field(6, strength=(0.8, 1.2), seed=7).sample(400, method="perfect", seed=1)


def assert_equal(found, other):
    assert found.table.equals(other.table)
    assert found.domain.names == other.domain.names


def test_anything_that_holds_a_table_says_the_same(table, tmp_path):
    found = sf.infer(table)
    assert found.table.equals(infer_table(table).table)
    frame = table.to_frame()
    frame.write_csv(tmp_path / "a.csv")
    for data in (frame, frame.to_pandas(), tmp_path / "a.csv"):
        assert_equal(sf.infer(data), found)
    np.testing.assert_array_equal(sf.infer(frame.to_numpy()).p_value, found.p_value)


def test_order_that_a_table_declares_is_kept():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 4, (300, 4))
    rows[:100, 1] = rows[:100, 0]
    found = sf.infer(sf.encode(rows, ordinal=True))
    assert set(found.degrees.tolist()) == {1}
    assert_equal(found, sf.infer(rows, ordinal=True))
    some = sf.infer(rows, ordinal=["x0", "x1"])
    assert sorted(some.degrees.tolist()) == [1, 3, 3, 3, 3, 9]


def test_a_fit_says_which_variables_and_levels_there_are(table):
    fit = sf.SparseMRF(0.05, random_state=1).fit(table)
    found = sf.infer(table)
    for own in (fit, fit.fit_, fit.fit_.model):
        assert_equal(sf.infer(own, table), found)
    frame = table.to_frame()
    assert_equal(sf.infer(fit, frame), found)
    with pytest.raises(TableError, match="another order"):
        sf.infer(fit, frame.select(reversed(frame.columns)))
    # A table of its own, which shows a level less.
    zeros = sf.Table(sf.Domain(table.domain.names, ((1,), *((0, 1),) * 5), (0,) * 6), table.codes.copy(order="F"))
    zeros.codes[:, 0] = 0
    other = sf.infer(fit, zeros)
    assert other.domain == fit.fit_.model.domain
    assert np.isnan(other.estimate[(other.pairs == 0).any(axis=1)]).all()


def test_order_that_a_fit_knows_is_that_of_its_table():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, (300, 3))
    rows[:150, 1] = rows[:150, 0]
    table = sf.encode(rows, ordinal=True)
    fit = sf.learn(table, seed=1)
    for data in (table, rows):
        assert_equal(sf.infer(fit, data), sf.infer(table))


def test_missing_cells_are_summed_out_filled_dropped_or_refused(table):
    codes = table.to_frame().to_numpy().astype(float)
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = np.nan
    whole = ~np.isnan(codes).any(axis=1)
    assert_equal(sf.infer(codes, missing="drop"), sf.infer(codes[whole].astype(int)))
    assert_equal(sf.infer(codes, missing="zero"), sf.infer(np.nan_to_num(codes).astype(int)))
    found = sf.infer(codes)
    assert found.design_effect >= 1
    assert found.n_rows == 400
    # More is told than by the rows that are whole.
    assert np.median(found.error / sf.infer(codes, missing="drop").error) < 1
    with pytest.raises(TableError, match="missing values"):
        sf.infer(codes, missing="error")


def test_clusters_follow_the_rows_that_count(table):
    codes = table.to_frame().to_numpy().astype(float)
    clusters = np.array([f"school {k}" for k in np.arange(400) // 8])
    weights = np.where(np.arange(400) < 40, 0.0, 1.5)
    one = sf.infer(codes, sample_weight=weights, clusters=clusters)
    other = sf.infer(codes[40:], sample_weight=weights[40:], clusters=clusters[40:])
    assert_equal(one, other)
    assert one.n_clusters == 45
    codes[::20, 0] = np.nan
    dropped = sf.infer(codes, missing="drop", clusters=clusters)
    assert_equal(dropped, sf.infer(codes[~np.isnan(codes[:, 0])], clusters=clusters[~np.isnan(codes[:, 0])]))


def test_weights_may_be_those_of_a_survey_or_counts(table):
    counts = np.arange(400) % 3
    repeated = np.repeat(table.to_frame().to_numpy(), counts, axis=0)
    np.testing.assert_array_equal(
        sf.infer(table, sample_weight=counts, frequency=True).p_value, sf.infer(repeated).p_value
    )
    survey = sf.infer(table, sample_weight=counts)
    assert survey.n_effective == pytest.approx(counts.sum() ** 2 / (counts**2).sum())
    assert survey.n_rows == np.count_nonzero(counts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fdr": 0}, "fdr is 0: use a number between 0 and 1, such as 0.1"),
        ({"fdr": 1.5}, "fdr is 1.5"),
        ({"level": 95}, "level is 95: use a number between 0 and 1, such as 0.95"),
        ({"level": float("nan")}, "level is nan"),
        ({"rate": "fdr"}, "rate is 'fdr': use 'bh', 'by' or 'holm'"),
        ({"missing": "mean"}, "missing is 'mean'"),
        ({"sample_weight": np.ones(3)}, "400"),
        ({"sample_weight": np.ones(3), "clusters": np.arange(400)}, "400"),
        ({"sample_weight": ["a"] * 400, "clusters": np.arange(400)}, "Weights must be 400 numbers"),
        ({"clusters": np.arange(3)}, r"clusters have shape \(3,\): give one for each of the 400 rows"),
        ({"clusters": np.where(np.arange(400) == 7, np.nan, 1.0)}, "Row 7 has no cluster: give it one of its own"),
        ({"clusters": np.array([None] * 400)}, "Row 0 has no cluster"),
        ({"clusters": np.ones(400)}, "All rows are in one cluster: give at least two"),
        ({"ordinal": True}, "ordinal is for tables that are read here: give it to encode"),
    ],
)
def test_what_cannot_be_asked_is_refused(table, options, said):
    with pytest.raises(ValueError, match=said):
        sf.infer(table, **options)


def test_what_holds_no_rows_is_refused(table):
    fit = sf.SparseMRF(0.05, random_state=1).fit(table)
    with pytest.raises(TypeError, match=r"infer needs the rows: give the table beside the fit, infer\(fit, table\)"):
        sf.infer(fit)
    with pytest.raises(TypeError, match="infer was given two tables"):
        sf.infer(table, table)
    with pytest.raises(ValueError, match="ordinal is given with a fit"):
        sf.infer(fit, table, ordinal=True)
    with pytest.raises(TableError, match="The table has 1 row: give at least two") as error:
        sf.infer(sf.Table(table.domain, np.asfortranarray(table.codes[:1])))
    assert "1 rows" not in str(error.value)
    with pytest.raises(TableError, match="Every row has a missing value"):
        sf.infer(pl.DataFrame({"a": [1, None, 0, None], "b": [None, 0, None, 1]}), missing="drop")


def test_counts_of_rows_that_are_not_in_memory_are_refused():
    frame = pl.DataFrame(np.random.default_rng(1).integers(0, 2, (100, 3)), schema=["a", "b", "c"])
    counted = sf.tables.count_data(frame.lazy())
    if counted.sample.n_rows == 100:  # they are all there
        assert_equal(sf.infer(counted), sf.infer(frame))
    assert_equal(sf.infer(frame.lazy()), sf.infer(frame))


# --- Progress ---


def shown(capsys):
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[━╸╺]", " ", capsys.readouterr().err)
    return " ".join(text.split())


def test_pairs_are_counted_from_ten_seconds_on(capsys, monkeypatch):
    with PairsBar(True) as watch:
        watch(90, 1000)
    assert shown(capsys) == ""
    now = 100.0
    for file in ("_bars", "_lines"):
        monkeypatch.setattr(f"sparsefield.progress.{file}.monotonic", lambda: now)
    with PairsBar(True, patience=0.0) as watch:
        wait_for(lambda: "since" in shown(capsys))  # before the first pair, too
        watch(50, 1000)
        now += 20.0
        watch(250, 1000)
        # 200 pairs took 20 seconds, and 750 take 75.
        wait_for(lambda: "fitting 250 of 1000 pairs, about 0:01:15 left, since" in shown(capsys))


def wait_for(is_there):
    """Wait until something is there; a minute at most."""
    for _ in range(600):
        if is_there():
            return
        time.sleep(0.1)
    pytest.fail("It is not there after a minute.")


def test_no_bar_is_shown_where_none_is_wanted(table, capsys):
    with PairsBar(False) as watch:
        assert watch is None
    with PairsBar("auto") as watch:
        assert watch is None  # no terminal
    sf.infer(table, progress=True)
    assert shown(capsys) == ""
