import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsefield import encode
from sparsefield.data import MISSING, moments_of_table


def columns_of(table):
    return table.to_frame().to_dict(as_series=False)


cells = {
    "booleans": st.one_of(st.none(), st.booleans()),
    "numbers": st.one_of(st.none(), st.integers(-3, 3)),
    "spins": st.sampled_from([-1, 1]),
    "text": st.one_of(st.none(), st.sampled_from(["no", "yes", "ünsure", "a,b", '"q"', "1"])),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    columns = {name: draw(st.lists(kind, min_size=n, max_size=n)) for name, kind in cells.items()}
    # A column needs an observed value, and a constant one warns.
    for name, values in columns.items():
        if len({v for v in values if v is not None}) < 2:
            del values[:]
            values.extend(([False, True] if name == "booleans" else ["no", "yes"] if name == "text" else [-1, 1]) * n)
            del values[n + 1 :]
    n = min(len(values) for values in columns.values())
    return {name: values[:n] for name, values in columns.items()}


def constant(columns):
    return any(len({v for v in values if v is not None}) < 2 for values in columns.values())


@given(tables().filter(lambda columns: not constant(columns)))
def test_every_kind_of_table_survives_a_round_trip(columns):
    frame = pl.DataFrame(columns)
    from_polars = encode(frame)
    assert columns_of(from_polars) == columns
    from_pandas = encode(pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}))
    assert from_pandas.domain == from_polars.domain
    np.testing.assert_array_equal(from_pandas.codes, from_polars.codes)
    from_arrow_backed = encode(frame.to_pandas(use_pyarrow_extension_array=True))
    np.testing.assert_array_equal(from_arrow_backed.codes, from_polars.codes)
    again = encode(from_polars.to_frame(), domain=from_polars.domain)
    np.testing.assert_array_equal(again.codes, from_polars.codes)


@given(tables().filter(lambda columns: not constant(columns)), st.sampled_from([".csv", ".tsv", ".parquet"]))
def test_files_survive_a_round_trip(tmp_path_factory, columns, ending):
    path = tmp_path_factory.mktemp("tables") / f"table{ending}"
    frame = pl.DataFrame(columns)
    if ending == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="," if ending == ".csv" else "\t")
    table = encode(path)
    np.testing.assert_array_equal(table.codes == MISSING, encode(frame).codes == MISSING)
    found = columns_of(table)
    # A text file does not say whether 1 is text; everything else comes back as it was.
    if ending == ".parquet" or any(v not in (None, "1") for v in columns["text"]):
        assert found == columns


@pytest.mark.parametrize(
    ("array", "levels"),
    [
        (np.array([[True, False], [False, True]]), (False, True)),
        (np.array([[-1, 1], [1, -1]], dtype=np.int8), (-1, 1)),
        (np.array([[0.0, 2.0], [2.0, np.nan], [0.0, 0.0]]), (0, 2)),
        (np.array([["n", "y"], ["y", "n"]]), ("n", "y")),
        (np.array([["n", None], ["y", "n"], ["n", "y"]], dtype=object), ("n", "y")),
        (np.array([[1, 0], [0, float("nan")], [0, 1]], dtype=object), (0, 1)),
        (np.array([[300, 70_000], [70_000, 300]], dtype=np.uint32), (300, 70_000)),
        (np.array([[2**40, 5], [5, 2**40]], dtype=np.uint64), (5, 2**40)),
    ],
)
def test_arrays_are_encoded(array, levels):
    table = encode(array)
    assert table.domain.levels == (levels, levels)
    assert [type(level) for level in table.domain.levels[0]] == [type(level) for level in levels]
    for value, code in zip(array.ravel(), table.codes.ravel(), strict=True):
        observed = value is not None and value == value
        assert (code == levels.index(value)) if observed else (code == MISSING)


def test_pandas_types_are_encoded():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 0], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "float": [1.0, np.nan, 0.0],
            "category": pd.Categorical(["low", None, "high"], categories=["low", "mid", "high"]),
            "string": pd.array(["b", None, "a"], dtype="string"),
        }
    )
    table = encode(frame)
    assert table.domain.levels == ((0, 1), (False, True), (0, 1), ("low", "high"), ("a", "b"))
    assert table.codes.tolist() == [[1, 1, 1, 0, 1], [MISSING] * 5, [0, 0, 0, 1, 0]]
    assert table.mask.sum() == 5


def test_pandas_categories_may_be_numbers():
    frame = pd.DataFrame(
        {"a": pd.Categorical([3, 1, None], categories=[3, 2, 1]), "b": pd.Categorical([0.0, 1.0, 1.0])}
    )
    table = encode(frame)
    assert table.domain.levels == ((3, 1), (0, 1))
    assert table.codes.tolist() == [[0, 0], [1, 1], [MISSING, 1]]
    with pytest.raises(ValueError, match=r"Column 'a' has the category 0.5"):
        encode(pd.DataFrame({"a": pd.Categorical([0.5, 1.0])}))


def test_polars_categories_keep_their_order():
    kind = pl.Enum(["strongly agree", "agree", "neutral"])
    frame = pl.DataFrame({"a": pl.Series(["neutral", "strongly agree", None], dtype=kind)})
    table = encode(frame)
    assert table.domain.levels == (("strongly agree", "neutral"),)
    assert table.codes[:, 0].tolist() == [1, 0, MISSING]


def test_levels_of_categories_do_not_depend_on_the_rows():
    for dtype in (pl.Categorical, pl.Categorical(pl.Categories.random())):
        first = pl.DataFrame({"a": pl.Series(["b", "c", "a", "b"], dtype=dtype)})
        assert encode(first).domain == encode(first.reverse()).domain
    shared = pl.DataFrame({"a": pl.Series(["z", "c", "a"], dtype=pl.Categorical)})
    assert encode(shared).domain.levels == (("a", "c", "z"),)


def test_markers_mean_missing_values(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("a,b,c\n1,yes,0\n0,,NA\nNaN,no,1\nnull,NA,1\n")
    table = encode(path)
    assert table.domain.levels == ((0, 1), ("no", "yes"), (0, 1))
    assert table.n_missing.tolist() == [2, 2, 1]
    kept = encode(path, missing_markers=("", "NaN", "null"))
    assert kept.domain.levels[1:] == (("NA", "no", "yes"), ("0", "1", "NA"))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_blank_lines_are_no_rows(tmp_path, newline):
    path = tmp_path / "blank.csv"
    path.write_bytes("a,b\n0,1\n\n1,0\n,\n\n\n".replace("\n", newline).encode())
    assert encode(path).codes.tolist() == [[0, 1], [1, 0], [MISSING, MISSING]]
    path.write_bytes('a,b\n"0",1\n\n1,"0"\n\n'.replace("\n", newline).encode())
    assert encode(path).codes.tolist() == [[0, 1], [1, 0]]
    # In a single column an empty line is a missing value, except at the end.
    path.write_bytes("a\n0\n\n1\n\n\n".replace("\n", newline).encode())
    assert encode(path).codes[:, 0].tolist() == [0, MISSING, 1]


def test_masked_cells_are_missing_values():
    masked = np.ma.array([[0, 1], [1, 0], [7, 1]], mask=[[0, 0], [0, 0], [1, 0]])
    table = encode(masked)
    assert table.domain.levels == ((0, 1), (0, 1))
    assert table.codes[2, 0] == MISSING


def test_lists_keep_the_kinds_of_their_columns():
    table = encode([["a", 1], ["b", 10], ["a", float("nan")]])
    assert table.domain.levels == (("a", "b"), (1, 10))
    assert table.codes[2, 1] == MISSING


def test_large_numbers_stay_apart():
    for kind in (object, np.int64, np.uint64):
        table = encode(np.array([[2**60], [2**60 + 1], [2**60 + 2]], dtype=kind))
        assert table.domain.levels == ((2**60, 2**60 + 1, 2**60 + 2),)
    assert encode(np.array([[2**63 - 1], [2**63 - 2]])).domain.levels == ((2**63 - 2, 2**63 - 1),)
    for other in (1, 0.5):
        with pytest.raises(ValueError, match="numbers beyond 64 bits: turn them into text"):
            encode(np.array([[10**400], [other]], dtype=object))


def test_pyarrow_and_lazy_tables(tmp_path):
    frame = pl.DataFrame({"a": [0, 1], "b": ["x", None]})
    with pytest.warns(UserWarning, match="constant"):
        assert encode(frame.to_arrow()).domain.names == ("a", "b")
    with pytest.raises(ValueError, match=r"The table is lazy.*call collect\(\) first"):
        encode(frame.lazy())
    path = tmp_path / "large.csv"
    path.write_text("a,b\n99999999999999999999,1\n1,0\n")
    with pytest.raises(ValueError, match="Column 'a' has numbers beyond 64 bits"):
        encode(path)


def test_a_known_domain_takes_columns_without_observations():
    known = encode(pl.DataFrame({"a": [0, 1], "b": ["x", "y"]})).domain
    codes = encode(pl.DataFrame({"a": [None, 1], "b": [None, None]}), domain=known).codes
    assert codes.tolist() == [[MISSING, MISSING], [1, MISSING]]


def test_quoted_fields_and_byte_order_marks_are_read(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_bytes('\ufeff"first, really",b\n"x, y",1\n"two\nlines",0\n'.encode())
    table = encode(path)
    assert table.domain.names == ("first, really", "b")
    assert table.domain.levels[0] == ("two\nlines", "x, y")


def test_a_table_of_lists_and_a_known_domain():
    table = encode([[0, 1], [1, 0]])
    again = encode([[1, 1]], domain=table.domain)
    assert again.codes.tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="Column 'x1' has value 3, which is not a level: its levels are 0, 1"):
        encode([[0, 3]], domain=table.domain)
    named = encode(pl.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}))
    with pytest.raises(ValueError, match="Column 'a' has value 'z', which is not a level: its levels are 'x', 'y'"):
        encode(pl.DataFrame({"a": ["z"], "b": ["u"]}), domain=named.domain)
    with pytest.raises(ValueError, match="Column 'c' is not in the domain"):
        encode(pl.DataFrame({"a": ["x"], "c": ["u"]}), domain=named.domain)
    with pytest.raises(ValueError, match="Column 'b' is missing from the table"):
        encode(pl.DataFrame({"a": ["x"]}), domain=named.domain)
    with pytest.raises(ValueError, match="in another order"):
        encode(pl.DataFrame({"b": ["u"], "a": ["x"]}), domain=named.domain)


def test_references_can_be_chosen():
    frame = pl.DataFrame({"a": ["x", "y", "z"], "b": [0, 1, 1]})
    assert encode(frame).domain.reference == (0, 0)
    assert encode(frame, reference={"a": "z"}).domain.reference == (2, 0)
    assert encode(frame, reference=None).domain.n_slots == 5
    with pytest.raises(ValueError, match="Column 'a' has no level 'w': its levels are 'x', 'y', 'z'"):
        encode(frame, reference={"a": "w"})
    with pytest.raises(ValueError, match="column 'c', which the table does not have"):
        encode(frame, reference={"c": 1})
    for other in ("last", 5):
        with pytest.raises(ValueError, match=f"reference is {other!r}"):
            encode(frame, reference=other)


def test_a_constant_column_warns_and_gets_no_parameters():
    with pytest.warns(UserWarning, match=r"Column 'same' is constant \(7\)"):
        table = encode(pl.DataFrame({"same": [7, 7, None], "other": [0, 1, 0]}))
    assert table.domain.n_slots == 1
    assert table.domain.levels[0] == (7,)


def test_the_limit_on_levels_can_be_raised():
    table = encode(np.arange(200).reshape(-1, 1), max_levels=200)
    assert table.domain.n_slots == 199
    with pytest.raises(ValueError, match="max_levels is 300: use 1 to 254"):
        encode([[1]], max_levels=300)


def test_a_large_table_is_copied_once():
    array = np.random.default_rng(0).integers(0, 2, size=(400_000, 30), dtype=np.uint8)
    moments_of_table(encode(array[:1000]))  # compile
    tracemalloc.start()
    table = encode(array)
    held, peak = tracemalloc.get_traced_memory()
    assert peak < 1.3 * array.nbytes  # the codes, and a few columns
    tracemalloc.reset_peak()
    moments_of_table(table)
    assert tracemalloc.get_traced_memory()[1] - held < 0.6 * array.nbytes  # 65,532 rows at a time
    tracemalloc.stop()


def test_options_for_files_are_refused_with_other_data():
    with pytest.raises(ValueError, match="missing_markers is for files that are read here"):
        encode(pl.DataFrame({"a": [1, 2, -99]}), missing_markers=["-99"])
    with pytest.raises(ValueError, match="separator is for files that are read here"):
        encode([[0, 1], [1, 0]], separator=";")
