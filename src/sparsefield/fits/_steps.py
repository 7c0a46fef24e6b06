"""What happened in an iteration: one row of the trace."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import polars as pl


@dataclass(frozen=True, kw_only=True)
class StepInfo(ABC):
    """What iterations of all solvers have in common.

    Parameters
    ----------
    iteration : int
        Which one, from 1 on.
    n_sweeps : float
        Gibbs sweeps of each chain; for exact draws, the average.
    n_chains : int
        Chains or draws behind the gradient; 0 if it was exact.
    certificate : float or None
        Bound on the L2 norm of the gradient's bias (conservative: of its whole error); None if there is none.
    confidence : float or None
        Probability with which the certificate of this iteration holds, 1 if it is no matter of probability.
    is_certified : bool
        Whether the certificate met the schedule's criterion.
    is_promised : bool
        Whether the schedule set out to certify the gradient.
    simulation_error_norm : float
        Expected L2 norm of the simulation error in the gradient, where it counts.
    objective : float or None
        Objective at the parameters that the gradient was taken at, if it was computed.
    n_nonzero : int
        Parameters that are not zero after the step.
    seconds : float
        Time since the fit began.
    reason : str
        Why sweeping stopped.
    remedy : str
        What would help where a gradient is not certified that was meant to be.
    condition : str
        What the certificate takes for granted, as a clause that follows "it holds"; empty if nothing. In a fit such a
        condition is met nearly, not to the letter, and the certificate is an approximation.
    """

    iteration: int
    n_sweeps: float = 0
    n_chains: int = 0
    certificate: float | None = None
    confidence: float | None = None
    is_certified: bool = False
    is_promised: bool = False
    simulation_error_norm: float = 0.0
    objective: float | None = None
    n_nonzero: int
    seconds: float
    reason: str
    remedy: str = ""
    condition: str = ""

    @property
    @abstractmethod
    def violation(self) -> float:
        """How far the parameters are from optimal, by this gradient: a norm that is zero at the optimum."""

    @property
    @abstractmethod
    def progress(self) -> str:
        """Where the fit stands, as a clause that follows 'Stopped after so many iterations'."""


@dataclass(frozen=True, kw_only=True)
class GradientStep(StepInfo):
    """A proximal gradient step, the paper's.

    Parameters
    ----------
    step_map_norm : float
        L2 norm of the step map G.
    step_size : float
        Length of the step.
    """

    step_map_norm: float
    step_size: float

    @property
    def violation(self) -> float:
        """The norm of the step map."""
        return self.step_map_norm

    @property
    def progress(self) -> str:
        """The norm of the step map, in words."""
        return f", with a step map of norm {self.step_map_norm:.2g}"


@dataclass(frozen=True, kw_only=True)
class NewtonStep(StepInfo):
    """Parameters that a Newton step led to, as new draws judge them, and the step that these suggest next.

    The likelihood has one row each time that draws are made (or states enumerated): at the start, at the end of a step,
    also of one that is taken back, and in the same place again where more draws are needed. The pseudo-likelihood needs
    no draws: it has one row for each step, with `share` the part of it that was made, and no `predicted`, `decrease`
    and `effective`.

    Parameters
    ----------
    subgradient_norm : float
        L2 norm of the smallest subgradient of the objective at these parameters; for the pseudo-likelihood at the end
        of the step.
    share : float
        The part of the suggested step that is made next. It is 0 where the step is not worth the simulation error of
        the draws, so that more draws are made in the same place, and where these parameters were taken back.
    predicted : float or None
        Decrease of the objective that the quadratic model promises for the whole of the suggested step; None where the
        parameters were taken back.
    decrease : float or None
        Decrease of the objective by the step that led here, measured on the draws here, which had no part in choosing
        it; negative where the parameters were taken back. None where no step led here: in the first row, and where more
        draws are made in the same place.
    effective : float or None
        Share of the draws that still count at the end of the suggested step; None where the parameters were taken back.
    """

    subgradient_norm: float
    share: float
    predicted: float | None = None
    decrease: float | None = None
    effective: float | None = None

    @property
    def violation(self) -> float:
        """The norm of the smallest subgradient."""
        return self.subgradient_norm

    @property
    def progress(self) -> str:
        """What the last step gained, in words, where that is known."""
        if self.decrease is None:
            return ""
        if self.decrease < 0:
            return f", the last of which led up by {-self.decrease:.2g}"
        return f", the last of which gained {self.decrease:.2g}"


_KINDS: tuple[type[StepInfo], ...] = (GradientStep, NewtonStep)
_WHOLE, _TRUTH = ("iteration", "n_chains", "n_nonzero"), ("is_certified", "is_promised")
_TEXT = ("reason", "remedy", "condition")


def make_trace(steps: Sequence[StepInfo]) -> pl.DataFrame:
    """Return a table with one row per iteration."""
    kind = type(steps[0]) if steps else NewtonStep
    return pl.DataFrame([asdict(step) for step in steps], schema=_schema(kind))


def read_trace(text: str) -> tuple[StepInfo, ...]:
    """Read the iterations that `make_trace(...).write_csv()` wrote."""
    kind = find_kind(text)
    if kind is None:
        raise ValueError("its trace has other columns")
    rows = pl.read_csv(io.StringIO(text), schema=_schema(kind)).with_columns(pl.col(_TEXT).fill_null(""))
    return tuple(kind(**row) for row in rows.iter_rows(named=True))


def find_kind(text: str) -> type[StepInfo] | None:
    """Return the kind of steps that a saved trace has, told by its columns; None if this version knows none like it."""
    header = text.partition("\n")[0].split(",")
    return next((own for own in _KINDS if [part.name for part in fields(own)] == header), None)


def _schema(kind: type[StepInfo]) -> dict[str, type[pl.DataType]]:
    types: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(_WHOLE, pl.Int64),
        **dict.fromkeys(_TRUTH, pl.Boolean),
        **dict.fromkeys(_TEXT, pl.String),
    }
    return {part.name: types.get(part.name, pl.Float64) for part in fields(kind)}
