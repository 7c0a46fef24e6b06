"""The command that writes networks for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain_errors
from sparsefield.cli._files import check_endings, check_writable
from sparsefield.cli._groups import load_groups
from sparsefield.cli._help import Command


@app.command(cls=Command)
def export(
    field: options.FieldFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file: .gexf, .graphml, .csv (edges) or .json, or as --format.")
    ],
    format: Annotated[
        str | None, typer.Option(help="One of gexf, graphml, edges, adjacency, json; told by the ending else.")
    ] = None,
    nodes: options.Nodes = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Write the network for Gephi, yEd, Cytoscape, R or a spreadsheet."""
    from sparsefield.fits import Fit, is_fit
    from sparsefield.model import PairwiseMRF
    from sparsefield.network import FORMATS
    from sparsefield.network import export as export_network

    out = Output(quiet=quiet, as_json=json)
    check_writable(output, inputs=(field, nodes))
    if format is None:
        check_endings(output, endings=(".gexf", ".graphml", ".csv", ".json"))
    elif format not in FORMATS:
        raise typer.BadParameter(f"{format!r} is none: use {', '.join(FORMATS)}.", param_hint="--format")
    with plain_errors():
        model = PairwiseMRF.load(field)
        found = Fit.load(field) if is_fit(field) else model
    groups = load_groups(nodes, None, model.domain.names, out)
    with plain_errors():
        export_network(found, output, format=format, nodes=groups.attributes)
    out.say(f"Written: {output}")
    out.give({"files": [str(output)]})
