"""The program with answers on scales and with categories."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sparsefield as sf
from sparsefield.cli import app
from support.program import run

WORDS = ("never", "often", "always")


@pytest.fixture
def answers(tmp_path):
    """Two questions that agree, one that is turned round, and a group that goes with nothing."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 3, 600)
    second = np.clip(first + rng.integers(-1, 2, 600), 0, 2)
    third = 2 - np.clip(first + rng.integers(-1, 2, 600), 0, 2)
    frame = pl.DataFrame(
        {"q1": first + 1, "q2": second + 1, "mood": [WORDS[k] for k in third], "group": rng.integers(0, 2, 600)}
    )
    frame.write_csv(tmp_path / "answers.csv")
    return tmp_path / "answers.csv"


def fit(path, *words):
    result = CliRunner().invoke(app, ["fit", str(path), "--alpha", "0.03", "--no-certify", "--json", *words])
    assert result.exit_code == 0, result.output
    json.loads(result.stdout)
    return {
        (row["first"], row["second"]): row["weight"]
        for row in sf.edge_table(sf.Fit.load(path.with_suffix(".field"))).iter_rows(named=True)
    }


def test_ordered_columns_have_edges_with_a_sign(answers):
    edges = fit(answers, "--ordinal", "q1,q2,mood=never<often<always")
    assert edges["q1", "q2"] > 0 > edges["q1", "mood"]
    domain = sf.Fit.load(answers.with_suffix(".field")).model.domain
    assert domain.is_ordered.tolist() == [True, True, True, False]
    assert domain.levels[2] == WORDS


def test_numbers_and_words_are_categories_unless_told(answers):
    edges = fit(answers)
    assert all(weight > 0 for weight in edges.values())
    frame = pl.read_csv(answers)
    letters = frame.with_columns(pl.col("q1", "q2").cast(pl.String).replace_strict(["1", "2", "3"], ["c", "a", "b"]))
    letters.write_csv(answers.with_name("letters.csv"))
    # Enumerated fits end with a smallest subgradient of 1e-4 at most.
    assert fit(answers.with_name("letters.csv")) == pytest.approx(edges, abs=0.01)


def test_all_are_the_columns_of_numbers(answers):
    fit(answers, "--ordinal", "all")
    domain = sf.Fit.load(answers.with_suffix(".field")).model.domain
    assert domain.is_ordered.tolist() == [True, True, False, False]
    said = run("fit", answers, "--alpha", "0.03", "--no-certify", "--ordinal", "all")
    assert "q1 q2 +" in said
    assert "q1 mood +" not in said  # weights of categories have no sign
    assert "q1 mood" in said


def test_weights_of_categories_have_no_sign_in_any_table(answers):
    for command in (("fit", "--no-certify"), ("bootstrap", "-n", "3")):
        said = run(command[0], answers, *command[1:], "--alpha", "0.03", "--ordinal", "q1,q2")
        assert "q1 q2 +" in said
        assert re.search(r"q1 mood \d", said)
        assert "mood +" not in said
        assert " to +" not in said.partition("q1 mood")[2].partition("edges in the fit")[0]


def test_people_hear_that_numbers_can_be_ordered(answers):
    said = run("fit", answers, "--alpha", "0.03", "--no-certify")
    assert (
        "Columns 'q1', 'q2' have numbers as levels, which count as categories without an order: --ordinal all" in said
    )
    assert "without an order" not in run("fit", answers, "--alpha", "0.03", "--no-certify", "--ordinal", "q1,q2")


def test_orders_that_make_no_sense_are_refused_in_a_sentence(answers):
    for order, says in {
        "q3": "There is no column 'q3'",
        "mood": "Column 'mood' is text, whose alphabetical order says nothing",
        "mood=never<often": "'always'",
    }.items():
        assert says in run("fit", answers, "--ordinal", order, code=2)
    assert "penalty is 'ridge'" in run("fit", answers, "--alpha", "0.1", "--penalty", "ridge", code=2)


def test_each_level_by_itself_is_an_option(answers):
    run("fit", answers, "--alpha", "0.03", "--no-certify", "--penalty", "l1")
    assert sf.Fit.load(answers.with_suffix(".field")).penalty == "L1"


def test_estimators_take_the_same_names(answers):
    frame = pl.read_csv(answers)
    order = {"q1": [], "q2": [], "mood": list(WORDS)}
    mrf = sf.SparseMRF(0.03, ordinal=order, progress=False).fit(frame)
    assert sf.learn(frame, 0.03, ordinal=order).model.domain == mrf.model_.domain
    assert mrf.model_.domain.is_ordered.tolist() == [True, True, True, False]
    pseudo = sf.PseudoLikelihood(0.03, ordinal=order, progress=False).fit(frame)
    assert sf.edge_table(pseudo.fit_).row(0)[:2] == sf.edge_table(mrf.fit_).row(0)[:2]
    again = sf.bootstrap(mrf, frame, n=2)
    assert again.fit.model.domain == mrf.model_.domain
    for call in (mrf.fit, lambda table: sf.learn(table, 0.03, ordinal=order)):
        with pytest.raises(ValueError, match="give it to encode"):
            call(sf.encode(frame))


def test_numbers_may_be_given_in_their_own_order(answers):
    named = fit(answers, "--ordinal", "q1,q2")
    assert fit(answers, "--ordinal", "q1=1<2<3,q2=1 < 2 < 3 < 4") == named


@pytest.mark.parametrize("order", ["3<2<1", "1<2", "1<1<2<3", "low<mid<high"])
def test_numbers_have_no_other_order(answers, order):
    said = run("fit", answers, "--ordinal", f"q1={order}", code=2)
    assert f"Column 'q1' holds the numbers 1, 2, 3, which cannot be ordered as {order}" in said
    assert "use --ordinal 'q1' for their own order" in said


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--columns", "a1-a3"], ["a1", "a2", "a3"]),
        (["--columns", "a3-a2,b-x"], ["a2", "a3", "b-x"]),  # a name with a dash is a name
        (["--columns", "a*"], ["a1", "a2", "a3"]),
        (["--columns", "a*,a1-a2"], ["a1", "a2", "a3"]),
        (["--ignore", "a2-a3,b*"], ["a1", "c"]),
    ],
)
def test_columns_are_named_by_ranges_and_patterns(tmp_path, words, left):
    rng = np.random.default_rng(1)
    path = tmp_path / "answers.csv"
    pl.DataFrame({name: rng.integers(0, 2, 100) for name in ("a1", "a2", "a3", "b-x", "c")}).write_csv(path)
    run("fit", path, "--alpha", 0.1, *words, "-q")
    assert sorted(sf.Fit.load(path.with_suffix(".field")).model.domain.names) == left


def test_all_columns_that_are_not_there_are_named_at_one_time(answers):
    said = run("fit", answers, "--columns", "q1,x,y", code=2)
    assert "There are no columns 'x', 'y'. The first are 'q1', 'q2'" in said
    assert "column 'q1' twice" in run("fit", answers, "--columns", "q1,q1", code=2)
    assert "There is no column 'q9', at which 'q1-q9' ends" in run("fit", answers, "--columns", "q1-q9", code=2)
    assert "There is no column 'x*'" in run("fit", answers, "--columns", "x*", code=2)


def test_names_that_look_like_patterns_are_names(tmp_path):
    path = tmp_path / "answers.csv"
    rng = np.random.default_rng(1)
    pl.DataFrame({name: rng.integers(0, 2, 100) for name in ("*", "q.*", "c")}).write_csv(path)
    run("fit", path, "--alpha", 0.1, "--ignore", "c", "-q")
    assert sf.Fit.load(path.with_suffix(".field")).model.domain.names == ("*", "q.*")
