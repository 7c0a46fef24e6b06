"""Reading the tables that commands name, with the columns that are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.cli._app import Output, plain_errors
from sparsefield.cli._columns import find_column, read_order, refuse_row_names, refuse_typo, split_columns
from sparsefield.cli._counted_rows import count_columns, count_same
from sparsefield.cli._notes import compose_notes, list_unordered
from sparsefield.cli._spelling import spell_given
from sparsefield.cli._tables import Cells, Reading, Sampling
from sparsefield.data import (
    ConstantColumnWarning,
    Domain,
    Table,
    TableError,
    UnknownLettersWarning,
    columns_have,
    count,
    preview,
    read_weights,
)
from sparsefield.tables import (
    DOUBTFUL_MARKERS,
    MISSING_MARKERS,
    Contents,
    LazyParts,
    as_address,
    encode,
    find_large,
    find_suspicions,
    find_taken,
    has_gaps,
    list_variants,
    read_contents,
)


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table; how often each of its rows counts, and which belong together, where columns say so.

    `frequency` says whether weights are counts of equal rows, or those of a survey, where somebody has said so.
    """

    table: Table
    weights: NDArray[np.float64] | None = None
    contents: Contents | None = None
    clusters: NDArray[np.int64] | None = None
    frequency: bool | None = None

    @cached_property
    def are_counts(self) -> bool:
        """Whether weights count equal rows: unless told, whole numbers that differ, beside rows that all do."""
        if self.weights is None or self.frequency is not None:
            return bool(self.frequency)
        return self.is_whole and len(np.unique(self.table.codes, axis=0)) == self.table.n_rows

    @property
    def is_whole(self) -> bool:
        """Whether weights are whole numbers that differ."""
        weights = self.weights
        return weights is not None and bool((weights % 1 == 0).all() and weights.min() < weights.max())

    def locate(self) -> AbstractContextManager[None]:
        """Add the file, and the line of the row, to what is found to be wrong later; rows that count zero are gone."""
        return nullcontext() if self.contents is None or self.weights is not None else self.contents.locate()

    def __str__(self) -> str:
        """Say in a line what there is."""
        table = self.table
        n = int(table.n_missing.sum())
        missing = f", {count(n, 'missing value')} ({n / table.codes.size:.1%})" if n else ", no missing values"
        counted = "" if self.weights is None else f" that count as {self.weights.sum():.10g}"
        counted = " with weights" if counted and not self.are_counts else counted
        return f"{count(table.n_rows, 'row')}{counted}, {count(table.domain.n_variables, 'variable')}{missing}."


def load(path: Path, how: Reading, out: Output, missing: str, sampling: Sampling) -> LoadedTable:
    """Read a table as `Reading.load` says."""
    with plain_errors(path):
        parts, place_of = _find_large(path, how), None
        if parts is None:
            contents = _read_file(path, how, out)
            place_of = contents.place_of
            with contents.locate():
                rows, more = _take(contents, how, sampling.cluster)
            rows = replace(rows, frequency=sampling.frequency)
        else:
            kept = _choose_columns(pl.DataFrame(schema=list(parts.names)), how, sampling.cluster)
            table, constant = count_columns(parts, kept, how, out, missing, sampling)
            rows, more = LoadedTable(table), _list_constant(constant)
        out.say(str(rows))
        found = find_suspicions(rows.table, missing=missing, sample_weight=rows.weights)
        placed = found if place_of is None else [own.placed(place_of(own.row)) for own in found]
        for note in [*more, *compose_notes(placed), *list_unordered(rows.table)]:
            out.warn(note)
    return rows


def load_same(path: Path, domain: Domain, how: Cells, out: Output, missing: str, sampling: Sampling) -> LoadedTable:
    """Read a table as `Cells.load_same` says."""
    with plain_errors(path):
        parts = _find_large(path, how)
        if parts is not None:
            return LoadedTable(count_same(parts, domain, how, out, missing, sampling))
        contents = _read_file(path, how, out)
        with contents.locate():
            weights = _find_weights(contents.frame, how)
            clusters = _find_clusters(contents.frame, sampling.cluster)
            names = [find_column(name, contents.frame.columns, "The field") for name in domain.names]
            frame = contents.frame[names]  # names, and no patterns, which `select` takes
            table = encode(frame, domain=domain, merge_levels=_choose_merged(frame, how, ()))
    return LoadedTable(table, weights, contents, clusters)


def _take(contents: Contents, how: Reading, cluster: str | None) -> tuple[LoadedTable, list[str]]:
    """Take the columns that are asked for; also return what people should look at."""
    frame, notes = contents.frame, list[str]()
    kept, weights = _choose_columns(frame, how, cluster), _find_weights(frame, how)
    clusters = _find_clusters(frame, cluster)
    if not how.columns:
        kept, notes = _drop_empty(frame, kept)
    if not kept:
        raise TableError("No column is left to be a variable", "name others")
    as_text = split_columns(how.text or "", frame.columns, "--text")
    for name in kept:
        refuse_row_names(frame[name], how.max_levels)
        if name not in as_text:
            refuse_typo(frame[name])
    left_out = [name for name in frame.columns if name not in kept]
    frame = frame[kept]  # names, and no patterns, which `select` takes
    merged = _choose_merged(frame, how, left_out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConstantColumnWarning)
        ordinal = None if how.ordinal is None else read_order(how.ordinal, frame, left_out)
        table = encode(frame, ordinal=ordinal, merge_levels=merged, max_levels=how.max_levels)
    notes = [*notes, *_list_merged(frame, table, merged), *_list_taken(contents, how, frame)]
    constant = [own.message for own in caught if isinstance(own.message, ConstantColumnWarning)]
    return LoadedTable(table, weights, contents, clusters), [*notes, *_list_constant(constant)]


def _list_constant(found: list[ConstantColumnWarning]) -> list[str]:
    """Say which columns are constant, in one sentence."""
    if len(found) < 2:
        return [str(own) for own in found]
    names = preview([own.column for own in found])
    return [f"{len(found)} columns are constant ({names}): they get no parameters and no edges."]


def _choose_columns(frame: pl.DataFrame, how: Reading, cluster: str | None) -> list[str]:
    """Return the columns that are variables."""
    columns = frame.columns
    wanted = columns if how.columns is None else split_columns(how.columns, columns, "--columns")
    left_out = split_columns(how.ignore or "", columns, "--ignore")
    named = (("--id", how.id), ("--weight", how.weight), ("--cluster", cluster))
    left_out += [find_column(name, columns, option) for option, name in named if name]
    return [name for name in wanted if name not in left_out]


def _drop_empty(frame: pl.DataFrame, names: list[str]) -> tuple[list[str], list[str]]:
    """Leave out columns without any value, as spreadsheets write them; also say so."""
    empty = [name for name in names if frame[name].null_count() == frame.height]
    if not empty or frame.height == 0:
        return names, []
    return [name for name in names if name not in empty], [f"{columns_have(empty)} no observed value: left out."]


def _find_weights(frame: pl.DataFrame, how: Cells) -> NDArray[np.float64] | None:
    """Return how often each row counts, where a column says so."""
    return None if how.weight is None else read_weights(frame[find_column(how.weight, frame.columns, "--weight")])


def _find_clusters(frame: pl.DataFrame, name: str | None) -> NDArray[np.int64] | None:
    """Return the number of the cluster of each row, where a column names it."""
    if name is None:
        return None
    column = frame[find_column(name, frame.columns, "--cluster")]
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise TableError(
            f"Column {name!r} says which rows belong together, but row {row} has no value",
            "give it one of its own, or remove the row",
            column=name,
            row=row,
        )
    numbers = column.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
    if len(numbers) and not numbers.any():
        raise TableError(
            f"Column {name!r} puts all rows into one cluster",
            "name a column with many, or leave --cluster out",
            column=name,
        )
    return np.asarray(numbers)


def _list_merged(frame: pl.DataFrame, table: Table, names: Collection[str]) -> list[str]:
    """Say which values count as another spelling of a level."""
    notes = []
    for name in names:
        values = frame[name].cast(pl.String).drop_nulls().unique()
        found = list_variants(values, table.domain.levels[table.domain.index_of(name)])
        notes += [f"Column {name!r}: {preview(others)} counted as {kept!r}." for kept, others in found.items()]
    return notes


def _choose_merged(frame: pl.DataFrame, how: Cells, left_out: Collection[str]) -> list[str]:
    if how.merge_levels == "all" and "all" not in frame.columns:
        return list(frame.columns)
    return split_columns(how.merge_levels or "", frame.columns, "--merge-levels", left_out)


def _list_taken(contents: Contents, how: Cells, frame: pl.DataFrame) -> list[str]:
    """Say which words count as missing values and may be levels; the file is read again where there may be any."""
    # Files whose columns have types have no header to find, and keep such words as levels.
    if contents.source is None or contents.header is None or not has_gaps(frame):
        return []
    markers = _find_markers(how)
    words = tuple(word for word in markers if word not in DOUBTFUL_MARKERS)
    raw = read_contents(
        contents.source,
        missing_markers=words,
        separator=_unescape(how.separator),
        sheet=how.sheet,
        header=contents.header,
        as_text=True,
    )
    return compose_notes(find_taken(frame, raw.frame, markers))


def _find_markers(how: Cells) -> tuple[str, ...]:
    """Return the words that mean a missing cell."""
    added, kept = how.missing_marker or [], how.level or []
    for word in kept:
        if word not in MISSING_MARKERS or word in added:
            known = ", ".join(repr(marker) for marker in MISSING_MARKERS if marker)
            raise TableError(f"--level names {word!r}", f"name a word that else means a missing cell: {known}")
    return tuple(word for word in (*MISSING_MARKERS, *added) if word not in kept)


def _read_file(path: Path, how: Cells, out: Output) -> Contents:
    """Read a file, and say at once what was assumed: it may explain what is found to be wrong later."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownLettersWarning)
        contents = read_contents(
            path,
            missing_markers=_find_markers(how),
            separator=_unescape(how.separator),
            sheet=how.sheet,
            header=how.header,
        )
    letters = [str(own.message) for own in caught if issubclass(own.category, UnknownLettersWarning)]
    for note in [*(note.compose(spell_given) for note in contents.notes), *letters]:
        out.warn(note)
    return contents


def _find_large(path: Path, how: Cells) -> LazyParts | None:
    """Return the parts of files that do not fit into memory, and None of others."""
    if as_address(path) is not None:
        return None
    return find_large(path, missing_markers=_find_markers(how), separator=_unescape(how.separator), header=how.header)


def _unescape(separator: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(separator, separator) if separator is not None else None
