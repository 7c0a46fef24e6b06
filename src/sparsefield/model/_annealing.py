"""Annealed importance sampling (Neal 2001): weighted chains on the way from independent variables to a field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference import Backend, ChainStates, OutOfReachError
from sparsefield.model._bridges import LARGEST_SKEWNESS, skewness_of_sum
from sparsefield.model._path import TemperedPath

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF

_PILOT = 1024  # chains that choose the times: a variance is known to a twentieth of itself

# Weights whose logarithms are normal with the variance v have the variance exp(v) - 1 about a mean of one, and v falls
# as one over the number of times. Sweeps of all chains together make the most of themselves for small v:
# (exp(v) - 1) / v is 1.05 for a tenth. The mean of 4096 such weights has the skewness 0.016, a ninth of what is
# allowed, so that there is room for weights with a longer tail.
_LARGEST_VARIANCE = 0.1

# Sweeps at each time. With two levels, ten take as long as the inner products there (100 variables, 1000 interactions);
# with more, one takes twice as long as these (60 variables of four levels, 1700 interactions).
_SWEEPS_OF_TWO, _SWEEPS_OF_MORE = 10, 2
_MOST_TIMES = 2000  # of a pilot run; the slowest refusal of `make bench-partition` took 4 seconds (18 variables)

# Sweeps towards the field from uniform starts, for means that need not be right: they only choose where to begin.
_SWEEPS = 100

_CHAINS_AT_ONCE = 2**16  # 800 KB for 100 variables of two levels


def anneal(
    model: PairwiseMRF, n_chains: int, seeds: Iterator[int], backend: Backend
) -> tuple[TemperedPath, NDArray[np.float64], int]:
    """Return a path to a model, the log-weights of chains along it, and how many sweeps each made.

    The mean of exp(log-weights) is the ratio of the normalising constants of end and start, without bias, whatever the
    sweeps. Times are chosen by chains of their own.
    """
    pilot = backend.chains(model.domain, _PILOT, seed=next(seeds))
    pilot.sweep(backend.prepare(model), _SWEEPS)
    path = TemperedPath.with_means(model, pilot.means(), _PILOT)
    times = choose_times(path, seeds, backend)
    cuts = [*range(0, n_chains, _CHAINS_AT_ONCE), n_chains]
    parts = [weigh_chains(path, times, b - a, next(seeds), backend) for a, b in pairwise(cuts)]
    return path, np.concatenate(parts), count_sweeps(path) * (len(times) - 2)


def weigh_chains(
    path: TemperedPath, times: Sequence[float], n: int, seed: int, backend: Backend
) -> NDArray[np.float64]:
    """Return the log-weights of n chains that are swept at each time, (n,)."""
    chains = start_chains(path, n, seed, backend)
    move, total, n_sweeps = path.move, np.zeros(n), count_sweeps(path)
    for before, after in pairwise(times):
        total += (after - before) * chains.draws().along(move)
        if after < 1:
            chains.sweep(backend.prepare(path.at(after)), n_sweeps)
    return total


def count_sweeps(path: TemperedPath) -> int:
    """Return how many sweeps chains make at each time."""
    return _SWEEPS_OF_TWO if np.all(path.end.domain.n_levels <= 2) else _SWEEPS_OF_MORE


def start_chains(path: TemperedPath, n: int, seed: int, backend: Backend) -> ChainStates:
    """Return chains at exact draws of the independent variables: one sweep from anywhere leads there."""
    chains = backend.chains(path.end.domain, n, seed=seed)
    chains.sweep(backend.prepare(path.start), 1)
    return chains


def choose_times(path: TemperedPath, seeds: Iterator[int], backend: Backend) -> list[float]:
    """Choose times from 0 to 1 at which log-weights get parts of equal size, so many that their variance is small."""
    step = 1.0
    while True:
        times, logs = _try_step(path, step, next(seeds), backend)
        variance = float(logs.var())
        is_skew = abs(skewness_of_sum([average_weights(logs)[1]])) > LARGEST_SKEWNESS
        if len(times) <= _MOST_TIMES and variance <= _LARGEST_VARIANCE and not is_skew:
            return times
        if len(times) > _MOST_TIMES:
            raise OutOfReachError(
                "The log-partition function is out of reach of annealing: with "
                f"{_MOST_TIMES * count_sweeps(path)} sweeps on the way from independent variables, log-weights still "
                f"have a variance above {_LARGEST_VARIANCE:g} or a few that decide. The interactions are too strong.",
                "annealing out of reach",
                "",
            )
        # The variance falls as one over the number of times, once these are many.
        step *= min(0.5, max(0.1, 0.8 * _LARGEST_VARIANCE / variance))


def average_weights(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the logarithm of the mean weight, and the influence of each weight on it, (n,)."""
    top = float(logs.max())
    weights = np.exp(logs - top)
    mean = float(weights.mean())
    return top + float(np.log(mean)), (weights / mean - 1) / len(logs)


def _try_step(path: TemperedPath, step: float, seed: int, backend: Backend) -> tuple[list[float], NDArray[np.float64]]:
    """Cut the way so that each part adds about step to the spread of log-weights; return the times and log-weights."""
    chains = start_chains(path, _PILOT, seed, backend)
    move, total, times, n_sweeps = path.move, np.zeros(_PILOT), [0.0], count_sweeps(path)
    while times[-1] < 1 and len(times) <= _MOST_TIMES:
        values = chains.draws().along(move)
        spread = float(values.std())
        after = min(1.0, times[-1] + step / spread) if spread else 1.0
        total += (after - times[-1]) * values
        times.append(after)
        if after < 1:
            chains.sweep(backend.prepare(path.at(after)), n_sweeps)
    return times, total
