"""Sheets of workbooks: edges, types, names, and the row of a sheet in errors."""

import datetime
import subprocess
import sys
import zipfile

import polars as pl
import pytest
import xlsxwriter

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.tables import ReadingWarning, read_contents


@pytest.fixture
def write(tmp_path):
    def write(*sheets, corner=(0, 0)):
        path = tmp_path / "table.xlsx"
        with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
            for k, rows in enumerate(sheets):
                sheet = book.add_worksheet(f"part {k + 1}")
                for i, row in enumerate(rows):
                    sheet.write_row(corner[0] + i, corner[1], row)
        return path

    return write


def read(path, **options):
    contents = read_contents(path, **options)
    return contents.frame.to_dict(as_series=False), [str(note) for note in contents.notes]


ROWS = [["q1", "q2", 3, "flag"], [1, "yes", 0, True], [0, "no", 1.0, False], [None, "NA", 2, None], [1, "no", 0, True]]
FRAME = {"q1": [1, 0, None, 1], "q2": ["yes", "no", None, "no"], "3": [0, 1, 2, 0], "flag": [True, False, None, True]}


@pytest.mark.parametrize("corner", [(0, 0), (3, 2)])
def test_a_sheet_is_read_wherever_it_begins(write, corner):
    path = write(ROWS, corner=corner)
    frame, notes = read(path)
    assert frame == FRAME
    assert notes == []
    assert read_contents(path).frame.dtypes == [pl.Int64, pl.String, pl.Int64, pl.Boolean]
    assert sf.encode(path).domain.levels == ((0, 1), ("no", "yes"), (0, 1, 2), (False, True))


def test_empty_rows_are_no_rows_and_errors_have_the_row_of_the_sheet(write):
    path = write([["a", "b"], [1, "x"], [], [0, "y"], [], [0.5, "x"], ["  "], []], corner=(2, 1))
    contents = read_contents(path)
    assert contents.frame["a"].to_list() == [1, 0, 0.5]
    assert [contents.line_of(row) for row in range(4)] == [4, 6, 8, None]
    with pytest.raises(TableError, match=r"table\.xlsx', row 8: Column 'a' is continuous: this row holds 0\.5"):
        sf.encode(path)


def test_sheets_are_chosen(write):
    path = write(ROWS, [["a"], [1], [0]])
    frame, notes = read(path)
    assert frame == FRAME
    assert notes == [
        f"File {str(path)!r} has 2 sheets, 'part 1', 'part 2': the first is read. Choose another with sheet=."
    ]
    for sheet in ("part 2", 2, "2"):
        assert read(path, sheet=sheet) == ({"a": [1, 0]}, [])
    with pytest.raises(TableError, match="has no sheet 'part 3': its sheets are 'part 1', 'part 2'"):
        read(path, sheet="part 3")
    with pytest.raises(TableError, match="has nothing on sheet 'part 1': choose another with sheet"):
        read(write([], ROWS))


def test_sheets_are_for_workbooks(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n0,1\n")
    with pytest.raises(TableError, match="is no workbook, and has no sheets: leave sheet out"):
        read(tmp_path / "table.csv", sheet="part 1")


def test_numbers_of_rows_are_left_out_and_tables_without_names_found(write):
    frame, notes = read(write([["", "a"], [0, "x"], [1, "y"], [2, "x"]]))
    assert frame == {"a": ["x", "y", "x"]}
    assert "numbers the rows" in notes[0]
    frame, notes = read(write([[0, 1, 1], [1, 1, 0], [0, 0, 1]]))
    assert frame == {"x0": [0, 1, 0], "x1": [1, 1, 0], "x2": [1, 0, 1]}
    assert "row 1 of the sheet" in notes[0]
    assert read(write([[5, 3], [1, 0]]), header=False)[0] == {"x0": [5, 1], "x1": [3, 0]}


def test_words_among_numbers_stay_as_they_are(write):
    frame, _ = read(write([["a", "b"], [1, "x"], ["refused", "y"], [2, "x"], ["NA", "y"]]))
    assert frame == {"a": ["1", "refused", "2", None], "b": ["x", "y", "x", "y"]}
    assert read(write([["a", "b"], ["1", "x"], ["0", "y"], ["NA", "x"]]))[0] == {
        "a": [1, 0, None],
        "b": ["x", "y", "x"],
    }
    assert read(write([["name", "n"], ["a", 1], ["b", 2]]), as_text=True)[0] == {"name": ["a", "b"], "n": ["1", "2"]}


def test_dates_are_refused_with_a_sentence(write):
    days = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    path = write([["when", "a"], *([day, k % 2] for k, day in enumerate(days))])
    with pytest.raises(TableError, match=r"table\.xlsx': Column 'when' holds dates or times. Leave it out"):
        sf.encode(path)


def test_a_missing_package_is_named(write, monkeypatch):
    path = write(ROWS)
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(TableError, match=r"table\.xlsx' is a workbook.*pip install 'sparsefield\[excel\]'"):
        read(path)


def test_a_python_user_is_warned(write):
    with pytest.warns(ReadingWarning, match="has 2 sheets"):
        sf.read_table(write(ROWS, ROWS))


TEXT = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
NUMBER = '<table:table-cell office:value-type="float" office:value="{0}"><text:p>{0}</text:p></table:table-cell>'
NAMESPACE = "urn:oasis:names:tc:opendocument:xmlns"
DOCUMENT = (
    f'<?xml version="1.0"?><office:document-content xmlns:office="{NAMESPACE}:office:1.0" '
    f'xmlns:table="{NAMESPACE}:table:1.0" xmlns:text="{NAMESPACE}:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="answers">ROWS</table:table>'
    "</office:spreadsheet></office:body></office:document-content>"
)


def test_sheets_of_libreoffice_are_read(tmp_path):
    cells = [[(TEXT, "a"), (TEXT, "b")], [(NUMBER, 1), (TEXT, "x")], [(NUMBER, 0), (TEXT, "y")]]
    rows = "".join(
        f"<table:table-row>{''.join(form.format(value) for form, value in row)}</table:table-row>" for row in cells
    )
    path = tmp_path / "table.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", '<?xml version="1.0"?><manifest/>')
        archive.writestr("content.xml", DOCUMENT.replace("ROWS", rows))
    assert read(path) == ({"a": [1, 0], "b": ["x", "y"]}, [])


def test_an_empty_column_is_told_of_in_a_note_and_not_by_the_reader(write):
    path = write([["a", None, "b"], [1, None, 0], [2, None, 1]])
    assert read(path)[1] == ["Column 2 from the left has no name and no values: it is left out."]
    code = f"from sparsefield.tables import read_contents; read_contents({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
