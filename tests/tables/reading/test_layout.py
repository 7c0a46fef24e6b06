"""How tables are laid out: separators, names or none, rows above the data, columns that number the rows."""

import numpy as np
import pandas as pd
import pytest

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.tables import ReadingWarning, read_contents


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def read(path, **options):
    contents = read_contents(path, **options)
    return contents.frame.to_dict(as_series=False), [str(note) for note in contents.notes]


ROWS = [["a", "b"], ["x", "1"], ["y", "0"], ["x", "0"]]
FRAME = {"a": ["x", "y", "x"], "b": [1, 0, 0]}


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.txt", "table.dat", "table"])
@pytest.mark.parametrize(
    ("mark", "word"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")]
)
def test_separators_are_found(write, name, mark, word):
    path = write("\n".join(mark.join(row) for row in ROWS), name)
    frame, notes = read(path)
    assert frame == FRAME
    is_own = (name, mark) in (("table.csv", ","), ("table.tsv", "\t"))
    assert notes == ([] if is_own else [f"Values are separated by {word} in file {str(path)!r}."])
    assert read(path, separator=mark) == (FRAME, [])


def test_spaces_separate_values_where_no_ending_says_otherwise(write):
    frame, notes = read(write("a b\nx 1\ny 0\nx 0\n", "table.dat"))
    assert frame == FRAME
    assert "separated by spaces" in notes[0]


def test_the_ending_decides_between_separators(write):
    assert read(write("a,b;c\nx,1;2\ny,0;2\n"))[0] == {"a": ["x", "y"], "b;c": ["1;2", "0;2"]}
    assert read(write('"a;b",c\n"x;1",0\n"y;0",1\n'))[0] == {"a;b": ["x;1", "y;0"], "c": [0, 1]}
    assert read(write("do you; really\n1\n0\n"))[0] == {"do you; really": [1, 0]}


def test_other_files_without_a_separator_are_refused(write):
    with pytest.raises(TableError, match="splits all its lines into equally many values: rename or convert it, or set"):
        read(write("Dear reader,\nthis is a letter\n\nYours", "letter.txt"))


def test_decimal_commas_make_numbers(write):
    frame, notes = read(write("a;b;c\n1,5;1;x\n2,0;0;y,z\n"))
    assert frame == {"a": [1.5, 2.0], "b": [1, 0], "c": ["x", "y,z"]}
    assert "Column 'a' has numbers with decimal commas: '1,5' is read as 1.5." in notes
    assert read(write("a;b\n1,5;1\n2,0;0\n"), as_text=True)[0] == {"a": ["1,5", "2,0"], "b": ["1", "0"]}
    whole = write("a;b\n1,0;x\n0,0;y\n")
    with pytest.warns(ReadingWarning):
        assert sf.encode(whole).domain.levels[0] == (0, 1)
    with pytest.warns(ReadingWarning), pytest.raises(TableError, match="line 2: Column 'a' is continuous: this row"):
        sf.encode(write("a;b\n1,5;x\n0,5;y\n"))


def test_a_first_line_of_excel_names_the_separator(write):
    frame, notes = read(write("sep=;\na;b\nx;1\ny;0\nx;0\n"))
    assert frame == FRAME
    assert notes == ["Line 1 says that values are separated by ';'."]
    assert read(write("\n\nsep=;\na;b\nx;1\ny;0\nx;0\n")) == (frame, [notes[0].replace("Line 1", "Line 3")])


def test_comments_above_the_table_are_skipped_with_a_note(write):
    frame, notes = read(write("# made in spring, by hand\n# and again\na,b\nx,1\ny,0\nx,0\n"))
    assert frame == FRAME
    assert notes == ["Lines 1 to 2 begin with '#', and are taken for comments."]
    frame, notes = read(write("# two lines\n#a,b\n1,1\n0,1\n"))
    assert frame == {"a": [1, 0], "b": [1, 1]}
    assert "Line 2 begins with '#', and is taken for the names of the columns." in notes
    frame, _ = read(write("#sample\tA\tB\ns1\t0\t1\ns2\t1\t0\n", "table.tsv"))
    assert list(frame) == ["sample", "A", "B"]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", ["", '""', "Unnamed: 0"])
def test_numbers_of_rows_are_left_out_with_a_note(write, name, first):
    rows = "".join(f"{k + first},{a},{b}\n" for k, (a, b) in enumerate([("x", 1), ("y", 0), ("x", 0)]))
    frame, notes = read(write(f"{name},a,b\n{rows}"))
    assert frame == FRAME
    assert len(notes) == 1
    assert "numbers the rows" in notes[0]
    assert "it is left out" in notes[0]


def test_row_names_of_r_are_left_out_with_a_note(write):
    frame, notes = read(write('"a" "b"\n"Ann" "x" 1\n"Bob" "y" 0\n"Cid" "x" 0\n', "table.txt"))
    assert frame == FRAME
    assert "The first column has no name and has a value of its own in each row ('Ann', 'Bob', 'Cid', ...)" in notes[-1]


def test_a_first_column_without_a_name_that_may_be_a_variable_is_refused(write):
    with pytest.raises(TableError, match="has a first column without a name, which does not number the rows: give it"):
        read(write(",a\n0,1\n1,0\n0,1\n"))
    with pytest.raises(
        TableError, match="has a name less than values in each row: name all columns, or correct the rows"
    ):
        read(write("a,b\n0,1,1\n0,1,1\n0,1,1\n"))
    frame, notes = read(write("Unnamed: 0,a\n0,1\n1,0\n0,1\n"))
    assert list(frame) == ["Unnamed: 0", "a"]
    assert "it is kept" in notes[0]


def test_separators_at_the_end_of_every_line_make_no_column(write):
    for text in ("a,b,\nx,1,\ny,0,\nx,0,\n", "a,b\nx,1,\ny,0,\nx,0,\n"):
        frame, notes = read(write(text))
        assert frame == FRAME
        assert notes == ["Column 3 from the left has no name and no values: it is left out."]


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]],
        [[0.5, 1.5], [0.25, 2.5]],
        [[3, 1], [2, 1], [3, 2]],
        [["yes", "no", "yes"], ["no", "no", "yes"], ["yes", "yes", "no"]],
        [[1, "", 1], [0, 1, 1], [1, 1, 0]],
    ],
)
def test_tables_without_names_are_found(write, rows):
    path = write("\n".join(",".join(map(str, row)) for row in rows))
    frame, notes = read(path)
    assert list(frame) == [f"x{j}" for j in range(len(rows[0]))]
    assert [len(column) for column in frame.values()] == [len(rows)] * len(rows[0])
    assert len(notes) == 1
    assert "The columns have no names: line 1 (" in notes[0]
    assert "Use header=True if it has their names." in notes[0]
    (note,) = read_contents(path).notes
    assert "Use --header if" in note.compose(lambda option: {"header=True": "--header"}[option])
    assert read(path, header=False) == (frame, [])


def test_names_that_are_numbers_stay_names(write):
    frame = pd.DataFrame(np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0]]))
    for index in (True, False):
        path = write("")
        frame.to_csv(path, index=index)
        assert list(read(path)[0]) == ["0", "1", "2"]
    assert read(write("1990,1991\n0,1\n1,0\n")) == ({"1990": [0, 1], "1991": [1, 0]}, [])
    found, notes = read(write("0,1\n0,1\n1,0\n"))
    assert list(found) == ["0", "1"]
    assert "occur below too: use header=False if they are data" in notes[0]
    assert list(read(write("1,2,4\n1,5,4\n2,2,1\n3,1,3\n"))[0]) == ["1", "2", "4"]


def test_people_decide_whether_there_are_names(write):
    path = write("0,1,2\n0,1,1\n1,0,2\n")
    assert list(read(path, header=False)[0]) == ["x0", "x1", "x2"]
    assert list(read(write("5,3\n5,3\n4,1\n"), header=True)[0]) == ["5", "3"]
    with pytest.raises(TableError, match=r"table\.csv': Two columns are named '0'"):
        read(write("0,0\n1,0\n"), header=True)


QUALTRICS = (
    "StartDate,Q1,Q2\n"
    'Start Date,"How often, on the whole,\ndo you laugh?",Do you sing?\n'
    '"{""ImportId"":""startDate"",""timeZone"":""America/Denver""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n'
    "2020-01-01,1,x\n2020-01-02,2,y\n2020-01-03,1,x\n"
)


def test_questions_below_the_names_are_left_out_with_a_note(write):
    path = write(QUALTRICS)
    frame, notes = read(path)
    assert frame == {"StartDate": ["2020-01-01", "2020-01-02", "2020-01-03"], "Q1": [1, 2, 1], "Q2": ["x", "y", "x"]}
    assert len(notes) == 1
    assert notes[0].startswith("2 rows below the names ('Start Date', ")
    assert [read_contents(path).line_of(row) for row in range(3)] == [5, 6, 7]
    path = write("q1,q2\nDo you laugh?,Do you sing?\n1,0\n0,0\n1,1\n0,NA\n")
    frame, notes = read(path)
    assert frame == {"q1": [1, 0, 1, 0], "q2": [0, 0, 1, None]}
    assert notes == [
        "A row below the names ('Do you laugh?', 'Do you sing?') seems to describe the columns, and is left out."
    ]


def test_rows_of_words_are_data(write):
    assert read(write("q1,q2\nno,yes\nyes,no\nno,no\nyes,yes\n"))[1] == []
    assert read(write("q1\nnever\n1\n0\n1\n0\n"))[0]["q1"][0] == "never"
    assert read(write("q1,q2\nnever,1\n1,0\n0,0\n1,1\n0,1\n"))[1] == []


def test_warnings_say_what_was_assumed(write):
    path = write("a;b\nx;1\ny;0\n")
    with pytest.warns(ReadingWarning, match="separated by semicolons") as caught:
        frame = sf.read_table(path)
    assert caught[0].filename == __file__
    assert frame.columns == ["a", "b"]
    with pytest.warns(ReadingWarning, match="separated by semicolons") as caught:
        sf.encode(path)
    assert caught[0].filename == __file__


def test_spaces_behind_every_comma_are_no_part_of_values(write):
    frame, notes = read(write("a, b, c\n1, x, 0\n2, y, 1\n1, x, 1\n"))
    assert frame == {"a": [1, 2, 1], "b": ["x", "y", "x"], "c": [0, 1, 1]}
    assert notes == ["Spaces after separators are left out."]
    assert read(write("a,b\nx, y,1\n".replace("x, y", '"x, y"') + "z,0\n"))[0]["a"] == ["x, y", "z"]


def test_spaces_separate_numbers_in_a_file_that_ends_in_csv(write):
    frame, notes = read(write("a b c\n0 1 x\n1 1 y\n0 0 x\n"))
    assert frame == {"a": [0, 1, 0], "b": [1, 1, 0], "c": ["x", "y", "x"]}
    assert "separated by spaces" in notes[0]
    r_table = '"b" "c"\n"1" 0 "x"\n"2" 1 "y"\n"3" 1 "x"\n'
    assert read(write(r_table))[0]["b"] == [0, 1, 1]
    assert read(write("my answer\nyes please\nno thanks\n"))[0] == {"my answer": ["yes please", "no thanks"]}
    assert read(write("my answer\noption 1\noption 2\n"))[0] == {"my answer": ["option 1", "option 2"]}


def test_a_first_row_of_data_is_found_behind_the_name_of_its_row(write):
    rows = [f"S{k:02d},{k % 2},{k % 2},{k % 3}" for k in range(1, 20)]
    frame, notes = read(write("\n".join(rows)))
    assert list(frame) == ["x0", "x1", "x2", "x3"]
    assert "('S01', '1', '1', '1') is read as data" in notes[0]
    words = [f"S{k:02d},{'yes' if k % 2 else 'no'},{'mf'[k % 2]}" for k in range(1, 20)]
    assert "use header=False if they are data" in read(write("\n".join(words)))[1][0]


def test_boxes_that_were_ticked_have_the_names_of_their_columns(write):
    rows = [f"{'Red' if k % 2 else ''},{'Blue' if k % 3 else ''},{k % 5}" for k in range(20)]
    assert read(write("\n".join(["Red,Blue,n", *rows])))[1] == []


def test_empty_columns_have_one_note(write):
    assert read(write("a,,,b\n1,,,0\n0,,,1\n"))[1] == ["2 columns have no name and no values: they are left out."]


def test_titles_above_the_names_are_spoken_of(write):
    with pytest.raises(TableError, match=r"line 3: 3 value.* If that is a title, remove what stands above the names"):
        read(write("Results of 2024\n\na,b,c\n1,0,1\n"))
    with pytest.raises(TableError, match="one name, 'Results', for 2 columns: name all of them; if it is a title"):
        read(write("Results,\na,b\n1,0\n"))


def test_a_row_that_describes_all_but_the_first_columns_is_left_out(write):
    rows = [f"{1000 + k},{k % 5},{k % 3}" for k in range(20)]
    frame, notes = read(write("\n".join(["RespondentID,How happy?,How sad?", ",Response,Response", *rows])))
    assert frame["How sad?"] == [k % 3 for k in range(20)]
    assert notes == ["A row below the names ('Response', 'Response') seems to describe the columns, and is left out."]
    words = [f"{k % 2},{k % 3},word {k}" for k in range(20)]
    assert len(read(write("\n".join(["a,b,c", ",,first", *words])))[0]["a"]) == 21
