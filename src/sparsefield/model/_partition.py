"""The log-partition function: by sums over states, by bridges between exact draws, or by annealing; with its error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from sparsefield._kernels._bytes import BLOCK
from sparsefield._seeds import derive_seed
from sparsefield._typing import Values
from sparsefield.data import MISSING
from sparsefield.inference import MAX_STATES, Backend, Given, OutOfReachError, count_states
from sparsefield.model._annealing import anneal, average_weights, start_chains
from sparsefield.model._bridges import LARGEST_SKEWNESS, Bridge, add_influences, bridge, chain_bridges, skewness_of_sum
from sparsefield.model._path import TemperedPath, sum_independent
from sparsefield.model._simulated import Simulated

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF


# With w normal and models d standard deviations of w apart, n draws of each give a squared error of
# 2 (1 / overlap - 1) / n. For the same draws shared among ever more models it falls to what d^2 / 4 in place of
# 1 / overlap - 1 makes of it; with an overlap of one half (d = 1.84) it is 1.17 of that.
_LEAST_OVERLAP = 0.5

_PILOT = 2 * BLOCK  # draws that choose the models on the way: an overlap of one half is known to 0.01
_MOST_MODELS = 1024
_MAX_SWEEPS = 2000  # within which half of the bounding chains of a pilot run must meet, as for gradients
DRAWS_AT_ONCE = 2**16

# Updates of a variable in draws that nobody asked for by number: ten seconds on one core, which makes 6e8 a second of
# chains with two bounds (the Senate's 100 variables). A draw takes up to three blocks of sweeps: 1.5 to 3.0 were seen.
_MOST_UPDATES = 6_000_000_000
_BLOCKS_EACH = 3

# On either side of the mean weight there are so many draws at least, of each model, where an error is told from them.
_FEWEST_RARE = 10

_UNSEEN = -np.log(0.005) / -ndtri(0.005)  # draws of a state that none shows, for a standard error of it

N_DRAWS = 100_000
N_ANNEALED = 4096
N_ANNEALED_LEVELS = 1024  # with more than two levels, whose sweeps take a hundred times as long


class LogPartition(Simulated):
    """The logarithm of a normalising constant, and how well it is known.

    Parameters
    ----------
    value : float
        The logarithm; `float` of this object returns it.
    error : float
        Its standard error; zero where it is exact.
    method : "exact", "draws" or "annealed"
        By sums over states (or a formula), by bridges between exact draws, or by annealed chains. The mean weight of
        annealed chains has no bias, but its error is told by the weights that were seen: where a field has
        states that no chain found, it is more.
    n_draws : int
        Draws or chains behind it; none where it is exact.
    """

    def __str__(self) -> str:
        """Say in a sentence what is known."""
        return self.describe("log-partition function")


def find_log_partition(
    model: PairwiseMRF, method: str, *, n_draws: int | None, seed: int, backend: Backend
) -> LogPartition:
    """Return the logarithm of the normalising constant of a model; `PairwiseMRF.log_partition` says how."""
    if method not in ("auto", "exact", "draws", "annealed"):
        raise ValueError(f"method is {method!r}: use 'auto', 'exact', 'draws' or 'annealed'.")
    _check(n_draws, seed)
    if not model.interactions.any():
        return LogPartition(sum_independent(model))
    if method in ("auto", "exact"):
        total = _sum_exactly(model, backend)
        if total is not None:
            return LogPartition(total)
    if method == "exact":
        return LogPartition(backend.enumerate(model)[0])  # which says that there are too many states
    if method == "annealed":
        return _anneal(model, n_draws, make_seeds(seed), backend)
    try:
        return _build_bridges(model, n_draws, make_seeds(seed), backend)
    except OutOfReachError:
        if method == "draws":
            raise
        return _anneal(model, n_draws, make_seeds(seed), backend)


def _sum_exactly(model: PairwiseMRF, backend: Backend) -> float | None:
    """Return the log-partition function by sums over all states, or over one variable after the other; or None."""
    if count_states(model.domain) <= MAX_STATES:
        return backend.enumerate(model)[0]
    everything = Given(model, np.full((1, model.domain.n_variables), MISSING, dtype=np.uint8))
    return float(everything.log_sums()[0]) if everything.is_in_reach.all() else None


def _check(n_draws: int | None, seed: int) -> None:
    if n_draws is not None and (not isinstance(n_draws, int | np.integer) or n_draws < BLOCK):
        raise ValueError(
            f"n_draws is {n_draws}: use a whole number from {BLOCK} on, which chains are held in blocks of."
        )
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed}: use a whole number from zero on.")


def make_seeds(seed: int) -> Iterator[int]:
    """Yield seeds of independent random numbers, for as many uses as there are."""
    for use in count():
        yield derive_seed(seed, use)


def _anneal(model: PairwiseMRF, n_draws: int | None, seeds: Iterator[int], backend: Backend) -> LogPartition:
    """Return the log-partition function by annealed chains."""
    is_binary = bool(np.all(model.domain.n_levels <= 2))
    n = n_draws or (N_ANNEALED if is_binary else N_ANNEALED_LEVELS)
    path, logs, n_sweeps = anneal(model, n, seeds, backend)
    log_mean, influences = average_weights(logs)
    error = float(np.sqrt((influences**2).sum() * n / (n - 1)))
    check_error([influences], f"{n} chains of {n_sweeps} sweeps are worth {n / (1 + n * error**2):.0f} draws")
    return LogPartition(sum_independent(path.start) + log_mean, add_unseen(error, [influences]), "annealed", n)


def check_error(influences: Sequence[Values], what: str, name: str = "log-partition function") -> None:
    """Refuse an estimate whose error is too far from normal for an interval of two standard errors and a half.

    Where nearly all draws of a model show one state, few others decide: a dozen say nothing of the states that are as
    rare as one in as many draws, and where all are equal there is no error to be seen.
    """
    n_rare = min(min(np.count_nonzero(own > 0), np.count_nonzero(own < 0)) for own in influences)
    if n_rare < _FEWEST_RARE:
        raise OutOfReachError(
            f"The {name} has no error that can be trusted: {what}, and {n_rare or 'none'} of them "
            f"differ from all others, where {_FEWEST_RARE} are needed. Raise n_draws, or use method='exact'.",
            "draws that hardly differ",
            "Raise n_draws.",
        )
    skewness = skewness_of_sum(influences)
    if not abs(skewness) <= LARGEST_SKEWNESS:
        raise OutOfReachError(
            f"The {name} has no error that can be trusted: {what}, and few of them decide, so "
            f"that the error has a skewness of {skewness:.2g} and {LARGEST_SKEWNESS} is allowed. Raise n_draws.",
            "an error far from normal",
            "Raise n_draws.",
        )


def add_unseen(error: float, influences: Sequence[Values], each: float = 1.0) -> float:
    """Return the standard error with that of states which no draw shows, whatever the spread of the others says.

    A state that k of n draws show on average is missing from all of them with probability exp(-k): k = 5.3 of those
    that are missing once in 200 times are what an interval of 0.99, of 2.58 standard errors, leaves out on this side.
    One draw of it counts for as much as `each` of another.
    """
    return float(np.sqrt(error**2 + sum((_UNSEEN * each / len(own)) ** 2 for own in influences)))


def _build_bridges(model: PairwiseMRF, n_draws: int | None, seeds: Iterator[int], backend: Backend) -> LogPartition:
    """Return the log-partition function by bridges from independent variables, over exact draws of models between."""
    chains, _ = backend.draw(model, _PILOT, seed=next(seeds), max_sweeps=limit_sweeps(model))
    path = TemperedPath.with_means(model, chains.means(), _PILOT)
    times, n_sweeps = _choose_times(path, seeds, backend)
    n_each = afford_draws(model, n_sweeps) // len(times) if n_draws is None else max(BLOCK, n_draws // len(times))
    values = [_draw_along(path, time, n_each, seeds, backend)[0] for time in times]
    bridges = _connect(times, values)
    log_ratio, error = chain_bridges(bridges)
    influences = add_influences(bridges)
    check_error(influences, f"there are {n_each} draws of each of {len(times)} models")
    error = add_unseen(error, influences)
    return LogPartition(sum_independent(path.start) + log_ratio, error, "draws", n_each * len(times))


def limit_sweeps(model: PairwiseMRF) -> int:
    """Return the longest blocks of sweeps for which the draws that choose the models can be afforded."""
    # A thousand draws wait for the slowest chain: up to 10 blocks of sweeps each (the Senate with alpha 0.05).
    return max(1, min(_MAX_SWEEPS, _MOST_UPDATES // (10 * _PILOT * model.domain.n_variables)))


def afford_draws(model: PairwiseMRF, n_sweeps: Sequence[int]) -> int:
    """Return how many draws of all models can be had without waiting for them, from the sweeps of their blocks."""
    each = _MOST_UPDATES // (_BLOCKS_EACH * model.domain.n_variables * sum(n_sweeps))
    if each < BLOCK:
        raise OutOfReachError(
            f"Exact draws are slow: {len(n_sweeps)} models on the way from independent variables have blocks of up to "
            f"{max(n_sweeps)} sweeps. Give n_draws to wait for them, or use method='annealed'.",
            "slow exact draws",
            "Give n_draws to wait for them.",
        )
    return min(N_DRAWS, each * len(n_sweeps))


def _choose_times(path: TemperedPath, seeds: Iterator[int], backend: Backend) -> tuple[list[float], list[int]]:
    """Cut the way from 0 to 1 in halves, and these again, until draws of neighbours overlap.

    Returned are the times, and the sweeps of a block of exact draws at each.
    """
    times = [0.0, 1.0]
    found = [_draw_along(path, time, _PILOT, seeds, backend) for time in times]
    k = 0
    while k < len(times) - 1:
        if _connect(times[k : k + 2], [own[0] for own in found[k : k + 2]])[0].overlap >= _LEAST_OVERLAP:
            k += 1
            continue
        if len(times) == _MOST_MODELS:
            raise OutOfReachError(
                f"The log-partition function is out of reach of bridges: {_MOST_MODELS} models on the way from "
                "independent variables do not overlap. The parameters are too large."
            )
        middle = (times[k] + times[k + 1]) / 2
        times.insert(k + 1, middle)
        found.insert(k + 1, _draw_along(path, middle, _PILOT, seeds, backend))
    return times, [own[1] for own in found]


def _connect(times: Sequence[float], values: Sequence[Values]) -> list[Bridge]:
    """Build a bridge between each two neighbours, from the inner products of the whole move with their draws."""
    steps = zip(pairwise(times), pairwise(values), strict=True)
    return [bridge((after - before) * start, (after - before) * end) for (before, after), (start, end) in steps]


def _draw_along(path: TemperedPath, time: float, n: int, seeds: Iterator[int], backend: Backend) -> tuple[Values, int]:
    """Return the inner product of the whole move with n exact draws at a time, and the sweeps of a block of them."""
    move, found, n_sweeps = path.move, [], 1
    for start in range(0, n, DRAWS_AT_ONCE):
        size = min(DRAWS_AT_ONCE, n - start)
        if time == 0:
            chains = start_chains(path, size, next(seeds), backend)
        else:
            chains, run = backend.draw(path.at(time), size, seed=next(seeds), max_sweeps=limit_sweeps(path.end))
            n_sweeps = run.block_length
        found.append(chains.draws().along(move))
    return np.concatenate(found), n_sweeps
