"""Variables merged into one, whose levels are the combinations of theirs: what pairs alone cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._domain import MISSING, MOST_LEVELS, Domain
from sparsefield.data._phrases import preview
from sparsefield.data._table import Table


@dataclass(frozen=True)
class Merged:
    """Several variables as one, which has a level for each combination of theirs.

    The interaction of a merged variable with another one is of a higher order in its members: merged, two variables and
    a third can have any joint distribution. A table is merged with `join`, and draws of a model of merged variables are
    taken apart with `split`.

    Parameters
    ----------
    parts : Domain
        All variables, before some are merged.
    members : sequence of str
        The names of those that become one, at least two of them.

    Attributes
    ----------
    domain : Domain
        The variables afterwards. The merged one takes the place of its first member and is called "a&b". Its levels are
        called "x|y"; they are in the order of the members as given, the last of which varies fastest. Its reference is
        the combination of theirs, and it is not ordered.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.encode([[0, 1, 0], [1, 1, 0], [1, 0, 1]])
    >>> merged = sf.data.Merged(table.domain, ["x0", "x2"])
    >>> merged.domain.names, merged.domain.levels[0]
    (('x0&x2', 'x1'), ('0|0', '0|1', '1|0', '1|1'))
    >>> merged.join(table).codes.tolist()
    [[0, 1], [2, 1], [3, 0]]
    >>> merged.split(merged.join(table)).codes.tolist() == table.codes.tolist()
    True
    """

    parts: Domain
    members: Sequence[str]
    domain: Domain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        _check_members(self.parts, self.members)
        object.__setattr__(self, "domain", self._merge())

    def join(self, table: Table) -> Table:
        """Return a table of the parts with its members merged: missing where the value of any member is.

        What the other members of such a row say is lost. Where values are missing, this leaves fewer of them to learn
        from.
        """
        _check_domain(table, self.parts)
        own = table.codes[:, self._own]
        codes = np.ravel_multi_index(tuple(np.where(own == MISSING, 0, own).T), self._shape)
        codes[(own == MISSING).any(axis=1)] = MISSING
        columns = [codes if k == self._own[0] else table.codes[:, k] for k in self._kept]
        return Table(self.domain, np.asfortranarray(np.column_stack(columns).astype(np.uint8)))

    def split(self, table: Table) -> Table:
        """Return a table of the merged variables, such as draws, as one of the parts.

        Where a merged value is missing, all members are.
        """
        _check_domain(table, self.domain)
        codes = np.full((table.n_rows, self.parts.n_variables), MISSING, dtype=np.uint8, order="F")
        for column, k in zip(table.codes.T, self._kept, strict=True):
            if k != self._own[0]:
                codes[:, k] = column
                continue
            is_seen = column != MISSING
            for i, own in zip(self._own, np.unravel_index(column[is_seen], self._shape), strict=True):
                codes[is_seen, i] = own
        return Table(self.parts, codes)

    @property
    def _own(self) -> NDArray[np.int64]:
        """The index of each member among the parts."""
        return np.array([self.parts.index_of(name) for name in self.members])

    @property
    def _kept(self) -> list[int]:
        """For each merged variable, its index among the parts; that of the first member for the merged one."""
        return [k for k in range(self.parts.n_variables) if k not in self._own[1:]]

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.parts.n_levels[self._own])

    def _merge(self) -> Domain:
        parts, own = self.parts, self._own
        combinations = np.indices(self._shape).reshape(len(own), -1).T
        labels = tuple(
            "|".join(str(parts.levels[i][code]) for i, code in zip(own, codes, strict=True)) for codes in combinations
        )
        name = "&".join(self.members)
        if len(set(labels)) < len(labels):
            raise ValueError(f"Some levels of {name!r} would have the same name: rename levels that contain '|'.")
        reference = parts.reference
        if reference is not None:
            first = int(np.ravel_multi_index([reference[i] for i in own], self._shape))
            reference = tuple(first if k == own[0] else reference[k] for k in self._kept)
        scores = parts.scores
        if scores is not None:  # combinations have no order
            scores = tuple(None if k == own[0] else scores[k] for k in self._kept)
        return Domain(
            names=tuple(name if k == own[0] else parts.names[k] for k in self._kept),
            levels=tuple(labels if k == own[0] else parts.levels[k] for k in self._kept),
            reference=reference,
            scores=scores,
        )


def _check_members(parts: Domain, members: Sequence[str]) -> None:
    if len(members) < 2 or len(set(members)) < len(members):
        raise ValueError(f"The members are {preview(members)}: give the names of at least two different variables.")
    n_levels = [int(parts.n_levels[parts.index_of(name)]) for name in members]
    if prod(n_levels) > MOST_LEVELS:
        product = " x ".join(map(str, n_levels))
        raise ValueError(
            f"Variables {preview(members)} merged have {product} = {prod(n_levels)} levels: at most {MOST_LEVELS} fit."
        )


def _check_domain(table: Table, domain: Domain) -> None:
    if table.domain != domain:
        raise ValueError(f"The table has other variables or levels: it must have {preview(domain.names)}, as here.")
