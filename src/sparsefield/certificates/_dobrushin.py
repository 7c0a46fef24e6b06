"""The paper's bound and its sharper forms: disagreement of chain and target, followed sweep by sweep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sparsefield._kernels._influence import follow_norms, follow_sums, sharp_norm, sweep_disagreement
from sparsefield._rounding import at_most
from sparsefield.certificates._certificate import Certificate
from sparsefield.certificates._influence import conditional_changes, influence_rows, spectral_radius
from sparsefield.data import Domain
from sparsefield.inference import Field, check_order, check_sweeps
from sparsefield.model import across_variables, count_statistics

# Of Gauss-Seidel sweeps between two targets: every round leaves a bound, and these end when one gains little.
_MOST_ROUNDS, _PRECISION = 1000, 1e-4

_Rows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]  # of the influence matrix, compressed


class Disagreement:
    """How far Gibbs chains can be from their target, followed sweep by sweep.

    Entry i of the disagreement w bounds the probability that chain and target differ at variable i when they are
    coupled as well as can be. An update of variable i makes it w_i = sum_j U_ij w_j, with U the influence matrix, so
    that a Gibbs sweep is a Gauss-Seidel sweep: the power B^n of the paper's Theorem 3 applied to the vector of ones,
    without a matrix product, in time proportional to the number of interactions.

    Kind "paper" is the paper's bound, 2 sqrt(m) min(1, sum_i w_i) over m statistics. Kind "sharp" asks what a
    disagreement does to each statistic: it moves a main statistic by at most w_i and a pair statistic by at most
    min(1, w_i + w_j), and no probability is above 1::

        sqrt( sum_i w_i^2 + sum_{i<j} min(1, w_i + w_j)^2 ).

    A variable or a pair with several statistics counts twice and no more: the probabilities of its levels fall by as
    much as others rise, so that the squares of all changes add up to 2 w^2 at most.

    The object changes in place; `certificate` makes a value of it.

    Parameters
    ----------
    model : PairwiseMRF
        The target.
    kind : "sharp" or "paper"
        Which bound.
    start : "any" or "exact"
        Where the chains start: anywhere, or at exact draws from the model (as of a model without interactions, or with
        method="perfect").
    order : sequence of int, optional
        The order in which the chains' sweeps update the variables; 0, 1, 2, ... unless given.

    Examples
    --------
    >>> from sparsefield.certificates import Disagreement
    >>> from sparsefield.datasets import make_field
    >>> far = Disagreement(make_field(10, strength=(0.5, 1.0), seed=1))
    >>> while far.bias > 0.01:
    ...     far.sweep()
    >>> far.n_sweeps
    5
    """

    def __init__(
        self,
        model: Field,
        *,
        kind: Literal["paper", "sharp"] = "sharp",
        start: Literal["any", "exact"] = "any",
        order: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> None:
        if kind not in ("paper", "sharp"):
            raise ValueError(f"kind is {kind!r}: use 'paper' or 'sharp'.")
        if start not in ("any", "exact"):
            raise ValueError(f"start is {start!r}: use 'any' or 'exact'.")
        self.kind: Literal["paper", "sharp", "persistent"] = kind
        self.n_sweeps = 0
        self._order = check_order(order, model.domain.n_variables)
        domain = model.domain
        self._n_slots = np.bincount(domain.slot_variables, minlength=domain.n_variables)
        # A variable with one level cannot differ.
        self._w = (domain.n_levels > 1).astype(np.float64) * (start == "any")
        self._aim(model)

    def _aim(self, model: Field) -> None:
        self.model = model
        self._rows = influence_rows(model)
        self._radius: tuple[float, NDArray[np.float64]] | None = None

    @property
    def influence(self) -> csr_array:
        """The influence matrix (n_variables, n_variables)."""
        return _as_matrix(self._rows)

    @property
    def values(self) -> NDArray[np.float64]:
        """The disagreement of each variable (n_variables,)."""
        return self._w.copy()

    @property
    def radius(self) -> float:
        """The spectral radius of the influence matrix, rounded up; below 1 the disagreement goes to zero."""
        return self._proof()[0]

    def _proof(self) -> tuple[float, NDArray[np.float64]]:
        if self._radius is None:
            self._radius = spectral_radius(self.influence)
        return self._radius

    def copy(self) -> Disagreement:
        """Return another one in the same state."""
        other = object.__new__(Disagreement)
        other.__dict__.update(self.__dict__)
        other._w = self._w.copy()
        return other

    def sweep(self, n_sweeps: int = 1) -> None:
        """Follow the chains through some sweeps."""
        check_sweeps(n_sweeps)
        self._relax(np.zeros_like(self._w), np.inf if self.kind == "paper" else 1.0, self._w, n_sweeps)
        self.n_sweeps += n_sweeps

    def _relax(self, extra: NDArray[np.float64], cap: float, w: NDArray[np.float64], n_sweeps: int) -> None:
        sweep_disagreement(*self._rows, self._order, extra, cap, w, n_sweeps)

    def move(self, model: Field) -> None:
        """Go on with the same chains towards another model: the persistent certificate.

        The old and the new target can be coupled with disagreement (I - U)^-1 b or less, U the influence matrix of the
        new model and b_i the most by which the change moves a conditional probability of variable i (at most
        tanh(D_i / 4), D_i the largest change of its log-odds). That is added to the disagreement of chains and old
        target.

        This is exact for chains that are swept along a sequence of models fixed beforehand. In a fit the models depend
        on the chains; on each single one of many only weakly, and then the certificate is an approximation. For
        certificates without that restriction start the chains anew (`dobrushin`, `coalescence`) or use exact draws.

        Parameters
        ----------
        model : PairwiseMRF
            The new target, over the same variables. Its influence matrix must have a spectral radius below 1; otherwise
            the move is refused with a ValueError and nothing changes.
        """
        if self.kind == "paper":
            raise ValueError("The paper's bound is for chains that start anew: use kind='sharp' for persistent ones.")
        if model.domain != self.model.domain:
            raise ValueError("The new model has other variables than the old one: start anew.")
        last = self.model, self._rows, self._radius
        changes = conditional_changes(self.model, model)
        self._aim(model)
        if self.radius >= 1:
            radius = self.radius
            self.model, self._rows, self._radius = last
            raise ValueError(
                f"The influence matrix of the new model has radius {at_most(radius)}, not below 1: the disagreement of "
                "old and new target cannot be bounded. Start the chains anew, use coalescence(), or use exact draws."
            )
        self._w = np.minimum(self._w + self._between_targets(changes), 1.0)
        self.kind = "persistent"
        self.n_sweeps = 0

    def _between_targets(self, changes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound x = (I - U)^-1 b from above, by Gauss-Seidel sweeps that only ever lower a bound.

        Every x with U x + b <= x is a bound, and a sweep keeps that. With U v <= r v, v positive and r below 1,
        x = v max_i(b_i / v_i) / (1 - r) is one to begin with.
        """
        r, v = self._proof()
        x = v * ((changes / v).max(initial=0.0) / (1 - r))
        # No disagreement is above 1; what v says of weak parts of the graph may be far above it.
        x = np.minimum(x, 1.0)
        for _ in range(_MOST_ROUNDS):
            last = x.sum()
            self._relax(changes, 1.0, x, 2)
            if x.sum() >= last * (1 - _PRECISION):
                break
        return np.asarray(x)

    @property
    def bias(self) -> float:
        """Bound on the L2 norm of the gradient's bias, in time p log p."""
        if self.kind == "paper":
            return float(self._paper_norm(self._w.sum()))
        return float(sharp_norm(self._w, self._n_slots))

    def _paper_norm(self, total: float | NDArray[np.float64]) -> Any:
        return 2 * np.sqrt(count_statistics(self.model.domain)) * np.minimum(1.0, total)

    def next_biases(self, n_sweeps: int) -> NDArray[np.float64]:
        """Return the bounds after each of the next n sweeps, without making them."""
        return self.sweep_ahead(self._w.copy(), n_sweeps)

    def sweep_ahead(self, w: NDArray[np.float64], n_sweeps: int) -> NDArray[np.float64]:
        """Sweep a disagreement w (n_variables,) in place, and return the bounds after each of the sweeps."""
        found, extra = np.empty(n_sweeps), np.zeros(len(w))
        if self.kind == "paper":
            follow_sums(*self._rows, self._order, extra, w, found)
            return np.asarray(self._paper_norm(found))
        follow_norms(*self._rows, self._order, extra, w, self._n_slots, found)
        return found

    def certificate(self, bias: float | None = None) -> Certificate:
        """Return what is certified now.

        Parameters
        ----------
        bias : float, optional
            The bound on the norm of the bias, where it is known already (`next_biases`): all else is then found when it
            is asked for.
        """
        make_pair = partial(_lay_out, self.model.domain, self.kind, self._w.copy())
        return Certificate(
            self.kind,
            self.model,
            self.bias if bias is None else bias,
            make_pair,
            self.n_sweeps,
            find_radius=partial(_radius_of, self._radius, self._rows),
        )


def _lay_out(domain: Domain, kind: str, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a disagreement w does to each statistic at most."""
    if kind == "paper":
        return across_variables(domain, 2 * min(1.0, float(w.sum())))
    by_slot = w[domain.slot_variables]
    pair = across_variables(domain, np.minimum(1.0, by_slot[:, None] + by_slot))
    np.fill_diagonal(pair, by_slot)
    return pair


def _as_matrix(rows: _Rows) -> csr_array:
    starts, columns, entries = rows
    return csr_array((entries, columns, starts), shape=(len(starts) - 1,) * 2)


def _radius_of(known: tuple[float, NDArray[np.float64]] | None, rows: _Rows) -> float:
    return (spectral_radius(_as_matrix(rows)) if known is None else known)[0]


def dobrushin(
    model: Field,
    n_sweeps: int,
    *,
    kind: Literal["paper", "sharp"] = "sharp",
    order: Sequence[int] | NDArray[np.int64] | None = None,
) -> Certificate:
    """Certify chains that start anywhere and are swept n times.

    Says something where interactions are weak enough for the influence matrix to have a radius below 1.

    Parameters
    ----------
    model : PairwiseMRF
        The field.
    n_sweeps : int
        Sweeps of the chains.
    kind : "sharp" or "paper"
        The sharp bound, or the paper's (Theorem 3), which is always at least twice as large.
    order : sequence of int, optional
        The order in which the chains' sweeps update the variables; 0, 1, 2, ... unless given.

    Examples
    --------
    >>> from sparsefield.certificates import dobrushin
    >>> from sparsefield.datasets import make_field
    >>> model = make_field(10, strength=(0.5, 1.0), seed=1)
    >>> print(dobrushin(model, 5))
    After 5 sweeps the bias of the gradient is at most 0.00752 (L2 norm over 55 statistics, sharp bound).
    """
    disagreement = Disagreement(model, kind=kind, order=order)
    disagreement.sweep(n_sweeps)
    return disagreement.certificate()
