"""Columns and rows that are legal and may not be meant: names of rows, copies, missing cells, few rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, gammaln

from sparsefield.data import MISSING, CountedTable, Rows, Suspicion, Table, count, distinct_rows, preview
from sparsefield.tables.encoding._row_names import is_numbering, names_rows
from sparsefield.tables.suspicions._missing_codes import Columns

# What programs name the column of counts in a table of frequencies: R's Freq, pandas' count, polars' len.
_FREQUENCIES = {"n", "len", "count", "counts", "freq", "frequency"}
_RISK = 0.05  # that noise looks like what is asked about, over all pairs together: the convention of tests
_LARGE = 0.5  # Cohen's w from which on the association of two variables is called large (Cohen 1988, section 7.2.3)
_MOSTLY = 0.5  # of the rows


def find_row_names(table: Table, columns: Columns) -> list[Suspicion]:
    """Find columns of text whose values are nearly all different, and numbers that rise from row to row."""
    found = []
    for (name, levels, seen), codes in zip(columns, table.codes.T, strict=True):
        n_cells, n_levels = int(seen.sum()), int(np.count_nonzero(seen))
        is_text = isinstance(levels[0], str)
        if names_rows(n_levels, n_cells) and (is_text or (n_cells == len(codes) and is_numbering(codes.astype(int)))):
            found.append(
                Suspicion(
                    kind="row names",
                    problem=f"Column {name!r} has {n_levels} different values in {n_cells} rows",
                    remedy="If it names the rows, leave it out with {option}",
                    columns=(name,),
                    option="id",
                )
            )
    return found


def find_frequencies(table: Table) -> list[Suspicion]:
    """Find a column that is named like one of counts, in a table whose rows differ in all other columns."""
    found = [i for i, name in enumerate(table.domain.names) if name.strip().casefold() in _FREQUENCIES]
    if len(found) != 1 or table.domain.n_variables < 2:
        return []
    levels, rest = table.domain.levels[found[0]], np.delete(table.codes, found[0], axis=1)
    if not all(type(level) is int and level >= 0 for level in levels) or len(distinct_rows(rest)[0]) < table.n_rows:
        return []
    name = table.domain.names[found[0]]
    return [
        Suspicion(
            kind="frequencies",
            problem=f"Column {name!r} seems to say how many times each row counts, and is a variable like the others",
            remedy="If it does, give it as {option}",
            columns=(name,),
            option="sample_weight",
        )
    ]


def find_copies(table: Table, columns: Columns) -> list[Suspicion]:
    """Find columns that are the same in every row, up to the names of their levels.

    Columns of few rows, or that are nearly constant, may be so by chance. A column with n_k rows of level k is a given
    one after its rows are shuffled in one of n! / (n_1! n_2! ...) cases, and there are as many ways to name its levels
    as there are orders of them.
    """
    groups: dict[bytes, list[int]] = {}
    # Copies have levels that are as frequent: few other columns have, and rows of these alone are compared.
    sizes = [tuple(np.sort(seen).tolist()) for _, _, seen in columns]
    for i, codes in enumerate(table.codes.T):
        if sizes.count(sizes[i]) > 1:
            groups.setdefault(_by_first_row(codes).tobytes(), []).append(i)
    return [_copies(table, own) for own in groups.values() if _is_surprising(table, columns, own)]


def find_counted_copies(table: CountedTable, columns: Columns) -> list[Suspicion]:
    """Find columns that are the same in every row, from the counts of pairs of levels: each goes with one other."""
    groups: list[list[int]] = []
    sizes = [tuple(np.sort(seen).tolist()) for _, _, seen in columns]
    for i, size in enumerate(sizes):
        near = next((own for own in groups if sizes[own[0]] == size and _go_together(table, own[0], i)), None)
        if near is None:
            groups.append([i])
        else:
            near.append(i)
    return [_copies(table, own) for own in groups if _is_surprising(table, columns, own)]


def _go_together(table: CountedTable, i: int, j: int) -> bool:
    pairs = table.pair_table(i, j) > 0
    return bool((pairs.sum(axis=0) <= 1).all() and (pairs.sum(axis=1) <= 1).all())


def _is_surprising(table: Table, columns: Columns, own: Sequence[int]) -> bool:
    """Say whether columns that are the same are hardly so by chance."""
    p, n_levels, seen = table.domain.n_variables, table.domain.n_levels[own[0]], columns[own[0]][2]
    counts = np.append(seen, table.n_rows - seen.sum())  # missing values last
    surprise = gammaln(table.n_rows + 1) - gammaln(counts + 1).sum() - gammaln(n_levels + 1)
    return len(own) > 1 and n_levels > 1 and bool(surprise > np.log(p * (p - 1) / 2 / _RISK))


def _copies(table: Table, own: Sequence[int]) -> Suspicion:
    names = [table.domain.names[i] for i in own]
    return Suspicion(
        kind="copies",
        problem=f"Columns {preview(names)} tell the same in every row",
        remedy="Each hides the edges of the others: leave out all but one with {option}, unless this is meant",
        columns=tuple(names),
        option="ignore",
    )


def _by_first_row(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return codes that number the levels by the first row that shows them; missing values stay what they are."""
    first = np.full(256, len(codes))
    present, rows = np.unique(codes, return_index=True)
    first[present] = rows
    new = np.empty(256, dtype=np.uint8)
    new[np.argsort(first[:MISSING], kind="stable")] = np.arange(MISSING)
    new[MISSING] = MISSING
    return np.ascontiguousarray(new[codes])


def find_mostly_missing(table: Table) -> list[Suspicion]:
    """Find columns of which more than half is missing."""
    shares = table.n_missing / table.n_rows
    order = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > _MOSTLY]
    if not order:
        return []
    names = [table.domain.names[i] for i in order]
    more = f", and columns {preview(names[1:])} in more than half of them" if len(names) > 1 else ""
    return [
        Suspicion(
            kind="mostly missing",
            problem=f"Column {names[0]!r} is missing in {table.n_missing[order[0]]} of {table.n_rows} rows{more}",
            remedy="Little can be said of such columns: leave them out with {option}, unless this is meant",
            columns=tuple(names),
            option="ignore",
        )
    ]


def find_empty_rows(table: Table) -> list[Suspicion]:
    """Find rows without any value, as spreadsheets write them below a table: they count as rows, and say nothing."""
    n_empty = int((table.codes == MISSING).all(axis=1).sum())
    if not n_empty:
        return []
    have, counts, them = ("has", "counts as a row", "it") if n_empty == 1 else ("have", "count as rows", "them")
    return [
        Suspicion(
            kind="empty rows",
            problem=f"{n_empty} of {count(table.n_rows, 'row')} {have} no value in any variable, and {counts} all the "
            "same",
            remedy=f"Remove {them}, unless this is meant",
        )
    ]


def find_gone_rows(whole: Table, kept: Table) -> list[Suspicion]:
    """Say how many rows remain where those with a missing value are dropped."""
    if kept.n_rows == whole.n_rows:
        return []
    name = whole.domain.names[int(whole.n_missing.argmax())]
    return [
        Suspicion(
            kind="rows left out",
            problem=f"{kept.n_rows} of {whole.n_rows} rows {'remains' if kept.n_rows == 1 else 'remain'}: the others "
            f"have a missing value, most of them in column {name!r}",
            remedy="Missing values can stay with {option}",
            columns=(name,),
            option="missing",
        )
    ]


def find_dropped_rows(table: CountedTable) -> list[Suspicion]:
    """Say how many rows remain where those with a missing value were dropped while rows were counted."""
    if not table.n_dropped:
        return []
    return [
        Suspicion(
            kind="rows left out",
            problem=f"{table.n_rows} of {table.n_rows + table.n_dropped} rows remain: the others have a missing value",
            remedy="Fill missing values before, unless this is meant",
        )
    ]


def find_few_rows(rows: Rows) -> list[Suspicion]:
    """Say so where only large associations could be told from sampling error.

    The chi-square statistic of two independent variables with d and e parameters is a chi-square variable with d e
    degrees of freedom, and n w^2 where their association has Cohen's w, which is the correlation of two variables of
    two levels. With m pairs, noise makes one of them exceed its quantile of 0.05 / m with a probability of at most 0.05
    (Bonferroni's inequality). What is less than that cannot be told from sampling error: w of sqrt(quantile / n), here
    of the pair in the middle.
    """
    domain = rows.table.domain
    sizes = np.where(domain.is_ordered, np.minimum(domain.n_levels - 1, 1), domain.n_levels - 1)
    sizes = sizes[sizes > 0]
    if len(sizes) < 2:
        return []
    a, b = np.triu_indices(len(sizes), 1)
    quantile = float(chdtri(np.median(sizes[a] * sizes[b]), _RISK / len(a)))
    if quantile <= _LARGE**2 * rows.n:
        return []
    return [
        Suspicion(
            kind="few rows",
            problem=f"{rows.n:.0f} rows are few for {len(sizes)} variables: an association of two of them can be "
            f"told from sampling error from Cohen's w = {np.sqrt(quantile / rows.n):.2f} on, and {_LARGE} is called "
            "large",
            remedy=f"It takes {int(np.ceil(quantile / _LARGE**2))} rows to find large ones, or fewer variables and "
            "levels",
        )
    ]
