"""The bootstrap: intervals on known fields, and the Senate's votes, with its time beside that of one fit.

    make bench-bootstrap

All fits have one process, and the threads that there are; in a bootstrap, linear algebra has one. Votes that were not
cast count as nays.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

import intervals
import sparsefield as sf
from measure import name_machine, store
from sparsefield.resampling import Bootstrap, bootstrap
from sparsefield.selection import select
from sparsefield_experiments import describe_machine
from sparsefield_experiments._votes import NELSON, ROCKEFELLER, Votes, load_votes

# Penalties to choose from, equal ratios apart, down to the paper's. If the last is the best of them, the choice's
# sentence says so.
N_ALPHAS, PAPERS_ALPHA = 10, 0.1
N_NAMED = 10  # links across parties that are named


def clock(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what an action returns, and how many seconds it took: by the clock, and of all processors together."""
    began, worked = time.perf_counter(), time.process_time()
    found = action()
    return found, {"seconds": time.perf_counter() - began, "processor seconds": time.process_time() - worked}


def measure_senate(n: int) -> dict[str, Any]:
    """Choose a penalty, measure one fit and a bootstrap with it, and make a bootstrap with the paper's."""
    votes = load_votes()
    most = sf.selection.alpha_max(votes.nays)
    alphas = [float(alpha) for alpha in np.geomspace(most, PAPERS_ALPHA, N_ALPHAS)]
    bootstrap(votes.nays, alpha=0.9 * most, n=2)  # compiles, and reads compiled code
    choice, choosing = clock(lambda: select(votes.nays, sf.EBIC(alphas=alphas)))
    _, default = clock(lambda: sf.learn(votes.nays, choice.alpha))
    with threadpool_limits(1, user_api="blas"):  # as resamples have it, and the fit that they start at
        _, alone = clock(lambda: sf.learn(votes.nays, choice.alpha))
    found, whole = clock(lambda: bootstrap(votes.nays, alpha=choice.alpha, n=n))
    denser, longer = clock(lambda: bootstrap(votes.nays, alpha=PAPERS_ALPHA, n=n))
    return {
        "choice": choice.sentence,
        "largest frequency": find_largest(votes),
        "times": {
            f"a choice of {N_ALPHAS} penalties": choosing,
            f"one fit with the default gap, alpha {choice.alpha:.3g}": default,
            "the same, linear algebra with one thread": alone,
            f"that and {n} resamples": whole,
            f"a fit and {n} resamples, alpha {PAPERS_ALPHA:g}": longer,
        },
        "found": {f"alpha {own:.3g}": describe(b, votes) for own, b in ((choice.alpha, found), (PAPERS_ALPHA, denser))},
        "across": name_links(denser, votes),
    }


def find_largest(votes: Votes) -> float:
    """Return by how much the frequency of two yeas across parties differs from independence, at most."""
    yeas = np.asarray(votes.nays.codes, dtype=np.float64)
    covariance = np.cov(yeas.T, bias=True)
    return float(np.abs(covariance[votes.is_across]).max())


def describe(found: Bootstrap, votes: Votes) -> dict[str, str]:
    """Count the edges that return."""
    edges = found.table.filter(found.table["weight"] != 0)
    return {
        "edges of the fit": f"{edges.height}",
        "of these, found in 95% of resamples or more": f"{(edges['selected'] >= 0.95).sum()}",
        "found in less than half": f"{(edges['selected'] < 0.5).sum()}",
        "other pairs that have an edge in some resample": f"{found.table.height - edges.height}",
        "what it says": str(found),
        **count_links(found, votes),
    }


def find_links(found: Bootstrap, votes: Votes) -> NDArray[np.bool_]:
    """Say in which resamples pairs are linked across parties by a positive interaction, (n_resamples, n_pairs)."""
    return (found.weights > 0) & votes.is_across[found.pairs[:, 0], found.pairs[:, 1]]


def count_links(found: Bootstrap, votes: Votes) -> dict[str, str]:
    """Count the links across parties, of all senators and of the two whom the paper names."""
    links, fitted = find_links(found, votes), votes.links_across(found.fit.model.interactions)
    shares = links.mean(axis=0)
    told = {
        "links across parties in the fit": f"{fitted.sum() // 2}",
        "links across parties in half of the resamples or more": f"{(shares >= 0.5).sum()}",
        "links across parties in 95% of the resamples or more": f"{(shares >= 0.95).sum()}",
    }
    for name in (ROCKEFELLER, NELSON):
        index = votes.names.index(name)
        numbers = links[:, (found.pairs == index).any(axis=1)].sum(axis=1)
        low, high = np.quantile(numbers, (0.025, 0.975))
        told[f"{name}: links with the other party"] = (
            f"{fitted[index]} in the fit; {numbers.mean():.1f} on average over resamples, 95% from {low:g} to {high:g}"
        )
    return told


def name_links(found: Bootstrap, votes: Votes) -> list[dict[str, Any]]:
    """Return the links across parties that half of the resamples or more have, those that most have first."""
    rows = []
    for k in np.flatnonzero(find_links(found, votes).mean(axis=0) >= 0.5):
        i, j = found.pairs[k]
        low, high = np.quantile(found.weights[:, k], (0.025, 0.975))
        rows.append(
            {
                "first": votes.names[i],
                "second": votes.names[j],
                "weight": float(found.fit.model.interactions[i, j]),
                "selected": float((found.weights[:, k] > 0).mean()),
                "low": float(low),
                "high": float(high),
            }
        )
    return sorted(rows, key=lambda row: (-row["selected"], -row["weight"]))


def report(senate: dict[str, Any], known: list[dict[str, Any]], n: int) -> str:
    """Return the page of results."""
    times = [
        f"| {name} | {own['seconds']:.3g} | {own['processor seconds']:.3g} |" for name, own in senate["times"].items()
    ]
    columns = senate["found"]
    found = [
        f"| {name} | " + " | ".join(own[name] for own in columns.values()) + " |"
        for name in next(iter(columns.values()))
    ]
    links = [
        f"| {own['first']} | {own['second']} | {own['selected']:.0%} | {own['weight']:.2f} | {own['low']:.2f} to "
        f"{own['high']:.2f} |"
        for own in senate["across"][:N_NAMED]
    ]
    return "\n".join(
        [
            "# The bootstrap",
            "",
            f"Made by `make bench-bootstrap` on {name_machine()}; versions and the commit of each part are in "
            "bootstrap.json.",
            "",
            "## Intervals on known fields",
            "",
            intervals.report(known, n),
            "## The Senate's votes",
            "",
            f"Votes that were not cast count as nays. {senate['choice']}",
            "",
            "The frequency of two yeas across parties differs from independence by "
            f"{senate['largest frequency']:.3f} at most: with a larger alpha the fit has no edge between the parties.",
            "",
            "| | seconds | processor seconds |",
            "|---|---|---|",
            *times,
            "",
            "| | " + " | ".join(columns) + " |",
            "|---" * (len(columns) + 1) + "|",
            *found,
            "",
            f"The links across parties that most resamples have, with alpha {PAPERS_ALPHA:g}; weights are shrunken by "
            "the penalty:",
            "",
            "| | | in resamples | weight in the fit | 95% of resamples |",
            "|---|---|---|---|---|",
            *links,
            "",
        ]
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--tables", type=int, default=100, help="tables of each kind of known field")
    parser.add_argument("--part", choices=("all", "known", "senate"), default="all", help="the other is kept as it is")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    console, path = Console(soft_wrap=True), options.output / "bootstrap.json"
    parts = json.loads(path.read_text())["parts"] if options.part != "all" else {}
    if options.part != "senate":
        work = [(field, seed) for field in intervals.FIELDS for seed in range(1, options.tables + 1)]
        known = [intervals.measure_table(*own, options.resamples) for own in track(work, console=console)]
        parts["known"] = {"commit": describe_machine()["commit"], "resamples": options.resamples, "rows": known}
    if options.part != "known":
        parts["senate"] = {"commit": describe_machine()["commit"], **measure_senate(options.resamples)}
    text = report(parts["senate"], parts["known"]["rows"], parts["known"]["resamples"])
    console.print(text)
    store({"parts": parts}, path)
    (options.output / "bootstrap.md").write_text(text)


if __name__ == "__main__":
    main()
