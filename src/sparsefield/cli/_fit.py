"""The commands that learn a field and say how good it is."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table as Grid
from sklearn.exceptions import ConvergenceWarning

from sparsefield.estimators import SparseMRF
from sparsefield.network import edge_table
from sparsefield.solvers import certify as certify_fit
from sparsefield._progress import ProgressBar
from sparsefield.fits import Fit
from sparsefield.data import MAX_LEVELS, Table
from sparsefield.cli import _options as options
from sparsefield.cli._app import INTERRUPTED, Voice, app, plain, plain_errors

_STRONGEST = 12  # edges to print


@app.command()
def fit(
    data: options.Data,
    alpha: Annotated[float, typer.Option(help="Strength of the penalty: larger gives fewer edges.")] = 0.05,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the field; beside the data unless given.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an interactive page (.html).")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the network (.png, .svg or .pdf).")] = None,
    certify: Annotated[bool, typer.Option("--certify", help="Also bound how far the fit is from the optimum.")] = False,
    missing: Annotated[str, typer.Option(help="Missing cells: model, zero, drop or error.")] = "model",
    gap: Annotated[float | None, typer.Option(help="How near to the optimum to get, in nats a row.")] = None,
    free_main: Annotated[bool, typer.Option("--free-main", help="Do not penalise main effects.")] = False,
    max_seconds: Annotated[float | None, typer.Option(help="Begin no further step after this time.")] = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    id: options.Id = None,
    separator: options.Separator = None,
    missing_marker: options.Marker = None,
    text: options.AsText = None,
    max_levels: options.MaxLevels = MAX_LEVELS,
    nodes: options.Nodes = None,
    color: options.Color = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn the network behind a table, and save it."""
    voice = Voice(quiet=quiet, as_json=json)
    output = data.with_suffix(".field") if output is None else output
    check_writable(output, report, picture, inputs=(data, nodes))
    if picture is not None and picture.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise typer.BadParameter(f"{str(picture)!r} does not end in .png, .svg or .pdf: choose one of these.")
    table = options.load_data(
        data,
        columns=columns,
        ignore=ignore,
        id=id,
        separator=separator,
        markers=missing_marker,
        text=text,
        max_levels=max_levels,
    )
    groups = options.load_groups(nodes, color, table.domain.names)
    voice.say(describe_table(table))
    for note in options.list_notes(table):
        voice.warn(note)
    mrf = SparseMRF(
        alpha,
        gap="auto" if gap is None else gap,
        missing=missing,  # type: ignore[arg-type]  # checked there
        penalize_main=not free_main,
        max_seconds=max_seconds,
        random_state=seed,
        n_threads=threads,
        progress="auto" if voice.is_talking else False,
    )
    clock = time.perf_counter()
    with plain_errors(data), quiet_warnings(voice):
        found = mrf.fit(table).fit_
        found.save(output)  # what comes after may fail or be interrupted
    files = [output]
    if certify and found.status.code != "interrupted":
        with plain_errors(data, kept=output):
            found = _certify(found, table, missing, seed, threads, voice)
            found.save(output)
    seconds = time.perf_counter() - clock
    with plain_errors(kept=output), quiet_warnings(voice):
        files += _draw(found, table, groups, report, picture)
    _tell(voice, found, seconds, files)
    voice.give(
        {**as_numbers(found), "seconds": seconds, "n_rows": table.n_rows, "files": [str(path) for path in files]}
    )
    if found.status.code == "interrupted":
        raise typer.Exit(INTERRUPTED)


@app.command()
def certify(
    field: options.Field,
    data: options.Data,
    draws: Annotated[int, typer.Option(min=2, help="Fresh draws; the bound falls as their square root.")] = 200_000,
    confidence: Annotated[float, typer.Option(help="Probability with which the bound holds.")] = 0.99,
    separator: options.Separator = None,
    missing_marker: options.Marker = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Bound how far a fitted field is from the optimum, from fresh draws, and save that with it."""
    voice = Voice(quiet=quiet, as_json=json)
    with plain_errors():
        found = Fit.load(field)
    table = options.load_same(data, found.model.domain, separator, missing_marker)
    with plain_errors(data):
        how = found.settings.get("missing", "model")
        found = _certify(found, table, how, seed, threads, voice, n_draws=draws, confidence=confidence)
        found.save(field)
    voice.say(str(found.optimality))
    voice.give(as_numbers(found))


def _certify(found: Fit, table: Table, missing: str, seed: int, threads: int | None, voice: Voice, **more: Any) -> Fit:
    """Certify a fit on the table as it was fitted: holes filled or dropped if that was the choice."""
    if missing == "zero":
        table = table.fill_first()
    elif missing == "drop":
        table = table.drop_missing()
    with ProgressBar("auto" if voice.is_talking else False, 6) as watch:
        return certify_fit(found, table, seed=seed, n_threads=threads, watch=watch, **more)


def check_writable(*outputs: Path | None, inputs: tuple[Path | None, ...] = ()) -> None:
    """Refuse, before any work is done, outputs that cannot be written or would replace something wanted."""
    paths = [path for path in outputs if path is not None]
    for k, path in enumerate(paths):
        folder = path.resolve().parent
        if not folder.is_dir():
            raise typer.BadParameter(f"there is no folder {str(path.parent)!r}: make it first.")
        if not os.access(folder, os.W_OK):
            raise typer.BadParameter(f"nothing can be written to the folder {str(folder)!r}: choose another.")
        if path.exists() and not path.is_file():
            raise typer.BadParameter(f"{str(path)!r} is no ordinary file: name one.")
        others = [other.resolve() for other in (*paths[:k], *filter(None, inputs))]
        if path.resolve() in others:
            raise typer.BadParameter(f"{str(path)!r} is named twice, and would be replaced: name another file.")


@contextmanager
def quiet_warnings(voice: Voice) -> Iterator[None]:
    """Turn the warnings of Python into notes for people; how a fit ended is said anyway."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
    for sentence in dict.fromkeys(str(own.message) for own in caught):
        voice.warn(sentence)


def describe_table(table: Table) -> str:
    """Say in a line what a table holds."""
    holes = int(table.n_missing.sum())
    missing = f", {holes} missing cells ({holes / table.codes.size:.1%})" if holes else ", no missing cells"
    return f"{table.n_rows} rows, {table.domain.n_variables} variables{missing}."


def as_numbers(found: Fit) -> dict[str, Any]:
    """Return what programs want to know of a fit."""
    edges = edge_table(found)
    last = found.steps[-1] if found.steps else None
    optimality = found.optimality
    return {
        "status": found.status.code,
        "sentence": found.status.sentence,
        "alpha": found.alpha,
        "n_variables": found.model.domain.n_variables,
        "n_edges": int((edges["weight"] != 0).sum()),
        "n_undecided": _count_undecided(edges),
        "certificate": None if last is None else last.certificate,
        "confidence": None if last is None else last.confidence,
        "certified": found.certified,
        "optimality": None if optimality is None else str(optimality),
    }


def _count_undecided(edges: pl.DataFrame) -> int | None:
    """Count the edges that noise leaves open, where that is known."""
    if "undecided" not in edges.columns:
        return None
    return int((edges["undecided"] & (edges["weight"] != 0)).sum())


def _draw(found: Fit, table: Table, groups: options.Groups, report: Path | None, picture: Path | None) -> list[Path]:
    """Write the page and the picture that are asked for."""
    files = []
    if report is not None:
        from sparsefield.report import write_report  # plotly takes a moment to import

        write_report(found, report, table=table, groups=groups.group_of)
        files.append(report)
    if picture is not None:
        from sparsefield.plotting import NetworkDisplay  # and so does matplotlib

        NetworkDisplay.from_fit(found, groups=groups.group_of).save(picture)
        files.append(picture)
    return files


def _tell(voice: Voice, found: Fit, seconds: float, files: list[Path]) -> None:
    edges = edge_table(found)
    n_edges = int((edges["weight"] != 0).sum())
    grid = Grid("", "", "weight", title="Strongest edges", title_justify="left")
    for row in edges.filter(edges["weight"] != 0).head(_STRONGEST).to_dicts():
        mark = " (undecided)" if row.get("undecided") else ""
        grid.add_row(plain(row["first"]), plain(row["second"]), f"{row['weight']:+.3f}{mark}")
    if n_edges:
        voice.say(grid)
    n_open = _count_undecided(edges)
    settled = "" if n_open is None else f", {n_open} of them undecided within the noise of the draws"
    voice.say(f"{n_edges} edges{settled}; {seconds:.1f} s.")
    voice.say(found.status.sentence)
    voice.say(f"Certificate: {found.certified}")
    if found.optimality is not None:
        voice.say(str(found.optimality))
    voice.say("Written: " + ", ".join(str(path) for path in files))
