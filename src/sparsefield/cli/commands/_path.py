"""The command that fits a path of penalties, and says which of them to take."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain_errors, quiet_warnings
from sparsefield.cli._files import beside, check_pages, check_pictures, check_tables, check_writable, write_table
from sparsefield.cli._help import Command
from sparsefield.cli._many import ManyFits, make_fit_command
from sparsefield.cli._signature import spread
from sparsefield.cli._tables import Reading

if TYPE_CHECKING:  # the command imports these when it runs: its help need not wait for them
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.selection import Choice

_MOST_LINES = 30  # of the table that is printed: a screen
_LARGE = 100  # information criteria are, being sums over rows: one digit after the point tells them apart


@app.command(cls=Command)
@spread
def path(
    data: options.Data,
    *,
    alphas: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="The penalties to choose from, separated by commas.")
    ] = None,
    n_alphas: Annotated[
        int,
        typer.Option(min=1, help="How many penalties, from the smallest that leaves no edge down; unless --alphas."),
    ] = 30,
    criterion: Annotated[
        str,
        typer.Option(help="What chooses: ebic (to find edges), cv (to predict) or stars (edges that subsamples have)."),
    ] = "ebic",
    gamma: Annotated[
        float, typer.Option(help="With ebic: what the choice among sets of edges costs, from 0 (the BIC) to 1.")
    ] = 0.25,
    folds: Annotated[int, typer.Option(min=2, help="With cv: how many folds, each held out once.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the table (.csv, .tsv or .parquet); beside the data else."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also write an interactive page (.html) about the fit that is chosen, which fits it once more."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Also draw the weights along the path (.png, .svg or .pdf), which fits it once more."),
    ] = None,
    choice_picture: Annotated[
        Path | None, typer.Option(help="Also draw the criterion along the path (.png, .svg or .pdf).")
    ] = None,
    asked: ManyFits,
    reading: Reading,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Fit a table with smaller and smaller penalties, and say which to take, and why."""
    from sparsefield.selection import make_rule, select

    out = Output(quiet=quiet, as_json=json)
    output = beside(data, ".path.csv") if output is None else output
    check_writable(output, report, picture, choice_picture, inputs=(data,))
    check_tables(output)
    check_pages(report)
    check_pictures(picture, choice_picture)
    wanted = None if alphas is None else _read_numbers(alphas)
    rows = reading.load(data, out, asked.missing)
    table = rows.table
    clock = time.perf_counter()
    with plain_errors(data, interrupted=asked.describe_interrupt), quiet_warnings(out):
        what = "penalties" if criterion == "ebic" else "paths"
        rule = make_rule(criterion)  # type: ignore[arg-type]  # checked there
        own = {"gamma": gamma, "cv": folds, "alphas": wanted, "n_alphas": n_alphas, **asked.pieces(what)}
        rule.set_params(**{name: value for name, value in own.items() if name in rule.get_params()})
        choice = asked.run(what, select, table, rule, out=out, sample_weight=rows.weights)
        write_table(choice.table, output)
    out.say(_make_grid(choice))
    out.say(choice.sentence)
    with plain_errors(data, kept=output), quiet_warnings(out):
        files = [output, *_draw(choice, rows, asked, out, picture, choice_picture)]
        if report is not None:
            _write_page(choice, rows, asked, report)
            files.append(report)
    is_likelihood = asked.objective == "likelihood"  # which is what `sparsefield fit` fits
    command = shlex.join(make_fit_command(data, choice.alpha, reading, asked)) if is_likelihood else None
    out.say("Written: " + ", ".join(str(file) for file in files))
    way = command or f"sparsefield.PseudoLikelihood({choice.alpha!r}), in Python"
    out.say(f"To fit with this alpha: {way}", wraps=False)
    numbers = {"criterion": criterion, "alpha": choice.alpha, "sentence": choice.sentence, "n_rows": table.n_rows}
    out.give(
        {
            **numbers,
            "n_variables": table.domain.n_variables,
            "n_edges": choice.table["edges"][choice.index],
            "path": [{name: _or_none(value) for name, value in row.items()} for row in choice.table.to_dicts()],
            "seconds": time.perf_counter() - clock,
            "command": command,
            "files": [str(file) for file in files],
        }
    )


def _or_none(value: Any) -> Any:
    """Return a value that JSON knows: None for a number that is not known."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read_numbers(words: str) -> list[float]:
    try:
        return [float(word) for word in words.split(",") if word.strip()]
    except ValueError:
        raise typer.BadParameter(
            f"{words!r} is no list of numbers: separate them by commas, as in 0.3,0.1,0.05.", param_hint="--alphas"
        ) from None


def _draw(
    choice: Choice, rows: LoadedTable, asked: ManyFits, out: Output, picture: Path | None, choice_picture: Path | None
) -> list[Path]:
    """Draw the pictures that are asked for."""
    if picture is None and choice_picture is None:
        return []
    from sparsefield.plotting import ChoiceDisplay, PathDisplay
    from sparsefield.progress import PiecesBar
    from sparsefield.selection import path as fit_path

    if picture is not None:
        with PiecesBar(out.progress, "penalties") as watch:

            def tell(n_done: int, n_all: int, _: Any) -> None:
                if watch is not None:
                    watch(n_done, n_all, None)

            alphas = choice.table["alpha"].to_list()
            found = fit_path(rows.table, alphas, sample_weight=rows.weights, **asked.settings, watch=tell)
        if not found.is_whole:
            raise KeyboardInterrupt
        PathDisplay.from_path(found, chosen=choice.alpha).save(picture)
    if choice_picture is not None:
        ChoiceDisplay.from_choice(choice).save(choice_picture)
    return [file for file in (picture, choice_picture) if file is not None]


def _write_page(choice: Choice, rows: LoadedTable, asked: ManyFits, page: Path) -> None:
    """Write the page of the fit with the penalty that was chosen, beside the other penalties."""
    from sparsefield.data import Rows
    from sparsefield.fitting import Options
    from sparsefield.learning import learn_rows
    from sparsefield.report import write_report
    from sparsefield.selection import path as fit_path

    more = {name: value for name, value in asked.settings.items() if name != "objective"}
    if asked.objective == "likelihood":
        options = Options(**more)
        fit, _ = learn_rows(Rows.of(rows.table, rows.weights, options.missing), options, choice)
    else:
        found = fit_path(rows.table, [choice.alpha], sample_weight=rows.weights, likelihoods=False, **asked.settings)
        (fit,) = found.fits
    write_report(fit, page, table=rows.table, choice=choice, sample_weight=rows.weights)


def _make_grid(choice: Choice) -> Grid:
    """Show the path: a line for each penalty, or for some of many, and a mark at the one that was chosen."""
    import numpy as np

    by = choice.criterion
    digits = 1 if np.abs(choice.table[by].to_numpy()).max() >= _LARGE else 4
    grid = Grid("", title="Path", title_justify="left")
    likelihood = next((name for name in choice.table.columns if name.endswith("log_likelihood")), None)
    kind = [] if likelihood is None else [likelihood.replace("_", "-")]
    for name in ("alpha", "edges", *kind, by.replace("_", " ")):
        grid.add_column(name, justify="right")
    grid.add_column("fit")
    rows = choice.table.with_row_index().to_dicts()
    shown = {choice.index, *np.linspace(0, len(rows) - 1, min(len(rows), _MOST_LINES)).astype(int).tolist()}
    for row in (row for row in rows if row["index"] in shown):
        mark = ">" if row["index"] == choice.index else ""
        own = [] if likelihood is None else [f"{row[likelihood]:.4f}"]
        grid.add_row(mark, f"{row['alpha']:.4g}", str(row["edges"]), *own, f"{row[by]:.{digits}f}", row["status"])
    return grid
