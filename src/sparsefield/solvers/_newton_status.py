"""How Newton steps say that they have ended: how far from the optimum, and what their gradients are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sparsefield._rounding import at_most
from sparsefield.data import count
from sparsefield.fits import Status, StepInfo
from sparsefield.gradients import Drawn
from sparsefield.solvers._loop import stalled
from sparsefield.solvers._newton_step import Move

RETURNED = "No steps led to an objective that is surely lower: this is the start."


@dataclass(frozen=True)
class Ending:
    """Why Newton steps have ended.

    Parameters
    ----------
    kind : str
        At the optimum, by the gradient; within the simulation error of the draws; at the start again; or where no step
        leads down.
    left : float
        The norm of the smallest subgradient.
    is_limited : bool
        Whether more draws would lead further, and are not made.
    """

    kind: Literal["optimal", "simulation error", "start", "stalled"]
    left: float = 0.0
    is_limited: bool = False


def say_ending(ending: Ending, here: Drawn, move: Move, k: int) -> Status:
    """Say how k Newton steps have ended, by the draws at their end and the step that these suggest."""
    if ending.kind == "stalled":
        return stalled(k)
    if ending.kind == "optimal":
        said = f"Converged in {count(k, 'iteration')}: the smallest subgradient is down to {ending.left:.2g}"
        return Status("converged", f"{said}{', without simulation error' if here.is_exact else ''}.")
    status = _say_gap(here, move, k, is_limited=ending.is_limited)
    return status if ending.kind == "simulation error" else replace(status, sentence=f"{status.sentence} {RETURNED}")


def add_advice(status: Status, steps: Sequence[StepInfo]) -> Status:
    """Say so where the last gradient is not certified and was meant to be."""
    if not steps or status.code == "interrupted" or steps[-1].is_certified or not steps[-1].is_promised:
        return status
    last = steps[-1]
    got = "" if last.certificate is None else f", bias at most {at_most(last.certificate)}"
    said = f"{status.sentence} The last gradient is not certified ({last.reason}{got}). {last.remedy}"
    return Status("not_certified", said.rstrip())


def _say_gap(here: Drawn, move: Move, k: int, *, is_limited: bool) -> Status:
    """Say how far the objective is above its optimum, measured on the draws here.

    The predicted decrease is half a non-central chi-square over n: its mean is the gap plus nonzeros / (2 n), and its
    standard deviation the square root of (nonzeros / 2 + 2 n gap) / n^2. Where values are missing, the curvature is
    that of whole rows less a share that they take from it, and both are larger by as much.
    """
    left = 1 - here.missing
    gap = max(0.0, move.predicted - here.simulation_error)
    error = np.sqrt((here.simulation_error + 2 * gap) * here.share)
    n = round(1 / here.share)
    about = (
        f"the objective is at most about {max(gap, error) / left:.2g} above its optimum, by {n} draws that had no part "
        "in choosing it"
    )
    if is_limited:
        return Status("simulation_error", f"After {count(k, 'iteration')} {about}, and no more are made.")
    return Status("converged", f"Converged in {count(k, 'iteration')}: {about}. A smaller gap makes more of them.")
