"""Errors and warnings about tables have parts: where, what, and what to do."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import ConstantColumnWarning, TableError
from sparsefield.tables import read_contents


def catch(data, **options):
    with pytest.raises(TableError) as caught:
        sf.encode(data, **options)
    return caught.value


def test_an_error_says_where_and_what():
    error = catch(np.array([[0.0, 1.0], [0.5, 0.0]]))
    assert (error.column, error.row, error.value) == ("x0", 1, 0.5)
    assert str(error) == "Column 'x0' is continuous: row 1 holds 0.5. Cut it into a few levels, or leave it out."
    assert isinstance(error, ValueError)


def test_an_option_is_spelled_as_the_reader_knows_it():
    error = catch(np.arange(40)[:, None])
    assert error.option == "max_levels"
    assert str(error).endswith("or raise max_levels (32).")
    assert error.compose(lambda name: f"--{name.replace('_', '-')}").endswith("or raise --max-levels (32).")


def test_braces_in_the_data_are_left_alone():
    error = catch([["!{option}", "a"]] * 2 + [[f"{{{k}}}", "b"] for k in range(40)])
    assert "('!{option}', '{0}', '{10}', ...)" in str(error)
    assert error.column == "x0"


def test_errors_reach_other_processes_whole():
    for error in (catch(np.array([[0.5]])), catch(np.arange(40)[:, None])):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert (again.column, again.row, again.value, again.option) == (
            error.column,
            error.row,
            error.value,
            error.option,
        )
    warning = pickle.loads(pickle.dumps(ConstantColumnWarning("a", 7)))
    assert (warning.column, warning.level) == ("a", 7)


def test_a_question_ends_as_one():
    assert str(TableError("There is no column 'a'", "Is it 'b'?")) == "There is no column 'a'. Is it 'b'?"
    assert str(TableError("Something is wrong")) == "Something is wrong."


def test_errors_in_files_know_file_and_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,0\n1\n")
    error = catch(path)
    assert (error.path, error.line) == (path, 3)


def test_rows_have_lines(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,0\n\n0,1\n")
    assert [read_contents(path).line_of(row) for row in (0, 1, 2)] == [2, 4, None]
    sf.read_table(path).write_parquet(path.with_suffix(".parquet"))
    assert read_contents(path.with_suffix(".parquet")).line_of(0) is None


def test_a_constant_column_is_warned_of_with_its_parts():
    with pytest.warns(ConstantColumnWarning, match="'x1' is constant") as caught:
        sf.encode([[0, 7], [1, 7]])
    assert (caught[0].message.column, caught[0].message.level) == ("x1", 7)


def test_the_place_in_a_file_stands_for_the_row_and_names_stay():
    error = sf.TableError("Column 'row 3' is continuous: row 3 holds 0.5", column="row 3", row=3)
    placed = error.placed("File 'a.csv', line 5", Path("a.csv"), 5)
    assert str(placed) == "File 'a.csv', line 5: Column 'row 3' is continuous: this row holds 0.5."
    assert (placed.row, placed.line) == (3, 5)
