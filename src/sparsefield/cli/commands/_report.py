"""The command that writes the interactive page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain_errors, quiet_warnings
from sparsefield.cli._files import check_pages, check_writable
from sparsefield.cli._groups import load_groups
from sparsefield.cli._help import Command
from sparsefield.cli._pairs import Inferring
from sparsefield.cli._signature import spread
from sparsefield.cli._tables import Cells

if TYPE_CHECKING:
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.fits import Fit


@app.command(cls=Command)
@spread
def report(
    field: options.FieldFile,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page (.html); beside the field unless given.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The table that it was fitted to, for a summary of it.")] = None,
    title: Annotated[str | None, typer.Option(help="What stands on top of the page.")] = None,
    inferring: Inferring,
    cells: Cells,
    nodes: options.Nodes = None,
    color: options.Color = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write an interactive page about a fitted field: one file that opens anywhere."""
    from sparsefield.fits import Fit
    from sparsefield.report import write_report

    out = Output(quiet=quiet, as_json=json)
    output = field.with_suffix(".html") if output is None else output
    check_writable(output, inputs=(field, data, nodes))
    check_pages(output)
    with plain_errors():
        found = Fit.load(field)
    names = found.model.domain.names
    table = weights = pairs = None
    if data is not None:
        missing = found.settings.get("missing", "model")
        rows = cells.load_same(data, found.model.domain, out, missing, inferring)
        table, weights = rows.table, rows.weights
        if _is_same(rows, found):
            with plain_errors(data), rows.locate(), quiet_warnings(out):
                inferring.check(rows)
                pairs = inferring.find(rows, out, cells.weight, missing=missing)
        else:
            out.complain(
                f"File {str(data)!r} has other rows than the {found.settings['n_rows']} that the field is fitted to."
            )
    groups = load_groups(nodes, color, names, out)
    with plain_errors():
        more: dict[str, Any] = {"title": title, "sample_weight": weights, "inference": pairs}
        write_report(found, output, table=table, groups=groups.group_of, **more)
    out.say(f"Written: {output}")
    out.give({"files": [str(output)]})


def _is_same(rows: LoadedTable, found: Fit) -> bool:
    """Say whether a field was fitted to a table, as far as is known.

    LoadedTable with weights that are not given here may be others.
    """
    from sparsefield.data import check_rows, resolve_missing, take_counted

    known = found.settings
    if known.get("weights") is not None and rows.weights is None:
        return True
    try:
        table, weights = take_counted(rows.table, rows.weights)
        check_rows(known, *resolve_missing(table, known.get("missing", "model"), weights))
    except ValueError:  # no field can be fitted to it that way, or it was fitted to others
        return False
    return True
