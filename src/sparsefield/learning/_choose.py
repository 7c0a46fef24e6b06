"""Which edges, or which penalty: chosen for rows of which nobody said."""

from __future__ import annotations

import time
from contextlib import suppress
from numbers import Number, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import Rows, TableError
from sparsefield.fitting import Learner, Options
from sparsefield.parallel import Watch
from sparsefield.selection import EBIC, Choice, Objective, Rule, largest_alpha, null_alpha
from sparsefield.structure import Structure, find_structure, is_feasible

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Alpha = float | Literal["auto"] | Rule

_SHARE_OF_CHOICE = 0.5  # of the time that there is, where it is limited


def is_rule(alpha: Any) -> TypeIs[Rule]:
    """Say whether an object decides on edges, and is no number: those of numpy have a method of that name too."""
    if isinstance(alpha, type):
        raise TypeError(f"alpha is the class {alpha.__name__}: give a rule, such as {alpha.__name__}().")
    return hasattr(alpha, "choose") and not isinstance(alpha, Number)


def choose(
    learner: Learner,
    alpha: Alpha = "auto",
    *,
    objective: Objective = "likelihood",
    began: float | None = None,
    watch: Watch | None = None,
) -> float | Choice | Structure:
    """Choose the edges of a table, or a penalty, by a rule, in half of the time that there is.

    "auto" finds edges without a penalty (`find_structure`). Where a kind of penalty was asked for, or the
    pseudo-likelihood, or some variable has more than nine levels without an order, it chooses an alpha by `EBIC()`.

    Parameters
    ----------
    learner : Learner
        The table, and what is asked of its fit.
    alpha : float, "auto" or rule
        The rule; a number is returned as it is.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with what is done of the choice, what there is, and the seconds that are left.
    """
    if isinstance(alpha, str) and alpha != "auto":
        raise ValueError(f"alpha is {alpha!r}: use a number from zero on, 'auto', or a rule, such as EBIC().")
    if not (isinstance(alpha, str) or is_rule(alpha)):
        return float(alpha)
    learner, seconds = _hold_rows(learner), _seconds_left(learner.options, began)
    options = learner.options
    if alpha == "auto" and (
        options.penalty != "auto"
        or options.penalize_main
        or objective != "likelihood"
        or not is_feasible(learner.table.domain)
    ):
        alpha = EBIC()
    with until(np.inf if seconds is None else time.perf_counter() + seconds):
        if is_rule(alpha):
            with suppress(OutOfTimeError):
                chosen = alpha.choose(learner, objective=objective, seconds=seconds, watch=watch)
                return chosen if isinstance(chosen, Choice | Structure) else _as_alpha(chosen, alpha)
        return find_structure(learner.rows, n_threads=options.n_threads)


def _as_alpha(chosen: Any, rule: Rule) -> float:
    """Return the number that a rule has chosen, and refuse what is none."""
    if not isinstance(chosen, Real) or isinstance(chosen, bool):
        raise TypeError(f"The rule {rule!r} returned {chosen!r}: it should return a number, a Choice or a Structure.")
    return float(chosen)


def _hold_rows(learner: Learner) -> Learner:
    """Return a learner whose rows, by which a choice is made, are in memory."""
    table = learner.table
    if not table.is_in_memory:
        raise TableError(
            f"The {table.n_rows} rows of this table are counted and not in memory, and the choice of its edges needs "
            "them",
            f"give {{option}}: sampling error alone makes edges below {null_alpha(learner):.2g}, and there are none "
            f"from {largest_alpha(learner):.2g} on; or encode the whole table where it fits into memory",
            option="alpha",
        )
    return learner if table.sample is table else Learner(Rows(table.sample), learner.options)


def _seconds_left(options: Options, began: float | None) -> float | None:
    """Return how many seconds there are for a choice; None where time is not limited."""
    if options.max_seconds is None:
        return None
    passed = 0.0 if began is None else time.perf_counter() - began
    return max(0.0, _SHARE_OF_CHOICE * options.max_seconds - passed)
