"""The command that draws rows again, and says what edges owe to the choice of rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain, plain_errors, quiet_warnings
from sparsefield.cli._files import beside, check_pages, check_pictures, check_tables, check_writable, write_table
from sparsefield.cli._groups import Groups, load_groups
from sparsefield.cli._help import Command
from sparsefield.cli._many import ManyFits
from sparsefield.cli._pairs import Inferring, compare, describe_edges, describe_sampling, say_interval
from sparsefield.cli._signature import spread
from sparsefield.cli._spelling import respell
from sparsefield.cli._tables import Reading

if TYPE_CHECKING:  # the command imports these when it runs: its help need not wait for them
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.learning import Alpha
    from sparsefield.network import Network
    from sparsefield.resampling import Bootstrap, Stability

_STRONGEST = 12  # edges to print
_OFTEN, _SELDOM = 0.95, 0.5  # shares of resamples: edges that are nearly always found, and those that mostly are not


@dataclass(frozen=True)
class _Files:
    """What is written beside the table of edges, and what is known of the nodes in it."""

    field: Annotated[Path | None, typer.Option(help="Also save the fit of all rows (.field).")] = None
    report: Annotated[Path | None, typer.Option(help="Also write an interactive page (.html).")] = None
    picture: Annotated[
        Path | None, typer.Option(help="Also draw how often each edge is found (.png, .svg or .pdf).")
    ] = None
    differences_picture: Annotated[
        Path | None, typer.Option(help="Also draw which edges differ in weight (.png, .svg or .pdf).")
    ] = None
    stability_picture: Annotated[
        Path | None, typer.Option(help="With --stability: also draw how few rows tell the same (.png, .svg or .pdf).")
    ] = None
    nodes: options.Nodes = None
    color: options.Color = None

    @property
    def pictures(self) -> tuple[Path | None, ...]:
        """The pictures."""
        return self.picture, self.differences_picture, self.stability_picture

    @property
    def named(self) -> list[Path]:
        """The files that are asked for."""
        return [file for file in (self.field, self.report, *self.pictures) if file is not None]


@dataclass(frozen=True, eq=False)
class _Results:
    """What there is to tell: the bootstrap, the network of all rows, and what was asked for beside them."""

    bootstrap: Bootstrap
    network: Network
    stability: Stability | None = None


def _check_share(share: float | None) -> float | None:
    if share is not None and not 0 < share < 1:
        raise typer.BadParameter("use a number between 0 and 1, or leave it out to draw with replacement.")
    return share


@app.command(cls=Command)
@spread
def bootstrap(
    data: options.Data,
    *,
    alpha: options.Alpha = None,
    resamples: Annotated[int, typer.Option("--resamples", "-n", min=2, help="How many resamples.")] = 100,
    share: Annotated[
        float | None,
        typer.Option(
            callback=_check_share,
            help="The share of rows that each resample keeps; as many as there are, drawn with replacement, unless "
            "given.",
        ),
    ] = None,
    stability: Annotated[
        bool,
        typer.Option(
            "--stability/--no-stability",
            help="Also fit fewer and fewer rows, in five times as many fits, to see how few would have told the same.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the edges (.csv, .tsv or .parquet); beside the data else."),
    ] = None,
    files: _Files,
    asked: ManyFits,
    inferring: Inferring,
    reading: Reading,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Fit rows that are drawn again and again, and say how often each edge is found."""
    from sparsefield.network import Network
    from sparsefield.resampling import bootstrap as draw_again
    from sparsefield.resampling import stability as drop_rows

    out = Output(quiet=quiet, as_json=json)
    output = beside(data, ".bootstrap.csv") if output is None else output
    check_writable(output, *files.named, inputs=(data, files.nodes))
    check_tables(output)
    check_pages(files.report)
    check_pictures(*files.pictures)
    if files.stability_picture is not None and not stability:
        raise typer.BadParameter("there is nothing to draw without --stability.", param_hint="--stability-picture")
    rows = reading.load(data, out, asked.missing, inferring)
    table = rows.table
    groups = load_groups(files.nodes, files.color, table.domain.names, out)
    clock = time.perf_counter()
    if inferring.cluster is not None:
        out.warn("Resamples are drawn row by row, whatever --cluster says: intervals know of clusters, shares do not.")
    with plain_errors(data, interrupted=asked.describe_interrupt), quiet_warnings(out):
        inferring.check(rows)
        penalty: Alpha = "auto" if alpha is None else alpha
        how: dict[str, Any] = {"out": out, "alpha": penalty, "n": resamples, "sample_weight": rows.weights}
        how["progress"] = False  # there is a bar
        found = asked.run("resamples", draw_again, table, share=share, **asked.pieces("resamples"), **how)
        fit = replace(found.fit, settings={"random_state": asked.seed, **found.fit.settings})
        if "choice" in fit.settings:
            out.say(str(fit.settings["choice"]))
        results = _Results(replace(found, fit=fit), Network.of(fit))
        write_table(found.table, output)
    with plain_errors(data, kept=output, interrupted=asked.describe_interrupt), quiet_warnings(out):
        if stability:
            dropped = asked.run("subsamples", drop_rows, table, **asked.pieces("subsamples"), **how)
            results = replace(results, stability=dropped)
        is_wanted = not (out.is_silent and files.report is None and files.picture is None)
        pairs = inferring.find(
            rows, out, reading.weight, missing=asked.missing, n_threads=asked.threads, is_wanted=is_wanted
        )
        results = replace(results, network=Network.of(results.network, pairs))
        _write(results, files, rows, groups)
    _tell(out, results, time.perf_counter() - clock)
    if pairs is not None:
        for sentence in describe_sampling(pairs, rows, inferring, reading.weight):
            out.say(sentence)
    out.say("Written: " + ", ".join(str(file) for file in (output, *files.named)))
    out.give(
        {
            **_as_numbers(results),
            "n_variables": table.domain.n_variables,
            "seconds": time.perf_counter() - clock,
            "files": [str(file) for file in (output, *files.named)],
        }
    )


def _write(results: _Results, files: _Files, rows: LoadedTable, groups: Groups) -> None:
    """Write what is asked for."""
    found, dropped = results.bootstrap, results.stability
    if files.field is not None:
        found.fit.save(files.field)
    if any(files.pictures):
        # matplotlib takes a moment to import.
        from sparsefield.plotting import DifferencesDisplay, SharesDisplay, StabilityDisplay

        if files.picture is not None:
            SharesDisplay.from_bootstrap(found, inference=results.network.inference).save(files.picture)
        if files.differences_picture is not None:
            DifferencesDisplay.from_bootstrap(found).save(files.differences_picture)
        if files.stability_picture is not None and dropped is not None:
            StabilityDisplay.from_stability(dropped).save(files.stability_picture)
    if files.report is not None:
        from sparsefield.report import write_report

        more: dict[str, Any] = {"bootstrap": found, "stability": dropped}
        more |= {"sample_weight": rows.weights, "network": results.network, "inference": results.network.inference}
        write_report(found.fit, files.report, table=rows.table, groups=groups.group_of, **more)


def _count(found: Bootstrap) -> dict[str, int]:
    """Count the edges of the fit of all rows, those that nearly all resamples have, and other pairs."""
    import polars as pl

    edges = found.table.filter(pl.col("weight") != 0)
    return {
        "n_edges": len(edges),
        "n_often": len(edges.filter(pl.col("selected") >= _OFTEN)),
        "n_seldom": len(edges.filter(pl.col("selected") < _SELDOM)),
        "n_other_pairs": len(found.table) - len(edges),
    }


def _tell(out: Output, results: _Results, seconds: float) -> None:
    from sparsefield.data import count

    found, n = results.bootstrap, _count(results.bootstrap)
    if n["n_edges"]:
        out.say(_make_grid(found, results.network))
    often, others = n["n_often"], n["n_other_pairs"]
    out.say(
        f"{count(n['n_edges'], 'edge')} in the fit of all rows: {often} of them {'is' if often == 1 else 'are'} found "
        f"in {_OFTEN:.0%} of the resamples or more, {n['n_seldom']} in less than half. {count(others, 'other pair')} "
        f"{'has' if others == 1 else 'have'} an edge in some resample; {seconds:.1f} s."
    )
    for sentence in describe_edges(found.fit, results.network):
        out.say(sentence)
    (out.complain if found.fit.is_serious else out.say)(f"The fit of all rows: {respell(found.fit.status.sentence)}")
    for own in (found, results.stability):
        if own is not None:
            (out.complain if own.ends.is_serious else out.say)(respell(own.sentence))


def _make_grid(found: Bootstrap, network: Network) -> Grid:
    """Show the strongest edges, how often they are found, and estimates with intervals where these are known."""
    from sparsefield.pairs import as_level

    grid = Grid("", "", title="Strongest edges", title_justify="left")
    told = () if network.inference is None else ("estimate", f"{as_level(network.inference.level)} interval")
    for name in ("weight", "found in", *told):
        grid.add_column(name, justify="right")
    shares = found.table.select("first", "second", "selected")
    edges = network.edges.join(shares, on=["first", "second"], how="left", maintain_order="left")
    for row in edges.filter(edges["weight"] != 0).head(_STRONGEST).to_dicts():
        names = row["first"], row["second"]
        more = say_interval(row, network.form_of(*names, 2))[: len(told)] if told else ()
        weight = network.write(*names, row["weight"])
        grid.add_row(*map(plain, names), weight, f"{row['selected']:.1%}", *more)
    return grid


def _as_numbers(results: _Results) -> dict[str, Any]:
    """Return what programs want to know."""
    found, dropped = results.bootstrap, results.stability
    return {
        "alpha": found.fit.sparsity,
        "choice": found.fit.settings.get("choice"),
        "status": found.fit.status.code,
        "n_rows": found.n_rows,
        "n_resamples": found.n_resamples,
        **_count(found),
        "sentence": found.sentence,
        "inference": compare(results.network),
        "stability": None
        if dropped is None
        else {
            "edges": dropped.coefficient("edges"),
            "strength": dropped.coefficient("strength"),
            "sentence": dropped.sentence,
        },
    }
