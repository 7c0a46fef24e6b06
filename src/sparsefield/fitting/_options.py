"""What a fit is asked for, beside its table and its penalty."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

from sparsefield._near_misses import explain_names
from sparsefield.data import Table
from sparsefield.fits import PROMISED_GAP
from sparsefield.fitting._solvers import Newton, Proximal, SolverName, make_solver
from sparsefield.inference import Device, check_seed, make_backend, name_device
from sparsefield.model import PairwiseMRF
from sparsefield.objective import PenaltyKind, check_penalty_kind
from sparsefield.solvers import Limits, check_gap

_SLOWER = 4  # times as many iterations with missing values, of which each leaves the share of what is missing (EM)
_AGREEMENT = 0.99  # of the edges of a fit, the share that one with another seed is to have too: a convention


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `learn`, which explains them. Those that make no sense are refused, used or not."""

    solver: SolverName | Newton | Proximal = "newton"
    gap: float | Literal["auto"] = "auto"
    penalty: PenaltyKind = "auto"
    penalize_main: bool = False
    max_seconds: float | None = None
    init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto"
    missing: Literal["model", "zero", "drop", "error"] = "model"
    certify: bool = False
    seed: int = 0
    n_threads: int | None = None
    device: Device = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        make_backend(self.device, self.n_threads)  # checks its own arguments
        check_penalty_kind(self.penalty)
        if not isinstance(self.init, PairwiseMRF) and self.init not in ("auto", "pseudolikelihood", "zero"):
            raise ValueError(f"init is {self.init!r}: use a model, 'auto', 'pseudolikelihood' or 'zero'.")
        if self.gap != "auto":
            check_gap(self.gap)
        self.steps.way  # noqa: B018  # checks what it is made of
        self.limits(is_slow=False)

    @cached_property
    def steps(self) -> Newton | Proximal:
        """The solver, with its own options."""
        return make_solver(self.solver)

    @property
    def largest_gap(self) -> float:
        """How far above its optimum the objective may be."""
        return PROMISED_GAP if isinstance(self.gap, str) else self.gap

    @property
    def agreement(self) -> float | None:
        """The share of its edges that a fit with another seed is to have too, where that is asked for."""
        return _AGREEMENT if isinstance(self.gap, str) else None

    def limits(self, *, is_slow: bool, began: float | None = None) -> Limits:
        """Return when to end at the latest; missing values make slow progress."""
        own = self.steps
        most = own.most_steps * (_SLOWER if is_slow else 1) if own.max_iter is None else own.max_iter
        return Limits(most, own.tol, self.max_seconds, began)

    def most_steps(self, table: Table) -> int:
        """Return how many iterations there are at most, for a table whose missing values are filled or dropped."""
        return self.limits(is_slow=bool(table.n_missing.any())).max_iter

    def settings(self) -> dict[str, Any]:
        """Return the options by name, as a fit keeps them."""
        found = {own.name: getattr(self, own.name) for own in fields(self)}
        found["solver"] = repr(self.steps)
        found["device"] = name_device(self.device)
        return found


# Paths, choices and resamples hand on what they are given: these names are refused with the same words.
Options.__init__ = explain_names(Options.__init__)  # type: ignore[method-assign]
