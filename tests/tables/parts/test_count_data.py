"""Tables in parts: counts, levels and samples against those of the same table in memory."""

import numpy as np
import polars as pl
import pytest

import sparsefield as sf
from sparsefield.data import ConstantColumnWarning, count_table
from sparsefield.tables import encode, find_parts, open_rows


def make_frame(n=3000, seed=0):
    """Return columns of several kinds, some of whose levels come late."""
    rng = np.random.default_rng(seed)
    mood = rng.choice(["low", "mid", "high"], n)
    mood[: n // 2] = "low"
    return pl.DataFrame(
        {
            "bit": rng.integers(0, 2, n).astype(np.uint8),
            "flag": rng.integers(0, 2, n).astype(bool),
            "scale": np.where(np.arange(n) < n // 2, rng.integers(3, 6, n), rng.integers(1, 8, n)),
            "mood": mood,
            "grade": pl.Series(rng.choice(["c", "b", "a"], n), dtype=pl.Enum(["c", "b", "a", "z"])),
            "whole": rng.integers(-1, 2, n).astype(float),
        }
    )


@pytest.fixture
def frame():
    return make_frame()


@pytest.fixture(autouse=True)
def small_batches(cut_tables):
    cut_tables(batch=500)


def check_same(counted, table):
    assert counted.domain == table.domain
    np.testing.assert_array_equal(counted.counts.pair, count_table(table).pair)
    assert counted.n_rows == table.n_rows
    for found, own in zip(counted.level_counts(), table.level_counts(), strict=True):
        np.testing.assert_array_equal(found, own)


@pytest.mark.parametrize("reference", ["first", None, {"mood": "mid", "bit": 1}])
def test_counts_of_parts_are_those_of_the_table(frame, reference):
    counted = sf.tables.count_data(frame.lazy(), reference=reference)
    table = encode(frame, reference=reference)
    check_same(counted, table)
    np.testing.assert_array_equal(counted.sample.codes, table.codes)  # all rows, in their order


def test_levels_that_come_last_and_orders_are_found(frame):
    ordinal = {"mood": ["low", "mid", "high"], "scale": []}
    check_same(sf.tables.count_data(frame.lazy(), ordinal=ordinal), encode(frame, ordinal=ordinal))
    check_same(sf.tables.count_data(frame[::-1].lazy()), encode(frame[::-1]))


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_missing_values_are_filled_or_dropped_as_in_memory(frame, missing):
    rng = np.random.default_rng(1)
    holes = frame.with_columns(
        pl.when(pl.Series(rng.random(len(frame)) < 0.02)).then(None).otherwise(pl.col(name)).alias(name)
        for name in frame.columns
    )
    counted, table = sf.tables.count_data(holes.lazy(), missing=missing), encode(holes)
    n_holes = table.n_missing
    check_same(counted, table.fill_first() if missing == "zero" else table.drop_missing())
    assert counted.n_dropped == (len(frame) - len(table.drop_missing()) if missing == "drop" else 0)
    np.testing.assert_array_equal(counted.n_filled, n_holes if missing == "zero" else 0 * n_holes)


def test_a_missing_value_is_refused_with_its_column_row_and_remedy(frame):
    holes = frame.with_columns(pl.when(pl.int_range(pl.len()) == 1234).then(None).otherwise("mood").alias("mood"))
    with pytest.raises(
        sf.TableError, match=r"Column 'mood' has a missing value in row 1234.*set missing to 'drop'"
    ) as error:
        sf.tables.count_data(holes.lazy())
    assert (error.value.column, error.value.row) == ("mood", 1234)


def test_errors_name_the_row_of_the_whole_table(frame):
    odd = frame.with_columns(pl.when(pl.int_range(pl.len()) == 777).then(0.5).otherwise("whole").alias("whole"))
    with pytest.raises(sf.TableError, match=r"Column 'whole' is continuous: row 777 holds 0\.5"):
        sf.tables.count_data(odd.lazy())


def test_known_levels_are_kept_and_others_refused(frame):
    domain = encode(frame).domain
    part = frame.filter(pl.col("mood") == "low")
    check_same(sf.tables.count_data(part.lazy(), domain=domain), encode(part, domain=domain))
    with pytest.raises(sf.TableError, match="'mood' has value 'mid', which is not a level"):
        sf.tables.count_data(frame.lazy(), domain=_without(domain, "mid"))


def _without(domain, level):
    levels = tuple(tuple(own for own in levels if own != level) for levels in domain.levels)
    return sf.Domain(domain.names, levels, (0,) * len(levels))


def test_a_sample_is_uniform_and_depends_on_row_numbers_alone(cut_tables):
    cut_tables(sample=400)
    n = 20_000
    frame = pl.DataFrame({f"b{k}": (np.arange(n) >> k) & 1 for k in range(15)})  # which row it is, in binary
    chosen = []
    for size in (500, 1700, 20_000):
        cut_tables(batch=size)
        chosen.append(sf.tables.count_data(frame.lazy()).sample.codes @ (1 << np.arange(15)))
    np.testing.assert_array_equal(chosen[0], chosen[1])
    np.testing.assert_array_equal(chosen[0], chosen[2])
    assert len(chosen[0]) == 400
    assert (np.diff(chosen[0]) > 0).all()
    # 400 uniform rows: their mean has a standard error of n / sqrt(12 * 400), and 4.9 of them is a rate of 1e-6.
    assert abs(chosen[0].mean() - n / 2) < 4.9 * n / np.sqrt(12 * 400)


def test_fingerprints_tell_counts_apart_and_not_orders_of_rows(frame):
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    counted, domain = sf.tables.count_data(frame.lazy()), encode(frame).domain
    assert sf.tables.count_data(shuffled.lazy()).fingerprint() == counted.fingerprint()
    other = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 5).then(1 - pl.col("bit")).otherwise("bit").alias("bit")
    )
    assert sf.tables.count_data(other.lazy(), domain=domain).fingerprint() != counted.fingerprint()


def test_rows_that_are_not_there_are_refused_in_a_sentence(frame):
    counted = sf.tables.count_data(frame.lazy())
    for ask in (lambda: counted.codes, lambda: counted[3], counted.to_frame, lambda: np.asarray(counted)):
        with pytest.raises(sf.TableError, match="counted part by part and are not in memory"):
            ask()
    assert repr(counted) == "<CountedTable: 3000 rows, 6 variables: 'bit', 'flag', 'scale', 'mood', 'grade', ...>"


def test_entropy_is_not_above_that_of_the_rows(frame):
    counted = sf.tables.count_data(frame.lazy())
    shares = frame.group_by(pl.all()).len()["len"].to_numpy() / len(frame)
    pairs = frame.group_by("scale", "grade").len()["len"].to_numpy() / len(frame)
    least = counted.least_entropy()
    assert least <= -(shares * np.log(shares)).sum()
    assert least == pytest.approx(-(pairs * np.log(pairs)).sum())


def write_parts(frame, folder, ending):
    folder.mkdir()
    for k in range(3):
        part = frame[1000 * k : 1000 * (k + 1)]
        getattr(part, f"write_{'ipc' if ending == 'arrow' else ending}")(folder / f"part-{k}.{ending}")


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_folders_and_patterns_are_one_table(frame, tmp_path, ending, cut_tables):
    folder = tmp_path / "parts"
    write_parts(frame, folder, ending)
    (folder / "_SUCCESS").write_text("")
    table = encode(folder)  # in memory
    if ending == "csv":  # orders are not written
        frame = frame.with_columns(pl.col("grade").cast(pl.String))
    assert table.domain == encode(frame).domain
    np.testing.assert_array_equal(table.codes, encode(frame).codes)
    assert find_parts(folder) is None
    check_same(sf.tables.count_data(folder), table)
    check_same(sf.tables.count_data(str(folder / f"part-*.{ending}")), table)
    check_same(sf.tables.count_data(folder / f"part-1.{ending}"), encode(folder / f"part-1.{ending}"))
    cut_tables(folder=1000)
    assert isinstance(open_rows(folder), sf.data.CountedTable)


def test_text_files_are_read_alike(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "a.csv").write_text(";x;y\n1;0;no\n2;1;yes\n")
    (folder / "b.csv").write_text(";x;y\n1;1;NA\n2;0;yes\n")
    with pytest.warns(sf.tables.ReadingWarning, match="numbers the rows|semicolons"):
        counted = sf.tables.count_data(folder, missing="zero")
    assert counted.domain.levels == ((0, 1), ("no", "yes"))
    assert counted.counts.pair.tolist() == [[2, 1], [1, 2]]


def test_folders_that_are_no_table_are_refused(frame, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(sf.TableError, match="has no files"):
        sf.learn(empty, 0.1)
    with pytest.raises(sf.TableError, match="has no files"):
        sf.learn(str(tmp_path / "none-*.csv"), 0.1)
    mixed = tmp_path / "mixed"
    write_parts(frame, mixed, "parquet")
    frame.write_csv(mixed / "other.csv")
    with pytest.raises(sf.TableError, match="files of kinds 'parquet', 'text'"):
        encode(mixed)
    (mixed / "other.csv").unlink()
    frame.drop("mood").write_parquet(mixed / "part-9.parquet")
    for read in (encode, sf.tables.count_data):
        with pytest.raises(sf.TableError, match="cannot be read as one table"):
            read(mixed)


def test_a_cell_of_another_type_far_down_is_refused(tmp_path):
    folder = tmp_path / "late"
    folder.mkdir()
    rows = ["x,y", *["0,1"] * 300_000, "1,oops"]
    (folder / "a.csv").write_text("\n".join(rows))
    with pytest.raises(sf.TableError, match="cannot be read as one table"):
        sf.tables.count_data(folder)


def test_constant_columns_and_many_levels_are_told_as_in_memory():
    frame = pl.DataFrame({"same": [1] * 1200, "id": np.arange(1200), "x": [0, 1] * 600})
    with pytest.raises(sf.TableError, match="Column 'id' has 500 levels"):
        sf.tables.count_data(frame.lazy())
    few = frame.with_columns(pl.col("id") // 30)  # 17 levels a part, 40 of all
    with pytest.raises(sf.TableError, match="Column 'id' has 40 levels"):
        sf.tables.count_data(few.drop("same").lazy())
    with pytest.warns(ConstantColumnWarning, match="'same' is constant"):
        assert sf.tables.count_data(few.lazy(), max_levels=40).domain.levels[1] == tuple(range(40))


def test_watch_hears_of_rows_and_an_interrupt_ends_the_pass(frame):
    heard = []
    sf.tables.count_data(frame.lazy(), watch=heard.append)
    assert heard[-1] == 3000
    assert len(heard) > 1
    assert heard == sorted(heard)

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.tables.count_data(frame.lazy(), watch=interrupt)
