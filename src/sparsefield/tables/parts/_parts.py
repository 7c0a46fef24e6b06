"""Tables that come in parts: lazy frames, which polars reads batch after batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, Protocol

import polars as pl

from sparsefield.data import TableError
from sparsefield.tables.parts._part import Asked, tally_part
from sparsefield.tables.parts._row_sample import ALL_KEYS
from sparsefield.tables.parts._tally import Levels, Tally
from sparsefield.tables.reading._contents import Note

WatchRows = Callable[[int], object]

# Cells of a batch: their codes take 8 MiB, which are used again for the next one. 10^7 rows of 50 columns take 0.85 s
# of processor time, and 0.99 and 0.90 s with batches of a fourth and of four times as many.
_CELLS = 2**23
_FEWEST, _MOST = 2**12, 2**18  # rows of a batch, where variables are many or few


class Parts(Protocol):
    """A table that comes in parts, each of which is counted by itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        ...

    def tally(self, asked: Asked, watch: WatchRows | None) -> Tally:
        """Count all parts, and tell how many rows are counted so far."""
        ...

    def as_table(self, levels: Levels) -> Any:
        """Return a small table with the same columns that shows these levels, of which `encode` makes the domain."""
        ...


@dataclass(frozen=True, eq=False)
class LazyParts:
    """A lazy frame of polars, which reads a batch while the last one is counted.

    Parameters
    ----------
    frame : polars.LazyFrame
        The table.
    name : str
        The files that it reads, as their owner names them; empty where it is somebody's own frame.
    notes : tuple of Note
        What was assumed to read them.
    """

    frame: pl.LazyFrame
    name: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.frame.collect_schema().names())

    def tally(self, asked: Asked, watch: WatchRows | None = None) -> Tally:
        """Count all batches, in the order of their rows."""
        total, first, bound = None, 0, ALL_KEYS
        for batch in self._batches():
            own = tally_part(batch, first, asked, bound)
            total = own if total is None else total + own
            first, bound = first + batch.height, total.sample.bound
            if watch is not None:
                watch(first)
        if total is None or first == 0:
            raise TableError("The table has no rows", "give at least one observation")
        return total

    def _batches(self) -> Iterator[pl.DataFrame]:
        n_rows = min(_MOST, max(_FEWEST, _CELLS // max(1, len(self.names))))
        try:
            yield from self.frame.collect_batches(chunk_size=n_rows, maintain_order=True)
        except (pl.exceptions.PolarsError, OSError) as error:
            if not self.name:
                raise
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise TableError(f"{self.name!r} cannot be read as one table: {reason}") from error

    def take(self, names: Sequence[str]) -> LazyParts:
        """Return the parts with some of the columns alone."""
        return replace(self, frame=self.frame.select(list(names)))

    def as_table(self, levels: Levels) -> pl.DataFrame:
        """Return a frame whose columns show these levels, each with its own type where that has an order."""
        rows = spread_levels(levels)
        kept = (pl.Enum, pl.Categorical)
        return pl.DataFrame(
            [
                pl.Series(name, values, dtype=dtype if isinstance(dtype, kept) else None)
                for (name, dtype), values in zip(self.frame.collect_schema().items(), rows, strict=True)
            ]
        )


def spread_levels(levels: Levels) -> list[Sequence[Any]]:
    """Return the levels of each column as a list, all of one length: those of short lists again and again."""
    seen = [[level for level in own if level is not None] for own in levels]
    longest = max((len(own) for own in seen), default=0) or 1
    return [list(islice(cycle(own or [None]), longest)) for own in seen]
