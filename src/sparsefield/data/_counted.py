"""Tables that are not in memory: the counts of their rows, and a sample of these."""

from __future__ import annotations

from hashlib import sha256
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sparsefield.data._domain import Domain
from sparsefield.data._errors import TableError
from sparsefield.data._moments import Counts, count_table
from sparsefield.data._table import Table


class CountedTable(Table):
    """A table whose rows were counted one part after the other, and are not in memory.

    A fit of penalised likelihood needs no more than the counts, and is that of the same table in memory. What needs the
    rows themselves, such as the choice of a penalty, says so.

    Parameters
    ----------
    domain : Domain
        The variables.
    counts : Counts
        How often pairs of levels were seen together.
    sample : Table
        Some of the rows, each with the same probability, in their order: from these a fit finds its start.
    n_dropped : int
        Rows that were left out because of missing values.
    n_filled : ndarray of shape (n_variables,)
        Missing values of each variable that count as its first level.

    Examples
    --------
    >>> import polars as pl
    >>> import sparsefield as sf
    >>> frame = pl.DataFrame({"a": [0, 1, 1, 0], "b": ["x", "x", "y", "x"]})
    >>> table = sf.tables.count_data(frame.lazy())
    >>> table.n_rows, table.domain.levels, table.counts.pair.tolist()
    (4, ((0, 1), ('x', 'y')), [[2, 1], [1, 1]])
    """

    counts: Counts
    n_dropped: int
    n_filled: NDArray[np.int64]
    _sample: Table

    def __init__(
        self,
        domain: Domain,
        counts: Counts,
        sample: Table,
        n_dropped: int = 0,
        n_filled: NDArray[np.int64] | None = None,
    ) -> None:
        filled = np.zeros(domain.n_variables, dtype=np.int64) if n_filled is None else n_filled
        given = {"domain": domain, "counts": counts, "_sample": sample, "n_dropped": n_dropped, "n_filled": filled}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_table(cls, table: Table) -> CountedTable:
        """Count a table that is in memory."""
        return cls(table.domain, count_table(table), table)

    def __len__(self) -> int:
        """Return the number of observations."""
        return self.n_rows

    @property
    def n_rows(self) -> int:
        """The number of observations."""
        return self.counts.n

    @property
    def sample(self) -> Table:
        """Some of the rows, from which a fit finds its start."""
        return self._sample

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of variables."""
        return self.n_rows, self.domain.n_variables

    @property
    def n_missing(self) -> NDArray[np.int64]:
        """The number of missing values in each column that counts: none."""
        return np.zeros(self.domain.n_variables, dtype=np.int64)

    @property
    def codes(self) -> NoReturn:
        """The rows, which are not there: whatever asks for them cannot be done from counts."""
        raise TableError(
            f"The {self.n_rows} rows of this table were counted part by part and are not in memory, but this needs the "
            "rows themselves",
            "use `sample`, a table of some of them, or encode the whole table where it fits into memory",
        )

    def level_counts(self) -> list[NDArray[np.int64]]:
        """Return how many rows show each level, for each variable."""
        own, found = np.diagonal(self.counts.pair), []
        for i, n in enumerate(self.domain.n_levels):
            seen = np.zeros(int(n), dtype=np.int64)
            is_mine = self.domain.slot_variables == i
            seen[self.domain.slot_levels[is_mine]] = own[is_mine]
            if self.domain.reference is not None:
                seen[self.domain.reference[i]] = self.n_rows - seen.sum()
            found.append(seen)
        return found

    def summary(self, sample_weight: ArrayLike | None = None) -> pl.DataFrame:
        """Describe each variable: levels, missing values, and how often its most frequent level was seen."""
        if sample_weight is not None:
            raise ValueError("Rows that are counted count once each: leave sample_weight out.")
        rows = []
        for name, levels, seen in zip(self.domain.names, self.domain.levels, self.level_counts(), strict=True):
            top = int(seen.argmax())
            rows.append((name, len(levels), 0, str(levels[top]), float(seen[top] / seen.sum())))
        return pl.DataFrame(rows, schema=["variable", "levels", "missing", "most frequent", "share"], orient="row")

    def fingerprint(self) -> str:
        """Return a short text that tells tables apart by all that a fit takes of them: a hash of names and counts.

        Rows in another order, or cut into other parts, are the same table.
        """
        digest = sha256(repr((self.domain.names, self.domain.levels, self.domain.reference, self.n_rows)).encode())
        digest.update(np.ascontiguousarray(self.counts.pair, dtype="<i8").data)
        return f"{COUNTED}{digest.hexdigest()[:16]}"

    def least_entropy(self) -> float:
        """Return a number that the entropy of the rows is not below: that of two of its variables.

        The first has the largest entropy of all, the second the largest beside it.
        """
        seen = self.level_counts()
        first = int(np.argmax([_entropy(own) for own in seen]))
        return max(
            (_entropy(self.pair_table(first, j)) for j in range(len(seen)) if j != first),
            default=_entropy(seen[first]),
        )

    def pair_table(self, i: int, j: int) -> NDArray[np.int64]:
        """Return how many rows show each pair of levels of two variables."""
        seen = self.level_counts()
        table = np.zeros((len(seen[i]), len(seen[j])), dtype=np.int64)
        mine, other = (np.flatnonzero(self.domain.slot_variables == k) for k in (i, j))
        table[np.ix_(self.domain.slot_levels[mine], self.domain.slot_levels[other])] = self.counts.pair[
            np.ix_(mine, other)
        ]
        if self.domain.reference is not None:
            a, b = self.domain.reference[i], self.domain.reference[j]
            table[a] = seen[j] - table.sum(axis=0)
            table[:, b] = 0
            table[:, b] = seen[i] - table.sum(axis=1)
        return table


COUNTED = "counts:"  # before the fingerprint of counts, which is not that of rows


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
