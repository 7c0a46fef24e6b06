"""Which rows a fit was made of, in a few words that a file can keep, and whether others are the same."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data._counted import COUNTED, CountedTable
from sparsefield.data._errors import TableError
from sparsefield.data._table import Table
from sparsefield.data._unseen import find_unseen


def describe_rows(table: Table, weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return what tells rows and their weights apart: their number, and a hash of all cells and one of all weights.

    Rows are taken as they enter the objective: without those that do not count (`take_counted`), and after missing
    values are filled or dropped (`resolve_missing`). Tables that differ in nothing else are the same to a fit. Weights
    that are all equal are the same as none, unless they count more rows than there are and a level is unseen: it has
    half a row beside those that they count (`Unseen`). Multiples of other weights have another hash, whether a level is
    unseen or not: products of floats are rounded, so that a hash cannot tell all multiples from weights that differ a
    little.

    Rows that were counted part by part are told apart by their counts, which are all that the objective takes of them,
    in any order of the rows.

    Parameters
    ----------
    table : Table
        The rows.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    """
    is_plain = weights is None or len(weights) == 0 or _are_as_none(table, weights)
    found = None if is_plain else sha256(np.ascontiguousarray(weights, dtype="<f8").tobytes()).hexdigest()[:16]
    return {"n_rows": table.n_rows, "data": table.fingerprint(), "weights": found}


def _are_as_none(table: Table, weights: NDArray[np.float64]) -> bool:
    """Say whether the objective is that of rows without weights."""
    if weights.min() < weights.max():
        return False
    unseen = find_unseen(table, weights)
    return not unseen.levels or unseen.n == table.n_rows


def check_rows(known: Mapping[str, Any], table: Table, weights: NDArray[np.float64] | None) -> None:
    """Refuse rows that are not those that were described, or have other weights.

    Parameters
    ----------
    known : mapping
        What `describe_rows` said, such as the settings of a fit; without the entry "data" everything is accepted.
    table, weights
        As for `describe_rows`.
    """
    if "data" not in known:
        return
    was_counted, is_counted = str(known["data"]).startswith(COUNTED), isinstance(table, CountedTable)
    if is_counted and not was_counted:
        raise TableError(
            "The field was fitted to rows in memory, which are compared one by one, and these rows are counted",
            "give a table that is in memory (encode)",
        )
    if was_counted and not isinstance(table, CountedTable) and not table.n_missing.any() and weights is None:
        table = CountedTable.of_table(table)
    found, wanted = describe_rows(table, weights), known.get("weights")
    if wanted is not None and found["weights"] is None:
        given = "none are given" if weights is None else "these are the same as none"
        raise TableError(
            f"The rows that the field was fitted to have weights, and {given}",
            "give the same {option}",
            option="sample_weight",
        )
    if wanted is None and found["weights"] is not None:
        raise TableError("The field was fitted to rows without weights", "leave {option} out", option="sample_weight")
    if found["weights"] != wanted:
        raise TableError(
            "These are not the weights that the field was fitted with",
            "give the same numbers, in the order of the rows, and no multiples of them",
        )
    if found["data"] != known["data"]:
        raise TableError(
            f"These are not the {known['n_rows']} rows that the field was fitted to",
            "give the same table, its rows in the same order, and their weights if they had any",
        )
