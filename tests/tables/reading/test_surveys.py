"""Files of SPSS, Stata and SAS: labels, order, and what is declared missing."""

import gzip
import sys

import polars as pl
import pyreadstat
import pytest

import sparsefield as sf
from sparsefield.data import TableError
from sparsefield.tables import read_contents

SEX = {1: "male", 2: "female", 9: "refused"}
MOOD = {3: "high", 1: "low", 2: "mid", 4: "very high"}


@pytest.fixture
def answers(tmp_path):
    frame = pl.DataFrame(
        {
            "sex": [2.0, 1.0, 9.0, None, 2.0],
            "mood": [2.0, 1.0, 3.0, 2.0, 3.0],
            "age": [20.0, 30.0, 97.0, 20.0, 30.0],
            "scale": [1.0, 2.0, 3.0, 1.0, 3.0],
            "rank": [10.0, 9.0, 8.0, 10.0, 9.0],
            "same": [1.0, 2.0, 3.0, 1.0, 2.0],
            "word": ["a", "b", "", "a", "b"],
        }
    )
    path = tmp_path / "answers.sav"
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={
            "sex": SEX,
            "mood": MOOD,
            "age": {97: "older"},
            "scale": {1: "never", 3: "always"},
            "same": {1: "yes", 2: "no", 3: "yes"},
        },
        missing_ranges={"sex": [9]},
        variable_measure={"sex": "nominal", "mood": "ordinal", "age": "scale", "scale": "ordinal", "rank": "ordinal"},
    )
    return path


def test_labels_stand_for_codes(answers):
    frame = read_contents(answers).frame
    assert frame["sex"].to_list() == ["female", "male", None, None, "female"]
    assert frame["mood"].to_list() == ["mid", "low", "high", "mid", "high"]
    assert frame["mood"].dtype == pl.Enum(["low", "mid", "high", "very high"])
    assert frame["scale"].dtype == pl.Enum(["never", "2", "always"])
    assert frame["rank"].dtype == pl.Enum(["8", "9", "10"])
    assert frame["age"].to_list() == [20, 30, 97, 20, 30]
    assert frame["same"].to_list() == ["yes (1)", "no", "yes (3)", "yes (1)", "no"]
    assert frame["word"].to_list() == ["a", "b", "", "a", "b"]


def test_only_what_is_declared_ordinal_is_ordered(answers):
    table = sf.encode(read_contents(answers).frame)
    order = dict(zip(table.domain.names, table.domain.is_ordered, strict=True))
    assert order == {name: name in ("mood", "scale", "rank") for name in table.domain.names}
    levels = dict(zip(table.domain.names, table.domain.levels, strict=True))
    assert levels["sex"] == ("male", "female")  # as their codes are ordered
    assert levels["same"] == ("yes (1)", "no", "yes (3)")
    assert levels["mood"] == ("low", "mid", "high")


def test_notes_say_what_was_done_with_codes(answers):
    notes = " ".join(str(note) for note in read_contents(answers).notes)
    assert (
        "Column 'age' has values without a label (20, 30) beside labelled ones ('97 older'): it keeps its codes."
        in notes
    )
    assert "Column 'scale' has values without a label (2) beside labelled ones: they stand for themselves." in notes
    assert "Column 'same' has several codes with the label 'yes': their levels have the code too." in notes
    assert "Column 'sex' has values that the file declares missing: they are missing values." in notes


def test_other_programs_are_read(tmp_path):
    frame = pl.DataFrame({"sex": [1.0, 2.0, None, 1.0], "a": [0.0, 1.0, 1.0, 0.0]})
    pyreadstat.write_dta(frame, tmp_path / "t.dta", variable_value_labels={"sex": {1: "male", 2: "female"}})
    found = read_contents(tmp_path / "t.dta").frame
    assert found["sex"].to_list() == ["male", "female", None, "male"]
    assert sf.encode(found).domain.levels == (("male", "female"), (0, 1))
    pyreadstat.write_sav(frame, tmp_path / "t.zsav", compress=True)
    pyreadstat.write_xport(frame, tmp_path / "t.xpt")
    pyreadstat.write_por(frame, tmp_path / "t.por")
    for name in ("t.zsav", "t.xpt", "t.por"):
        codes = read_contents(tmp_path / name).frame
        assert [column.to_list() for column in codes] == [[1, 2, None, 1], [0, 1, 1, 0]]
    packed = tmp_path / "t.dta.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.dta").read_bytes()))
    assert read_contents(packed).frame.rows() == found.rows()


def test_damaged_files_and_missing_packages_get_a_sentence(answers, monkeypatch):
    for ending in (".sav", ".dta", ".sas7bdat", ".xpt", ".por"):
        path = answers.with_name(f"bad{ending}")
        path.write_text("a,b\n0,1\n")
        with pytest.raises(TableError, match=f"is not a {ending} file, or is damaged"):
            read_contents(path)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(
        TableError, match=r"needs the package pyreadstat: install it with: pip install 'sparsefield\[surv"
    ):
        read_contents(answers)


def test_a_code_that_is_named_as_missing_needs_no_label(tmp_path):
    path = tmp_path / "survey.sav"
    frame = pl.DataFrame({"a": [1.0, 2.0, -99.0, 2.0]})
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"a": {1: "no", 2: "yes"}})
    contents = read_contents(path, missing_markers=("-99",))
    assert contents.frame["a"].to_list() == ["no", "yes", None, "yes"]
    assert contents.notes == ()
