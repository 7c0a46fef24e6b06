"""Fields as text that adabmDCA and other programs for protein families read and write: a line for each parameter.

Lines are `J i j a b value` for interactions, i < j, followed by `h i a value` for main effects. Columns i and j are
counted from zero; a and b are letters (adabmDCA 2) or their indices in the alphabet (adabmDCA 1). Signs are ours: P(x)
is proportional to the exponential of the sum of all h and J of x. Interactions that are not listed are zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsefield._writing import whole_file
from sparsefield.data import Domain, check_file, count
from sparsefield.inference import expand
from sparsefield.model import PairwiseMRF
from sparsefield.tables import AMINO_ACIDS

_Key = TypeVar("_Key", bound=tuple[int, ...])
_WORDS = {"J": 6, "h": 4}  # of a line, by its first one


def write_adabmdca(
    model: PairwiseMRF,
    path: str | PathLike[str],
    *,
    alphabet: str = AMINO_ACIDS,
    numbers: bool = False,
    absent: float | None = None,
) -> None:
    """Write a field as text, as adabmDCA does.

    Values are written so that they are read again bit for bit, in the gauge that the field has: reference levels have
    zeros. `model.with_reference(None)` is in the zero-sum gauge.

    Parameters
    ----------
    model : PairwiseMRF
        A field of the columns of an alignment, whose levels are letters.
    path : path
        The file to write.
    alphabet : str
        All letters, in the order in which they are numbered.
    numbers : bool
        Whether letters are written as their indices in the alphabet, which adabmDCA 1 reads.
    absent : float, optional
        The main effect of letters that a column does not have as levels, such as -20. The format has every letter in
        every column: unless this is given, a column that lacks one is an error. `read_alignment` keeps all of them
        with levels="all".

    Examples
    --------
    >>> import sparsefield as sf
    >>> from pathlib import Path
    >>> domain = sf.Domain(("1", "2"), (("-", "A"), ("-", "A")), (0, 0))
    >>> model = sf.PairwiseMRF(domain, [0.5, -1.0], [[0.0, 2.0], [2.0, 0.0]])
    >>> sf.proteins.write_adabmdca(model, "params.dat", alphabet="-A")
    >>> print(Path("params.dat").read_text().strip())
    J 0 1 A A 2.0
    h 0 - 0.0
    h 0 A 0.5
    h 1 - 0.0
    h 1 A -1.0
    """
    domain = model.domain
    codes = _codes_of_levels(domain, alphabet)
    if absent is None:
        _refuse_absent(domain, alphabet)
    main, pair = expand(model)
    variables = np.repeat(np.arange(domain.n_variables), domain.n_levels)
    marks = [str(k) for k in range(len(alphabet))] if numbers else list(alphabet)
    fields = np.full((domain.n_variables, len(alphabet)), 0.0 if absent is None else float(absent))
    fields[variables, codes] = main
    with whole_file(Path(path)) as rough, rough.open("w", encoding="utf-8") as out:
        for i, j, a, b, value in _list_interactions(pair, variables, codes):
            out.write(f"J {i} {j} {marks[a]} {marks[b]} {value!r}\n")
        for i, row in enumerate(fields.tolist()):
            out.writelines(f"h {i} {mark} {value!r}\n" for mark, value in zip(marks, row, strict=True))


def read_adabmdca(
    path: str | PathLike[str], *, alphabet: str = AMINO_ACIDS, names: Iterable[str] | None = None
) -> PairwiseMRF:
    r"""Read a field that adabmDCA, or `write_adabmdca`, wrote as text.

    Parameters
    ----------
    path : path
        A file of lines `J i j a b value` and `h i a value`, with letters or numbers for a and b.
    alphabet : str
        All letters, in the order in which they are numbered; "-ACGU" for RNA.
    names : iterable of str, optional
        Names of the columns; "1", "2", ... unless given.

    Returns
    -------
    PairwiseMRF
        A field with parameters for all levels, in the gauge of the file; `with_reference` changes that.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from pathlib import Path
    >>> n = Path("params.dat").write_text("J 0 1 1 1 2.0\nh 0 0 0.0\nh 0 1 0.5\nh 1 0 0.0\nh 1 1 -1.0\n")
    >>> sf.proteins.read_adabmdca("params.dat", alphabet="-A").with_reference([0, 0]).interactions
    array([[0., 2.],
           [2., 0.]])
    """
    where = f"File {str(path)!r}"
    index = {str(k): k for k in range(len(alphabet))} | {letter: k for k, letter in enumerate(alphabet)}
    fields: dict[tuple[int, int], float] = {}
    couplings: dict[tuple[int, int, int, int], float] = {}
    for number, words in _read_lines(path, where):
        try:
            value = _as_number(words[-1])
            if words[0] == "h":
                _put(fields, (_as_column(words[1]), _as_code(words[2], index)), value)
            else:
                _put(couplings, _order(*map(_as_column, words[1:3]), *(_as_code(w, index) for w in words[3:5])), value)
        except ValueError as error:
            raise ValueError(f"{where}, line {number}: {error}") from error
    p = 1 + max((i for i, _ in fields), default=-1)
    _check_whole(where, p, fields, couplings, alphabet)
    known = tuple(str(i + 1) for i in range(p)) if names is None else tuple(names)
    if len(known) != p:
        raise ValueError(f"names has {count(len(known), 'name')} for {count(p, 'column')}.")
    q = len(alphabet)
    pair = np.zeros((p * q, p * q))
    if couplings:
        i, j, a, b = np.array(list(couplings)).T
        pair[i * q + a, j * q + b] = pair[j * q + b, i * q + a] = list(couplings.values())
    main = [fields[i, a] for i in range(p) for a in range(q)]
    return PairwiseMRF(Domain(known, (tuple(alphabet),) * p, None), np.array(main), pair)


def _codes_of_levels(domain: Domain, alphabet: str) -> NDArray[np.int64]:
    """Return the index in the alphabet of every level of all variables."""
    if len(set(alphabet)) < len(alphabet):
        raise ValueError(f"alphabet is {alphabet!r}: give each letter once.")
    for name, levels in zip(domain.names, domain.levels, strict=True):
        for level in levels:
            if len(str(level)) != 1 or str(level) not in alphabet:
                raise ValueError(f"Variable {name!r} has the level {level!r}, which is no letter of {alphabet!r}.")
    return np.array([alphabet.index(str(level)) for levels in domain.levels for level in levels])


def _refuse_absent(domain: Domain, alphabet: str) -> None:
    for name, levels in zip(domain.names, domain.levels, strict=True):
        lacking = [letter for letter in alphabet if letter not in map(str, levels)]
        if lacking:
            raise ValueError(
                f"Variable {name!r} does not have the letter {lacking[0]!r}, which it would have in the file: read the "
                "alignment with levels='all', or give the main effect of such letters with absent=..., such as -20."
            )


def _list_interactions(
    pair: NDArray[np.float64], variables: NDArray[np.int64], codes: NDArray[np.int64]
) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield columns, codes and value of each interaction that is not zero, in the order of columns."""
    first, second = np.nonzero(np.triu(pair))
    order = np.lexsort((codes[second], codes[first], variables[second], variables[first]))
    first, second = first[order], second[order]
    columns = (variables[first], variables[second], codes[first], codes[second], pair[first, second])
    yield from zip(*(column.tolist() for column in columns), strict=True)


def _read_lines(path: str | PathLike[str], where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not blank."""
    check_file(Path(path))
    # Bytes that are no text make words that nobody knows.
    with Path(path).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            words = line.split()
            if not words:
                continue
            if len(words) != _WORDS.get(words[0]):
                raise ValueError(f"{where}, line {number}: it is neither 'J i j a b value' nor 'h i a value'.")
            yield number, words


def _as_number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{word!r} is no finite number.")
    return value


def _as_column(word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise ValueError(f"{word!r} is no column: they are numbers from 0 on.")
    return int(word)


def _as_code(word: str, index: dict[str, int]) -> int:
    if word not in index:
        raise ValueError(f"{word!r} is neither a letter of the alphabet nor the number of one.")
    return index[word]


def _order(i: int, j: int, a: int, b: int) -> tuple[int, int, int, int]:
    """Put the smaller column first."""
    if i == j:
        raise ValueError(f"column {i} interacts with itself.")
    return (i, j, a, b) if i < j else (j, i, b, a)


def _put(known: dict[_Key, float], key: _Key, value: float) -> None:
    """Keep a value; one that is listed both ways round must be the same."""
    if known.setdefault(key, value) != value:
        raise ValueError(f"the value {value!r} was {known[key]!r} on an earlier line.")


def _check_whole(
    where: str,
    p: int,
    fields: dict[tuple[int, int], float],
    couplings: dict[tuple[int, int, int, int], float],
    alphabet: str,
) -> None:
    """Refuse files that lack main effects: of the wrong alphabet, or cut off."""
    if not fields:
        raise ValueError(f"{where} has no line 'h i a value'.")
    last = max((j for _, j, _, _ in couplings), default=-1)
    for i in range(max(p, last + 1)):
        for a, letter in enumerate(alphabet):
            if (i, a) not in fields:
                lacking = f"has no h of column {i} and letter {letter!r}"
                raise ValueError(f"{where} {lacking}: is it whole, and is {alphabet!r} its alphabet?")
