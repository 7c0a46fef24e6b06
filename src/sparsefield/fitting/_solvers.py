"""The solvers of a fit, each with what belongs to it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, cast

import numpy as np

from sparsefield._parameters import Parameters, parameters
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
from sparsefield.solvers import check_step_size

SolverName = Literal["newton", "proximal"]


@parameters
class Newton(Parameters):
    """Proximal Newton steps, a few of them, on draws whose covariance is the curvature.

    Parameters
    ----------
    schedule : "auto", "best", "tay", "conservative", "perfect", "exact", "increasing", int, or Schedule
        How gradients are estimated; `sparsefield.gradients` has the schedules as values. "auto" is "best": enumeration
        of up to 2^20 states (20 variables of two levels), else exact draws where they can be had, else Gibbs chains
        with a certificate, else without one. "perfect": exact draws. "exact": enumeration. "tay": Gibbs chains, swept
        until the certificate allows the step. "conservative": the same with a certificate for the whole error. A
        number: as many sweeps each time; "increasing": k sweeps in iteration k.
    n_chains : int
        Draws behind the first gradient, where their simulation error is below alpha; at least eight for each parameter
        that is not zero.
    max_iter : int, optional
        Steps at most: 50 unless given, and 200 with missing values that the model fills.
    max_sweeps : int, optional
        Sweeps of the pilot run of exact draws at most: 2000 unless given, 10,000 with schedule="perfect".
    tol : float
        The fit has converged when the norm of its smallest subgradient is at most this. With draws it ends earlier,
        when steps cannot be told from simulation error, and says so.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(500, method="perfect", seed=1)
    >>> sf.SparseMRF(0.05, solver=sf.Newton(schedule="exact")).fit(table).status_.code
    'converged'
    """

    schedule: str | int | Schedule = "auto"
    n_chains: int = 2000
    max_iter: int | None = None
    max_sweeps: int | None = None
    tol: float = 1e-4

    most_steps: ClassVar[int] = 50
    persists: ClassVar[bool] = False

    @property
    def way(self) -> Schedule:
        """How gradients are estimated."""
        return make_schedule("best" if _is_auto(self.schedule) else self.schedule, "sharp", self.max_sweeps)

    @property
    def sums_out(self) -> bool:
        """Whether gradients may be exact where draws were not asked for."""
        return _is_auto(self.schedule)


@parameters
class Proximal(Parameters):
    """The paper's proximal gradient steps (spectral projected gradients), hundreds of them, with certified gradients.

    A fit whose objective is not surely below that of its start is the start, and the status says so.

    Parameters
    ----------
    schedule : "tay", "conservative", "best", "perfect", "exact", "increasing", int, or Schedule
        How gradients are estimated. "tay": Gibbs chains, swept until the certificate allows the step (the paper). All
        others are those of `Newton`.
    bound : "sharp", "persistent", "coalescence" or "paper"
        Which bound "tay" uses: the paper's, or one that is at least twice as close for the same cost ("sharp"), or
        bounding chains ("coalescence").
    chains : "restart" or "persistent"
        Whether chains start anew in every iteration, as in the paper, or go on from the last one.
    n_chains : int
        Chains behind a gradient.
    step_size : float or "auto"
        Length of the steps; "auto" follows the inverse of the largest curvature. The paper's is 0.4.
    max_iter : int, optional
        Steps at most: 300 unless given, and 1200 with missing values that the model fills.
    max_sweeps : int, optional
        Sweeps of an iteration at most: 100 of chains that wait for their certificate unless given.
    tol : float
        The fit has converged when the norm of the step map is at most this.

    Notes
    -----
    Why these defaults (`make bench-tay`). The sharp bound is at least twice as close as the paper's at the same cost,
    and holds for any number of levels; "coalescence" certifies every gradient of the paper's 20-variable setting, where
    "sharp" certifies one in twenty, and in half the time, but with 10 variables, where "sharp" certifies all, its
    iterations take three times as long. Chains that go on from the last iteration are no faster in either setting, and
    their certificate is an approximation: they start anew.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(0.2, 0.4), seed=7).sample(500, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, solver=sf.Proximal(tol=0.01), random_state=1).fit(table)
    >>> mrf.certificate_ is not None  # the bias of the last gradient is bounded
    True
    """

    schedule: str | int | Schedule = "tay"
    bound: CertificateKind = "sharp"
    chains: Literal["restart", "persistent"] = "restart"
    n_chains: int = 2000
    step_size: float | Literal["auto"] = "auto"
    max_iter: int | None = None
    max_sweeps: int | None = None
    tol: float = 1e-4

    most_steps: ClassVar[int] = 300
    sums_out: ClassVar[bool] = False

    @property
    def way(self) -> Schedule:
        """How gradients are estimated."""
        if self.chains not in ("restart", "persistent"):
            raise ValueError(f"chains is {self.chains!r}: use 'restart' or 'persistent'.")
        check_step_size(self.step_size)
        Tay(self.bound)  # checks its own argument
        return make_schedule("tay" if _is_auto(self.schedule) else self.schedule, self.bound, self.max_sweeps)

    @property
    def persists(self) -> bool:
        """Whether chains go on from iteration to iteration, as the persistent bound asks of TAY."""
        is_tay = isinstance(self.schedule, str) and self.schedule in ("tay", "auto")
        return self.chains == "persistent" or (is_tay and self.bound == "persistent")


def make_solver(solver: str | Newton | Proximal) -> Newton | Proximal:
    """Return the solver that a word names; a solver stays what it is."""
    if isinstance(solver, Newton | Proximal):
        return solver
    known: dict[str, Callable[[], Newton | Proximal]] = {"newton": Newton, "proximal": Proximal}
    if solver == "spg":
        raise ValueError("solver is 'spg', which is 'proximal' now, or Proximal(...) with options of its own.")
    if not isinstance(solver, str) or solver not in known:
        raise ValueError(
            f"solver is {solver!r}: use 'newton', 'proximal', or one with options of its own, Newton(...) or "
            "Proximal(...)."
        )
    return known[solver]()


def _is_auto(schedule: str | int | Schedule) -> bool:
    return isinstance(schedule, str) and schedule == "auto"


def make_schedule(schedule: str | int | Schedule, bound: CertificateKind, max_sweeps: int | None) -> Schedule:
    """Return the schedule that a word or a number of sweeps names; a schedule stays what it is."""
    if isinstance(schedule, int | np.integer) and not isinstance(schedule, bool):
        return Fixed(int(schedule))
    if hasattr(schedule, "estimate") and not isinstance(schedule, type):
        return cast(Schedule, schedule)
    limit: dict[str, Any] = {} if max_sweeps is None else {"max_sweeps": max_sweeps}
    known: dict[str, Callable[[], Schedule]] = {
        "best": lambda: BestDraws(**limit),
        "tay": lambda: Tay(bound, **limit),
        "conservative": lambda: Tay(bound, conservative=True, **limit),
        "perfect": lambda: PerfectDraws(**limit),
        "exact": ExactMoments,
        "increasing": Increasing,
    }
    if not isinstance(schedule, str) or schedule not in known:
        raise ValueError(
            f"schedule is {schedule!r}: use 'auto', 'best', 'tay', 'conservative', 'perfect', 'exact', 'increasing', "
            "a number of sweeps, or a Schedule."
        )
    return known[schedule]()
