"""Files that hold data frames: parquet, Arrow and JSON, with the order of their categories."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sparsefield.data import columns_have
from sparsefield.tables.reading._contents import Contents, Note
from sparsefield.tables.reading._source import Source

_NAMES = {".parquet": "a parquet file", ".json": "a JSON file of rows", ".ndjson": "a file of JSON lines"}


def read_frame(source: Source, kind: str) -> Contents:
    """Read a file that holds a data frame.

    Categories keep their order where they have one, as those of pandas do: the reader of polars loses it, so that
    pyarrow reads these columns.
    """
    try:
        frame, notes = _read(source, kind)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        what = _NAMES.get(kind, _NAMES[".ndjson"] if kind == ".jsonl" else "an Arrow file")
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise source.error(f"is not {what}, or is damaged: {reason}") from error
    index = [name for name in frame.columns if name.startswith("__index_level_")]
    if index:  # what pandas calls row names that have no name
        frame = frame.drop(index)
        notes = [*notes, Note(f"Column {index[0]!r} has the row names of pandas: it is left out.")]
    return Contents(source.name, frame, (*source.notes, *notes))


def _read(source: Source, kind: str) -> tuple[pl.DataFrame, list[Note]]:
    if kind == ".json":
        return pl.read_json(source.readable, infer_schema_length=None), []
    if kind in (".ndjson", ".jsonl"):
        return pl.read_ndjson(source.readable, infer_schema_length=None), []
    read_schema = pl.read_parquet_schema if kind == ".parquet" else pl.read_ipc_schema
    schema = read_schema(source.readable)
    names = [name for name, dtype in schema.items() if dtype == pl.Categorical]
    others = [name for name in schema if name not in names]
    if not names:
        return _read_columns(source, kind, None), []
    arrow = _read_arrow(source, kind, names)
    if arrow is None:
        note = Note(f"{columns_have(names)} categories whose order is not known: install pyarrow to read it.")
        return _read_columns(source, kind, None), [note]
    read = {name: _with_order(name, arrow.column(name)) for name in names}
    frame = _read_columns(source, kind, others) if others else pl.DataFrame()
    return pl.DataFrame([read[name] if name in read else frame[name] for name in schema]), []


def _read_columns(source: Source, kind: str, columns: Sequence[str] | None) -> pl.DataFrame:
    read = pl.read_parquet if kind == ".parquet" else pl.read_ipc
    return read(source.readable, columns=None if columns is None else list(columns))


def _read_arrow(source: Source, kind: str, names: list[str]) -> Any:
    """Read columns with pyarrow; None where it is not installed."""
    try:
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        return None
    read = pyarrow.parquet.read_table if kind == ".parquet" else pyarrow.feather.read_table
    where = source.readable
    given: str | io.BytesIO = str(where) if isinstance(where, Path) else where
    return read(given, columns=names).unify_dictionaries()


def _with_order(name: str, column: Any) -> pl.Series:
    """Return a column of categories, ordered where they are."""
    declared = [str(level) for level in column.chunk(0).dictionary.to_pylist()] if column.num_chunks else []
    return make_categories(pl.Series(name, column.cast("string")), declared, is_ordered=column.type.ordered)


def make_categories(column: pl.Series, categories: Sequence[str], *, is_ordered: bool) -> pl.Series:
    """Return a column of words as categories that keep the order in which they are listed; it may mean something.

    Ordered categories are an Enum, which lists its own. Others have a list of their own too, in which they stand as
    they are put there: so all are put there before the values.
    """
    if is_ordered:
        return column.cast(pl.Enum(categories))
    own = pl.Categorical(pl.Categories.random())
    listed = pl.Series(column.name, categories, dtype=own)
    return pl.concat([listed, column.cast(own)])[len(categories) :]
