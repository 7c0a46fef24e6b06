"""The command that runs the paper's experiments again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as Grid

from sparsefield.cli._app import app, plain_errors
from sparsefield.cli._commands import BAD_INPUT, INTERRUPTED, Stopped
from sparsefield.cli._help import Command

_console = Console(highlight=False)


@app.command(cls=Command)
def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Run everything at a small size, in a minute or two.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run this experiment alone; may be given more than once.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("paper"),
) -> None:
    """Run the experiments of the paper again: figures, numbers, and what they say of its claims."""
    # Imported here: matplotlib takes up to a second, which other commands need not wait for.
    try:
        from sparsefield_experiments import EXPERIMENTS, run_paper
    except ModuleNotFoundError as error:
        if error.name != "sparsefield_experiments":
            raise
        raise Stopped(
            "The paper's experiments are not in the installed package: run `make paper` in a copy of its repository.",
            BAD_INPUT,
        ) from None

    names = list(dict.fromkeys(only or EXPERIMENTS))
    for name in names:
        if name not in EXPERIMENTS:
            raise typer.BadParameter(
                f"there is no experiment {name!r}: use {', '.join(EXPERIMENTS)}.", param_hint="--only"
            )
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{str(output)!r} is a file: name a folder.", param_hint="--output")
    words = ["sparsefield", "paper", *(["--quick"] if quick else [])]
    words += [word for name in only or [] for word in ("--only", name)]
    words += [] if output == Path("paper") else ["--output", str(output)]
    columns = (
        TextColumn("{task.description:16}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console) as progress:
        tasks = {name: progress.add_task(name, total=1.0, start=False) for name in names}

        def tell(name: str, share: float) -> None:
            progress.start_task(tasks[name])
            progress.update(tasks[name], completed=share)

        try:
            with plain_errors():
                claims = run_paper(output, names=names, quick=quick, command=shlex.join(words), tell=tell)
        except KeyboardInterrupt:
            progress.stop()
            _console.print(f"Interrupted. What was finished by then is in {output.resolve()}")
            raise typer.Exit(INTERRUPTED) from None
    grid = Grid("claim", "verdict")
    for claim in claims:
        grid.add_row(claim.words, claim.verdict)
    _console.print(grid)
    _console.print(f"Figures, numbers and pages: {output.resolve() / 'index.md'}")
