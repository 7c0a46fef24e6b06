"""The command line: the only place that prints."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

import sparsefield
from sparsefield._estimators import SparseMRF
from sparsefield._graph import edge_table
from sparsefield._optimality import certify
from sparsefield._table import Table
from sparsefield.certificates import coalescence
from sparsefield.datasets import Senate, load_senate

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Sparse discrete Markov random fields.")
_console = Console(highlight=False)


@app.callback()
def _about() -> None:
    """Keep the commands named, also while there is only one."""


@app.command()
def version() -> None:
    """Print the version."""
    _console.print(sparsefield.__version__)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("senate.png"),
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 1,
) -> None:
    """Look at the embedded Senate votes, and learn the network behind them."""
    if not output.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(output.parent)!r}: make it first.", param_hint="--output")
    senate = load_senate()
    _print_senate(senate)
    _draw_senate(senate, output)
    _learn_senate(senate, seed)


@app.command()
def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Run everything at a small size, in a minute or two.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run this experiment alone; may be given more than once.")
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("paper"),
) -> None:
    """Run the experiments of the paper again: figures, numbers, and what they say of its claims."""
    # Imported here for matplotlib, as below.
    from sparsefield.experiments import EXPERIMENTS, run_paper

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
    columns = (TextColumn("{task.description:16}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_console) as progress:
        tasks = {name: progress.add_task(name, total=1.0, start=False) for name in names}

        def tell(name: str, share: float) -> None:
            progress.start_task(tasks[name])
            progress.update(tasks[name], completed=share)

        try:
            claims = run_paper(output, names=names, quick=quick, command=shlex.join(words), tell=tell)
        except KeyboardInterrupt:
            progress.stop()
            _console.print(f"Interrupted. What was finished by then is in {output.resolve()}")
            raise typer.Exit(130) from None
    grid = Grid("claim", "verdict")
    for claim in claims:
        grid.add_row(claim.words, claim.verdict)
    _console.print(grid)
    _console.print(f"Figures, numbers and pages: {output.resolve() / 'index.md'}")


def _print_senate(senate: Senate) -> None:
    votes = senate.votes
    cells = votes.codes.size
    _console.print(
        f"[bold]Senate 2006[/bold]: {votes.n_rows} roll calls by {votes.domain.n_variables} senators, "
        f"{votes.n_holes.sum()} of {cells} votes not cast ({votes.n_holes.sum() / cells:.1%})."
    )
    grid = Grid("senator", "did not vote", "yea", title="Most often absent", title_justify="left")
    summary = votes.summary()
    yeas = (votes.codes == 1).sum(axis=0) / (votes.n_rows - votes.n_holes)
    for k in np.argsort(-votes.n_holes, kind="stable")[:5]:
        grid.add_row(summary["variable"][int(k)], f"{votes.n_holes[k]} of {votes.n_rows}", f"{yeas[k]:.0%}")
    _console.print(grid)


def _draw_senate(senate: Senate, output: Path) -> None:
    # Imported here: matplotlib takes up to a second, which the other commands need not wait for.
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from sparsefield.plotting import plot_agreement

    colors = {"D": "#1f5fa8", "R": "#b3202c", "I": "#4d9221"}
    ax = plot_agreement(senate.votes, groups=senate.members["party"].to_list(), colors=colors)
    ax.set_title("How often two senators voted alike, 2006")
    plt.savefig(output, dpi=150)
    _console.print(f"Picture of who voted alike: {output.resolve()}\n")


def _learn_senate(senate: Senate, seed: int) -> None:
    _console.print(
        "[bold]The network[/bold] behind the votes, learned by penalised likelihood on exact draws (alpha 0.1):"
    )
    # Votes not cast are filled by the model, given the other votes of the roll call.
    filled, filled_seconds = _fit(senate.votes, seed)
    grid = Grid("senator", "senator", "interaction", title="Strongest edges", title_justify="left")
    for first, second, weight in edge_table(filled.model_).head(8).iter_rows():
        grid.add_row(first, second, f"{weight:+.2f}")
    _console.print(grid)
    _console.print(
        f"{filled.graph().number_of_edges()} edges in {filled_seconds:.1f} s (a first run compiles its kernels). "
        f"{filled.status_}\n"
    )
    # Only with all cells known is the problem convex, and its optimum something to certify.
    nays = Table(senate.votes.domain, np.where(senate.votes.mask, 0, senate.votes.codes).astype(np.uint8))
    whole, whole_seconds = _fit(nays, seed)
    edges = edge_table(whole.fit_)
    settled = edges.filter(~edges["undecided"])
    _console.print(
        f"With votes not cast as nays: {whole.graph().number_of_edges()} edges in {whole_seconds:.1f} s, "
        f"{len(settled)} of them settled beyond the noise of the draws.\n"
        f"Certificate of the gradient: {coalescence(whole.model_, 60, 20_000, seed=seed)}\n"
        f"Certificate of the optimum: {certify(whole.fit_, nays, n_draws=100_000, seed=seed).optimality}\n"
    )


def _fit(votes: Table, seed: int) -> tuple[SparseMRF, float]:
    start = time.perf_counter()
    mrf = SparseMRF(0.1, random_state=seed).fit(votes)
    return mrf, time.perf_counter() - start


def main() -> None:
    """Run the command line."""
    app()
