"""A certificate: by how much the moments of Gibbs chains can be off, as a value that does not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield._rounding import as_confidence, at_most
from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.inference import Field
from sparsefield.model import across_variables, count_statistics, norm

Kind = Literal["paper", "sharp", "persistent", "coalescence", "fischer", "exact"]

NOTHING_SURE = (
    "Nothing is certified: the risks of all the bounds that are to hold together add up to 1. Ask each for a "
    "confidence nearer to 1."
)
_NAMES: dict[Kind, str] = {
    "paper": "the paper's bound",
    "sharp": "sharp bound",
    "persistent": "persistent bound",
    "coalescence": "bounding chains",
    "fischer": "Fischer's bound",
    "exact": "exact draws",
}
# The persistent bound couples chains with a path of models that is fixed beforehand (`Disagreement.move`).
_CONDITIONS: dict[Kind, str] = {"persistent": "if the chains had no part in choosing the models"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A bound on the bias of a Gibbs gradient: how far expected moments of chains are from those of the model.

    It is about the expectation over the chains' random numbers. The simulation error of finitely many chains comes on
    top of it (`concentration`), unless `simulation_error` bounds that as well.

    Parameters
    ----------
    kind : "paper", "sharp", "persistent", "coalescence", "fischer" or "exact"
        How the bound was found; "exact" is that of exact draws and enumeration, whose bias is zero.
    model : Field
        The parameters that it is about.
    bias : float
        Bound on the L2 norm of the bias over all statistics; with more than two levels less than the norm of `pair`.
    make_pair : callable
        Makes `pair`, when it is asked for.
    n_sweeps : float
        The sweeps that it is about, since the chains' start or, if persistent, since the model last moved.
    confidence : float
        Probability with which all the bounds hold together; 1 if it is no matter of probability.
    scope : "iteration" or "run"
        Whether the confidence is for this certificate alone or for all those of a run (`for_run`).
    simulation_error : float
        Bound on the L2 norm of the simulation error, where the certificate is about the whole error; else zero.
    find_radius : callable, optional
        Finds `radius`, where the bound uses that.

    Attributes
    ----------
    pair : ndarray of shape (n_slots, n_slots)
        Bound on the bias of each pair statistic, laid out like `Moments.pair`: the diagonal is for main statistics.
    main : ndarray of shape (n_slots,)
        Bound on the bias of each main statistic.
    radius : float or None
        Spectral radius of the influence matrix, rounded up, where the bound uses that. Below 1 more sweeps bring the
        bound to zero.
    condition : str
        What the bound takes for granted, as a clause; empty if nothing. The persistent one holds if the chains had no
        part in choosing the models: in a fit they have one, and it is an approximation.
    """

    kind: Kind
    model: Field
    bias: float
    make_pair: Callable[[], Matrix] = field(repr=False)
    n_sweeps: float
    confidence: float = 1.0
    scope: Literal["iteration", "run"] = "iteration"
    simulation_error: float = 0.0
    find_radius: Callable[[], float] | None = field(default=None, repr=False)

    @classmethod
    def of_pairs(
        cls,
        kind: Kind,
        model: Field,
        pair: Matrix,
        n_sweeps: float,
        *,
        confidence: float = 1.0,
        distance: float = np.inf,
    ) -> Certificate:
        """Return the certificate with a bound for each statistic and, if known, for the total variation distance."""
        bias = norm_within(model.domain, pair, distance)
        return cls(kind, model, bias, partial(np.asarray, pair), n_sweeps, confidence=confidence)

    @classmethod
    def exact(cls, model: Field, n_sweeps: float = 0) -> Certificate:
        """Return the certificate of moments without bias."""
        return cls("exact", model, 0.0, partial(across_variables, model.domain, 0.0), n_sweeps)

    @property
    def total(self) -> float:
        """Bound on the L2 norm of all that the certificate is about: the bias, or the whole error."""
        return self.bias + self.simulation_error

    @cached_property
    def pair(self) -> Matrix:
        """Bound on the bias of each pair statistic (n_slots, n_slots)."""
        pair = self.make_pair().view()
        pair.flags.writeable = False
        return pair

    @cached_property
    def radius(self) -> float | None:
        """Spectral radius of the influence matrix, where the bound uses that."""
        return None if self.find_radius is None else self.find_radius()

    @property
    def main(self) -> NDArray[np.float64]:
        """Bound on the bias of each main statistic (n_slots,): the diagonal of `pair`."""
        return np.diagonal(self.pair)

    @property
    def n_statistics(self) -> int:
        """The number of statistics: main ones, and pairs of slots of different variables."""
        return count_statistics(self.model.domain)

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says nothing: no statistic can be off by more than 1 anyway."""
        return self.bias >= self._trivial > 0

    @property
    def _trivial(self) -> float:
        """The bound that always holds: every statistic that is not constant is off by 1."""
        return trivial_bias(self.model.domain)

    @property
    def condition(self) -> str:
        """What the bound takes for granted, beyond what is computed exactly; empty if nothing."""
        return _CONDITIONS.get(self.kind, "")

    @property
    def _proviso(self) -> str:
        return f" It holds {self.condition}." if self.condition else ""

    def for_run(self, n_certificates: int) -> Certificate:
        """Return this certificate with the confidence that it and all others of a run hold together.

        Parameters
        ----------
        n_certificates : int
            How many certificates of this confidence the run has.
        """
        if n_certificates < 1:
            raise ValueError(f"n_certificates is {n_certificates}: use at least one.")
        if self.scope == "run":
            raise ValueError("This certificate is for a whole run already.")
        return replace(self, confidence=hold_together([self.confidence] * n_certificates), scope="run")

    def __repr__(self) -> str:
        return f"<Certificate: {self}>"

    def __str__(self) -> str:
        """Say in a sentence what is certified, or why nothing is and what to do."""
        if self.kind == "exact":
            return "The gradient has no bias: it is from exact draws, or from enumeration."
        if self.confidence == 0:
            return NOTHING_SURE
        surely = "" if self.confidence == 1 else f"with confidence {as_confidence(self.confidence)} "
        if surely and self.scope == "run":
            surely += "for the whole run "
        sweeps = "1 sweep" if self.n_sweeps == 1 else f"{self.n_sweeps:g} sweeps"
        if self.simulation_error and not self.is_vacuous:
            return (
                f"After {sweeps} the error of the gradient is {surely}at most {at_most(self.total)}: bias "
                f"{at_most(self.bias)} ({_NAMES.get(self.kind, self.kind)}), simulation error "
                f"{at_most(self.simulation_error)}.{self._proviso}"
            )
        about = f"(L2 norm over {self.n_statistics} statistics, {_NAMES.get(self.kind, self.kind)})"
        if not self.is_vacuous:
            certified = f"After {sweeps} the bias of the gradient is {surely}at most {at_most(self.bias)} {about}."
            certified += self._proviso
            return certified if self.radius is None or self.radius < 1 else f"{certified} {self._remedy()}"
        return (
            f"After {sweeps} nothing is certified: {at_most(self.bias)} {about} is no better than "
            f"{at_most(self._trivial)}, which always holds. {self._remedy()}"
        )

    def _remedy(self) -> str:
        if self.kind == "coalescence":
            return "Use more sweeps; if most bounding chains have met already, more chains."
        if self.kind == "fischer":
            return "This bound is for comparison; use dobrushin() or coalescence()."
        if self.radius is not None and self.radius >= 1:
            return (
                f"The influence matrix has radius {at_most(self.radius)}, not below 1, so that more sweeps do not "
                "bring the bound to zero: use coalescence(), or exact draws (method='perfect')."
            )
        if self.radius is None:
            return "Use more sweeps."
        return (
            f"Use more sweeps: the influence matrix has radius {at_most(self.radius, below=1)}, so that the bound will "
            "fall."
        )


def trivial_bias(domain: Domain) -> float:
    """Return the bound on the L2 norm of a bias that always holds: every statistic that is not constant is off by 1."""
    moves = (domain.n_levels > 1)[domain.slot_variables]
    return norm_within(domain, across_variables(domain, (moves[:, None] | moves).astype(np.float64)), 1.0)


def norm_within(domain: Domain, pair: Matrix, distance: float) -> float:
    """Bound the L2 norm of changes of all statistics, given bounds for each and the total variation distance.

    The statistics of one variable, or of one pair of them, are probabilities: they rise by the distance together at
    most, and fall by as much, so that their squares add up to twice its square at most.
    """
    if domain.is_binary or np.all(np.bincount(domain.slot_variables, minlength=1) <= 1):
        return norm(pair)
    member = domain.slot_variables[:, None] == np.arange(domain.n_variables)
    squares = np.minimum(member.T @ (pair**2) @ member, 2 * distance**2)
    return float(np.sqrt(np.triu(squares).sum()))


def hold_together(confidences: Sequence[float]) -> float:
    """Return the confidence that several bounds all hold, at least: their probabilities of failure add up.

    In decimal numbers, as people write them: ten times 0.97 leave 0.7, and not 0.6999999999999997.
    """
    risks = (1 - Decimal(repr(float(own))) for own in confidences)
    return max(0.0, float(1 - sum(risks)))
