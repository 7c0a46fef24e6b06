"""Exact moments and normalising constants by enumeration, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._kernels._enumeration import sum_states
from sparsefield.data import Domain, Moments
from sparsefield.inference._field import Field, expand

MAX_STATES = 2**27  # 27 binary variables: 1.2 seconds on two cores
_LOW_STATES = 4096  # states held side by side: 32 KB a vector, which stays in the second cache
_SECONDS = 2e-9  # for a state, on one core
_CHUNKS, _ROWS_EACH = 64, 16  # chunks at most, and high states of each: sums do not depend on the number of threads


@dataclass(frozen=True)
class Exact:
    """Inference by enumeration.

    Parameters
    ----------
    max_states : int
        Larger fields are refused.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """

    max_states: int = MAX_STATES
    n_threads: int | None = None

    def moments(self, field: Field) -> Moments:
        """Return the exact moments."""
        return enumerate_states(field, max_states=self.max_states, n_threads=self.n_threads)[1]


def enumerate_states(
    field: Field, *, max_states: int = MAX_STATES, n_threads: int | None = None
) -> tuple[float, Moments]:
    """Return the logarithm of the normalising constant and the exact moments."""
    domain = field.domain
    n_states = count_states(domain)
    if n_states > max_states:
        raise ValueError(
            f"The field has {say_states(domain)} states, too many to enumerate (limit {max_states:.3g}): "
            "estimate by sampling instead, with sample() or inference.Gibbs, or raise max_states."
        )
    main, pair = expand(field)
    n_levels = domain.n_levels
    n_high = _count_high(n_levels)
    n_low = int(np.prod(n_levels[n_high:]))
    low_start = int(n_levels[:n_high].sum())
    slots = (np.cumsum(n_levels) - n_levels)[domain.slot_variables] + domain.slot_levels
    low_slots = slots[slots >= low_start]
    low_codes = _low_states(tuple(n_levels[n_high:].tolist()), n_low, tuple((low_slots - low_start).tolist()))
    low_energy = ((low_codes @ pair[np.ix_(low_slots, low_slots)]) * low_codes).sum(axis=1) / 2
    low_weights = np.exp(low_energy - low_energy.max())
    n_chunks = min(_CHUNKS, -(-n_states // n_low // _ROWS_EACH))
    cuts = [n_states // n_low * k // n_chunks for k in range(n_chunks + 1)]
    sums = np.zeros((n_chunks, main.size, main.size))
    low_sums = np.zeros((n_chunks, n_low))
    scales = np.empty(n_chunks)

    def run(chunks: slice) -> None:
        for k in range(n_chunks)[chunks]:
            own = (n_levels, n_high, low_energy, low_weights, sums[k], low_sums[k])
            scales[k] = sum_states(cuts[k], cuts[k + 1], main, pair, *own)

    shares = _threads.share(n_chunks, n_threads, _SECONDS * n_states)
    _threads.run(run, [(share,) for share in shares])
    return _combine(sums, low_sums, scales, low_codes, slots, low_start)


def count_states(domain: Domain) -> int:
    """Count the states of a domain."""
    return math.prod(domain.n_levels.tolist())


def say_states(domain: Domain) -> str:
    """Write the number of states of a domain, which may be more than a float can hold."""
    n_states = count_states(domain)
    return f"{n_states:.3g}" if n_states < 10**300 else f"about 10^{math.log10(n_states):.0f}"


def _count_high(n_levels: NDArray[np.int64]) -> int:
    """Count the variables to step through so that the others have few enough states to hold."""
    n_high, n_low = len(n_levels), 1
    while n_high > 0 and n_low * n_levels[n_high - 1] <= _LOW_STATES:
        n_high -= 1
        n_low *= n_levels[n_high]
    return n_high


@lru_cache(maxsize=2)  # of 0.8 MB for twelve variables; a path asks for the same again and again
def _low_states(n_levels: tuple[int, ...], n_states: int, some: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the indicators of some of the levels for all states, first variable fastest."""
    columns = []
    stride = 1
    for n in n_levels:
        level = np.arange(n_states) // stride % n
        columns.append(level[:, None] == np.arange(n))
        stride *= n
    if not columns:
        return np.zeros((n_states, 0))
    return np.concatenate(columns, axis=1)[:, some].astype(np.float64)


def _combine(
    sums: NDArray[np.float64],
    low_sums: NDArray[np.float64],
    scales: NDArray[np.float64],
    low_codes: NDArray[np.float64],
    slots: NDArray[np.int64],
    low_start: int,
) -> tuple[float, Moments]:
    """Bring the chunks to one scale, add them, and keep the levels that have parameters."""
    top = scales.max()
    factors = np.exp(scales - top)
    pair = np.einsum("k,kij->ij", factors, sums)
    low_total = factors @ low_sums
    weight = low_total.sum()
    pair[low_start:, :low_start] = pair[:low_start, low_start:].T
    pair = pair[np.ix_(slots, slots)]
    low, n_high = low_codes.T @ (low_codes * low_total[:, None]), len(slots) - low_codes.shape[1]
    pair[n_high:, n_high:] = (low + low.T) / 2  # symmetric to the last bit
    pair /= weight
    return float(top + np.log(weight)), Moments.of_pairs(pair, None)
