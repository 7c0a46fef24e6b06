"""Simulation error on top of bias: what finitely many chains add, and how many are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsefield._rounding import as_confidence, at_most
from sparsefield.certificates._certificate import NOTHING_SURE, Certificate, hold_together
from sparsefield.certificates._coalescence import check_confidence, upper_limits
from sparsefield.data import Domain, Moments
from sparsefield.inference import Field
from sparsefield.model import across_variables, count_statistics, norm

Tail = Literal["paper", "sharp"]
_MOST_CHAINS = 2**40


@dataclass(frozen=True, eq=False)
class Concentration:
    """A bound on the error of an estimated gradient: its bias, and the simulation error of its chains.

    Parameters
    ----------
    kind : "paper" or "sharp"
        How simulation error was bounded.
    model : Field
        The parameters that it is about.
    bias : float
        Bound on the L2 norm of the bias.
    pair : ndarray of shape (n_slots, n_slots)
        Bound on the simulation error of each pair statistic, laid out like `Moments.pair`.
    n_chains : int
        Independent chains behind the estimate.
    confidence : float
        Probability with which all the bounds hold together, that on the bias included.
    """

    kind: Tail
    model: Field
    bias: float
    pair: NDArray[np.float64]
    n_chains: int
    confidence: float

    def __post_init__(self) -> None:
        self.pair.flags.writeable = False

    @property
    def main(self) -> NDArray[np.float64]:
        """Bound on the simulation error of each main statistic (n_slots,): the diagonal of `pair`."""
        return np.diagonal(self.pair)

    @property
    def simulation_error(self) -> float:
        """Bound on the L2 norm of the simulation error."""
        return norm(self.pair)

    @property
    def total(self) -> float:
        """Bound on the L2 norm of the whole error."""
        return self.bias + self.simulation_error

    def __repr__(self) -> str:
        return f"<Concentration: {self}>"

    def __str__(self) -> str:
        """Say in a sentence what is certified."""
        if self.confidence == 0:
            return NOTHING_SURE
        return (
            f"With confidence {as_confidence(self.confidence)} the error of the gradient is at most "
            f"{at_most(self.total)}: bias {at_most(self.bias)}, simulation error of {self.n_chains} chains "
            f"{at_most(self.simulation_error)}."
        )


def concentration(
    model: Field,
    moments: Moments,
    bias: Certificate | None = None,
    *,
    confidence: float = 0.95,
    kind: Tail = "paper",
) -> Concentration:
    """Bound the whole error of moments that independent chains estimate.

    Kind "paper" is the paper's Theorem 4: with V_j the sample variance of statistic j over q chains, ::

        eps_j = 2 ( sqrt( V_j log(2 / beta_j) / (2 q) ) + 7 log(2 / beta_j) / (3 (q - 1)) ),

    all hold together with probability 1 - 2 sum_j beta_j; here beta_j = (1 - confidence) / (2 m). (The paper's proof
    has p - 1 in place of q - 1 once; q - 1 is what its source, Maurer and Pontil's Theorem 4, says.) Kind "sharp" uses
    that statistics are zero or one, so that their counts are binomial: limits of Clopper and Pearson with the same
    beta_j on either side.

    Parameters
    ----------
    model : Field
        The model that was sampled.
    moments : Moments
        Means over chains that are independent and start alike: all from one law, or as exact draws.
    bias : Certificate, optional
        What is known of the bias of these chains; none is assumed (exact draws) unless given. Where it has a
        confidence below 1, the probabilities of failure add up.
    confidence : float
        Probability with which the bounds on the simulation error hold.
    kind : "paper" or "sharp"
        How simulation error is bounded.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.certificates import concentration, dobrushin
    >>> model = sf.datasets.make_field(10, strength=(0.5, 1.0), seed=1)
    >>> draws = model.sample(5000, n_sweeps=10, seed=1)
    >>> found = concentration(model, sf.data.moments_of_table(draws), dobrushin(model, 10))
    >>> round(found.simulation_error, 2), found.bias < 1e-4
    (0.25, True)
    """
    check_confidence(confidence)
    _check_bias(model, bias)
    if moments.n is None or moments.n < 2:
        raise ValueError("Simulation error is for means over two or more chains; these moments are exact or of one.")
    domain = _check_moments(model, moments)
    beta = _share(domain, confidence)
    pair = across_variables(domain, _errors(moments.pair, moments.n, beta, kind))
    return Concentration(
        kind,
        model,
        0.0 if bias is None else bias.bias,
        pair,
        moments.n,
        confidence if bias is None else hold_together([confidence, bias.confidence]),
    )


def chains_needed(
    model: Field,
    moments: Moments,
    total: float,
    bias: Certificate | None = None,
    *,
    confidence: float = 0.95,
    kind: Tail = "paper",
) -> int:
    """Return how many chains bring the bound on the whole error down to `total`.

    A plan, for means that stay as they are: the bound holds for what `concentration` finds with those chains.

    Parameters
    ----------
    model : Field
        The model that is sampled.
    moments : Moments
        Its means, estimated or exact.
    total : float
        Wanted bound on the L2 norm of bias and simulation error together.
    bias, confidence, kind
        As for `concentration`.

    Examples
    --------
    >>> from sparsefield.certificates import chains_needed
    >>> from sparsefield.datasets import make_field
    >>> model = make_field(10, seed=1)
    >>> chains_needed(model, model.moments(), 0.1) > chains_needed(model, model.moments(), 0.2)
    True
    """
    check_confidence(confidence)
    _check_bias(model, bias)
    known = 0.0 if bias is None else bias.bias
    left = total - known
    if not left > 0:
        raise ValueError(
            f"The bound on the bias alone is {at_most(known)}, and {total:g} is wanted for the whole error: "
            "sweep more, or use exact draws."
        )
    domain = _check_moments(model, moments)
    beta = _share(domain, confidence)

    # Few different means, however many statistics.
    upper = np.triu(across_variables(domain, 1.0)) > 0
    means, counts = np.unique(moments.pair[upper], return_counts=True)

    def is_enough(n: int) -> bool:
        return bool(np.sqrt(counts @ _errors(means, n, beta, kind) ** 2) <= left)

    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST_CHAINS:
            raise ValueError(
                f"More than {_MOST_CHAINS:.3g} chains would be needed: ask for a larger error than {total:g}."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _check_bias(model: Field, bias: Certificate | None) -> None:
    if bias is None or bias.model is model:
        return
    same = bias.model.domain == model.domain and np.array_equal(bias.model.interactions, model.interactions)
    if not (same and np.array_equal(bias.model.main, model.main)):
        raise ValueError("The certificate of the bias is about another model.")


def _check_moments(model: Field, moments: Moments) -> Domain:
    size = model.domain.n_slots
    if moments.pair.shape != (size, size):
        raise ValueError(f"The moments are of {len(moments.pair)} main statistics, but the model has {size}.")
    return model.domain


def _share(domain: Domain, confidence: float) -> float:
    return (1 - confidence) / (2 * max(1, count_statistics(domain)))


def _errors(means: NDArray[np.float64], n: int, beta: float, kind: Tail) -> NDArray[np.float64]:
    """Bound |mean - expectation| of each statistic for n chains, failing with probability 2 beta or less each."""
    if kind == "paper":
        log = np.log(2 / beta)
        variance = np.clip(means * (1 - means), 0, None) * (n / (n - 1))
        return np.asarray(2 * (np.sqrt(variance * log / (2 * n)) + 7 * log / (3 * (n - 1))))
    if kind != "sharp":
        raise ValueError(f"kind is {kind!r}: use 'paper' or 'sharp'.")
    counts = np.rint(means * n).astype(np.int64)
    above = upper_limits(counts, n, beta) - counts / n
    below = counts / n - (1 - upper_limits(n - counts, n, beta))
    return np.maximum(above, below)
