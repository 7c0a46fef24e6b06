"""The command that draws from a field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain_errors, quiet_warnings
from sparsefield.cli._files import check_tables, check_writable, write_table
from sparsefield.cli._help import Command


@app.command(cls=Command)
def sample(
    field: options.FieldFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the rows (.csv, .tsv or .parquet).")],
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="How many rows.")] = 1000,
    sweeps: Annotated[
        int | None, typer.Option(min=1, help="Gibbs sweeps before a row is taken; exact draws unless given.")
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    device: options.Device = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Draw rows from a fitted field: exactly, or by so many Gibbs sweeps."""
    from sparsefield.inference import OutOfReachError
    from sparsefield.model import PairwiseMRF

    out = Output(quiet=quiet, as_json=json)
    check_writable(output, inputs=(field,))
    check_tables(output)
    how: dict[str, Any] = {"seed": seed, "n_threads": threads, "device": device}
    with plain_errors(), quiet_warnings(out):
        model = PairwiseMRF.load(field)
        if sweeps is not None:
            table = model.sample(rows, n_sweeps=sweeps, **how)
        else:
            try:
                table = model.sample(rows, method="perfect", **how)
            except OutOfReachError as error:
                raise ValueError(
                    f"Exact draws cannot be had ({error.reason}): use --sweeps 1000 for Gibbs draws, without a "
                    "certificate."
                ) from None
        write_table(table.to_frame(), output)
    said = "exact draws" if sweeps is None else f"rows after {sweeps} Gibbs sweeps"
    out.say(f"Written: {output} ({rows} {said}).")
    out.give({"rows": rows, "exact": sweeps is None, "files": [str(output)]})
