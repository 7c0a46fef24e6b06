"""The pseudo-likelihood beside nodewise regressions: 20 to 1000 variables, 1000 to 1,000,000 rows.

    make bench-pseudolikelihood [PEERS=1]

Fields have four neighbours each; rows are draws of Gibbs chains. The penalty of a table is the one at which about one
in a hundred of the pairs that do not interact would pass it, were they independent. The joint objective is half the
sum over all regressions of the mean loss plus alpha times the absolute coefficients, of which those of a pair are the
same: alpha is what peers have. They fit each variable for itself, and an interaction is the mean of its two
coefficients. abess has no such penalty, but a number of neighbours: it is told how many our fit found.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from scipy import stats
from sklearn.linear_model import LogisticRegression

from measure import name_machine, store
from sparsefield import Table
from sparsefield._threads import available
from sparsefield._typing import Values
from sparsefield.datasets import make_field
from sparsefield.model import PairwiseMRF
from sparsefield.network import edge_auc
from sparsefield.pseudolikelihood import solve_pseudo_likelihood

VARIABLES, ROWS = (20, 50, 200, 1000), (1000, 10_000, 100_000, 1_000_000)
MOST_CELLS = 2 * 10**8  # of a table: a fifth of a gigabyte of codes
PEER_CELLS = 5 * 10**7  # of tables that peers are tried on, which copy them as floats in every process
MOST_SECONDS = 20.0  # that a peer may take; from how long some of its regressions take
N_TRIED = 2  # regressions of a peer that say how long all of them would take
TOLERANCE = 1e-4  # of all solvers, each in its own sense: the subgradient that each reaches is beside its time
SCALING = 1000.0  # of liblinear's intercept, whose penalty is divided by it: none to speak of


def choose_alpha(n: int) -> float:
    """Return the penalty that a hundredth of independent pairs would pass: their covariances have errors of 1/4."""
    return float(stats.norm.isf(0.005) / 4 / np.sqrt(n))


def by_sklearn(x: Values, i: int, alpha: float, _: int) -> tuple[float, Values]:
    """Regress one variable on the others by liblinear, which minimises C times the summed loss plus the penalty."""
    model = LogisticRegression(
        l1_ratio=1.0, C=1 / (len(x) * alpha), solver="liblinear", tol=TOLERANCE, intercept_scaling=SCALING
    ).fit(np.delete(x, i, axis=1), x[:, i])
    return float(model.intercept_[0]), model.coef_[0]


def by_skglm(x: Values, i: int, alpha: float, _: int) -> tuple[float, Values]:
    """Regress one variable on the others by skglm, which minimises the mean loss plus alpha times the penalty."""
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(alpha, tol=TOLERANCE).fit(np.delete(x, i, axis=1), x[:, i])
    return float(np.ravel(model.intercept_)[0]), np.ravel(model.coef_)


def by_abess(x: Values, i: int, _: float, size: int) -> tuple[float, Values]:
    """Find the best subset of a size by abess, which is what it does; one that is empty has nothing to find."""
    from abess import LogisticRegression as BestSubset

    if size == 0:
        share = x[:, i].mean()
        return float(np.log(share / (1 - share))), np.zeros(x.shape[1] - 1)
    model = BestSubset(support_size=size).fit(np.delete(x, i, axis=1), x[:, i])
    return float(np.ravel(model.intercept_)[0]), np.ravel(model.coef_)


Regress = Callable[[Values, int, float, int], tuple[float, Values]]


def fit_nodewise(
    table: Table, alpha: float, regress: Regress, nodes: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Values, Values]:
    """Fit some variables in as many processes as there are processors; return intercepts and coefficients."""
    x, p = np.asfortranarray(table.codes, dtype=np.float64), table.domain.n_variables
    fits = Parallel(n_jobs=available(), mmap_mode="r")(delayed(regress)(x, int(i), alpha, int(sizes[i])) for i in nodes)
    intercepts, found = np.zeros(p), np.zeros((p, p))
    for i, (intercept, coefficients) in zip(nodes, fits, strict=True):
        intercepts[i], found[i, np.arange(p) != i] = intercept, coefficients
    return intercepts, found


def measure_subgradient(table: Table, alpha: float, intercepts: Values, coefficients: Values) -> float:
    """Return the root of the sum of squares of the smallest subgradients of all regressions, in double precision."""
    total = 0.0
    for i in range(table.domain.n_variables):
        near = np.flatnonzero(coefficients[i])
        e = table.codes[:, near].astype(np.float64) @ coefficients[i, near] + intercepts[i]
        r = (1 / (1 + np.exp(-e)) - table.codes[:, i]) / table.n_rows
        slopes = np.array([r[column == 1].sum() for column in table.codes.T])
        at_zero = np.maximum(np.abs(slopes) - alpha, 0.0)
        left = np.where(coefficients[i] != 0, slopes + alpha * np.sign(coefficients[i]), at_zero)
        left[i] = r.sum()
        total += float(left @ left)
    return float(np.sqrt(total))


def measure_joint(table: Table, alpha: float, model: PairwiseMRF) -> float:
    """Return the norm of the smallest subgradient of the joint objective, in double precision, without its solver."""
    p, x = table.domain.n_variables, table.codes
    slopes = np.empty((p, p))
    for i in range(p):
        near = np.flatnonzero(model.interactions[i])
        e = x[:, near].astype(np.float64) @ model.interactions[i, near] + model.main[i]
        r = (1 / (1 + np.exp(-e)) - x[:, i]) / table.n_rows
        slopes[i] = [r[column == 1].sum() for column in x.T]
        slopes[i, i] = r.sum()
    gradient = np.triu((slopes + slopes.T) / 2, 1)
    held = np.triu(model.interactions, 1)
    at_zero = np.maximum(np.abs(gradient) - alpha, 0.0)
    left = np.triu(np.where(held != 0, gradient + alpha * np.sign(held), at_zero), 1)
    return float(np.sqrt((left**2).sum() + (np.diagonal(slopes) ** 2).sum() / 4))


def bench(p: int, n: int, peers: dict[str, Regress], has_quality: bool) -> list[dict[str, Any]]:
    """Fit one table by all; peers that would take too long are tried, and say how long."""
    truth = make_field(p, degree=4, strength=(0.5, 1.0), seed=1)
    table = truth.sample(n, n_sweeps=100, seed=1)
    alpha = choose_alpha(n)
    clock = time.perf_counter()
    fit = solve_pseudo_likelihood(table, alpha, tol=TOLERANCE)
    facts = {"p": p, "n": n, "alpha": alpha}
    rows: list[dict[str, Any]] = [
        {**facts, "name": "PseudoLikelihood", "seconds": time.perf_counter() - clock, "is_whole": True}
    ]
    rows[0]["auc"] = float(edge_auc(fit.model.interactions, truth))
    rows[0]["edges"] = fit.model.n_edges
    rows[0]["subgradient"] = measure_joint(table, alpha, fit.model) if has_quality else None
    sizes = np.count_nonzero(fit.model.interactions, axis=1)
    for name, regress in peers.items() if p * n <= PEER_CELLS else ():
        some = np.arange(0, p, p // N_TRIED)[:N_TRIED]
        clock = time.perf_counter()
        fit_nodewise(table, alpha, regress, some, sizes)
        expected = (time.perf_counter() - clock) * p / len(some)
        row = {**facts, "name": name, "seconds": expected, "is_whole": expected <= MOST_SECONDS}
        if row["is_whole"]:
            clock = time.perf_counter()
            intercepts, coefficients = fit_nodewise(table, alpha, regress, np.arange(p), sizes)
            row["seconds"] = time.perf_counter() - clock
            found = (coefficients + coefficients.T) / 2
            row["auc"], row["edges"] = float(edge_auc(found, truth)), int(np.count_nonzero(np.triu(found, 1)))
            if has_quality and regress is not by_abess:
                row["subgradient"] = measure_subgradient(table, alpha, intercepts, coefficients)
        rows.append(row)
    return rows


def write_table(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a line for each fit."""
    lines = [
        "# The pseudo-likelihood beside nodewise regressions",
        "",
        f"Made by `make bench-pseudolikelihood PEERS=1` on {name_machine()}; versions and commit are in "
        "pseudolikelihood.json.",
        "",
        "Fields with four neighbours each. Times are of the wall: ours on as many threads as there are processors, "
        "peers with a regression in each of as many processes (joblib, one thread each). A peer that would take more "
        f"than {MOST_SECONDS:.0f} s by {N_TRIED} of its regressions is not run; what it would take is told with a "
        f"tilde, and it is not tried on more rows, nor on more than {PEER_CELLS:,} cells. The "
        "subgradient is the norm of the smallest one of the objective that each solver minimises, in double "
        "precision, where a table has at most 10^8 products of a row and two columns. liblinear pays a penalty for "
        f"intercepts, which `intercept_scaling={SCALING:g}` makes negligible. abess finds the best subset of a given "
        "size and has no penalty: it is told how many neighbours our fit found for each variable, so that it need not "
        "choose, and has no subgradient to compare.",
        "",
        "| variables | rows | alpha | | seconds | times ours | subgradient | AUC | edges |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ours = {(row["p"], row["n"]): row["seconds"] for row in rows if row["name"] == "PseudoLikelihood"}
    for row in rows:
        left = row.get("subgradient")
        cells = [
            f"{row['p']}",
            f"{row['n']:,}",
            f"{row['alpha']:.2g}",
            row["name"],
            f"{'' if row['is_whole'] else '~'}{row['seconds']:.3g}",
            f"{row['seconds'] / ours[row['p'], row['n']]:.3g}",
            "" if left is None else f"{left:.1e}",
            f"{row['auc']:.3f}" if "auc" in row else "",
            f"{row['edges']}" if "edges" in row else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Measure all sizes, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--peers", action="store_true", help="measure skglm and abess too")
    parser.add_argument("--most-cells", type=int, default=MOST_CELLS, help="of a table, to try it on small ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=150)
    peers: dict[str, Regress] = {"nodewise, scikit-learn": by_sklearn}
    if options.peers:
        peers |= {"nodewise, skglm": by_skglm, "nodewise, abess": by_abess}
    for p, n in ((20, 5000), (120, 1000)):  # compile: rows that repeat, and bounds of gradients, are for some sizes
        bench(p, n, peers, has_quality=False)
    rows: list[dict[str, Any]] = []
    for p in VARIABLES:
        left = dict(peers)
        for n in ROWS:
            if p * n <= options.most_cells:
                new = bench(p, n, left, has_quality=p * p * n <= 10**8)
                console.print(new)
                rows += new
                left = {name: left[name] for name in left if all(r["is_whole"] for r in new if r["name"] == name)}
    options.output.mkdir(parents=True, exist_ok=True)
    store({"rows": rows}, options.output / "pseudolikelihood.json")
    write_table(rows, options.output / "pseudolikelihood.md")
    console.print((options.output / "pseudolikelihood.md").read_text())


if __name__ == "__main__":
    main()
