"""Reading what is known of the variables, and which of it gives colours."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from sparsefield.cli._app import Output, plain_errors
from sparsefield.cli._spelling import spell_given


@dataclass(frozen=True)
class Groups:
    """What is known of the variables, and which of it gives colours.

    Parameters
    ----------
    attributes : dict of variable to attributes
        All that the table of nodes says.
    group_of : dict of variable to group, optional
        The group of each variable, where one was asked for.
    """

    attributes: dict[str, dict[str, Any]]
    group_of: dict[str, str] | None = None


def load_groups(path: Path | None, color: str | None, names: Sequence[str], out: Output) -> Groups:
    """Read the table of variables, and the groups that give colours."""
    from sparsefield.cli._columns import find_column
    from sparsefield.data import TableError
    from sparsefield.tables import read_contents

    if path is None:
        if color is not None:
            raise typer.BadParameter(
                "name the table that has this column with --nodes: a row for each variable.", param_hint="--color"
            )
        return Groups({})
    with plain_errors(path):
        contents = read_contents(path, as_text=True)
        for note in contents.notes:
            out.warn(note.compose(spell_given))
        frame = contents.frame
        if frame.width < 2:
            raise TableError("The table of variables has a single column", "give names, and what is known of them")
        key = frame.columns[0]
        if frame[key].n_unique() < len(frame):
            twice = frame[key].filter(frame[key].is_duplicated())[0]
            raise TableError(
                f"Column {key!r} names the variable {twice!r} more than once",
                "keep one row of it",
                column=key,
                value=twice,
            )
        rows = {str(row[key]): {k: v for k, v in row.items() if k != key and v is not None} for row in frame.to_dicts()}
        missing = [name for name in names if name not in rows]
        if missing:
            near = difflib.get_close_matches(missing[0], rows, n=1)
            raise TableError(
                f"Column {key!r} does not have the variable {missing[0]!r}",
                f"add a row for it. Is it {near[0]!r}?" if near else "add a row for it",
                column=key,
                value=missing[0],
            )
        attributes = {name: rows[name] for name in names}
        if color is None:
            return Groups(attributes)
        find_column(color, frame.columns, "--color")
        return Groups(attributes, {name: str(attributes[name].get(color, "unknown")) for name in names})
