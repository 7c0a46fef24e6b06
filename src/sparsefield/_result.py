"""What a fit says: its model, how it ended, and what happened in every iteration."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._io import has_text, read_text, write_parameters
from sparsefield._model import PairwiseMRF

Code = Literal["converged", "noise floor", "not certified", "step too long", "max_iter", "time", "interrupted"]


_STATUS, _TRACE, _FACTS = "status.json", "trace.csv", "fit.json"


@dataclass(frozen=True)
class Status:
    """How a fit ended.

    Parameters
    ----------
    code : str
        One of a few words, for programs.
    sentence : str
        What happened and what would help, for people.
    """

    code: Code
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


@dataclass(frozen=True)
class StepInfo:
    """One iteration, a row of the trace.

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
        Probability with which the certificate of this iteration holds, 1 if it is no matter of chance.
    is_certified : bool
        Whether the certificate met the schedule's criterion.
    step_norm : float
        L2 norm of the step map G.
    noise_norm : float
        Expected L2 norm of the sampling noise in G.
    step_size : float
        Length of the proximal step.
    objective : float or None
        Objective at the parameters that the gradient was taken at, if it was computed.
    n_nonzero : int
        Parameters that are not zero after the update.
    seconds : float
        Time since the fit began.
    reason : str
        Why sweeping stopped.
    predicted : float or None
        Newton: the decrease of the objective that the quadratic model promises for the whole step.
    decrease : float or None
        Newton: the decrease of the objective for the part of it that is made, by the reweighted draws.
    effective : float or None
        Newton: the share of the draws that still count at the end of the step.
    """

    iteration: int
    n_sweeps: float
    n_chains: int
    certificate: float | None
    confidence: float | None
    is_certified: bool
    step_norm: float
    noise_norm: float
    step_size: float
    objective: float | None
    n_nonzero: int
    seconds: float
    reason: str
    predicted: float | None = None
    decrease: float | None = None
    effective: float | None = None


@dataclass(frozen=True)
class Optimality:
    """How far a fit can be from the optimum.

    Parameters
    ----------
    gap : float
        Bound on what the objective is above its optimum, in nats a row; infinite where none can be had.
    slope : float
        Bound on the largest entry of the smallest subgradient of the objective.
    confidence : float
        Probability with which both hold.
    n_draws : int
        Fresh draws behind them.
    note : str
        Why the gap says little, where it does.
    """

    gap: float
    slope: float
    confidence: float
    n_draws: int
    note: str = ""

    def __str__(self) -> str:
        """Say in a sentence what is certified."""
        if not np.isfinite(self.slope):
            return f"The optimality of the fit cannot be certified: {self.note}."
        surely = f"With confidence {self.confidence:.4g}, from {self.n_draws} fresh draws"
        if not np.isfinite(self.gap):
            return (
                f"{surely}: no entry of the slope is above {self.slope:.3g}. There is no bound on the gap: {self.note}."
            )
        note = f" The gap says little: {self.note}." if self.note else ""
        return (
            f"{surely}: the objective is at most {self.gap:.3g} above its optimum, and no entry of its slope is above "
            f"{self.slope:.3g}.{note}"
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit, as a value.

    Parameters
    ----------
    model : PairwiseMRF
        The fitted field.
    status : Status
        How the fit ended.
    steps : tuple of StepInfo
        The iterations.
    undecided : ndarray of shape (n_slots, n_slots), optional
        True for each parameter of which the noise of the draws does not settle whether it is zero: main effects on the
        diagonal, interactions beside it. None where that is not known.
    alpha : float, optional
        The penalty, if the likelihood was penalised.
    penalize_main : bool
        Whether main effects were penalised.
    optimality : Optimality, optional
        How far the fit can be from the optimum, once `certify` has found out.
    settings : mapping of str to str, number, bool or None
        What it takes to repeat the fit: the options of the estimator, the number of rows, and versions.
    """

    model: PairwiseMRF
    status: Status
    steps: tuple[StepInfo, ...]
    undecided: NDArray[np.bool_] | None = None
    alpha: float | None = None
    penalize_main: bool = True
    optimality: Optimality | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def certified(self) -> str:
        """What is certified of the last gradient, in a sentence."""
        if not self.steps:
            return "None: no gradient was estimated."
        last = self.steps[-1]
        if last.certificate is None:
            return f"None for the last gradient ({last.reason})."
        if last.certificate == 0:
            behind = f"; {last.n_chains} draws were behind it" if last.n_chains else ""
            return f"The last gradient had no bias ({last.reason}){behind}."
        surely = "" if last.confidence in (None, 1.0) else f", with confidence {last.confidence:.3g}"
        met = "" if last.is_certified else "; the criterion was not met"
        return f"The bias of the last gradient has norm {last.certificate:.3g} at most{surely} ({last.reason}{met})."

    @property
    def trace(self) -> pl.DataFrame:
        """The iterations as a table, one row each (`trace.to_pandas()` for pandas)."""
        return pl.DataFrame([asdict(step) for step in self.steps], schema=_SCHEMA)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file, which `PairwiseMRF.load` reads too; `docs/format.md` says how."""
        undecided = None if self.undecided is None else np.argwhere(np.triu(self.undecided)).tolist()
        facts = {
            "alpha": self.alpha,
            "penalize_main": self.penalize_main,
            "undecided": undecided,
            "optimality": None if self.optimality is None else asdict(self.optimality),
            "settings": dict(self.settings),
        }
        texts = {
            _STATUS: json.dumps(asdict(self.status)),
            _TRACE: self.trace.write_csv(),
            _FACTS: json.dumps(facts),
        }
        write_parameters(path, self.model.domain, self.model.main, self.model.interactions, texts)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Fit:
        """Read a fit that `save` wrote."""
        model = PairwiseMRF.load(path)
        if not is_fit(path):
            raise ValueError(f"File {str(path)!r} holds a field without a fit: fit it to a table first.")
        status, trace, facts = (read_text(path, name) for name in (_STATUS, _TRACE, _FACTS))
        try:
            rows = pl.read_csv(io.StringIO(trace), schema=_SCHEMA).iter_rows(named=True)
            known = json.loads(facts)
            marked, optimality = known["undecided"], known["optimality"]
            return cls(
                model,
                Status(**json.loads(status)),
                tuple(StepInfo(**row) for row in rows),
                undecided=None if marked is None else _mark(marked, model.domain.n_slots),
                alpha=known["alpha"],
                penalize_main=known["penalize_main"],
                optimality=None if optimality is None else Optimality(**optimality),
                settings=known.get("settings", {}),
            )
        except (KeyError, IndexError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"File {str(path)!r} is damaged: its trace or status cannot be read ({reason})."
            ) from error


def is_fit(path: str | PathLike[str]) -> bool:
    """Say whether a saved field has a fit beside it."""
    return has_text(path, _STATUS)


def _mark(pairs: list[list[int]], size: int) -> NDArray[np.bool_]:
    marked = np.zeros((size, size), dtype=bool)
    for a, b in pairs:
        marked[a, b] = marked[b, a] = True
    return marked


_TYPES = {"iteration": pl.Int64, "n_chains": pl.Int64, "n_nonzero": pl.Int64, "is_certified": pl.Boolean}
_SCHEMA = {f.name: _TYPES.get(f.name, pl.String if f.name == "reason" else pl.Float64) for f in fields(StepInfo)}
