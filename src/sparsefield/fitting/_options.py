"""What a fit is asked for, beside its table and its penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from sparsefield.data import Table
from sparsefield.fits import PROMISED_GAP
from sparsefield.gradients import (
    BestDraws,
    CertificateKind,
    ExactMoments,
    Fixed,
    Increasing,
    PerfectDraws,
    Schedule,
    Tay,
)
from sparsefield.inference import Backend, DeviceName, check_seed, make_backend, name_device
from sparsefield.model import PairwiseMRF
from sparsefield.objective import PenaltyKind, check_penalty_kind
from sparsefield.solvers import Limits, check_gap, check_step_size

MAX_ITER = {"newton": 50, "spg": 300}  # unless given: Newton steps are few, the paper's are many
_SLOWER = 4  # times as many iterations with missing values, of which each leaves the share of what is missing (EM)
_AGREEMENT = 0.99  # of the edges of a fit, the share that one with another seed is to have too: a convention


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `learn`, which explains them. Those that make no sense are refused, used or not."""

    solver: Literal["newton", "spg"] = "newton"
    schedule: str | int | Schedule = "auto"
    certificate: CertificateKind = "sharp"
    chains: Literal["restart", "persistent"] = "restart"
    n_chains: int = 2000
    gap: float | Literal["auto"] = "auto"
    step_size: float | Literal["auto"] = "auto"
    penalty: PenaltyKind = "auto"
    penalize_main: bool = False
    fdr: float | None = None
    max_iter: int | None = None
    max_sweeps: int | None = None
    max_seconds: float | None = None
    tol: float = 1e-4
    init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto"
    missing: Literal["model", "zero", "drop", "error"] = "model"
    certify: bool = False
    seed: int = 0
    n_threads: int | None = None
    backend: Backend | None = None
    device: DeviceName | None = None

    def __post_init__(self) -> None:
        if self.solver not in MAX_ITER:
            raise ValueError(f"solver is {self.solver!r}: use 'newton' or 'spg'.")
        if self.chains not in ("restart", "persistent"):
            raise ValueError(f"chains is {self.chains!r}: use 'restart' or 'persistent'.")
        Tay(self.certificate)  # checks its own argument
        check_step_size(self.step_size)
        check_seed(self.seed)
        make_backend(self.backend, self.n_threads, self.device)  # checks its own arguments
        check_penalty_kind(self.penalty)
        if not isinstance(self.init, PairwiseMRF) and self.init not in ("auto", "pseudolikelihood", "zero"):
            raise ValueError(f"init is {self.init!r}: use a model, 'auto', 'pseudolikelihood' or 'zero'.")
        if self.gap != "auto":
            check_gap(self.gap)
        if self.fdr is not None:
            _check_fdr(self.fdr, self)
        self.way  # noqa: B018  # checks what it is made of
        self.limits(is_slow=False)

    @cached_property
    def way(self) -> Schedule:
        """The schedule."""
        return make_schedule(self.schedule, self.solver, self.certificate, self.max_sweeps)

    @property
    def persists(self) -> bool:
        """Whether chains go on from iteration to iteration, as the persistent certificate asks of TAY."""
        return self.chains == "persistent" or (self._is_tay and self.certificate == "persistent")

    @property
    def _is_tay(self) -> bool:
        return isinstance(self.schedule, str) and (
            self.schedule == "tay" or (self.schedule == "auto" and self.solver == "spg")
        )

    @property
    def sums_out(self) -> bool:
        """Whether gradients may be exact where draws were not asked for."""
        return self.solver == "newton" and isinstance(self.schedule, str) and self.schedule == "auto"

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
        most = MAX_ITER[self.solver] * (_SLOWER if is_slow else 1) if self.max_iter is None else self.max_iter
        return Limits(most, self.tol, self.max_seconds, began)

    def most_steps(self, table: Table) -> int:
        """Return how many iterations there are at most, for a table whose missing values are filled or dropped."""
        return self.limits(is_slow=bool(table.n_missing.any())).max_iter

    def settings(self) -> dict[str, Any]:
        """Return the options by name, as a fit keeps them."""
        found = {own.name: getattr(self, own.name) for own in fields(self)}
        if not isinstance(self.schedule, str | int | np.integer):
            found["schedule"] = repr(self.schedule)
        if self.backend is not None:
            found["backend"] = repr(self.backend)
        else:
            found["device"] = name_device(self.device)
        return found


def make_schedule(
    schedule: str | int | Schedule, solver: str, certificate: CertificateKind, max_sweeps: int | None
) -> Schedule:
    """Return the schedule that a word or a number of sweeps names; a schedule stays what it is."""
    if isinstance(schedule, int | np.integer):
        return Fixed(int(schedule))
    if not isinstance(schedule, str):
        return schedule
    limit: dict[str, Any] = {} if max_sweeps is None else {"max_sweeps": max_sweeps}
    if schedule == "auto":
        schedule = "best" if solver == "newton" else "tay"
    known: dict[str, Callable[[], Schedule]] = {
        "best": lambda: BestDraws(**limit),
        "tay": lambda: Tay(certificate, **limit),
        "conservative": lambda: Tay(certificate, conservative=True, **limit),
        "perfect": lambda: PerfectDraws(**limit),
        "exact": ExactMoments,
        "increasing": Increasing,
    }
    if schedule not in known:
        raise ValueError(
            f"schedule is {schedule!r}: use 'auto', 'best', 'tay', 'conservative', 'perfect', 'exact', 'increasing', "
            "a number of sweeps, or a Schedule."
        )
    return known[schedule]()


def _check_fdr(fdr: float, options: Options) -> None:
    """Refuse what is no rate, and a penalty beside it."""
    if not (isinstance(fdr, Real) and 0 < fdr < 1):
        raise ValueError(f"fdr is {fdr!r}: use a number between zero and one, such as 0.1 for one false edge in ten.")
    if options.penalty != "auto" or options.penalize_main:
        raise ValueError("fdr is for edges that no penalty chooses: leave penalty and penalize_main out, or fdr.")
