"""The command that shows what the program does, on embedded data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain_errors, quiet_warnings
from sparsefield.cli._commands import INTERRUPTED
from sparsefield.cli._help import Command

if TYPE_CHECKING:  # the command imports these when it runs: its help need not wait for them
    from sparsefield.datasets import Senate
    from sparsefield.fits import Fit
    from sparsefield.network import Network

_PARTIES = {"D": "Democrat", "R": "Republican", "I": "Independent"}
# The first three colours of plotting.PALETTE, which differ from those of edges to all readers.
_COLORS = {"Democrat": "#243ae1", "Republican": "#a82207", "Independent": "#440253"}


@app.command(cls=Command)
def demo(
    output: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(),
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 1,
    verbose: options.Verbose = False,
) -> None:
    """Learn the network behind the embedded Senate votes: a picture, an interactive page, and a certificate."""
    from sparsefield.datasets import load_senate
    from sparsefield.learning import learn
    from sparsefield.network import Network

    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{str(output)!r} is a file: name a folder.", param_hint="--output")
    output.mkdir(parents=True, exist_ok=True)
    out, senate = Output(), load_senate()
    _describe(out, senate)
    out.say(
        "Which senators vote alike, given how all others vote? The network is learned with a penalty (alpha 0.1), "
        "which leaves out weak edges. The first run takes longer: kernels are compiled."
    )
    clock = time.perf_counter()
    # Votes not cast count as nays, as in the paper: with all cells known the optimum is something to certify.
    votes = senate.votes.fill_missing(0)
    with plain_errors(), quiet_warnings(out):
        fit = learn(votes, 0.1, gap=0.02, seed=seed, certify=True)
    seconds = time.perf_counter() - clock
    network = Network.of(fit)
    grid = Grid("senator", "senator", "interaction", title="Strongest edges", title_justify="left")
    for row in network.edges.head(8).to_dicts():
        grid.add_row(row["first"], row["second"], network.write(row["first"], row["second"], row["weight"]))
    out.say(grid)
    out.say(f"{network.n_edges} edges among {network.n_pairs} pairs. Elapsed: {seconds:.1f} s.")
    if fit.computed:
        out.say(fit.computed)
    if verbose or fit.is_serious or fit.status.code == "interrupted":
        out.say(str(fit.status))
        out.say(f"Certificate of the last gradient: {fit.certified}")
        if fit.optimality is not None:
            out.say(f"Certificate of the fit: {fit.optimality}")
    with plain_errors():
        _write(out, senate, fit, network, output)
    if fit.status.code == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _describe(out: Output, senate: Senate) -> None:
    import numpy as np

    votes = senate.votes
    n = int(votes.n_missing.sum())
    out.say(
        f"Senate 2006: {votes.n_rows} roll calls by {votes.domain.n_variables} senators, "
        f"{n} of {votes.codes.size} votes not cast ({n / votes.codes.size:.1%})."
    )
    grid = Grid("senator", "did not vote", "yea", title="Most often absent", title_justify="left")
    yeas = (votes.codes == 1).sum(axis=0) / (votes.n_rows - votes.n_missing)
    for k in np.argsort(-votes.n_missing, kind="stable")[:5]:
        grid.add_row(votes.domain.names[int(k)], f"{votes.n_missing[k]} of {votes.n_rows}", f"{yeas[k]:.0%}")
    out.say(grid)


def _write(out: Output, senate: Senate, fit: Fit, network: Network, folder: Path) -> None:
    # Imported here: matplotlib takes a second, which other commands need not wait for.
    from sparsefield.plotting import NetworkDisplay
    from sparsefield.report import write_report

    parties = {name: _PARTIES[party] for name, party in senate.members.select("name", "party").iter_rows()}
    page, picture = folder / "senate.html", folder / "senate.png"
    looks: dict[str, Any] = {"groups": parties, "colors": _COLORS}
    # How sure each edge is takes minutes here: senators vote alike, and each of 4,753 pairs needs its own likelihood.
    more: dict[str, Any] = {"network": network, "inference": None, **looks}
    write_report(fit, page, table=senate.votes, title="The Senate of 2006", **more)
    NetworkDisplay.from_fit(network, **looks).save(picture)
    out.say(f"Page to play with: {page.resolve()}")
    out.say(f"Picture: {picture.resolve()}")
