"""How sure one can be of the edges of a fit, what they do not say, and what to do next, in plain words."""

from __future__ import annotations

import shlex

import numpy as np
import polars as pl

from sparsefield._rounding import as_confidence, at_most
from sparsefield.fits import Fit
from sparsefield.network import Network
from sparsefield.report._counting import count_of
from sparsefield.resampling import Bootstrap

_NOTHING = 1e-6  # nats per row: a gap below that is told as such, and not by digits that say nothing to readers
_OFTEN, _SELDOM = 0.95, 0.5  # shares of resamples: edges that are nearly always found, and those that mostly are not


def describe_end(fit: Fit) -> str:
    """Warn of a fit that is not finished, or not certified though that was asked for.

    Whoever reads the page need not be who interrupted it.
    """
    if fit.status.code == "not_certified":
        return f"How near the fit is to the best one for this penalty is not certified. {fit.status.sentence}"
    if fit.is_serious or fit.status.code == "interrupted":
        return f"The fit is not finished, so that edges may be wrong. {fit.status.sentence}"
    return ""


def describe_simulation(fit: Fit, network: Network) -> str:
    """Say how many edges simulation error leaves open, or that there is none."""
    if is_pseudo(fit):
        return "The pseudo-likelihood, which was fitted, needs no simulation, so that there is no simulation error."
    if fit.steps and fit.steps[-1].n_chains == 0 and fit.steps[-1].simulation_error_norm == 0:
        return "All states of the model were enumerated, so that there is no simulation error."
    n, n_pairs = network.n_undecided, network.n_open_pairs
    if n is None or n_pairs is None or not fit.steps:
        return ""
    edges = count_of(network.n_edges, "edge")
    of = f"{n:,} of {edges}" if n else f"none of the {edges}" if network.n_edges > 1 else "no edge"
    others = f"whether {count_of(n_pairs, 'other pair')} {'has' if n_pairs == 1 else 'have'} one"
    if n and n_pairs:
        return f"Simulation error leaves {of} open, and {others}: more simulated samples would tell."
    if n_pairs:
        return f"Simulation error leaves {of} open. It leaves open {others}: more simulated samples would tell."
    return f"Simulation error leaves {of} open{': more simulated samples would tell' if n else ''}."


def describe_resamples(bootstrap: Bootstrap | None, *, is_told: bool = False) -> str:
    """Say how many edges nearly all resamples have, or that sampling error is not known, unless it is told already."""
    if bootstrap is None and is_told:
        return ""
    if bootstrap is None:
        return "Sampling error is another matter: whether other rows would show the same edges has not been tried here."
    edges = bootstrap.table.filter(pl.col("weight") != 0)
    n_often = len(edges.filter(pl.col("selected") >= _OFTEN))
    n_seldom = len(edges.filter(pl.col("selected") < _SELDOM))
    what, are = "Resamples" if is_told else "Sampling error", "is" if n_often == 1 else "are"
    return (
        f"{what}: {n_often:,} of {count_of(len(edges), 'edge')} {are} found in at least {_OFTEN:.0%} of "
        f"{count_of(bootstrap.n_resamples, 'resample')} of the rows, and {n_seldom:,} in fewer than half."
    )


def describe_certificate(fit: Fit) -> str:
    """Say in one sentence how far the fit can be from the best one, where that is certified."""
    known = fit.optimality
    if known is None or not np.isfinite(known.gap):
        return ""
    far = "less than a millionth of a nat" if known.gap < _NOTHING else f"at most {at_most(known.gap)} nats"
    best = "for this penalty" if fit.support is None else "that has no other edges"
    best += " (with the same prior of their weights)" if fit.penalty == "Ridge" else ""
    surely = "" if known.kind == "exact" else f", with confidence {as_confidence(known.confidence)}"
    by = " by the central limit theorem" if known.kind == "asymptotic" else ""
    return f"The fit is certified to be {far} per row from the best one {best}{surely}{by}."


ABSENT = "A pair without an edge is not proven to be independent: with this penalty and these rows, no edge shows."


def describe_limits(fit: Fit) -> list[str]:
    """Say what edges do not mean."""
    alpha = fit.sparsity
    at = "" if alpha is None else f" (alpha = {alpha:.3g})"
    weak = "for these rows" if fit.penalty == "Ridge" else f"for this penalty{at}"
    said = [
        "Edges are not causes: they say which variables go together once all others in the table are known, not why.",
        f"A pair without an edge is not proven to be independent: what is too weak {weak} is left out.",
    ]
    if fit.penalty == "Ridge":
        said.append(
            "The weights are the most probable ones of the edges that were found, and not shrunken by a penalty that "
            "chooses edges. The same rows found the edges, which makes weak ones rather too large than too small."
        )
    elif fit.support is not None:
        said.append(
            "The weights are those of the chosen edges without their penalty; the same rows chose the edges, which "
            "makes their weights rather too large than too small."
        )
    elif alpha != 0:
        said.append(
            "The penalty shrinks weights towards zero: the odds ratios that are told here are rather too close to 1 "
            "than too far from it."
        )
    return said


def advise(fit: Fit, *, has_edges: bool, has_inference: bool = False) -> tuple[str, str]:
    """Return what to do next, and the command that does it."""
    if has_edges and not has_inference:
        said = "To see how sure each pair is, and how many of the edges other rows would show:"
        return said, shlex.join(["sparsefield", "infer", "DATA"])
    alpha = fit.sparsity
    words = ["sparsefield", "bootstrap" if has_edges else "fit", "DATA"]
    words += ["--objective", "pseudolikelihood"] if is_pseudo(fit) and has_edges else []
    if has_edges:
        words += [] if alpha is None else ["--alpha", f"{alpha:.6g}"]
        return "To see in how many resamples of the rows each edge is found:", shlex.join(
            [*words, "--report", "page.html"]
        )
    if fit.penalty == "Ridge":
        said = (
            "More rows would show weaker edges. Penalties, down to ones at which most edges are due to sampling error, "
            "are told by:"
        )
        return said, shlex.join(["sparsefield", "path", "DATA", "--report", "page.html"])
    if "choice" in fit.settings:
        half = [] if not alpha else ["--alpha", f"{alpha / 2:.3g}"]
        said = (
            "More rows would show weaker edges. A smaller penalty shows edges of which some may be due to sampling "
            "error:"
        )
        return said, shlex.join([*words, *half, "--report", "page.html"])
    said = "Take a smaller penalty, or leave it out to have it chosen:"
    return said, shlex.join([*words, "--report", "page.html"])


def is_pseudo(fit: Fit) -> bool:
    """Say whether the pseudo-likelihood was penalised, which takes no draws."""
    return bool(fit.steps) and fit.steps[-1].reason == "no sampling"
