"""Text files as programs write them: characters, line ends, quotes, and the line of each row."""

import csv
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.tables import read_contents
from sparsefield.tables.reading import _characters as characters


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def notes_of(path, **options):
    return [str(note) for note in read_contents(path, **options).notes]


def refused(path, **options):
    with pytest.raises(TableError) as caught:
        read_contents(path, **options)
    assert caught.value.path == path
    return caught.value


def test_other_encodings_are_read_with_a_note(write):
    text = "a,b\ncafé,1\nnaïve,0\n"
    path = write(text.encode("latin-1"))
    assert read_contents(path).frame["a"].to_list() == ["café", "naïve"]
    (note,) = notes_of(path)
    assert "is not UTF-8 text: it is read as Windows-1252" in note
    euro = write("a,b\n5 €,1\nnaïve,0\n".encode("cp1252"))
    assert read_contents(euro).frame["a"].to_list() == ["5 €", "naïve"]
    odd = write(b"a,b\n\x81\xe9,1\n")  # no character of Windows-1252
    assert "it is read as Latin-1" in notes_of(odd)[0]
    assert notes_of(write(text)) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_text_of_excel_is_read(write, encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    path = write(f"{mark}a\tb\r\ncafé\t1\r\nx\t0\r\n".encode(encoding), "table.txt")
    contents = read_contents(path)
    assert contents.frame.to_dict(as_series=False) == {"a": ["café", "x"], "b": [1, 0]}
    assert [contents.line_of(row) for row in range(2)] == [2, 3]


def test_long_texts_with_letters_across_pieces_are_utf8(write, monkeypatch):
    path = write("a,b\n" + "né,1\nü,0\n" * 50)
    monkeypatch.setattr(characters, "PIECE", 3)
    contents = read_contents(path)
    assert contents.notes == ()
    assert contents.frame.height == 100
    assert contents.line_of(99) == 101


def test_binary_files_are_refused(write):
    error = refused(write(b"a,b\n0,1\n1,\x000\n"))
    assert error.line == 3
    assert "line 3: there is a zero byte" in str(error)
    assert "is not text: it has control characters" in str(refused(write(b"\x01\x02\x03,abc\n\x04,x\n")))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_does(write, newline):
    text = 'a,b,c\n\n0,"two\nlines",1\n1,x,0\n\n\n0,"two\nlines",0\n"1",x,1.5\n'
    path = write(text.replace("\n", newline))
    contents = read_contents(path)
    assert contents.frame["a"].to_list() == [0, 1, 0, 1]
    assert [contents.line_of(row) for row in range(5)] == [3, 5, 8, 10, None]
    with pytest.raises(
        TableError, match=r"table\.csv', line 10: Column 'c' is continuous: this row holds 1\.5"
    ) as caught:
        sf.encode(path)
    assert (caught.value.path, caught.value.line, caught.value.row) == (path, 10, 3)


def test_lines_below_everything_that_is_skipped_are_right(write):
    path = write("sep=;\n# made by hand\n# in spring\n\na;b\n0;1\n\n1;0\n0;1;1\n")
    assert refused(path).line == 9
    assert "line 9: 3 values where line 5 has 2" in str(refused(path))
    path = write("# made by hand\r\n\r\na;b\r\n0;1\r\n1;0,5\r\n")
    assert read_contents(path).line_of(1) == 5


def test_an_open_quote_is_named_with_its_line(write):
    rows = [f"{k},x\n" for k in range(30)]
    rows[15] = '15,"x\n'  # on line 17
    error = refused(write("a,b\n" + "".join(rows)))
    assert error.line == 17
    assert "the quote that opens on line 17 is never closed" in str(error)
    rows[20] = '20,"y"\n'  # closes it for a machine, but not for people
    assert "the quote that opens on line 17 is never closed" in str(refused(write("a,b\n" + "".join(rows))))
    assert "line 2: a quote closes a value that goes on after it" in str(refused(write('a,b\n"x"y,1\nz,0\n')))


def test_quotes_are_understood(write):
    path = write('"say ""a""",b\n"x ""y""","1"\n"","0"\n"z, too","1"\n')
    frame = read_contents(path).frame
    assert frame.columns == ['say "a"', "b"]
    assert frame.to_dict(as_series=False) == {'say "a"': ['x "y"', "", "z, too"], "b": [1, 0, 1]}
    assert sf.encode(path).domain.levels == (('x "y"', "z, too"), (0, 1))


def test_quotes_inside_values_stay(write):
    path = write('size,b\n5" pipe,1\n\n6" pipe,0\n"7"" pipe",1\n')
    contents = read_contents(path)
    assert contents.frame.to_dict(as_series=False) == {"size": ['5" pipe', '6" pipe', '7" pipe'], "b": [1, 0, 1]}
    assert [contents.line_of(row) for row in range(3)] == [2, 4, 5]
    assert "line 3: 3 values where the first line has 2" in str(refused(write('size,b\n5" pipe,1\n6" pipe,0,1\n')))


def test_spaces_before_quotes_are_left_out_with_a_note(write):
    path = write('"a", "b, c"\n"x", "y, z"\n"u", "v"\n')
    assert read_contents(path).frame.to_dict(as_series=False) == {"a": ["x", "u"], "b, c": ["y, z", "v"]}
    assert notes_of(path) == ["Spaces after separators are left out."]


def test_types_are_those_of_all_rows(write):
    n = 12_000  # more than the rows from which types are told first
    rows = ["0,,1,true" for _ in range(n)]
    path = write("a,b,c,d\n" + "\n".join(rows) + "\nx,1,0.5,no\n")
    frame = read_contents(path).frame
    assert frame.dtypes == [pl.String, pl.Int64, pl.Float64, pl.String]
    path = write("a,b\n" + "0,\n" * n + "1,1\n0,2\n")
    assert read_contents(path).frame.dtypes == [pl.Int64, pl.Int64]


CELLS = st.text(alphabet='ab01",\n é;', max_size=4)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=12), st.sampled_from([2, 5, 1 << 22]))
def test_rows_and_lines_are_those_of_a_slow_reader(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(["first", "second"])
    csv.writer(out, lineterminator="\n").writerows(rows)
    path.write_bytes(out.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characters, "PIECE", size)
        contents = read_contents(path, as_text=True, header=True, separator=",", missing_markers=())
    assume(not any("describe the columns" in str(note) for note in contents.notes))  # words above numbers alone
    found = [tuple(cell or "" for cell in row) for row in contents.frame.rows()]
    assert found == [tuple(row) for row in rows]
    text, begin, lines = out.getvalue().split("\n", 1)[1], 2, []
    for row in rows:
        lines.append(begin)
        begin += 1 + sum(cell.count("\n") for cell in row)
    assert text.count("\n") == begin - 2
    assert [contents.line_of(row) for row in range(len(rows) + 1)] == [*lines, None]


def test_an_empty_table_has_no_rows(write):
    for text in ("a,b\n", "a,b", "\na,b\n\n", 'a",b\n'):
        with pytest.raises(TableError, match="no rows"):
            sf.encode(write(text))
    assert "is empty: its first line must name the columns" in str(refused(write("\n\n")))


def test_blank_lines_below_the_names_are_no_rows(write):
    contents = read_contents(write('a,b\n\n\n"q, r",\n'))
    assert contents.frame.rows() == [("q, r", None)]
    assert contents.line_of(0) == 4


def test_many_rows_with_blank_lines_keep_their_lines(write):
    rng = np.random.default_rng(0)
    lines, at = ["a,b"], []
    for _ in range(3000):
        lines += [""] * int(rng.integers(0, 2))
        lines.append("0,1")
        at.append(len(lines))
    contents = read_contents(write("\n".join(lines)))
    assert [contents.line_of(row) for row in range(3000)] == at


def test_numbers_with_zeros_in_front_are_one_level_which_is_said(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("month,place,share\n01,007,0.05\n02,7,1.005\n01,010,0.05\n")
    with pytest.warns(
        sf.tables.ReadingWarning, match=r"^Column 'place': '007', '7' are one number, 7, and one level.$"
    ) as told:
        found = sf.read_table(path)
    assert len(told) == 1
    assert found["place"].to_list() == [7, 7, 10]
    assert found["month"].to_list() == [1, 2, 1]
