"""Tables that commands name and that do not fit into memory: counted, with how many rows are done."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from sparsefield.cli._app import Output
from sparsefield.cli._columns import read_order
from sparsefield.cli._spelling import spell_given
from sparsefield.cli._tables import Cells, Reading, Sampling
from sparsefield.data import ConstantColumnWarning, CountedTable, Domain, TableError
from sparsefield.tables import LazyParts, count_parts

_N_LOOKED_AT = 1000  # rows that tell which columns are numbers


def count_columns(
    parts: LazyParts, kept: Sequence[str], how: Reading, out: Output, missing: str, sampling: Sampling
) -> tuple[CountedTable, list[ConstantColumnWarning]]:
    """Count the columns that are asked for; also return which of them are constant."""
    _refuse(how, sampling)
    _tell(parts, out)
    frame = parts.frame.head(_N_LOOKED_AT).collect()
    left_out = [name for name in frame.columns if name not in kept]
    ordinal = None if how.ordinal is None else read_order(how.ordinal, frame.select(kept), left_out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstantColumnWarning)
        table = _count(parts.take(kept), out, missing=missing, ordinal=ordinal, max_levels=how.max_levels)
    return table, [own.message for own in caught if isinstance(own.message, ConstantColumnWarning)]


def count_same(
    parts: LazyParts, domain: Domain, how: Cells, out: Output, missing: str, sampling: Sampling
) -> CountedTable:
    """Count a table with the variables and levels that a field already has."""
    _refuse(how, sampling)
    _tell(parts, out)
    return _count(parts.take(domain.names), out, missing=missing, domain=domain)


def _count(parts: LazyParts, out: Output, **asked: object) -> CountedTable:
    from sparsefield.progress import RowsBar

    with RowsBar(out.progress) as watch:
        return count_parts(parts, watch=watch, **asked)  # type: ignore[arg-type]  # names are those of its options


def _tell(parts: LazyParts, out: Output) -> None:
    for note in parts.notes:
        out.warn(note.compose(spell_given))
    out.say(f"{parts.name!r} is counted part by part: it is too large to be read into memory.")


def _refuse(how: Cells, sampling: Sampling) -> None:
    """Refuse options that need the rows themselves."""
    options = (("--weight", how.weight), ("--merge-levels", how.merge_levels), ("--cluster", sampling.cluster))
    for option, value in options:
        if value is not None:
            raise TableError(
                f"{option} needs rows in memory, and this table is too large for that",
                "prepare the table before (polars writes parquet files without reading all of them)",
            )
