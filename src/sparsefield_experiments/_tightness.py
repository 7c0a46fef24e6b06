"""Tightness: bounds on the gradient's error beside the exact error, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sparsefield._typing import Matrix
from sparsefield.certificates import Disagreement, coalescence, fischer, fischer_sweeps
from sparsefield.gradients import Simulation, Tay
from sparsefield.inference import Gibbs
from sparsefield.model import norm
from sparsefield.objective import Problem
from sparsefield.plotting import Curve, plot_curves
from sparsefield_experiments._law import Law
from sparsefield_experiments._record import Record
from sparsefield_experiments._trials import SETTINGS, follow, make_trial

_N_ITER = {False: 300, True: 30}
_BOUNDING = 20_000
_CONFIDENCE = 0.999  # of each coalescence certificate
_BOUNDS = ("paper", "sharp", "coalescence", "persistent", "fischer")
_SHOWN = {
    "error": ("error of 2000 chains", "black", ":"),
    "bias": ("exact bias, worst start", "black", "-"),
    "fischer": ("Fischer's bound", "#b0b0b0", "-"),
    "paper": ("the paper's bound", "#b3202c", "-"),
    "sharp": ("sharp bound", "#1f5fa8", "-"),
    "coalescence": ("bounding chains", "#e08214", "-"),
    "persistent": ("persistent bound", "#4d9221", "-"),
    "persistent_bias": ("exact bias, persistent chains", "#4d9221", "--"),
}


def run_tightness(record: Record) -> None:
    """Follow TAY on a network of 10 nodes, and compare all bounds with the truth in every iteration."""
    setting = SETTINGS[10]
    trial, alpha, n_iter = make_trial(setting, 1), setting.alphas[0], _N_ITER[record.quick]
    problem = trial.problem(alpha)
    persistent = _Persistent(problem)
    rows: list[dict[str, float]] = []
    for theta, info, _ in follow(problem, Tay("paper"), Simulation(setting.n_chains, trial.seed), n_iter):
        record.tell(len(rows) / n_iter)
        n_sweeps = int(info.n_sweeps)
        chains = Gibbs(setting.n_chains, n_sweeps, trial.seed + info.iteration)
        found = _compare(problem, theta, n_sweeps, chains, seed=info.iteration)
        rows.append({"iteration": info.iteration, "sweeps": n_sweeps, **found, **persistent.follow(theta, n_sweeps)})
    frame = pl.DataFrame(rows)
    record.tabulate(frame, "tightness")
    figure = Figure(figsize=(9, 5), layout="constrained")
    shown = frame.filter(frame["bias"] > 0)
    x = shown["iteration"].to_numpy()
    curves = [Curve(label, x, shown[name].to_numpy(), color=c, style=s) for name, (label, c, s) in _SHOWN.items()]
    ax = plot_curves(figure.subplots(), curves, x="iteration", y="L2 norm of the gradient's error")
    ax.set_yscale("log")
    figure.legend(loc="outside right center", frameon=False)
    record.draw(figure, "tightness")
    numbers = {"settings": {"n_variables": 10, "alpha": alpha, "n_chains": setting.n_chains, "n_iter": n_iter}}
    record.state(numbers | _summarise(frame), "tightness")


def _compare(problem: Problem, theta: Matrix, n_sweeps: int, chains: Gibbs, *, seed: int) -> dict[str, float]:
    """Return the true errors of some sweeps at these parameters, and what each bound says of them."""
    model = problem.model(theta)
    law = Law(model)
    worst, usual = law.biases(n_sweeps)
    bounds = {kind: Disagreement(model, kind=kind) for kind in ("paper", "sharp")}
    for bound in bounds.values():
        bound.sweep(n_sweeps)
    closed = coalescence(model, n_sweeps, _BOUNDING, seed=seed, confidence=_CONFIDENCE)
    return {
        "error": norm(chains.moments(model).pair - law.exact),
        "bias": worst,
        "bias_from_random": usual,
        "paper": bounds["paper"].bias,
        "sharp": bounds["sharp"].bias,
        "coalescence": closed.bias,
        "fischer": fischer(model, n_sweeps).bias,
        "fischer_sweeps": fischer_sweeps(model, bounds["paper"].bias),
    }


class _Persistent:
    """Chains that go on from model to model, along the same parameters: their certificate, and their exact law."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._bound: Disagreement | None = None
        p = problem.domain.n_variables
        self._law = np.full((1, 2**p), 2.0**-p)

    def follow(self, theta: Matrix, n_sweeps: int) -> dict[str, float]:
        """Sweep towards a model, and return the bound and the exact bias."""
        model = self._problem.model(theta)
        if self._bound is None:  # uniform starts are exact draws of a model without parameters
            self._bound = Disagreement(model, start="any" if theta.any() else "exact")
        else:
            try:
                self._bound.move(model)
            except ValueError:  # the radius is not below 1: nothing is known of these chains any more
                self._bound = Disagreement(model)
        self._bound.sweep(n_sweeps)
        law = Law(model)
        for _ in range(n_sweeps):
            law.sweep(self._law)
        return {"persistent": self._bound.bias, "persistent_bias": law.bias(self._law)}


def _summarise(frame: pl.DataFrame) -> dict[str, Any]:
    """Return how far each bound is above the truth, as geometric means, and how often it is below it."""
    # Before the first update there is nothing to be wrong about: the model has no parameters.
    told = frame.filter(frame["bias"] > 0)
    bias = {name: told["persistent_bias" if name == "persistent" else "bias"].to_numpy() for name in _BOUNDS}
    bounds = {name: told[name].to_numpy() for name in _BOUNDS}
    error = told["error"].to_numpy()
    return {
        "violations": {name: int((bounds[name] < bias[name]).sum()) for name in _BOUNDS},
        "over_bias": {name: float(np.exp(np.mean(np.log(bounds[name] / bias[name])))) for name in _BOUNDS},
        # The error is that of chains that start anew.
        "over_error": {
            name: float(np.exp(np.mean(np.log(bounds[name] / error)))) for name in _BOUNDS if name != "persistent"
        },
        "bias_in_error": float(np.median(told["bias_from_random"].to_numpy() / error)),
        "paper_below_error": float((bounds["paper"] < error).mean()),
        "fischer_sweeps": float(np.median(told["fischer_sweeps"].to_numpy())),
    }
