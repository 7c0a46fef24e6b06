"""Alignments of protein sequences as tables, and weights for sequences that are nearly the same."""

from __future__ import annotations

import math
import string
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels import _likeness
from sparsefield.data import (
    MISSING,
    MOST_LEVELS,
    ConstantColumnWarning,
    Domain,
    Table,
    TableError,
    UnknownLettersWarning,
    count,
)
from sparsefield.tables.sequences._sequences import Insertions, Sequence, read_sequences

AMINO_ACIDS = "-ACDEFGHIKLMNPQRSTVWY"  # the gap, and the twenty by their letters: the order that DCA programs use
_GAPS = "-."
_UNKNOWN = string.ascii_uppercase + "*?"  # where they are not in the alphabet; a star is a stop


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(Table):
    r"""A table of aligned sequences: a row for each, a variable for each column, with letters as levels.

    Parameters
    ----------
    domain, codes
        As of a `Table`.
    names : tuple of str
        The names of the sequences.
    unknown : mapping of str to int
        How often each letter occurs that is not in the alphabet; they count as gaps.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from pathlib import Path
    >>> _ = Path("family.fasta").write_text(">one\nAK-\n>two\nCRL\n>three\nAKL\n")
    >>> family = sf.proteins.read_alignment("family.fasta")
    >>> family.names, family.shape
    (('one', 'two', 'three'), (3, 3))
    >>> family.domain.levels
    (('A', 'C'), ('K', 'R'), ('-', 'L'))
    """

    names: tuple[str, ...]
    unknown: Mapping[str, int]


def read_alignment(
    path: str | PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    levels: Literal["seen", "all"] = "seen",
    insertions: Insertions = "auto",
    alphabet: str = AMINO_ACIDS,
) -> Alignment:
    r"""Read aligned sequences as a table.

    Parameters
    ----------
    path : path
        A FASTA, a2m or Stockholm file, which may be packed by gzip.
    columns : iterable of str, optional
        Names of the columns; "1", "2", ... unless given.
    levels : "seen" or "all"
        "seen": a column has the letters that occur in it as levels. "all": every column has the whole alphabet, so that
        codes mean the same in all of them. A letter that no sequence has counts as half a row where a field is learned,
        and costs time.
    insertions : "auto", "drop" or "keep"
        Whether lower-case letters and dots are insertions, which are left out, or letters and gaps like others. "auto"
        leaves them out where the name of the file ends in .a2m or .a3m.
    alphabet : str
        The letters, first of them the gap; "-ACGU" for RNA. Other letters, '*' and '?' count as gaps, and a warning
        says how often: in proteins B, J, O, U, X and Z. A dot is a gap.

    Returns
    -------
    Alignment
        A table, which also has the names of the sequences. The first level of each column is its reference.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from pathlib import Path
    >>> n = Path("family.fasta").write_text(">one\nAC-DE\n>two\nACGDE\n>three\nSC-DF\n")
    >>> table = sf.proteins.read_alignment("family.fasta", levels="all")
    >>> table.names, table.shape, table.domain.n_levels.tolist()
    (('one', 'two', 'three'), (3, 5), [21, 21, 21, 21, 21])
    >>> sf.proteins.sequence_weights(table, identity=0.8)
    array([0.5, 0.5, 1. ])
    """
    if levels not in ("seen", "all"):
        raise ValueError(f"levels is {levels!r}: use 'seen' or 'all'.")
    _check_alphabet(alphabet)
    sequences = read_sequences(Path(path), insertions)
    codes, unknown = _as_codes(Path(path), sequences, alphabet)
    if unknown:
        warnings.warn(UnknownLettersWarning(unknown), stacklevel=2)
    names = tuple(str(k + 1) for k in range(codes.shape[1])) if columns is None else tuple(columns)
    if len(names) != codes.shape[1]:
        raise ValueError(f"columns has {count(len(names), 'name')} for {count(codes.shape[1], 'column')}.")
    own = (tuple(alphabet),) * len(names)
    if levels == "seen":
        own = tuple(_take_seen(column, alphabet) for column in codes.T)
        for name, letters in zip(names, own, strict=True):
            if len(letters) == 1:
                warnings.warn(ConstantColumnWarning(name, letters[0]), stacklevel=2)
    domain = Domain(names, own, (0,) * len(names))
    return Alignment(domain, codes, tuple(sequence.name for sequence in sequences), unknown)


def read_letters(path: Path) -> pl.DataFrame:
    """Read an alignment as a data frame of letters, as `read_alignment` would unless told otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)  # they are found again where the frame is encoded
        return read_alignment(path).to_frame()


def sequence_weights(table: Table, identity: float = 0.8, *, n_threads: int | None = None) -> NDArray[np.float64]:
    """Return a weight for each sequence: one over the number of those that are nearly the same, itself included.

    Sequences of a family are not independent: some lines of descent were sequenced more often than others. The sum of
    the weights is the effective number of sequences (Morcos et al. 2011).

    Parameters
    ----------
    table : Table
        The sequences.
    identity : float
        The share of all columns in which sequences agree that are nearly the same, or a larger one. Gaps agree with
        gaps, and missing values with nothing.
    n_threads : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_rows,)
        To be given as `sample_weight`.

    Examples
    --------
    Two of these four sequences are the same, and count as one together.

    >>> import sparsefield as sf
    >>> sequences = sf.encode([["A", "K", "L"], ["A", "K", "L"], ["C", "R", "L"], ["C", "K", "V"]])
    >>> sf.proteins.sequence_weights(sequences).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    if not 0 < identity <= 1:
        raise ValueError(f"identity is {identity}: use a share of the columns, above 0 and up to 1.")
    n, p = table.shape
    # As the number reads: 0.07 x 100 is 7, and more than that in floats.
    least = math.ceil(Fraction(repr(float(identity))) * p)
    columns = np.ascontiguousarray(table.codes.T)
    rows = np.where(table.codes == MISSING, MOST_LEVELS, table.codes).astype(np.uint8)  # no level has that code
    counts = np.empty(n, dtype=np.int64)
    # 4,915 sequences of 53 columns take 0.057 s on one core of a Zen 4.
    shares = _threads.share(n, n_threads, 4.5e-11 * n * n * p)
    _threads.run(_likeness.count_similar, [(columns, rows, least, share.start, share.stop, counts) for share in shares])
    return np.asarray(1 / counts)


def _check_alphabet(alphabet: str) -> None:
    is_plain = alphabet.isascii() and alphabet.upper() == alphabet
    if not is_plain or len(set(alphabet)) < max(2, len(alphabet)) or alphabet[:1] != "-":
        raise ValueError(f"alphabet is {alphabet!r}: begin with '-' and give each letter once, in upper case.")


def _as_codes(path: Path, sequences: list[Sequence], alphabet: str) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """Return the index of each letter in the alphabet, and how often others stand for gaps."""
    text = "".join(own.letters for own in sequences)
    strange = set(text).difference(alphabet, _GAPS, _UNKNOWN)
    if strange:
        raise _refuse(path, sequences, strange)
    codes_of = np.zeros(128, dtype=np.uint8)  # of a gap, unless it is a letter of the alphabet
    codes_of[[ord(letter) for letter in alphabet]] = np.arange(len(alphabet))
    codes = codes_of[np.frombuffer(text.encode("ascii"), dtype=np.uint8)].reshape(len(sequences), -1)
    unknown = {mark: text.count(mark) for mark in _UNKNOWN if mark in text and mark not in alphabet}
    return np.asfortranarray(codes), dict(sorted(unknown.items(), key=lambda item: -item[1]))


def _refuse(path: Path, sequences: list[Sequence], strange: set[str]) -> TableError:
    """Return the error of the first character that no alignment has."""
    own = next(own for own in sequences if strange.intersection(own.letters))
    mark = next(mark for mark in own.letters if mark in strange)
    return TableError(
        f"File {str(path)!r}, line {own.line}: sequence {own.name!r} holds {mark!r}",
        "use letters, and '-' or '.' for gaps",
        path=path,
        line=own.line,
        value=mark,
    )


def _take_seen(column: NDArray[np.uint8], alphabet: str) -> tuple[str, ...]:
    """Write codes among the letters that occur over those of the alphabet, and return these letters."""
    found, column[:] = np.unique(column, return_inverse=True)
    return tuple(alphabet[k] for k in found)
