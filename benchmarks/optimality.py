"""How often bounds on the gap of a fit hold, and how close to it they are.

    make bench-optimality

Tables of 1000 rows are drawn from random fields. The optimum of each is found by enumeration, with a bounded
quasi-Newton method that shares nothing with the package. Bounds come from draws, as for fields that are too large to
enumerate, at two points of each problem: a fit, with five times the draws that it ended with, and a point that is far
from the optimum (zero, a pseudo-likelihood fit, or the fit with its parameters moved, dropped or with wrong signs). The
optimum found is never below the true one, so that no gap is larger than it is said to be.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from scipy import optimize
from threadpoolctl import threadpool_limits

import sparsefield as sf
from measure import name_machine, store
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, Simulation
from sparsefield.inference import enumerate_states
from sparsefield.marks import fit_newton
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Problem
from sparsefield.optimality import bound_gap

CONFIDENCE = 0.99
N_ROWS = 1000
TIMES = 5  # the draws of a fit
N_FAR = 50_000
GAPS = (0.05, 0.005, 0.0005)
FAR = ("zero", "pseudo-likelihood", "moved", "dropped", "wrong signs")


@dataclass(frozen=True)
class Setting:
    """A kind of problem, and how many of it."""

    p: int
    alpha: float
    strength: tuple[float, float]
    n: int


SETTINGS = (
    Setting(6, 0.025, (1.0, 2.0), 150),
    Setting(8, 0.025, (0.3, 0.8), 150),
    Setting(8, 0.025, (2.0, 3.0), 100),
    Setting(10, 0.025, (1.0, 2.0), 300),
    Setting(10, 0.005, (0.5, 1.0), 280),
    Setting(14, 0.003, (0.5, 1.0), 30),
)


@dataclass(frozen=True)
class Certified:
    """A bound, and the gap that it is for."""

    setting: int
    seed: int
    is_free: bool
    point: str
    n_draws: int
    n_nonzero: int
    gap: float
    bound: float
    lower: float
    estimate: float | None
    kind: str
    walked: bool
    why: str


def least_objective(problem: Problem) -> float:
    """Minimise the objective by a quasi-Newton method on positive and negative parts."""
    p = problem.domain.n_variables
    rows, columns = np.triu_indices(p)
    states = np.array(list(np.ndindex(*[2] * p)), dtype=np.float64)
    psi = states[:, rows] * states[:, columns]
    mean = problem.data.moments.pair[rows, columns]
    assert problem.penalty.weights is not None
    weight = problem.penalty.weights[rows, columns]

    def value(parts: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        theta = parts[: len(mean)] - parts[len(mean) :]
        exponents = psi @ theta
        weights = np.exp(exponents - exponents.max())
        gradient = weights @ psi / weights.sum() - mean
        smooth = exponents.max() + np.log(weights.sum()) - theta @ mean
        return smooth + weight @ (parts[: len(mean)] + parts[len(mean) :]), np.concatenate(
            [gradient + weight, weight - gradient]
        )

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-14, "gtol": 1e-8, "maxcor": 50}
    start, last = np.zeros(2 * len(mean)), np.inf
    for _ in range(20):
        found = optimize.minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start), options=options
        )
        if found.fun >= last - 1e-10:
            break
        start, last = found.x, found.fun
    return float(found.fun)


def theta_of(model: PairwiseMRF) -> NDArray[np.float64]:
    return np.asarray(model.interactions + np.diag(model.main))


def move_away(name: str, theta: NDArray[np.float64], table: sf.Table, alpha: float, seed: int) -> NDArray[np.float64]:
    """Return a point that is far from the optimum."""
    rng = np.random.default_rng(seed)
    if name == "zero":
        return np.zeros_like(theta)
    if name == "pseudo-likelihood":
        return theta_of(sf.PseudoLikelihood(alpha).fit(table).fit_.model)
    if name == "moved":
        noise = np.triu(rng.normal(0, 0.3, theta.shape))
        return np.asarray(theta + (noise + np.triu(noise, 1).T) * (theta != 0))
    chosen = np.triu(rng.random(theta.shape) < 0.2)
    chosen = chosen | chosen.T
    return np.where(chosen, 0.0 if name == "dropped" else -theta, theta)


def certify_one(number: int, setting: Setting, seed: int) -> Iterator[Certified]:
    """Certify a fit and a point far from the optimum."""
    truth = make_field(setting.p, 0.3, setting.strength, seed=seed)
    table = truth.sample(N_ROWS, method="perfect", seed=seed, max_sweeps=100_000)
    is_free = seed % 3 == 0
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, setting.alpha, not is_free)
    lowest = least_objective(problem)
    asked, far = GAPS[seed // 3 % len(GAPS)], FAR[seed // 9 % len(FAR)]
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(seed=seed), gap=asked)
    theta = theta_of(fit.model)
    points = {
        f"fit, gap {asked:g}": (theta, TIMES * fit.steps[-1].n_chains),
        far: (move_away(far, theta, table, setting.alpha, seed), N_FAR),
    }
    for name, (point, n) in points.items():
        found = bound_gap(problem, point, n_draws=n, confidence=CONFIDENCE, seed=seed + 10**6, max_states=0)
        smooth = enumerate_states(problem.model(point))[0] - np.triu(point * problem.data.moments.pair).sum()
        yield Certified(
            setting=number,
            seed=seed,
            is_free=is_free,
            point=name,
            n_draws=n,
            n_nonzero=int(np.count_nonzero(np.triu(point))),
            gap=float(smooth + problem.penalty.value(point) - lowest),
            bound=found.bound,
            lower=found.lower,
            estimate=found.estimate,
            kind=found.kind,
            walked=found.better is not None,
            why=found.why,
        )


def summarise(rows: list[Certified]) -> dict[str, Any]:
    """Return how often bounds fail, and how close they are."""
    given = [row for row in rows if np.isfinite(row.bound)]
    ratios = [row.bound / max(row.gap, 1e-12) for row in given]
    return {
        "certified": len(rows),
        "below the gap": sum(row.bound < row.gap for row in given),
        "lower bound above the gap": sum(row.lower > row.gap for row in given),
        "refused": len(rows) - len(given),
        "proven": sum(row.kind == "proven" for row in given),
        "walked": sum(row.walked for row in given),
        "bound / gap, median": float(np.median(ratios)) if ratios else None,
        "bound / gap, 0.9 quantile": float(np.quantile(ratios, 0.9)) if ratios else None,
        "smallest": float(np.min(ratios)) if ratios else None,
    }


def group(rows: list[Certified]) -> dict[str, dict[str, Any]]:
    groups = {"all": rows, "all fits": [row for row in rows if row.point.startswith("fit")]}
    groups |= {f"fit, gap {gap:g}": [row for row in rows if row.point == f"fit, gap {gap:g}"] for gap in GAPS}
    groups |= {name: [row for row in rows if row.point == name] for name in FAR}
    fits = groups["all fits"]
    groups |= {
        f"fits, {s.p} variables, strength {s.strength[0]:g} to {s.strength[1]:g}, alpha {s.alpha:g}": [
            row for row in fits if row.setting == number
        ]
        for number, s in enumerate(SETTINGS)
    }
    groups |= {"fits, free main effects": [row for row in fits if row.is_free]}
    return {name: summarise(some) for name, some in groups.items() if some}


def write_table(groups: dict[str, dict[str, Any]], reasons: dict[str, int], path: Path) -> None:
    columns = list(groups["all"])
    lines = [
        "# Bounds on the gap: how often they hold, and how close they are",
        "",
        "Made by `make bench-optimality`; machine, versions and commit are in optimality.json.",
        "",
        f"Confidence {CONFIDENCE}. Fits have bounds from {TIMES} times the draws that they ended with in each batch, "
        f"other points from {N_FAR:,}.",
        "",
        "| problems | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name, found in groups.items():
        cells = [f"{x:.3g}" if isinstance(x, float) else str(x) for x in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "Why bounds were refused:", ""]
    lines += [f"- {why}: {n}" for why, n in sorted(reasons.items(), key=lambda item: -item[1])]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="a folder")
    parser.add_argument("--share", type=float, default=1.0, help="of the problems, for a quick look")
    options = parser.parse_args()
    console = Console(width=140)
    console.print(name_machine())
    jobs = [(k, s, 1000 * k + i) for k, s in enumerate(SETTINGS) for i in range(round(options.share * s.n))]
    rows = []
    with threadpool_limits(1):
        for job in track(jobs, description="Certifying", console=console):
            rows += list(certify_one(*job))
    reasons: dict[str, int] = {}
    for row in rows:
        if row.why:
            why = " ".join("n" if word.isdigit() else word for word in row.why.split())
            reasons[why] = reasons.get(why, 0) + 1
    options.output.mkdir(parents=True, exist_ok=True)
    groups = group(rows)
    broken = [asdict(row) for row in rows if row.bound < row.gap]
    store({"groups": groups, "refused": reasons, "below the gap": broken}, options.output / "optimality.json")
    write_table(groups, reasons, options.output / "optimality.md")
    console.print((options.output / "optimality.md").read_text())


if __name__ == "__main__":
    main()
