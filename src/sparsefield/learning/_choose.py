"""Which edges, or which penalty: chosen for rows of which nobody said."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import CountedTable, Rows, TableError
from sparsefield.fitting import Learner, Options
from sparsefield.learning._discoveries import find_discoveries
from sparsefield.parallel import Watch
from sparsefield.selection import Choice, Objective, largest_alpha, null_alpha, select
from sparsefield.structure import Structure, find_structure, is_feasible

_SHARE_OF_CHOICE = 0.5  # of the time that there is, where it is limited


def choose(learner: Learner, *, began: float | None = None, watch: Watch | None = None) -> Choice | Structure:
    """Choose the edges of a table, in half of the time that there is; where a kind of penalty was asked for, its alpha.

    So it is where some variable has more than nine levels without an order. With a false discovery rate edges are those
    that tests of pairs find.

    Parameters
    ----------
    learner : Learner
        The table, and what is asked of its fit.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with the number of penalties that are done, that of all, and the seconds that are left.
    """
    options = learner.options
    is_wide = options.fdr is None and not is_feasible(learner.table.domain)
    if options.penalty != "auto" or options.penalize_main or is_wide:
        return choose_alpha(learner, began=began, watch=watch)
    rows, left = _take_rows(learner), _seconds_left(options, began)
    with until(np.inf if left is None else time.perf_counter() + left):
        if options.fdr is not None:
            with suppress(OutOfTimeError):
                return find_discoveries(rows, options.fdr, options.n_threads)
        return find_structure(rows, n_threads=options.n_threads)


def choose_alpha(
    learner: Learner, *, objective: Objective = "likelihood", began: float | None = None, watch: Watch | None = None
) -> Choice:
    """Choose the penalty of a table by the default criterion, in half of the time that there is.

    How gradients are estimated, and how near to their optimum fits come, is left to the choice: it is the same for all
    solvers.

    Parameters
    ----------
    learner : Learner
        The table, and what is asked of its fit.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with the number of penalties that are done, that of all, and the seconds that are left.
    """
    options = learner.options
    return select(
        _take_rows(learner),
        objective=objective,
        penalty=options.penalty,
        penalize_main=options.penalize_main,
        max_seconds=_seconds_left(options, began),
        seed=options.seed,
        n_jobs=1,
        n_threads=options.n_threads,
        backend=options.backend,
        device=options.device,
        watch=watch,
    )


def _take_rows(learner: Learner) -> Rows:
    """Return the rows that a choice is made by, which must be in memory."""
    table = learner.table
    if not isinstance(table, CountedTable):
        return learner.rows
    if table.sample.n_rows < table.n_rows:
        raise TableError(
            f"The {table.n_rows} rows of this table are counted and not in memory, and the choice of its edges needs "
            "them",
            f"give {{option}}: sampling error alone makes edges below {null_alpha(learner):.2g}, and there are none "
            f"from {largest_alpha(learner):.2g} on; or encode the whole table where it fits into memory",
            option="alpha",
        )
    return Rows(table.sample)


def _seconds_left(options: Options, began: float | None) -> float | None:
    """Return how many seconds there are for a choice; None where time is not limited."""
    if options.max_seconds is None:
        return None
    passed = 0.0 if began is None else time.perf_counter() - began
    return max(0.0, _SHARE_OF_CHOICE * options.max_seconds - passed)
