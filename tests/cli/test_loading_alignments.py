"""Alignments as tables of the program."""

import gzip

import numpy as np

import sparsefield as sf
from support.program import run


def write_family(path):
    """Write sequences of four letters and one column more, in which one letter is unknown and one is rare."""
    draws = sf.datasets.make_chain(4, strength=(1.5, 2.0), seed=1).sample(400, method="perfect", seed=1)
    rows = ["".join(letters) + "W" for letters in np.array(list("CD"))[draws.codes]]
    rows[3] = rows[3][:4] + "X"
    rows[5] = rows[5][:4] + "Y"
    text = "".join(f">s{k}\n{row}\n" for k, row in enumerate(rows))
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_an_alignment_is_fitted_and_certified_like_any_table(tmp_path):
    path, field = write_family(tmp_path / "family.fasta.gz"), tmp_path / "family.field"
    said = run("fit", path, "--alpha", "0.05", "-o", field)
    assert "400 rows, 5 variables, no missing values." in said
    assert "Letters that are not in the alphabet count as gaps: X (1)." in said
    assert "typo" not in said
    fit = sf.Fit.load(field)
    assert fit.model.domain.names == ("1", "2", "3", "4", "5")
    assert fit.model.domain.levels[4] == ("-", "W", "Y")


def test_an_alignment_that_is_none_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "family.fa"
    path.write_text(">one\nACD\n>two\nAC\n")
    said = run("fit", path, code=2)
    assert "line 3: sequence 'two' has 2 letters where the first has 3: align the sequences." in said
