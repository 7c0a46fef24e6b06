"""What the variables of a table are: their names, their levels in order, and the level without parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._errors import TableError
from sparsefield.data._phrases import count, preview

if TYPE_CHECKING:
    from sparsefield.data._merging import Merged

Level = bool | int | str

MISSING = 255  # the code of a cell that was not observed
MOST_LEVELS = 254  # codes are bytes, and the last is that of a missing value


@dataclass(frozen=True)
class Domain:
    """Names and levels of the variables.

    Parameters
    ----------
    names : tuple of str
        One name for each variable, all different.
    levels : tuple of tuples
        The levels of each variable in order; the code of a level is its index.
    reference : tuple of int, or None
        The code of the level without parameters, for each variable; None keeps parameters for all levels.
    scores : tuple of tuples or None, optional
        For each variable whose levels are ordered, the score of every level, strictly ascending, and None for others;
        None where no variable is ordered. Scores say how a learner is to describe interactions (by one number for two
        ordered variables), and nothing about what a field can be. With fewer than three levels there is nothing to
        order, and no score is kept.

    Attributes
    ----------
    n_levels : ndarray of shape (n_variables,)
        The number of levels of each variable.
    slot_variables, slot_levels : ndarray of shape (n_slots,)
        The variable and the code that each main effect belongs to.
    is_binary : bool
        Whether every variable has two levels, the first of them the reference.
    is_ordered : ndarray of shape (n_variables,)
        Which variables have scores.

    Examples
    --------
    >>> from sparsefield import Domain
    >>> domain = Domain(("smokes", "mood"), ((False, True), ("low", "mid", "high")), (0, 0))
    >>> domain.n_variables, domain.n_slots
    (2, 3)
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]
    reference: tuple[int, ...] | None
    scores: tuple[tuple[float, ...] | None, ...] | None = None
    n_levels: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    slot_variables: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    slot_levels: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    is_binary: bool = field(init=False, repr=False, compare=False)
    is_ordered: NDArray[np.bool_] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Plain Python values, so that domains compare, print and are saved alike wherever they came from.
        plain = {
            "names": tuple(self.names),
            "levels": tuple(tuple(_plain(level) for level in levels) for levels in self.levels),
            "reference": None if self.reference is None else tuple(_plain(code) for code in self.reference),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        check_names(self.names)
        if len(self.levels) != len(self.names):
            raise ValueError(
                f"The domain has {count(len(self.names), 'name')} but levels for {count(len(self.levels), 'variable')}."
            )
        for name, levels in zip(self.names, self.levels, strict=True):
            _check_levels(name, levels)
        _check_reference(self)
        scores = _check_scores(self)
        object.__setattr__(self, "scores", scores)
        slots = [
            (i, k)
            for i, levels in enumerate(self.levels)
            for k in range(len(levels))
            if self.reference is None or k != self.reference[i]
        ]
        variables, codes = np.array(slots, dtype=np.int64).reshape(-1, 2).T
        for name, array in (
            ("n_levels", np.array([len(levels) for levels in self.levels], dtype=np.int64)),
            ("slot_variables", variables.copy()),
            ("slot_levels", codes.copy()),
            ("is_ordered", np.array([own is not None for own in scores or (None,) * len(self.names)], dtype=bool)),
        ):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        two = all(len(levels) == 2 for levels in self.levels)
        object.__setattr__(self, "is_binary", two and self.reference is not None and not any(self.reference))

    @classmethod
    def binary(cls, names: int | Iterable[str], levels: tuple[Level, Level] = (0, 1)) -> Domain:
        """Make a domain of two-level variables with the first level as reference.

        Parameters
        ----------
        names : int or iterable of str
            The names, or how many variables; they are then called x0, x1, ...
        levels : tuple of two levels
            The levels of every variable.
        """
        known = make_names(names) if isinstance(names, int) else tuple(names)
        return cls(known, (levels,) * len(known), (0,) * len(known))

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.names)

    @property
    def n_slots(self) -> int:
        """The number of main effects: levels that have parameters, over all variables."""
        return len(self.slot_variables)

    @property
    def slot_names(self) -> tuple[str, ...]:
        """A name for each main effect: the variable's, with its level where there are several."""
        return tuple(
            self.names[i]
            if self.n_levels[i] == 2 and self.reference is not None
            else f"{self.names[i]}={self.levels[i][k]}"
            for i, k in zip(self.slot_variables, self.slot_levels, strict=True)
        )

    def merge(self, names: Sequence[str]) -> Merged:
        """Merge variables into one with the combinations of their levels, so that pairs say what triples do.

        The result has the `domain` afterwards, and a way there and back: `join(table)` and `split(table)`.

        Parameters
        ----------
        names : sequence of str
            The variables, at least two.

        Examples
        --------
        >>> import sparsefield as sf
        >>> sf.Domain.binary(["a", "b", "c"]).merge(["a", "b"]).domain.names
        ('a&b', 'c')
        """
        from sparsefield.data._merging import Merged

        return Merged(self, names)

    def indicators(self, codes: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the (n, n_slots) main statistics of codes (n, n_variables): one where a slot's level is taken."""
        return np.asarray(codes[:, self.slot_variables] == self.slot_levels, dtype=np.float64)

    def index_of(self, variable: int | str) -> int:
        """Find a variable by name, or check its number."""
        if isinstance(variable, str):
            if variable not in self.names:
                raise ValueError(f"There is no variable named {variable!r}; the names are {preview(self.names)}.")
            return self.names.index(variable)
        if not -self.n_variables <= variable < self.n_variables:
            raise ValueError(f"There is no variable {variable}: the domain has {self.n_variables}.")
        return variable % self.n_variables

    def check_codes(self, codes: Any, *, allow_missing: bool = False) -> NDArray[np.uint8]:
        """Check an array of codes, or a table, against the domain and return it as bytes, one row per state.

        Code 255, that of a missing value, is refused unless it is allowed.
        """
        if getattr(codes, "domain", self) != self:
            raise ValueError(
                "The table has other variables or levels than this domain: encode it with domain=..., so that its "
                "codes mean the same."
            )
        try:
            array = np.atleast_2d(np.asarray(codes))
        except ValueError as error:
            raise ValueError("States have different lengths: give each one code per variable.") from error
        if array.ndim != 2 or array.shape[1] != self.n_variables:
            raise ValueError(
                f"States have shape {np.shape(codes)}: use one column per variable, and there are {self.n_variables}."
            )
        if array.dtype.kind not in "bui":
            raise ValueError(f"States have type {array.dtype}: use the whole-number codes of the levels.")
        bad = (array < 0) | (array >= self.n_levels)
        if allow_missing:
            bad &= array != MISSING
        if bad.any():
            row, column = np.argwhere(bad)[0]
            if array[row, column] == MISSING:
                raise ValueError(
                    f"State {row} misses the value of variable {self.names[column]!r} (code {MISSING}): fill it "
                    "(impute), or ask for the probability of what was observed (log_prob_observed)."
                )
            raise ValueError(
                f"State {row} has code {array[row, column]} for variable {self.names[column]!r}, "
                f"which has codes 0 to {self.n_levels[column] - 1}."
            )
        return array.astype(np.uint8)


def make_names(n: int) -> tuple[str, ...]:
    """Name n variables x0, x1, ..."""
    return tuple(f"x{i}" for i in range(n))


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not text, empty or used twice."""
    if not names:
        raise TableError("There are no columns", "give a table with at least one")
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            which = f"The column after {names[position - 1]!r}" if position else "The first column"
            given = "" if name == "" else f" but {name!r}"
            raise TableError(f"{which} has no name{given}", "give every column a name", value=name)
        if name in seen:
            raise TableError(f"Two columns are named {name!r}", "rename one of them", column=name)
        seen.add(name)


def _plain(level: Any) -> Any:
    return level.item() if isinstance(level, np.generic) else level


def _check_levels(name: str, levels: tuple[Level, ...]) -> None:
    if not levels:
        raise ValueError(f"Variable {name!r} has no levels.")
    for level in levels:
        if not isinstance(level, bool | int | str):
            raise ValueError(f"Variable {name!r} has the level {level!r}: use booleans, whole numbers or text.")
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"Variable {name!r} has {len(levels)} levels: at most {MOST_LEVELS} fit.")
    if len({type(level) for level in levels}) > 1:
        raise ValueError(f"Variable {name!r} mixes kinds of levels, {preview(levels)}: make them all of one kind.")
    if len(set(levels)) < len(levels):
        raise ValueError(f"Variable {name!r} lists a level twice: {preview(levels)}.")


def _check_reference(domain: Domain) -> None:
    if domain.reference is None:
        return
    if len(domain.reference) != len(domain.names):
        raise ValueError(
            f"The domain has {count(len(domain.names), 'variable')} but "
            f"{count(len(domain.reference), 'reference level')}."
        )
    for name, levels, code in zip(domain.names, domain.levels, domain.reference, strict=True):
        if not isinstance(code, int) or not 0 <= code < len(levels):
            raise ValueError(f"The reference of variable {name!r} is code {code}: use 0 to {len(levels) - 1}.")


def _check_scores(domain: Domain) -> tuple[tuple[float, ...] | None, ...] | None:
    """Return the scores of variables with more than two levels as plain numbers; refuse those that do not ascend."""
    if domain.scores is None:
        return None
    if len(domain.scores) != len(domain.names):
        raise ValueError(f"The domain has {count(len(domain.names), 'variable')} but scores for {len(domain.scores)}.")
    found: list[tuple[float, ...] | None] = []
    for name, levels, own in zip(domain.names, domain.levels, domain.scores, strict=True):
        scores = None if own is None else tuple(float(score) for score in own)
        if scores is not None:
            if len(scores) != len(levels):
                raise ValueError(
                    f"Variable {name!r} has {count(len(levels), 'level')} but {count(len(scores), 'score')}."
                )
            if not (np.all(np.isfinite(scores)) and np.all(np.diff(scores) > 0)):
                raise ValueError(
                    f"Variable {name!r} has the scores {preview(scores)}: they must ascend with its levels."
                )
        found.append(scores if len(levels) > 2 else None)
    return tuple(found) if any(own is not None for own in found) else None


def code_of(value: Level, name: str, levels: tuple[Level, ...]) -> int:
    """Return the code of a level of a column."""
    for code, level in enumerate(levels):
        if level == value:
            return code
    raise TableError(
        f"Column {name!r} has no level {value!r}", f"its levels are {preview(levels)}", column=name, value=value
    )
