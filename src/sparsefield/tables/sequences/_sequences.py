"""Files of aligned sequences: FASTA, a2m and Stockholm, as names and letters."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sparsefield.data import TableError, check_file, listed

Insertions = Literal["auto", "drop", "keep"]

ENDINGS = (".fasta", ".fa", ".faa", ".a2m", ".a3m", ".sto", ".stockholm")
_WITH_INSERTIONS = (".a2m", ".a3m")
_INSERTED = str.maketrans("", "", "abcdefghijklmnopqrstuvwxyz.")


@dataclass(frozen=True)
class Sequence:
    """One aligned sequence.

    Parameters
    ----------
    name : str
        Its name, as the file has it.
    letters : str
        Its letters.
    line : int
        The line of the file on which it begins, counted from one.
    """

    name: str
    letters: str
    line: int


def is_alignment(path: Path) -> bool:
    """Say whether a file is named like an alignment: it ends in .fasta, .a2m, .sto and the like, or these and .gz."""
    return _ending(path) in ENDINGS


def read_sequences(path: Path, insertions: Insertions) -> list[Sequence]:
    """Read the sequences of a file, all of one length, in upper case.

    Parameters
    ----------
    path : Path
        A FASTA, a2m or Stockholm file, as its first line says; it may be packed by gzip.
    insertions : "auto", "drop" or "keep"
        Whether lower-case letters and dots are left out, which are insertions in a2m; "auto" does so where the name of
        the file ends in .a2m or .a3m.
    """
    ways = ("auto", "drop", "keep")
    if insertions not in ways:
        raise ValueError(f"insertions is {insertions!r}: use {listed(ways)}.")
    check_file(path)
    found = list(_parse(path))
    if not found:
        raise TableError(f"File {str(path)!r} holds no sequence", "give a FASTA, a2m or Stockholm file", path=path)
    if insertions == "drop" or (insertions == "auto" and _ending(path) in _WITH_INSERTIONS):
        kept = _without_insertions(found)
    else:
        kept = [Sequence(own.name, own.letters.upper(), own.line) for own in found]
    _check_lengths(path, kept, found)
    return kept


def _ending(path: Path) -> str:
    bare = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return bare.suffix.lower()


def _without_insertions(found: Iterable[Sequence]) -> list[Sequence]:
    return [Sequence(own.name, own.letters.translate(_INSERTED), own.line) for own in found]


def _parse(path: Path) -> Iterator[Sequence]:
    """Yield the sequences in the form that the first line of text tells."""
    lines = ((number, line) for number, line in enumerate(_read_text(path).splitlines(), start=1) if line.strip())
    first = next(lines, None)
    if first is None:
        return
    if first[1].startswith(">"):
        yield from _parse_fasta(first, lines)
    elif first[1].startswith("# STOCKHOLM"):
        yield from _parse_stockholm(path, lines)
    else:
        raise TableError(
            f"File {str(path)!r}, line {first[0]}: an alignment begins with '>' (FASTA, a2m) or with '# STOCKHOLM'",
            "give such a file",
            path=path,
            line=first[0],
        )


def _read_text(path: Path) -> str:
    """Read a file, unpacked where it begins like a gzip file, whatever its name."""
    content = path.read_bytes()
    try:
        return (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"File {str(path)!r} is damaged: {error}", path=path) from error
    except UnicodeDecodeError as error:
        raise TableError(f"File {str(path)!r} is not UTF-8 text", "save it as UTF-8", path=path) from error


def _parse_fasta(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[Sequence]:
    """Yield a sequence for each line that begins with '>': the lines up to the next one, without their spaces."""
    begin, name = first[0], first[1][1:].strip()
    pieces: list[str] = []
    for number, line in lines:
        if line.startswith(">"):
            yield Sequence(name, "".join(pieces), begin)
            begin, name, pieces = number, line[1:].strip(), []
        else:
            pieces += line.split()
    yield Sequence(name, "".join(pieces), begin)


def _parse_stockholm(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Sequence]:
    """Yield the sequences, whose pieces may stand in several blocks; what is marked up with '#' is left out."""
    pieces: dict[str, list[str]] = {}
    begins: dict[str, int] = {}
    is_over = False
    for number, line in lines:
        words = line.split()
        if words[0] == "//":
            is_over = True
        elif is_over:
            problem = f"File {str(path)!r}, line {number}: a second alignment begins after '//'"
            raise TableError(problem, "give a file of one", path=path, line=number)
        elif not line.startswith("#"):
            if len(words) != 2:
                problem = f"File {str(path)!r}, line {number}: {len(words)} words where a name and letters should be"
                raise TableError(problem, "correct the line", path=path, line=number)
            begins.setdefault(words[0], number)
            pieces.setdefault(words[0], []).append(words[1])
    for name, own in pieces.items():
        yield Sequence(name, "".join(own), begins[name])


def _check_lengths(path: Path, kept: list[Sequence], found: list[Sequence]) -> None:
    """Refuse sequences of different lengths, and of none."""
    length = len(kept[0].letters)
    odd = next((own for own in kept if len(own.letters) != length or not own.letters), None)
    if odd is None:
        return
    if not odd.letters:
        problem, remedy = "has no letters", "complete it or leave it out"
    else:
        problem = f"has {len(odd.letters)} letters where the first has {length}"
        remedy = "align the sequences"
        if len({len(own.letters) for own in _without_insertions(found)}) == 1:
            remedy = "Name the file .a2m, so that lower-case letters and dots, which are insertions there, are left out"
    where = f"File {str(path)!r}, line {odd.line}"
    raise TableError(f"{where}: sequence {odd.name!r} {problem}", remedy, path=path, line=odd.line)
