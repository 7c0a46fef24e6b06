import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsefield as sf
from sparsefield.data import MISSING, ConstantColumnWarning, UnknownLettersWarning
from sparsefield.tables import AMINO_ACIDS

ROWS = ("ACDY-", "SCDY-", "AWE-G", "A-DYG")
NAMES = ("P1/3-7", "P2/1-5", "P1/3-7", "P4/2-6")


def as_fasta(rows=ROWS, names=NAMES, width=3):
    parts = (
        (name, [row[k : k + width] for k in range(0, len(row), width)]) for name, row in zip(names, rows, strict=True)
    )
    return "".join(f">{name}\n" + "\n".join(pieces) + "\n" for name, pieces in parts)


def as_stockholm(rows=ROWS, names=("a", "b", "c", "d"), width=2):
    lines = ["# STOCKHOLM 1.0", "#=GF ID   some family", ""]
    for start in range(0, len(rows[0]), width):
        lines += [f"{name}  {row[start : start + width]}" for name, row in zip(names, rows, strict=True)]
        lines += ["#=GC RF   xx", ""]
    return "\n".join([*lines, "//", ""])


def write(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def letters_of(table):
    return tuple("".join(row) for row in table.to_frame().iter_rows())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.fasta", as_fasta()),
        ("a.FA", as_fasta(width=60)),
        ("a.faa", as_fasta().replace("\n", "\r\n")),
        ("a.fasta.gz", as_fasta()),
        ("a.sto", as_stockholm()),
        ("a.stockholm.gz", as_stockholm(width=5)),
        ("a.a2m", as_fasta(("ACDx.Y-", "SCD.yY-", "AWE..-G", "A-DxyYG"))),
    ],
)
def test_every_format_gives_the_same_table(tmp_path, name, text):
    path = write(tmp_path, name, text)
    table = sf.proteins.read_alignment(path)
    assert letters_of(table) == ROWS
    assert table.names == (NAMES if "sto" not in name else ("a", "b", "c", "d"))
    assert table.domain.names == ("1", "2", "3", "4", "5")
    assert table.domain.levels == (("A", "S"), ("-", "C", "W"), ("D", "E"), ("-", "Y"), ("-", "G"))
    # Whatever reads a table reads an alignment by its ending.
    encoded = sf.encode(str(path))
    assert encoded.domain == table.domain
    np.testing.assert_array_equal(encoded.codes, table.codes)


def test_all_levels_have_the_same_codes_in_every_column(tmp_path):
    table = sf.proteins.read_alignment(write(tmp_path, "a.fasta", as_fasta()), levels="all", columns="abcde")
    assert table.domain.names == tuple("abcde")
    assert set(table.domain.levels) == {tuple("-ACDEFGHIKLMNPQRSTVWY")}
    assert table.codes.tolist() == [[AMINO_ACIDS.index(letter) for letter in row] for row in ROWS]


def test_letters_outside_the_alphabet_are_gaps_and_counted(tmp_path):
    path = write(tmp_path, "a.fasta", ">a\nXA*B\n>b\nxXC.\n>c\nAAAA\n")
    with pytest.warns(UnknownLettersWarning, match=r"gaps: X \(3\), B \(1\), \* \(1\)\.") as caught:
        table = sf.proteins.read_alignment(path)
    assert table.unknown == {"X": 3, "B": 1, "*": 1}
    assert letters_of(table) == ("-A--", "--C-", "AAAA")
    assert pickle.loads(pickle.dumps(caught[0].message)).letters == table.unknown


def test_lower_case_is_kept_or_left_out_as_asked(tmp_path):
    path = write(tmp_path, "a.fasta", ">a\nAcD.E\n>b\nCaCwF\n")
    assert letters_of(sf.proteins.read_alignment(path)) == ("ACD-E", "CACWF")
    assert letters_of(sf.proteins.read_alignment(path, insertions="drop")) == ("ADE", "CCF")


def test_other_alphabets_have_their_letters(tmp_path):
    path = write(tmp_path, "a.fasta", ">a\nACGU-\n>b\nUGCAN\n")
    with pytest.warns(UnknownLettersWarning, match=r"N \(1\)"), pytest.warns(ConstantColumnWarning, match="'5'"):
        table = sf.proteins.read_alignment(path, alphabet="-ACGU")
    assert letters_of(table) == ("ACGU-", "UGCA-")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (">a\nACD\n>b\nAC\nDE\n", 3, "sequence 'b' has 4 letters where the first has 3: align the sequences"),
        (">a\nACD\n\n>b\nAx.CD\n", 4, "'b' has 5 letters .*Name the file .a2m"),
        (">a\n>b\nACD\n", 1, "sequence 'a' has no letters"),
        (">a\nACD\n>b\n", 3, "sequence 'b' has no letters"),
        (">a\nAC1\n>b\nACD\n", 1, "sequence 'a' holds '1'"),
        (">a\nACD\n>b\nACé\n", 3, "sequence 'b' holds 'É'"),
        ("ACD\n", 1, "an alignment begins with '>'"),
        ("# STOCKHOLM 1.0\na ACD\nb AC\n//\n", 3, "sequence 'b' has 2 letters"),
        ("# STOCKHOLM 1.0\na ACD\nb A C\n//\n", 3, "3 words where a name and letters should be"),
        ("# STOCKHOLM 1.0\na ACD\n//\n# STOCKHOLM 1.0\n", 4, "a second alignment begins"),
        ("\n", None, "holds no sequence"),
        ("# STOCKHOLM 1.0\n//\n", None, "holds no sequence"),
    ],
)
def test_files_that_are_no_alignment_are_refused_with_their_line(tmp_path, text, line, message):
    path = write(tmp_path, "bad.fasta", text)
    for read in (sf.proteins.read_alignment, sf.encode):
        with pytest.raises(sf.TableError, match=message) as error:
            read(path)
        assert (error.value.path, error.value.line) == (path, line)


@pytest.mark.parametrize(
    ("content", "message"),
    [(gzip.compress(b">a\nACD\n", mtime=0)[:-6], "damaged"), (b">a\nAC\xff\n", "not UTF-8 text")],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, content, message):
    (tmp_path / "a.fasta").write_bytes(content)
    with pytest.raises(sf.TableError, match=message):
        sf.proteins.read_alignment(tmp_path / "a.fasta")


def test_a_file_that_is_not_there_names_those_that_are(tmp_path):
    write(tmp_path, "family.fasta", as_fasta())
    with pytest.raises(FileNotFoundError, match=r"The folder has 'family\.fasta'"):
        sf.proteins.read_alignment(tmp_path / "famly.fasta")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": "some"}, "use 'seen' or 'all'"),
        ({"insertions": "no"}, "use 'auto', 'drop' or 'keep'"),
        ({"alphabet": "ACGU"}, "begin with '-'"),
        ({"columns": ["one"]}, "columns has 1 name for 5 columns"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        sf.proteins.read_alignment(write(tmp_path, "a.fasta", as_fasta()), **options)


def naive_weights(codes, identity):
    """Compare every two rows, letter by letter."""
    weights = []
    for row in codes:
        alike = [sum(a == b != MISSING for a, b in zip(row, other, strict=True)) for other in codes]
        # One more than those that are not the row itself.
        n = 1 + sum(
            round(n / len(row), 12) >= identity for n, other in zip(alike, codes, strict=True) if other is not row
        )
        weights.append(1 / n)
    return weights


@given(st.data())
def test_weights_agree_with_a_comparison_of_every_two_rows(data):
    n, p = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 20))
    cells = st.lists(st.sampled_from([0, 0, 0, 1, MISSING]), min_size=p, max_size=p)
    codes = data.draw(st.lists(cells, min_size=n, max_size=n))
    identity = data.draw(st.sampled_from([0.07, 0.3, 0.7, 0.8, 0.9, 1.0]))
    table = sf.Table(sf.Domain.binary(p), np.array(codes, dtype=np.uint8, order="F"))
    found = sf.proteins.sequence_weights(table, identity)
    assert found.tolist() == naive_weights(codes, identity)


def test_an_identity_counts_as_it_reads():
    # Two rows that agree in 7 of 100 columns; in floats 0.07 x 100 is more than 7.
    codes = np.zeros((2, 100), dtype=np.uint8, order="F")
    codes[1, 7:] = 1
    assert sf.proteins.sequence_weights(sf.Table(sf.Domain.binary(100), codes), 0.07).tolist() == [0.5, 0.5]
    assert sf.proteins.sequence_weights(sf.Table(sf.Domain.binary(100), codes), 0.08).tolist() == [1.0, 1.0]


def test_weights_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(1)
    table = sf.Table(sf.Domain.binary(60), np.asfortranarray(rng.random((900, 60)) < 0.1).astype(np.uint8, order="F"))
    np.testing.assert_array_equal(
        sf.proteins.sequence_weights(table, n_threads=1), sf.proteins.sequence_weights(table, n_threads=3)
    )
    # Where only equal sequences are alike, each of them has its share of one.
    n_distinct = len(np.unique(table.codes, axis=0))
    assert n_distinct < 900
    assert sf.proteins.sequence_weights(table, 1.0).sum() == n_distinct  # halves, which add up exactly


@pytest.mark.parametrize("identity", [0.0, 1.1, np.nan])
def test_an_identity_that_is_no_share_is_refused(identity):
    with pytest.raises(ValueError, match="identity is"):
        sf.proteins.sequence_weights(sf.encode([[0, 1], [1, 0]]), identity)
