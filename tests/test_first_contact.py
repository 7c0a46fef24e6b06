"""A wheel on a machine where nothing can be written but results, and a survey as people have it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

ROOT = Path(__file__).parents[1]
QUESTIONS = ("sleep", "appetite", "worry", "pain")

# Commands run in one process, since each one compiles its kernels anew.
RUN = """
import json, sys
from typer.testing import CliRunner
import sparsefield
from sparsefield.cli import app
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
out = [{"code": own.exit_code, "stdout": own.stdout, "stderr": own.stderr} for own in done]
print(json.dumps({"where": sparsefield.__file__, "done": out}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed wheel, in which no kernel can be kept."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    into = folder / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*install, "--target", str(into), str(wheel)], check=True, capture_output=True)
    # A file of this name keeps even the superuser from making the folder.
    for room in {path.parent for path in into.rglob("sparsefield/**/*.py")}:
        (room / "__pycache__").write_text("")
    return into


def make_survey(n=400):
    """Return answers that a common cause makes alike, and a scale from 1 to 3 with a code for no answer."""
    rng = np.random.default_rng(1)
    cause = rng.standard_normal(n)
    answers = {name: (rng.random(n) < 1 / (1 + np.exp(-2.5 * cause))).astype(int) for name in QUESTIONS}
    mood = np.digitize(cause + 0.7 * rng.standard_normal(n), [-0.5, 0.5]) + 1
    mood[rng.random(n) < 0.05] = -99
    return {**answers, "mood": mood}


def as_people_write(survey):
    """Return a frame of pandas, whose files have an index, with spellings of all kinds and names in other letters."""
    rng = np.random.default_rng(2)
    spellings = (["No", "no", "No "], ["Yes", "yes", "YES "])
    n = len(survey["mood"])
    columns = {"person": [f"Jürgen {i}" for i in range(n)]}
    for name in QUESTIONS:
        columns[name] = [spellings[k][rng.choice(3, p=(0.8, 0.1, 0.1))] for k in survey[name]]
    return pd.DataFrame({**columns, "mood": survey["mood"]})


def test_a_messy_survey_is_fitted_alike_from_three_kinds_of_files_by_a_fresh_wheel(site, tmp_path):
    survey = make_survey()
    messy = as_people_write(survey)
    messy.to_excel(tmp_path / "survey.xlsx", engine="xlsxwriter")
    messy.to_csv(tmp_path / "survey.csv", sep=";", encoding="latin-1", lineterminator="\r\n")
    labels = {name: {0: "No", 1: "Yes"} for name in QUESTIONS}
    frame = pl.DataFrame({"person": messy["person"].to_list(), **survey})
    pyreadstat.write_sav(frame, tmp_path / "survey.sav", variable_value_labels=labels, missing_ranges={"mood": [-99]})
    options = ["--id", "person", "--merge-levels", "all", "--missing-marker=-99", "--ordinal", "mood"]
    options += ["--alpha", "0.03", "--no-certify"]
    words = [
        ["fit", str(tmp_path / f"survey.{kind}"), *options, "--output", str(tmp_path / f"{kind}.field"), "--json"]
        for kind in ("xlsx", "sav", "csv")
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": "/dev/null/home", "PYTHONPATH": str(site)}
    run = [sys.executable, "-c", RUN, json.dumps(words)]
    ran = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr
    assert ran.stderr.count("\n") <= 1
    found = json.loads(ran.stdout)
    assert Path(found["where"]).is_relative_to(site)
    fits = [json.loads(own["stdout"]) for own in found["done"]]
    assert [own["code"] for own in found["done"]] == [0, 0, 0]
    assert {fit["n_variables"] for fit in fits} == {5}
    assert {fit["n_rows"] for fit in fits} == {400}
    assert len({(fit["alpha"], fit["n_edges"], fit["sentence"]) for fit in fits}) == 1
    assert fits[0]["n_edges"] >= 6


def test_the_paper_stays_in_the_repository(site, tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": "/dev/null/home", "PYTHONPATH": str(site)}
    code = "import sys; sys.path[:] = [p for p in sys.path if not p.endswith('src')]\n" + RUN
    run = [sys.executable, "-c", code, json.dumps([["paper"]])]
    ran = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert Path(found["where"]).is_relative_to(site)
    (said,) = found["done"]
    assert said["code"] == 2
    assert "run `make paper` in a copy of its repository" in " ".join(said["stderr"].split())
