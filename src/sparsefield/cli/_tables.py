"""Reading the tables that commands name, with the columns that are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, plain_errors
from sparsefield.cli._columns import find_column, read_order, refuse_row_names, refuse_typo, split_columns
from sparsefield.cli._notes import compose_notes, list_unordered
from sparsefield.data import (
    DOUBTFUL_MARKERS,
    MAX_LEVELS,
    MISSING_MARKERS,
    ConstantColumnWarning,
    Domain,
    Table,
    TableError,
    UnknownLettersWarning,
    encode,
    find_suspicions,
    find_taken,
    has_gaps,
    merge_variants,
    preview,
    read_table,
    read_weights,
)


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, and how often each of its rows counts, where a column says so."""

    table: Table
    weights: NDArray[np.float64] | None = None

    def __str__(self) -> str:
        """Say in a line what there is."""
        table = self.table
        n = int(table.n_missing.sum())
        missing = f", {n} missing values ({n / table.codes.size:.1%})" if n else ", no missing values"
        counted = "" if self.weights is None else f" that count as {self.weights.sum():.10g}"
        return f"{table.n_rows} rows{counted}, {table.domain.n_variables} variables{missing}."


@dataclass(frozen=True)
class Cells:
    """How the cells of a file are read: options that all commands have which read a table."""

    separator: options.Separator = None
    missing_marker: options.Marker = None
    level: options.KeptWord = None
    merge_levels: options.MergeLevels = None
    weight: options.Weight = None

    @property
    def markers(self) -> tuple[str, ...]:
        """The words that mean a missing cell."""
        added, kept = self.missing_marker or [], self.level or []
        for word in kept:
            if word not in MISSING_MARKERS or word in added:
                known = ", ".join(repr(marker) for marker in MISSING_MARKERS if marker)
                raise TableError(f"--level names {word!r}", f"name a word that else means a missing cell: {known}")
        return tuple(word for word in (*MISSING_MARKERS, *added) if word not in kept)

    def load_same(self, path: Path, domain: Domain) -> Rows:
        """Read a table again, with the variables and levels that a field already has."""
        with plain_errors(path):
            frame, _ = _read_frame(path, self.markers, self.separator)
            weights = self.find_weights(frame)
            frame = frame.select(find_column(name, frame.columns, "The field") for name in domain.names)
            merged = self._choose_merged(frame, ())
            return Rows(encode(frame, domain=domain, merge_levels=merged), weights)

    def find_weights(self, frame: pl.DataFrame) -> NDArray[np.float64] | None:
        """Return how often each row counts, where a column says so."""
        return None if self.weight is None else read_weights(frame[find_column(self.weight, frame.columns, "--weight")])

    def merge(self, frame: pl.DataFrame, left_out: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
        """Make one level of those that differ in case or blanks alone, where that is asked for; also say of which."""
        notes = []
        for name in self._choose_merged(frame, left_out):
            column, merged = merge_variants(name, frame[name].to_numpy())
            frame = frame.with_columns(pl.Series(name, column.tolist())) if merged else frame
            notes += [f"Column {name!r}: {preview(others)} counted as {kept!r}." for kept, others in merged.items()]
        return frame, notes

    def _choose_merged(self, frame: pl.DataFrame, left_out: Collection[str]) -> list[str]:
        if self.merge_levels == "all" and "all" not in frame.columns:
            return list(frame.columns)
        return split_columns(self.merge_levels or "", frame.columns, "--merge-levels", left_out)


@dataclass(frozen=True)
class Reading(Cells):
    """How a table is read: options that all commands have which learn from one."""

    columns: options.Columns = None
    ignore: options.Ignore = None
    id: options.Id = None
    text: options.AsText = None
    ordinal: options.Ordinal = None
    max_levels: options.MaxLevels = MAX_LEVELS

    def load(self, path: Path, out: Output, missing: str) -> Rows:
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
            rows, notes = _load(path, self)
            out.say(str(rows))
            found = find_suspicions(rows.table, missing=missing, sample_weight=rows.weights)
            for note in [*notes, *compose_notes(found), *list_unordered(rows.table)]:
                out.warn(note)
        return rows


def _load(path: Path, how: Reading) -> tuple[Rows, list[str]]:
    """Read a table, and take the columns that are asked for; also return what people should look at."""
    frame, notes = _read_frame(path, how.markers, how.separator)
    kept, weights = _choose_columns(frame, how), how.find_weights(frame)
    if not how.columns:
        kept, empty = _drop_empty(frame, kept)
        notes = [*notes, *empty]
    if not kept:
        raise TableError("No column is left to be a variable", "name others")
    as_text = split_columns(how.text or "", frame.columns, "--text")
    for name in kept:
        refuse_row_names(frame[name], how.max_levels)
        if name not in as_text:
            refuse_typo(frame[name])
    left_out = [name for name in frame.columns if name not in kept]
    frame, merged = how.merge(frame.select(kept), left_out)
    notes = [*notes, *merged, *_list_taken(path, how, frame)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstantColumnWarning)
        ordinal = None if how.ordinal is None else read_order(how.ordinal, frame.columns, left_out)
        table = encode(frame, ordinal=ordinal, max_levels=how.max_levels)
    constant = [str(own.message) for own in caught if issubclass(own.category, ConstantColumnWarning)]
    return Rows(table, weights), [*notes, *constant]


def _choose_columns(frame: pl.DataFrame, how: Reading) -> list[str]:
    """Return the columns that are variables."""
    columns = frame.columns
    wanted = columns if how.columns is None else split_columns(how.columns, columns, "--columns")
    left_out = split_columns(how.ignore or "", columns, "--ignore")
    left_out += [
        find_column(name, columns, option) for option, name in (("--id", how.id), ("--weight", how.weight)) if name
    ]
    return [name for name in wanted if name not in left_out]


def _drop_empty(frame: pl.DataFrame, names: list[str]) -> tuple[list[str], list[str]]:
    """Leave out columns without any value, as spreadsheets write them; also say so."""
    empty = [name for name in names if frame[name].null_count() == frame.height]
    if not empty or frame.height == 0:
        return names, []
    which = f"Columns {preview(empty)} have" if len(empty) > 1 else f"Column {empty[0]!r} has"
    return [name for name in names if name not in empty], [f"{which} no observed value: left out."]


def _list_taken(path: Path, how: Cells, frame: pl.DataFrame) -> list[str]:
    """Say which words count as missing values and may be levels; the file is read again where there may be any."""
    if not has_gaps(frame):
        return []
    words = tuple(word for word in how.markers if word not in DOUBTFUL_MARKERS)
    raw, _ = _read_frame(path, words, how.separator, as_text=True)
    return compose_notes(find_taken(frame, raw, how.markers))


def _read_frame(
    path: Path, markers: tuple[str, ...], separator: str | None, *, as_text: bool = False
) -> tuple[pl.DataFrame, list[str]]:
    """Read a file; also return what it says about letters of an alignment that count as gaps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLettersWarning)
        frame = read_table(path, markers, _unescape(separator), as_text=as_text)
    return frame, [str(own.message) for own in caught if issubclass(own.category, UnknownLettersWarning)]


def _unescape(separator: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(separator, separator) if separator is not None else None
