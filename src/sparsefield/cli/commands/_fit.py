"""The commands that learn a field and say how good it is."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain, plain_errors, quiet_warnings
from sparsefield.cli._commands import INTERRUPTED
from sparsefield.cli._files import beside, check_pages, check_pictures, check_writable
from sparsefield.cli._groups import Groups, load_groups
from sparsefield.cli._help import Command
from sparsefield.cli._pairs import Inferring, compare, describe_edges, describe_sampling, explain_q, say_interval
from sparsefield.cli._signature import spread
from sparsefield.cli._spelling import respell
from sparsefield.cli._tables import Cells, Reading

if TYPE_CHECKING:  # commands import these when they run: their help need not wait for them
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.fits import Fit
    from sparsefield.learning import Alpha
    from sparsefield.network import Network
    from sparsefield.pairs import Inference
    from sparsefield.selection import Choice
    from sparsefield.structure import Structure

_STRONGEST = 12  # edges to print


@app.command(cls=Command)
@spread
def fit(
    data: options.Data,
    *,
    alpha: options.Alpha = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the field; beside the data unless given.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an interactive page (.html).")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the network (.png, .svg or .pdf).")] = None,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify/--no-certify",
            help="Go on until the gap is certified to be at most --gap (0.05 unless given), or not.",
        ),
    ] = True,
    missing: options.Missing = "model",
    gap: Annotated[
        float | None,
        typer.Option(
            help="How near to the optimum to get, in nats per row; unless given, draws until another seed is expected "
            "to find 99% of the edges."
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        typer.Option(
            help="Find edges at this false discovery rate, as infer does: 0.1 is one false edge in ten, in the mean. "
            "Unless given, edges are pairs that are more probably joined than not."
        ),
    ] = None,
    penalty: options.Penalty = "auto",
    penalize_main: options.PenalizeMain = False,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Time after which the fit ends, certificate included; what there is by then is kept."),
    ] = None,
    max_iter: options.MaxIter = None,
    inferring: Inferring,
    reading: Reading,
    nodes: options.Nodes = None,
    color: options.Color = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    device: options.Device = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn the network behind a table, and save it."""
    from sparsefield.data import Rows
    from sparsefield.fitting import Newton, Options
    from sparsefield.learning import learn_rows
    from sparsefield.network import Network
    from sparsefield.selection import Choice, FalseDiscovery, take_discoveries

    out = Output(quiet=quiet, as_json=json)
    output = beside(data, ".field") if output is None else output
    check_writable(output, report, picture, inputs=(data, nodes))
    check_pages(report)
    check_pictures(picture)
    rows = reading.load(data, out, missing, inferring)
    table = rows.table
    groups = load_groups(nodes, color, table.domain.names, out)
    clock = time.perf_counter()
    with plain_errors(data), quiet_warnings(out):
        inferring.check(rows)
        asked = Options(
            gap="auto" if gap is None else gap,
            missing=missing,  # type: ignore[arg-type]  # checked by the learner
            penalty=penalty,  # type: ignore[arg-type]  # checked by the options
            penalize_main=penalize_main,
            certify=certify,
            solver=Newton(max_iter=max_iter),
            max_seconds=max_seconds,
            seed=seed,
            n_threads=threads,
            device=device,  # type: ignore[arg-type]  # checked by the options
        )
        own = Rows.of(table, rows.weights, missing, are_counts=rows.are_counts)
        pairs: Inference | None = None
        given: Alpha | Structure = "auto" if alpha is None else alpha
        if fdr is not None:
            FalseDiscovery(fdr).check(asked)
            if alpha is not None:
                raise ValueError("fdr is for edges that no penalty chooses: leave alpha out, or fdr.")
            pairs = inferring.find_edges(rows, out, reading.weight, fdr, missing=missing, n_threads=threads)
            given = take_discoveries(own, pairs, threads)
            out.say(str(given))
        found, chosen = learn_rows(own, asked, given, show=_Shown(out), began=clock)
        if isinstance(chosen, Choice):
            out.say(str(chosen))
        found = replace(found, settings={"random_state": seed, **found.settings})
        found.save(output)  # what comes after may fail or be interrupted
    files = [output]
    seconds = time.perf_counter() - clock
    with plain_errors(kept=output), quiet_warnings(out):
        is_read = not (out.is_silent and report is None and picture is None)
        pairs = pairs or inferring.find(
            rows,
            out,
            reading.weight,
            missing=missing,
            n_threads=threads,
            is_wanted=found.status.code != "interrupted" and is_read,
            moment=float("inf") if max_seconds is None else clock + max_seconds,
        )
        network = Network.of(found, pairs)
        choice = chosen if isinstance(chosen, Choice) else None
        files += _draw(found, network, rows, groups, report, picture, choice)
    _tell(out, found, network, verbose=verbose)
    if pairs is not None:
        for sentence in describe_sampling(pairs, rows, inferring, reading.weight):
            out.say(sentence)
    out.say(f"Elapsed: {seconds:.1f} s. Written: {', '.join(str(path) for path in files)}")
    numbers = {**as_numbers(found, network), "seconds": seconds, "n_rows": table.n_rows}
    out.give({**numbers, "inference": compare(network), "files": [str(path) for path in files]})
    if found.status.code == "interrupted":
        raise typer.Exit(INTERRUPTED)


@app.command(cls=Command)
@spread
def certify(
    field: options.FieldFile,
    data: options.Data,
    *,
    draws: Annotated[
        int, typer.Option(min=2, help="Fresh draws of each batch; large fields are certified with these.")
    ] = 200_000,
    confidence: Annotated[float, typer.Option(help="Probability with which the bound holds.")] = 0.99,
    cells: Cells,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    device: options.Device = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Bound how far a fitted field is from the optimum, from fresh draws, and save that with it."""
    from sparsefield.fits import Fit
    from sparsefield.network import Network

    out = Output(quiet=quiet, as_json=json)
    with plain_errors():
        found = Fit.load(field)
    rows = cells.load_same(data, found.model.domain, out, found.settings.get("missing", "model"))
    with plain_errors(data), rows.locate(), quiet_warnings(out):
        how: dict[str, Any] = {"n_draws": draws, "confidence": confidence, "n_threads": threads, "device": device}
        found = _certify(found, rows, seed, out, **how)
        found.save(field)
    out.say(str(found.optimality))
    out.give(as_numbers(found, Network.of(found)))


class _Shown:
    """Progress bars of a fit, and how its edges were found."""

    def __init__(self, out: Output) -> None:
        from sparsefield.progress import Bars

        bars = Bars(out.progress)
        self.rows, self.choice, self.steps, self._out = bars.rows, bars.choice, bars.steps, out

    def tell(self, chosen: Choice | Structure) -> None:
        """Say how edges were found; penalties are told with the edges that they leave."""
        from sparsefield.structure import Structure

        if isinstance(chosen, Structure):
            self._out.say(str(chosen))


def _certify(found: Fit, rows: LoadedTable, seed: int, out: Output, **how: Any) -> Fit:
    from sparsefield.learning import certify as certify_fit
    from sparsefield.progress import ProgressBar

    with ProgressBar(out.progress, 6) as watch:
        return certify_fit(found, rows.table, sample_weight=rows.weights, seed=seed, watch=watch, **how)


def as_numbers(found: Fit, network: Network) -> dict[str, Any]:
    """Return what programs want to know of a fit."""
    last = found.steps[-1] if found.steps else None
    optimality = found.optimality
    return {
        "status": found.status.code,
        "sentence": respell(found.status.sentence),
        "alpha": found.sparsity,
        "choice": found.settings.get("choice"),
        "n_variables": len(network.names),
        "n_edges": network.n_edges,
        "n_undecided": network.n_undecided,
        "certificate": None if last is None else last.certificate,
        "confidence": None if last is None else last.confidence,
        "certified": found.certified,
        "optimality": None if optimality is None else str(optimality),
    }


def _draw(
    found: Fit,
    network: Network,
    rows: LoadedTable,
    groups: Groups,
    report: Path | None,
    picture: Path | None,
    choice: Choice | None,
) -> list[Path]:
    """Write the page and the picture that are asked for."""
    files = []
    if report is not None:
        from sparsefield.report import write_report

        more: dict[str, Any] = {"choice": choice, "sample_weight": rows.weights, "inference": network.inference}
        write_report(found, report, table=rows.table, groups=groups.group_of, network=network, **more)
        files.append(report)
    if picture is not None:
        from sparsefield.plotting import NetworkDisplay

        NetworkDisplay.from_fit(network, groups=groups.group_of, alpha=found.sparsity).save(picture)
        files.append(picture)
    return files


def _tell(out: Output, found: Fit, network: Network, *, verbose: bool) -> None:
    """Say what was found, how sure it is, and what the computation leaves open; all about that, where it is wanted."""
    from sparsefield.data import count

    if network.n_edges:
        out.say(_make_grid(network))
    n_open = network.n_undecided
    settled = f", {n_open} of them undecided: simulation error leaves open whether they are there" if n_open else ""
    if settled or "choice" not in found.settings:  # which says how many there are
        out.say(f"{count(network.n_edges, 'edge')}{settled}.")
    for sentence in describe_edges(found, network):
        out.say(sentence)
    if network.inference is not None and network.n_edges:
        out.say(explain_q(network.inference))
    if found.is_serious or found.status.code == "interrupted":
        out.complain(respell(found.status.sentence))
    elif verbose:
        out.say(respell(found.status.sentence))
    elif found.computed:
        out.say(found.computed)
    if verbose:
        out.say(f"Certificate of the last gradient: {found.certified}")
        if found.optimality is not None:
            out.say(f"Certificate of the fit: {found.optimality}")


def _make_grid(network: Network) -> Grid:
    """Show the strongest edges, and how sure they are where that is known."""
    from sparsefield.pairs import as_level

    grid = Grid("", "", title="Strongest edges", title_justify="left")
    told = [] if network.inference is None else ["estimate", f"{as_level(network.inference.level)} interval", "q"]
    for name in ("weight", *told):
        grid.add_column(name, justify="right" if told else "left")
    edges = network.edges.filter(network.edges["weight"] != 0)
    for row in edges.head(_STRONGEST).to_dicts():
        names = row["first"], row["second"]
        mark = " (undecided)" if row.get("undecided") else ""
        weight = f"{network.write(*names, row['weight'])}{mark}"
        grid.add_row(*map(plain, names), weight, *(say_interval(row, network.form_of(*names, 2)) if told else ()))
    return grid
