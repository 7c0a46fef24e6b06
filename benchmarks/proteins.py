"""Contacts of a protein from the sequences of its family: mean-field DCA, pseudo-likelihood and likelihood.

    SPARSEFIELD_OUTSIDE=... make bench-proteins

The sequences are 4915 of the Kunitz domain (PF00014), 53 columns (data of PlmDCA.jl, MIT); contacts are pairs of
columns at least five apart with heavy atoms closer than 8 angstrom in the structure (PDB entry 5PTI). All methods have
the same sequences, weighted at 80 % identity, and the same ranking: Frobenius norms in the zero-sum gauge, with the
average product correction. The files are not part of the project; ``SPARSEFIELD_OUTSIDE`` names the folder that has
them. Kernels that were never used before are compiled within the seconds of a fit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

import sparsefield as sf
from measure import name_machine, store
from sparsefield.data import UnknownLettersWarning, weighted_moments
from sparsefield.model import across_variables

SEPARATION, DISTANCE = 5, 8.0  # columns; angstrom
DEPTHS = (20, 30, 53)  # pairs: the last is one for each column
# An edge has up to 400 parameters: Newton steps hold 4096 of them, and gradient steps are for more.
ALPHAS, LIKELIHOOD_ALPHAS = (0.02, 0.01), (0.02, 0.01)
PSEUDOCOUNT = 0.5  # as Morcos et al. (2011) have it, of all sequences

Row = dict[str, Any]


def mean_field(table: sf.proteins.Alignment, weights: NDArray[np.float64]) -> sf.PairwiseMRF:
    """Return the field of mean-field DCA (Morcos et al. 2011): interactions are minus the inverse covariance.

    Covariances are those of the levels other than the reference, with pseudocounts: half of the weight is on sequences
    of independent, uniformly distributed letters. Main effects are left at zero, as contacts do not need them.
    """
    domain = table.domain
    moments = weighted_moments(table, weights).pair
    n_levels = domain.n_levels[domain.slot_variables].astype(float)
    uniform = across_variables(domain, 1 / np.outer(n_levels, n_levels))
    np.fill_diagonal(uniform, 1 / n_levels)
    pair = (1 - PSEUDOCOUNT) * moments + PSEUDOCOUNT * uniform
    main = np.diagonal(pair)
    inverse = np.linalg.inv(pair - np.outer(main, main))
    interactions = across_variables(domain, -(inverse + inverse.T) / 2)
    np.fill_diagonal(interactions, 0.0)
    return sf.PairwiseMRF(domain, np.zeros(domain.n_slots), interactions)


def fit_pseudo_likelihood(table: sf.proteins.Alignment, weights: NDArray[np.float64], alpha: float) -> sf.Fit:
    """Return a fit of the pseudo-likelihood."""
    return sf.PseudoLikelihood(alpha, progress=False).fit(table, sample_weight=weights).fit_


def fit_likelihood(table: sf.proteins.Alignment, weights: NDArray[np.float64], alpha: float, seconds: float) -> sf.Fit:
    """Return a fit of the likelihood by the paper's steps on persistent chains, from the pseudo-likelihood."""
    clock = time.perf_counter()
    start = sf.PseudoLikelihood(alpha, tol=1e-3, progress=False).fit(table, sample_weight=weights).model_
    return sf.learn(
        table,
        alpha,
        solver=sf.Proximal(schedule=3, chains="persistent", n_chains=10_000),
        init=start,
        max_seconds=seconds - (time.perf_counter() - clock),
        sample_weight=weights,
        seed=1,
    )


def measure(name: str, alpha: float | None, fit: Callable[[], Any], contacts: set[tuple[str, str]]) -> Row:
    """Fit, and count how many of the best pairs are contacts."""
    clock = time.process_time()
    fitted = fit()
    seconds = time.process_time() - clock
    ranked = sf.proteins.rank_contacts(fitted, min_separation=SEPARATION)
    hits = [pair in contacts for pair in ranked.select("first", "second").iter_rows()]
    is_fit = isinstance(fitted, sf.Fit)
    gap = fitted.optimality.gap if is_fit and fitted.optimality is not None else None
    return {
        "method": name,
        "alpha": alpha,
        "seconds": seconds,
        "edges": sf.edge_table(fitted).filter(pl.col("weight") != 0).height,
        **{f"of the best {n}": sum(hits[:n]) if len(hits) >= n else f"{sum(hits)} of {len(hits)}" for n in DEPTHS},
        "status": fitted.status.code if is_fit else None,
        "certified gap": gap if gap is not None and np.isfinite(gap) else None,
        "in words": str(fitted.status) if is_fit else "",
    }


def measure_all(folder: Path, options: argparse.Namespace, console: Console) -> tuple[Row, list[Row]]:
    """Read the family, and measure every method; return what the family is like as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLettersWarning)
        # Every letter in every column, as mean-field DCA has it; and only those that occur, to learn from.
        whole = sf.proteins.read_alignment(folder / "PF00014_match53.fasta", levels="all")
        seen = sf.proteins.read_alignment(folder / "PF00014_match53.fasta")
    sf.proteins.sequence_weights(seen[:2])  # compiles
    clock = time.process_time()
    weights = sf.proteins.sequence_weights(seen)
    seconds = time.process_time() - clock
    close = pl.read_csv(folder / "5pti_contacts.csv").filter(
        (pl.col("min_heavy_dist") < DISTANCE) & (pl.col("col_j") - pl.col("col_i") >= SEPARATION)
    )
    contacts = {(str(i), str(j)) for i, j in close.select("col_i", "col_j").iter_rows()}
    p = seen.domain.n_variables
    n_pairs = (p - SEPARATION) * (p - SEPARATION + 1) // 2
    family = {
        "sequences": len(seen),
        "columns": p,
        "effective sequences": float(weights.sum()),
        "seconds of weights": seconds,
        "share of contacts": len(contacts) / n_pairs,
    }
    cases: list[tuple[str, float | None, Callable[[], Any]]] = [
        ("mean-field DCA", None, partial(mean_field, whole, weights)),
        *(
            ("pseudo-likelihood", alpha, partial(fit_pseudo_likelihood, seen, weights, alpha))
            for alpha in options.alphas
        ),
        *(
            ("likelihood", alpha, partial(fit_likelihood, seen, weights, alpha, options.seconds))
            for alpha in options.likelihood_alphas
        ),
    ]
    rows = []
    for case in cases:
        rows.append(measure(*case, contacts))
        console.print(rows[-1])
    return family, rows


def write_page(family: Row, rows: list[Row]) -> str:
    """Return the page of the results."""
    columns = [name for name in rows[0] if name != "in words"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        values = [row[name] for name in columns]
        cells = ["" if own is None else f"{own:.3g}" if isinstance(own, float) else str(own) for own in values]
        lines.append("| " + " | ".join(cells) + " |")
    return (
        "# Contacts of a protein from the sequences of its family\n\n"
        f"Made by `make bench-proteins` on {name_machine()}; versions and commit are in proteins.json. "
        f"{family['sequences']} sequences of {family['columns']} columns (PF00014) count as "
        f"{family['effective sequences']:.0f}: weights at 80 % identity take {family['seconds of weights']:.2g} s. "
        f"Of all pairs at least {SEPARATION} columns apart, {family['share of contacts']:.0%} have heavy atoms closer "
        f"than {DISTANCE:g} angstrom (5PTI). The table counts them among the best pairs of each method, or "
        "among all that it has where these are fewer. Seconds are those of processors; an empty last cell "
        "means that no gap was certified.\n\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--alphas", type=float, nargs="*", default=ALPHAS, help="of the pseudo-likelihood")
    parser.add_argument("--likelihood-alphas", type=float, nargs="*", default=LIKELIHOOD_ALPHAS)
    parser.add_argument("--seconds", type=float, default=150.0, help="of a likelihood fit, at most")
    options = parser.parse_args()
    if "SPARSEFIELD_OUTSIDE" not in os.environ:
        sys.exit("SPARSEFIELD_OUTSIDE is not set: it names the folder with pf00014/.")
    console = Console(width=140)
    family, rows = measure_all(Path(os.environ["SPARSEFIELD_OUTSIDE"]) / "pf00014", options, console)
    text = write_page(family, rows)
    console.print(text)
    store({"family": family, "rows": rows}, options.output / "proteins.json")
    (options.output / "proteins.md").write_text(text)


if __name__ == "__main__":
    main()
