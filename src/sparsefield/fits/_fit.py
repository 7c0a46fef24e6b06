"""What a fit says: its model, how it ended, and what happened in every iteration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from os import PathLike
from pkgutil import resolve_name
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._rounding import as_confidence, at_most
from sparsefield.certificates import trivial_bias
from sparsefield.data import count
from sparsefield.fits._optimality import Optimality
from sparsefield.fits._status import Status
from sparsefield.fits._steps import StepInfo, find_kind, make_trace, read_trace
from sparsefield.model import PairwiseMRF, has_text, read_text, write_parameters

# What certify=True promises unless a gap is asked for: nats per row, whatever the number of rows.
PROMISED_GAP = 0.05

# A room above shows the network, which fits do not know: it is looked up once a notebook asks.
_SHOWN_BY = "sparsefield.report:show_fit"

_STATUS, _TRACE, _FACTS = "status.json", "trace.csv", "fit.json"


_ROUNDING = 1e-9  # nats per row: what sums of so many numbers leave


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
        True for each parameter of which the simulation error of the draws does not settle whether it is zero: main
        effects on the diagonal, interactions beside it. None where that is not known.
    alpha : float, optional
        The strength of the penalty, if the likelihood was penalised.
    penalty : str
        The name of the penalty.
    penalize_main : bool, optional
        Whether main effects were penalised; None where a penalty of one's own decides that.
    support : ndarray of shape (n_slots, n_slots), optional
        The interactions that could differ from zero, where others were kept at zero (`selection.relax`); some of them
        may be zero all the same.
    spread : float, optional
        By how much weights of another seed differ at most, 99 times out of 100 for each of them: what simulation error
        does to them. Zero where there was none, and None where that is not known.
    optimality : Optimality, optional
        How far the fit can be from the optimum, once `certify` has found out.
    settings : mapping of str to str, number, bool or None
        What it takes to repeat the fit: its options, the number of rows, and versions. Of other values, such as a model
        to start from, the name of their kind is kept.
    penalised : Fit, optional
        The fit whose penalty chose the edges, where this one has their weights without it (`selection.relax`). Files do
        not hold it.

    Examples
    --------
    `print(fit)` says more of how it ended, and notebooks show its network.

    >>> import sparsefield as sf
    >>> table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    >>> sf.learn(table, 0.05)
    <Fit: 4 variables, 3 edges, alpha = 0.05, converged, no bias of the last gradient>
    """

    model: PairwiseMRF
    status: Status
    steps: tuple[StepInfo, ...]
    undecided: NDArray[np.bool_] | None = None
    alpha: float | None = None
    penalty: str = "L1"
    penalize_main: bool | None = True
    support: NDArray[np.bool_] | None = None
    spread: float | None = None
    optimality: Optimality | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    penalised: Fit | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", {name: _plain(value) for name, value in self.settings.items()})

    def __repr__(self) -> str:
        return f"<Fit: {self._size}, {self.status.code}, {self._bound}>"

    def __str__(self) -> str:
        """Say what was fitted, how it ended, and what is certified, a line for each."""
        certified = self.certified if self.optimality is None else str(self.optimality)
        return f"{self._size}\n{self.status.sentence}\n{certified}"

    def _repr_html_(self) -> str:
        """Show the network and what is known of the fit, in notebooks; in words, where the network cannot be shown."""
        try:
            return str(resolve_name(_SHOWN_BY)(self))
        except ModuleNotFoundError as error:
            said = escape("\n".join((str(self), str(error))))
            return f"<pre>{said}</pre>"

    @property
    def _size(self) -> str:
        """How many variables and edges there are, and at which penalty."""
        alpha = "" if self.sparsity is None else f", alpha = {self.sparsity:.3g}"
        return f"{count(self.model.domain.n_variables, 'variable')}, {count(self.model.n_edges, 'edge')}{alpha}"

    @property
    def sparsity(self) -> float | None:
        """The penalty that decided which pairs have an edge; None where none did, or where it is not known."""
        known = self.settings.get("alpha") if self.alpha is None else self.alpha
        return float(known) if isinstance(known, int | float) and self.penalty != "Ridge" else None

    @property
    def _bound(self) -> str:
        """What is certified, in a few words."""
        if self.optimality is not None and np.isfinite(self.optimality.gap):
            return f"gap at most {at_most(self.optimality.gap)}"
        bound = self.steps[-1].certificate if self.steps else None
        if bound is None or bound >= trivial_bias(self.model.domain) > 0:
            return "no certificate"
        return f"bias of the last gradient at most {at_most(bound)}" if bound else "no bias of the last gradient"

    @property
    def certified(self) -> str:
        """What is certified of the last gradient, in a sentence."""
        if not self.steps:
            return "None: no gradient was estimated."
        last = self.steps[-1]
        if last.certificate is None:
            return f"None for the last gradient ({last.reason})."
        if last.certificate == 0 and last.confidence in (None, 1.0):
            behind = f"; {last.n_chains} draws were behind it" if last.n_chains else ""
            return f"The last gradient had no bias ({last.reason}){behind}."
        bound, always = at_most(last.certificate), trivial_bias(self.model.domain)
        if last.certificate >= always > 0:
            return (
                f"None for the last gradient ({last.reason}): a bound of {bound} is no better than {at_most(always)}, "
                "which always holds."
            )
        surely = "" if last.confidence in (None, 1.0) else f", with confidence {as_confidence(last.confidence)}"
        granted = f" That is an approximation: it holds {last.condition}." if last.condition else ""
        met = "" if last.is_certified else f" It does not meet the criterion, and {at_most(always)} always holds."
        return f"The bias of the last gradient has norm {bound} at most{surely} ({last.reason}).{granted}{met}"

    @property
    def computed(self) -> str:
        """What the computation leaves open, in plain words: how much seeds differ, and how far the optimum is at most.

        Examples
        --------
        >>> import sparsefield as sf
        >>> table = sf.datasets.make_field(5, seed=1).sample(400, method="perfect", seed=1)
        >>> sf.learn(table, 0.03).computed
        'Computation: the weights have no simulation error, so that every seed gives the same.'
        """
        said = []
        if self.spread is not None:
            open_ = f"with another seed and as many draws, weights differ by {at_most(self.spread)} at most"
            exact = "the weights have no simulation error, so that every seed gives the same"
            said.append(open_ if self.spread else exact)
        if self.optimality is not None and np.isfinite(self.optimality.gap):
            gap, surely = at_most(self.optimality.gap), as_confidence(self.optimality.confidence)
            certain = "" if self.optimality.confidence == 1 else f", with confidence {surely}"
            is_there = self.optimality.gap < _ROUNDING
            far = "at its optimum, but for rounding" if is_there else f"at most {gap} nats per row from its optimum"
            said.append(f"the fit is certified to be {far}{certain}")
        return f"Computation: {'; '.join(said)}." if said else ""

    @property
    def is_serious(self) -> bool:
        """Whether users should be warned of how it ended: also of a time too short for a step, or for what it promised.

        With `certify=True` the promise is that the certified gap is at most the one that is asked for.
        """
        if self.status.code != "max_seconds":
            return self.status.is_serious
        return not self.steps or not self._keeps_promise

    @property
    def _keeps_promise(self) -> bool:
        """Whether the gap that `certify=True` promises is certified; nothing is promised without."""
        if not self.settings.get("certify", False):
            return True
        asked = self.settings.get("gap", "auto")
        return self.optimality is not None and self.optimality.gap <= (PROMISED_GAP if asked == "auto" else asked)

    @property
    def trace(self) -> pl.DataFrame:
        """The iterations as a table, one row each (`trace.to_pandas()` for pandas)."""
        return make_trace(self.steps)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fit to a file, which `PairwiseMRF.load` reads too; `docs/format.md` says how."""
        facts = {
            "alpha": self.alpha,
            "penalty": self.penalty,
            "penalize_main": self.penalize_main,
            "support": _list_marked(self.support),
            "undecided": _list_marked(self.undecided),
            "spread": self.spread,
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
        if trace.startswith("iteration,") and find_kind(trace) is None:
            raise ValueError(
                f"File {str(path)!r} holds a fit of another version of sparsefield: PairwiseMRF.load reads its field; "
                "fit it again for the rest."
            )
        try:
            known = json.loads(facts)
            size, optimality = model.domain.n_slots, known["optimality"]
            return cls(
                model,
                Status(**json.loads(status)),
                read_trace(trace),
                undecided=_mark(known["undecided"], size),
                alpha=known["alpha"],
                penalty=known["penalty"],
                penalize_main=known["penalize_main"],
                support=_mark(known.get("support"), size),
                spread=known.get("spread"),
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


def _plain(value: Any) -> Any:
    """Return a value that a file can hold: itself, or the name of its kind."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else type(value).__name__


def _list_marked(marked: NDArray[np.bool_] | None) -> list[list[int]] | None:
    """Return the pairs of slots that are marked, each once."""
    return None if marked is None else np.argwhere(np.triu(marked)).tolist()


def _mark(pairs: list[list[int]] | None, size: int) -> NDArray[np.bool_] | None:
    """Return a matrix in which pairs of slots are marked."""
    if pairs is None:
        return None
    marked = np.zeros((size, size), dtype=bool)
    for a, b in pairs:
        marked[a, b] = marked[b, a] = True
    return marked
