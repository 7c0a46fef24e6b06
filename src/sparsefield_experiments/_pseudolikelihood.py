"""TAY beside the pseudo-likelihood, at the paper's penalty and at others."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sparsefield.gradients import Tay
from sparsefield.plotting import Curve, plot_curves
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield_experiments._record import Record
from sparsefield_experiments._trials import (
    QUICK,
    SETTINGS,
    Setting,
    Trial,
    check_ended,
    find_optimum,
    make_trial,
    run_path,
    standard_error,
)

_FACTORS = (0.25, 0.5, 1.0, 2.0)  # of the paper's penalty


def run_pseudolikelihood(record: Record) -> None:
    """Compare the edges of TAY, of the likelihood's optimum and of the pseudo-likelihood, for both sizes."""
    settings = QUICK if record.quick else SETTINGS
    figure = Figure(figsize=(10, 4), layout="constrained")
    sizes: list[dict[str, Any]] = []
    n_trials = sum(setting.n_trials for setting in settings.values())
    for ax, setting in zip(figure.subplots(1, 2), settings.values(), strict=True):
        rows = []
        for seed in range(1, setting.n_trials + 1):
            done = sum(size["n_trials"] for size in sizes) + seed - 1
            record.tell(done / n_trials)
            rows.append(_run_trial(make_trial(setting, seed), setting))
        sizes.append({"n_variables": setting.n_variables, "n_trials": setting.n_trials, **_summarise(rows)})
        _draw(ax, setting, sizes[-1])
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    record.draw(figure, "pseudolikelihood")
    record.state({"factors": list(_FACTORS), "sizes": sizes}, "pseudolikelihood")


def _run_trial(trial: Trial, setting: Setting) -> dict[str, Any]:
    alphas = [factor * setting.alphas[0] for factor in _FACTORS]
    pseudo = [solve_pseudo_likelihood(trial.table, alpha, penalize_main=True) for alpha in alphas]
    for fit in pseudo:
        check_ended(fit)
    return {
        "tay": run_path(trial, setting.alphas[0], Tay("paper"), setting).end,
        "likelihood": [trial.auc(find_optimum(trial.problem(alpha))[0]) for alpha in alphas],
        "pseudo": [trial.auc(fit.model.interactions) for fit in pseudo],
    }


def _summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over trials, and differences of TAY and pseudo-likelihood trial by trial."""
    found = {name: np.array([row[name] for row in rows]) for name in ("tay", "likelihood", "pseudo")}
    at_paper = _FACTORS.index(1.0)
    differences = found["tay"] - found["pseudo"][:, at_paper]
    at_best = found["likelihood"].max(axis=1) - found["pseudo"].max(axis=1)
    return {
        "n_alphas": len(_FACTORS),
        "tay": float(found["tay"].mean()),
        "pseudo": float(found["pseudo"][:, at_paper].mean()),
        "difference": float(differences.mean()),
        "difference_error": float(standard_error(differences)),
        "best_difference": float(at_best.mean()),
        "best_difference_error": float(standard_error(at_best)),
        "likelihood_by_alpha": found["likelihood"].mean(axis=0).tolist(),
        "pseudo_by_alpha": found["pseudo"].mean(axis=0).tolist(),
        "trials": rows,
    }


def _draw(ax: Any, setting: Setting, numbers: dict[str, Any]) -> None:
    alphas = [factor * setting.alphas[0] for factor in _FACTORS]
    curves = [
        Curve("pseudo-likelihood", alphas, numbers["pseudo_by_alpha"], color="#4d9221", style="o-"),
        Curve("likelihood, exact optimum", alphas, numbers["likelihood_by_alpha"], color="#555555", style="o--"),
        Curve("TAY at the paper's alpha", [setting.alphas[0]], [numbers["tay"]], color="#b3202c", style="D"),
    ]
    plot_curves(ax, curves, title=f"{setting.n_variables} nodes", x="alpha", y="AUC")
    ax.set_xscale("log")
    ax.set_xticks(alphas, [f"{alpha:.2g}" for alpha in alphas])
    ax.minorticks_off()
