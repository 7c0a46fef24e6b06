"""The command line: the only place that prints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

import sparsefield
from sparsefield.certificates import coalescence
from sparsefield.datasets import Senate, load_senate, make_field
from sparsefield.inference import Gibbs, Perfect

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
    """Look at the embedded Senate votes, and sample a field whose moments are known, with certificates."""
    if not output.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(output.parent)!r}: make it first.", param_hint="--output")
    senate = load_senate()
    _print_senate(senate)
    _draw_senate(senate, output)
    _sample_known_field(seed)


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


def _sample_known_field(seed: int) -> None:
    n_chains, n_sweeps = 50_000, 100
    model = make_field(20, seed=seed)
    exact = model.moments()
    for method in (Gibbs(1, 1, seed), Perfect(1, seed)):
        method.moments(model)  # compile before the clock starts
    start = time.perf_counter()
    estimate = Gibbs(n_chains, n_sweeps, seed).moments(model)
    seconds = time.perf_counter() - start
    pairs = np.triu_indices(20)
    error = np.abs(estimate.pair - exact.pair)[pairs]
    noise = np.sqrt(exact.pair * (1 - exact.pair) / n_chains)[pairs]
    _console.print(
        f"[bold]A field of 20 variables[/bold] with the paper's strength (1 to 2): {n_chains:,} chains, "
        f"{n_sweeps} sweeps in {seconds:.2f} s "
        f"({20 * n_chains * n_sweeps / seconds / 1e9:.1f} billion updates a second).\n"
        f"Largest error of its {len(error)} moments against enumeration: {error.max():.4f}; "
        f"one standard error of such a moment is at most {noise.max():.4f}."
    )
    _console.print(f"Certificate: {coalescence(model, n_sweeps, n_chains, seed=seed)}")
    start = time.perf_counter()
    chains, run = Perfect(n_chains, seed).draw(model)
    seconds = time.perf_counter() - start
    error = np.abs(chains.moments().pair - exact.pair)[pairs]
    _console.print(
        f"[bold]Exact draws[/bold] of it, without any bias: {n_chains:,} in {seconds:.2f} s, "
        f"{run.sweeps_per_draw:.0f} sweeps each. Largest error: {error.max():.4f}."
    )


def main() -> None:
    """Run the command line."""
    app()
