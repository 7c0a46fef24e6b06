"""A certificate: by how much the moments of Gibbs chains can be off, as a value that does not change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield._domain import Domain
from sparsefield.inference._protocol import Field

Kind = Literal["paper", "sharp", "persistent", "coalescence", "fischer"]

_NAMES: dict[Kind, str] = {
    "paper": "the paper's bound",
    "sharp": "sharp bound",
    "persistent": "persistent bound",
    "coalescence": "bounding chains",
    "fischer": "Fischer's bound",
}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A bound on the bias of a Gibbs gradient: how far expected moments of chains are from those of the model.

    It is about the expectation over the chains' random numbers. The sampling error of finitely many chains comes on
    top of it (`concentration`).

    Parameters
    ----------
    kind : "paper", "sharp", "persistent", "coalescence" or "fischer"
        How the bound was found.
    model : Field
        The parameters that it is about.
    pair : ndarray of shape (n_slots, n_slots)
        Bound on the bias of each pair statistic, laid out like `Moments.pair`: the diagonal is for main
        statistics.
    n_sweeps : int
        The sweeps that it is about, since the chains' start or, if persistent, since the model last moved.
    confidence : float
        Probability with which all the bounds hold together; 1 if it is no matter of chance.
    scope : "iteration" or "run"
        Whether the confidence is for this certificate alone or for all those of a run (`for_run`).
    radius : float or None
        Spectral radius of the influence matrix, rounded up, where the bound uses that. Below 1 more sweeps bring the
        bound to zero.

    Attributes
    ----------
    bias : float
        Bound on the L2 norm of the bias over all statistics.
    main : ndarray of shape (n_slots,)
        Bound on the bias of each main statistic.
    """

    kind: Kind
    model: Field
    pair: NDArray[np.float64]
    n_sweeps: int
    confidence: float = 1.0
    scope: Literal["iteration", "run"] = "iteration"
    radius: float | None = None
    bias: float = field(init=False)

    def __post_init__(self) -> None:
        pair = self.pair.view()
        pair.flags.writeable = False
        object.__setattr__(self, "pair", pair)
        object.__setattr__(self, "bias", norm(pair))

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
        domain = self.model.domain
        moves = (domain.n_levels > 1)[domain.slot_variables]
        return norm(across_variables(domain, (moves[:, None] | moves).astype(np.float64)))

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
        return replace(self, confidence=max(0.0, 1 - n_certificates * (1 - self.confidence)), scope="run")

    def __str__(self) -> str:
        """Say in a sentence what is certified, or why nothing is and what to do."""
        surely = "" if self.confidence == 1 else f"with confidence {self.confidence:.4g} "
        if surely and self.scope == "run":
            surely += "for the whole run "
        sweeps = "1 sweep" if self.n_sweeps == 1 else f"{self.n_sweeps} sweeps"
        about = f"(L2 norm over {self.n_statistics} statistics, {_NAMES[self.kind]})"
        if not self.is_vacuous:
            certified = f"After {sweeps} the bias of the gradient is {surely}at most {self.bias:.3g} {about}."
            return certified if self.radius is None or self.radius < 1 else f"{certified} {self._remedy()}"
        return (
            f"After {sweeps} nothing is certified: {self.bias:.3g} {about} is no better than {self._trivial:.3g}, "
            f"which always holds. {self._remedy()}"
        )

    def _remedy(self) -> str:
        if self.kind == "coalescence":
            return "Use more sweeps; if most bounding chains have met already, more chains."
        if self.kind == "fischer":
            return "This bound is for comparison; use dobrushin() or coalescence()."
        if self.radius is not None and self.radius >= 1:
            return (
                f"The influence matrix has radius {self.radius:.3g}, not below 1, so that more sweeps do not bring "
                "the bound to zero: use coalescence(), or exact draws (method='perfect')."
            )
        return f"Use more sweeps: the influence matrix has radius {self.radius:.3g}, so that the bound will fall."


def count_statistics(domain: Domain) -> int:
    """Count the statistics: main ones, and pairs of slots of different variables."""
    sizes = np.bincount(domain.slot_variables, minlength=domain.n_variables)
    total = int(sizes.sum())
    return total + (total * total - int((sizes * sizes).sum())) // 2


def across_variables(domain: Domain, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Lay values out like `Moments.pair`: the diagonal and pairs across variables; zero elsewhere."""
    across = domain.slot_variables[:, None] != domain.slot_variables
    np.fill_diagonal(across, True)
    return np.where(across, values, 0.0)


def norm(pair: NDArray[np.float64]) -> float:
    """Return the L2 norm over the statistics, each counted once: the diagonal and one triangle."""
    diagonal = np.diagonal(pair)
    return float(np.sqrt((np.vdot(pair, pair) + np.vdot(diagonal, diagonal)) / 2))
