"""Notes on what looks wrong in a table, with the options that mend it."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app
from support.program import run

FAST = ("--alpha", "0.1", "--no-certify")


@pytest.fixture
def survey(tmp_path):
    """Return a function that writes columns to a file, beside two that are as they should be."""
    rng = np.random.default_rng(1)

    def write(name="survey.csv", n=300, **columns):
        frame = pl.DataFrame({"sex": rng.choice(["f", "m"], n), "smokes": rng.choice(["no", "yes"], n), **columns})
        frame.write_csv(tmp_path / name)
        return tmp_path / name

    return write


def notes(path, *words):
    """Return the notes of a fit."""
    result = CliRunner().invoke(app, ["fit", str(path), *FAST, *words])
    assert result.exit_code == 0, result.output
    return [line.removeprefix("Note: ") for line in result.stderr.splitlines() if line.startswith("Note: ")]


def pick(*levels, n=300, seed=2):
    return np.random.default_rng(seed).choice(levels, n)


def test_a_code_for_missing_values_is_named_with_an_option_that_works(survey):
    path = survey(q=pick(1, 2, 3, -99))
    said = notes(path, "--ordinal", "q")
    assert said == [
        "Column 'q' has the number -99 apart from the other levels. If this means a missing value, leave such cells "
        "empty, or read the file with --missing-marker=-99."
    ]
    for words in (["--missing-marker=-99"], ["--missing-marker", "-99"]):
        assert notes(path, "--ordinal", "q", *words) == []
        assert sf.Fit.load(path.with_suffix(".field")).model.domain.levels[2] == (1, 2, 3)


def test_a_word_for_missing_values_is_quoted_as_shells_want_it(survey):
    (said,) = notes(survey(q=pick("a", "b", "don't know")))
    assert said.endswith("""read the file with --missing-marker='don'"'"'t know'.""")


def test_columns_that_name_rows_are_left_out_with_an_option(survey):
    path = survey(who=[f"p{k % 297}" for k in range(300)], nr=range(300))
    said = run("fit", path, code=2)
    assert "Column 'who' has 297 levels in 300 rows, and seems to name them: leave it out with --id 'who'" in said
    said = run("fit", path, "--id", "who", code=2)
    assert "Column 'nr' has 300 levels in 300 rows, and seems to name them" in said
    assert notes(path, "--id", "who", "--ignore", "nr") == []
    few = survey("few.csv", n=30, who=[f"p{k}" for k in range(30)])
    assert "If it names the rows, leave it out with --id who." in " ".join(notes(few))


def test_none_is_a_level_where_that_is_said(survey):
    path = survey(pain=pick("None", "Some", "Much"), fever=pick("None", "High", "Low", seed=3))
    said = notes(path)
    n = path.read_text().count("None")
    assert said == [
        f"Columns 'pain', 'fever' have the word 'None' in {n} cells, which count as missing values beside 'Much', "
        "'Some'. If it is a level, read the file with --level None."
    ]
    field = path.with_suffix(".field")
    assert sf.Fit.load(field).model.domain.levels[2] == ("Much", "Some")
    assert notes(path, "--level", "None") == []
    assert sf.Fit.load(field).model.domain.levels[2] == ("Much", "None", "Some")
    assert sf.Fit.load(field).model.domain == sf.encode(pl.read_csv(path)).domain  # in Python it always is
    assert "By enumeration" in run("certify", field, path, "--level", "None")
    assert "These are not the 300 rows" in run("certify", field, path, code=2)
    run("report", field, "--data", path, "--level", "None")
    for command in (("path", "--n-alphas", "2"), ("bootstrap", "-n", "2", "--alpha", "0.1")):
        said = run(command[0], path, *command[1:], "--level", "None")
        assert "no missing values" in said
        assert "count as missing" not in said
    assert "--level names 'none': name a word that else means a missing cell: 'NA'" in run(
        "fit", path, "--level", "none", code=2
    )


def test_none_is_a_level_in_files_whose_columns_have_types(survey):
    path = survey(pain=[*pick("None", "Some", "Much", n=290), *[None] * 10])
    typed = path.with_suffix(".parquet")
    pl.read_csv(path, null_values=[""]).write_parquet(typed)
    assert notes(typed) == []
    assert sf.Fit.load(typed.with_suffix(".field")).model.domain.levels[2] == ("Much", "None", "Some")


def test_words_beside_numbers_and_letters_stay_missing(survey):
    path = survey(
        q=pick("1", "2", "None"), country=pick("DE", "FR", "NA", seed=3), answer=pick("yes", "no", "NA", seed=4)
    )
    assert notes(path) == [
        f"Column 'country' has the word 'NA' in {(pl.read_csv(path)['country'] == 'NA').sum()} cells, which count as "
        "missing values beside 'DE', 'FR'. If it is a level, read the file with --level NA."
    ]


def test_variants_are_merged_where_that_is_asked_for(survey):
    path = survey(q=pick("Yes", "yes ", "YES", "no", "Yes"), r=pick("a", "A", "b", seed=3))
    said = notes(path)
    assert [note.partition(". ")[2] for note in said] == [
        "If they mean the same, merge them with --merge-levels q.",
        "If they mean the same, merge them with --merge-levels r.",
    ]
    assert said[0].startswith("Column 'q' has levels that differ in case or blanks alone: 'YES', 'Yes', 'yes '.")
    field = path.with_suffix(".field")
    said = notes(path, "--merge-levels", "q")
    assert said[0] == "Column 'q': 'YES', 'yes ' counted as 'Yes'."
    assert len(said) == 2
    assert sf.Fit.load(field).model.domain.levels[2:] == (("Yes", "no"), ("A", "a", "b"))
    said = notes(path, "--merge-levels", "all")
    assert len(said) == 2
    assert all(" counted as " in note for note in said)
    assert len(sf.Fit.load(field).model.domain.levels[3]) == 2
    assert "By enumeration" in run("certify", field, path, "--merge-levels", "all")
    assert "has value 'YES', which is not a level" in run("certify", field, path, code=2)
    assert "There is no column 'qq'. Is it 'q'?" in run("fit", path, "--merge-levels", "qq", code=2)


def test_variants_of_ordered_levels_have_their_spelling_and_no_other_order(survey):
    path = survey(mood=pick("LOW", "LOW", "mid", "High ", "high"))
    words = ("--merge-levels", "mood")
    assert notes(path, *words, "--ordinal", "mood=low<mid<high") == [
        "Column 'mood': 'High ' counted as 'high'.",
        "Column 'mood': 'LOW' counted as 'low'.",
    ]
    assert sf.Fit.load(path.with_suffix(".field")).model.domain.levels[2] == ("low", "mid", "high")
    typed = path.with_suffix(".parquet")
    order = pl.Enum(["LOW", "mid", "high", "High "])
    pl.read_csv(path).with_columns(pl.col("mood").cast(order)).write_parquet(typed)
    assert "has ordered categories that differ in case or blanks alone: 'high', 'High '" in " ".join(
        run("fit", typed, *words, code=2).split()
    )


def test_copies_counts_and_missing_cells_are_noted(survey):
    q, visits = pick("a", "b"), np.random.default_rng(3).integers(0, 17, 300)
    path = survey(
        q=q, again=np.where(q == "a", "x", "y"), visits=visits, seldom=[*pick(0, 1, n=100, seed=5), *[None] * 200]
    )
    said = notes(path, "--missing", "drop")
    assert len(said) == 4
    assert "or name them in --ordinal visits, and each of their edges is a single number." in said[0]
    assert said[1].startswith("Columns 'q', 'again' tell the same in every row.")
    assert "leave out all but one with --ignore again, unless" in said[1]
    assert said[2].startswith("Column 'seldom' is missing in 200 of 300 rows.")
    assert said[3].startswith(
        "100 of 300 rows remain: the others have a missing value, most of them in column 'seldom'."
    )
    assert said[3].endswith("Missing values can stay with --missing model.")
    # Each remedy mends what it is offered for.
    assert notes(path, "--ordinal", "visits", "--ignore", "again,seldom") == []


def test_few_rows_are_noted(survey):
    path = survey(n=30, **{f"x{k}": pick(0, 1, n=30, seed=10 + k) for k in range(12)})
    (said,) = notes(path)
    assert said.startswith(
        "30 rows are few for 14 variables: an association of two of them can be told from sampling error from"
    )
    assert said.endswith("It takes 48 rows to find large ones, or fewer variables and levels.")


def test_empty_columns_are_left_out_unless_they_are_asked_for(survey):
    path = survey(nothing=[None] * 300)
    assert notes(path) == ["Column 'nothing' has no observed value: left out."]
    assert sf.Fit.load(path.with_suffix(".field")).model.domain.names == ("sex", "smokes")
    assert "Column 'nothing' has no observed value: leave it out." in run(
        "fit", path, "--columns", "sex,nothing", code=2
    )


def test_many_notes_of_a_kind_are_cut(survey):
    columns = {f"q{k}": pick("yes", "no", "yess", seed=k) for k in range(9)}
    columns = {name: np.where(column == "yess", "yes", column) for name, column in columns.items()}
    for column in columns.values():
        column[5] = "yess"
    said = notes(survey(**columns))
    assert len([note for note in said if "is it a typo?" in note]) == 5
    assert said[-1] == "There are 4 more notes like those on typos."


def test_a_clean_table_has_no_notes(survey):
    path = survey()
    assert notes(path) == []
    result = CliRunner().invoke(app, ["fit", str(path), *FAST, "--json"])
    json.loads(result.stdout)
    assert result.stderr == ""


def test_a_typo_is_named_with_its_line_also_where_rows_are_left_out(tmp_path):
    path = tmp_path / "answers.csv"
    rows = [f"{'yes' if k % 3 else 'no'},{k % 2 if k % 4 else ''}" for k in range(80)]
    path.write_text("\n".join(["a,row 78", "", *rows[:78], "yess,1", rows[79]]))
    for words in ([], ["--missing", "drop"]):
        (said,) = [own for own in notes(path, *words) if "typo" in own]
        assert said.endswith("the first in line 81: is it a typo?")


def test_what_was_assumed_is_told_before_what_is_wrong(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(f"{k};{k % 2}" for k in range(80)))
    said = run("fit", path, code=2)
    assert "The columns have no names: line 1" in said
    assert "Column 'x0' has 80 levels in 80 rows" in said


def test_programs_find_the_notes_in_their_object(survey):
    path = survey(q=pick(1, 2, 3, -99))
    result = CliRunner().invoke(app, ["fit", str(path), *FAST, "--ordinal", "q", "--json"])
    (said,) = json.loads(result.stdout)["notes"]
    assert "--missing-marker=-99" in said
    assert result.stderr == ""


def test_constant_columns_have_one_note(survey):
    same = {f"c{k}": ["x"] * 300 for k in range(30)}
    (said,) = [own for own in notes(survey(**same)) if "constant" in own]
    assert said.startswith("30 columns are constant ('c0', 'c1', 'c2', 'c3', 'c4', ...): they get no parameters")


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (1, "1 of 92 rows has no value in any variable, and counts as a row all the same. Remove it, unless"),
        (5, "5 of 96 rows have no value in any variable, and count as rows all the same. Remove them, unless"),
    ],
)
def test_rows_without_a_value_are_pointed_at(n, words, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("a,b\n" + "0,1\n1,0\n1,1\n" * 30 + ",\n" * n + "0,\n")
    (said,) = [own for own in notes(path) if "no value" in own]
    assert said == f"{words} this is meant."


def test_letters_that_a_picture_cannot_show_are_told_once(survey, tmp_path):
    rng = np.random.default_rng(2)
    path = survey(**{"睡眠障害": rng.integers(0, 2, 300), "倦怠感": rng.integers(0, 2, 300)})
    said = notes(path, "--picture", str(tmp_path / "net.png"))
    assert len(said) == 1
    assert said[0].startswith("The font of the picture has no letters for 睡眠障害倦怠感, and shows boxes instead")
