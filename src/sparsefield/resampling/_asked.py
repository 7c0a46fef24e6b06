"""What is asked of the fits of resamples: by an estimator, or by options beside a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from sparsefield._near_misses import refuse_names
from sparsefield.fitting import Options
from sparsefield.learning import Alpha, seed_of
from sparsefield.selection import Objective

Progress = bool | Literal["auto"]


@dataclass(frozen=True, eq=False)
class Asked:
    """A table, and what is asked of all fits.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations.
    alpha : float, "auto" or rule
        What decides on edges.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    random_state : int, RandomState, Generator or None
        Where the random numbers start.
    options : mapping
        Further options of `learn`.
    progress : bool or "auto"
        Whether to show a progress bar.
    """

    data: Any
    alpha: Alpha = "auto"
    objective: Objective = "likelihood"
    random_state: Any = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress = "auto"

    def seed(self, given: Any) -> int:
        """Return the seed that is given, by itself or by a source of random numbers; otherwise this one's."""
        if isinstance(given, int | np.integer):
            return int(given)
        return seed_of(self.random_state if given is None else given)


@runtime_checkable
class Asking(Protocol):
    """An estimator that says what it asks of the fits of resamples."""

    def ask_for_fits(self, data: Any) -> Asked:
        """Return what is asked of the fits of resamples of a table."""
        ...


def ask(
    what: Any,
    data: Any,
    alpha: Alpha | None,
    objective: Objective | None,
    progress: Progress | None,
    options: Any,
    own: Sequence[str],
) -> Asked:
    """Return what an estimator asks for, or what is asked for beside a table.

    The first of `own` is the function that asks, and the others its own parameters.
    """
    function, *known = own
    known += ["n", "seed", "alpha", "objective", "sample_weight", "n_jobs", "checkpoint", "progress", "watch"]
    refuse_names(function, options, [*known, *(one.name for one in fields(Options))], n=True)
    given = {"alpha": alpha, "objective": objective, "progress": progress, **options}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(what, Asking):
        if data is None:
            raise TypeError(f"Give the table too, after the estimator: bootstrap({type(what).__name__}(), table).")
        kind = type(what).__name__
        for name in given:
            has_own = name in getattr(what, "get_params", dict)()
            hint = f"the estimator has its own, {kind}({name}=...)" if has_own else f"{kind} says how to fit"
            raise TypeError(f"{name} is for a table alone: {hint}.")
        return what.ask_for_fits(data)
    if data is not None:
        raise TypeError(
            f"The first argument is of type {type(what).__name__}: give a table alone, or an estimator, such as "
            "SparseMRF(), and a table. What decides on edges is alpha=..."
        )
    made = {name: given.pop(name) for name in ("alpha", "objective", "progress") if name in given}
    return Asked(what, **made, options=given)
