"""Certificates by bounding chains: where all starts have led to the same state, none of them matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv

from sparsefield.certificates._certificate import Certificate
from sparsefield.inference import Bounds, Device, Field, make_backend
from sparsefield.model import across_variables, count_statistics

_FEW = 32  # counts that are not sorted first, which takes as long as so many limits


def coalescence(
    model: Field,
    n_sweeps: int,
    n_chains: int = 5000,
    *,
    seed: int,
    confidence: float = 0.95,
    order: Sequence[int] | None = None,
    n_threads: int | None = None,
    device: Device = None,
) -> Certificate:
    """Certify chains that start anywhere and are swept n times, by watching bounding chains.

    A Gibbs chain and its target, driven by the same random numbers, can differ in a statistic only where bounding
    chains leave that statistic open. So the probability of that bounds its bias, whatever the interactions: also
    where the influence matrix has a radius of 2 and more. It is estimated by n_chains independent bounding chains.

    Each statistic's limit is the smaller of two upper limits of Clopper and Pearson: for the chains that leave this
    statistic open, and for those that leave anything open. With m statistics the first fail with probability
    (1 - confidence) / (2 m) each, the second with (1 - confidence) / 2, so that all limits hold together, and with
    them the bound on the norm, with probability `confidence` or more.

    The number of sweeps must be chosen beforehand. To follow chains sweep by sweep and stop when the bound is low
    enough, share 1 - confidence among the interim checks.

    Parameters
    ----------
    model : PairwiseMRF
        A field of variables with at most 64 levels.
    n_sweeps : int
        Sweeps of the chains.
    n_chains : int
        Bounding chains. When all have met, the limit of a statistic is about log(2 / (1 - confidence)) / n_chains.
    seed : int
        Where the random numbers start.
    confidence : float
        Probability with which the certificate holds.
    order : sequence of int, optional
        The order in which the chains' sweeps update the variables; 0, 1, 2, ... unless given.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    device : "cpu", "cuda", "auto" or Backend, optional
        As for `PairwiseMRF.sample`.

    Examples
    --------
    >>> from sparsefield.certificates import coalescence, dobrushin
    >>> from sparsefield.datasets import make_field
    >>> model = make_field(20, seed=1)
    >>> dobrushin(model, 100).bias > 10
    True
    >>> coalescence(model, 100, 100_000, seed=1).bias < 0.001
    True
    """
    machine = make_backend(device, n_threads)
    bounds = machine.bounding_chains(model.domain, n_chains, seed=seed)
    bounds.sweep(machine.prepare(model, n_planes=2, order=order), n_sweeps)
    return certify_bounds(model, bounds, confidence=confidence)


def certify_bounds(model: Field, bounds: Bounds, *, confidence: float = 0.95) -> Certificate:
    """Certify by bounding chains that have been swept with this model, and no other, from their start on."""
    check_confidence(confidence)
    if bounds.domain is not model.domain and bounds.domain != model.domain:
        raise ValueError("The bounding chains are of other variables than the model.")
    domain = model.domain
    failure = (1 - confidence) / 2
    any_open = upper_limits(np.array([bounds.n_open]), bounds.n_chains, failure)[0]
    counts = bounds.open_counts()
    limits = upper_limits(counts, bounds.n_chains, failure / max(1, count_statistics(domain)))
    pair = across_variables(domain, np.minimum(limits, any_open))
    return Certificate.of_pairs(
        "coalescence", model, pair, bounds.n_sweeps, confidence=confidence, distance=float(any_open)
    )


def upper_limits(counts: NDArray[np.int64], n: int, failure: float) -> NDArray[np.float64]:
    """Return Clopper and Pearson's upper limits for counts out of n, each wrong with probability `failure` or less."""
    largest = int(counts.max(initial=0))
    # A limit takes two microseconds: few of them are all made, of many those that occur, at most n + 1 different ones.
    if largest < _FEW:
        known, indices = np.arange(largest + 1), counts
    else:
        known, indices = np.unique(counts, return_inverse=True)
    limits = np.ones(len(known))
    inside = known < n
    limits[inside] = betainccinv(known[inside] + 1.0, n - known[inside], failure)
    return limits[indices].reshape(counts.shape)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside of 0 to 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: use a number between 0 and 1, such as 0.95.")
