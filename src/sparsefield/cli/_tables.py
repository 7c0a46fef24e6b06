"""Reading the tables that commands name, with the columns that are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, plain_errors
from sparsefield.cli._columns import find_column, read_order, refuse_row_names, refuse_typo, split_columns
from sparsefield.cli._notes import compose_notes, list_unordered
from sparsefield.data import (
    MAX_LEVELS,
    MISSING_MARKERS,
    ConstantColumnWarning,
    Domain,
    Table,
    TableError,
    UnknownLettersWarning,
    encode,
    find_suspicions,
    preview,
    read_table,
)


@dataclass(frozen=True)
class Reading:
    """How a table is read: options that all commands have which learn from one."""

    columns: options.Columns = None
    ignore: options.Ignore = None
    id: options.Id = None
    separator: options.Separator = None
    missing_marker: options.Marker = None
    text: options.AsText = None
    ordinal: options.Ordinal = None
    max_levels: options.MaxLevels = MAX_LEVELS

    def load(self, path: Path, out: Output, missing: str) -> Table:
        """Read a table, and take the columns that are asked for; say what it holds, and what to look at.

        Parameters
        ----------
        path : Path
            The file.
        out : Output
            Where to say so.
        missing : str
            What the fit does with missing values.
        """
        with plain_errors(path):
            table, notes = _load(path, self)
            out.say(_describe(table))
            for note in [*notes, *compose_notes(find_suspicions(table, missing=missing)), *list_unordered(table)]:
                out.warn(note)
        return table


def _load(path: Path, how: Reading) -> tuple[Table, list[str]]:
    """Read a table, and take the columns that are asked for; also return what people should look at."""
    words = (*MISSING_MARKERS, *(how.missing_marker or ()))
    frame, notes = _read_frame(path, words, how.separator)
    wanted = split_columns(how.columns, frame) if how.columns else frame.columns
    left_out = {*split_columns(how.ignore or (), frame), *([find_column(how.id, frame)] if how.id else ())}
    kept = [name for name in dict.fromkeys(wanted) if name not in left_out]
    if not how.columns:
        kept, empty = _drop_empty(frame, kept)
        notes = [*notes, *empty]
    if not kept:
        raise TableError("No column is left to be a variable", "name others")
    as_text = split_columns(how.text or (), frame)
    for name in kept:
        refuse_row_names(frame[name], how.max_levels)
        if name not in as_text:
            refuse_typo(frame[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstantColumnWarning)
        ordinal = None if how.ordinal is None else read_order(how.ordinal, frame.select(kept))
        table = encode(frame.select(kept), ordinal=ordinal, max_levels=how.max_levels)
    constant = [str(own.message) for own in caught if issubclass(own.category, ConstantColumnWarning)]
    return table, [*notes, *constant]


def _drop_empty(frame: pl.DataFrame, names: list[str]) -> tuple[list[str], list[str]]:
    """Leave out columns without any value, as spreadsheets write them; also say so."""
    empty = [name for name in names if frame[name].null_count() == frame.height]
    if not empty or frame.height == 0:
        return names, []
    which = f"Columns {preview(empty)} have" if len(empty) > 1 else f"Column {empty[0]!r} has"
    return [name for name in names if name not in empty], [f"{which} no observed value: left out."]


def _read_frame(path: Path, markers: tuple[str, ...], separator: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Read a file; also return what it says about letters of an alignment that count as gaps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLettersWarning)
        frame = read_table(path, markers, _unescape(separator))
    return frame, [str(own.message) for own in caught if issubclass(own.category, UnknownLettersWarning)]


def _describe(table: Table) -> str:
    """Say in a line what a table holds."""
    n = int(table.n_missing.sum())
    missing = f", {n} missing values ({n / table.codes.size:.1%})" if n else ", no missing values"
    return f"{table.n_rows} rows, {table.domain.n_variables} variables{missing}."


def load_same(path: Path, domain: Domain, separator: str | None, markers: Sequence[str] | None) -> Table:
    """Read a table again, with the variables and levels that a field already has."""
    with plain_errors(path):
        frame, _ = _read_frame(path, (*MISSING_MARKERS, *(markers or ())), separator)
        return encode(frame.select(split_columns(domain.names, frame)), domain=domain)


def _unescape(separator: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(separator, separator) if separator is not None else None
