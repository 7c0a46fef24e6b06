"""The entropy of a field: exactly where its graph allows that, or by exact draws, with a standard error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._seeds import Use, derive_seed
from sparsefield.data import MISSING
from sparsefield.inference import MAX_STATES, MOST_STATES, Backend, Given, OutOfReachError, count_states, split_by_reach
from sparsefield.model._layout import as_theta, sum_once
from sparsefield.model._observed import take_variables
from sparsefield.model._partition import (
    DRAWS_AT_ONCE,
    add_unseen,
    afford_draws,
    check_error,
    find_log_partition,
    limit_sweeps,
    make_seeds,
)
from sparsefield.model._simulated import Simulated

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF

EntropyMethod = Literal["auto", "exact", "draws"]


class Entropy(Simulated):
    """The entropy of a field in nats, and how well it is known.

    Parameters
    ----------
    value : float
        The entropy; `float` of this object returns it.
    error : float
        Its standard error; zero where it is exact.
    method : "exact" or "draws"
        By sums over all states, or by the log-partition function and the mean energy of exact draws.
    n_draws : int
        Draws behind it; none where it is exact.
    """

    def __str__(self) -> str:
        """Say in a sentence what is known."""
        return self.describe("entropy", " nats")


def find_entropy(
    model: PairwiseMRF, method: EntropyMethod, *, n_draws: int | None, seed: int, backend: Backend
) -> Entropy:
    """Return the entropy of a model; `PairwiseMRF.entropy` says how."""
    if method not in get_args(EntropyMethod):
        raise ValueError(f"method is {method!r}: use 'auto', 'exact' or 'draws'.")
    if method == "draws":
        return _draw(model, n_draws, seed, backend)
    # Entropies of independent parts add up, and only what cannot be had exactly is left for draws.
    total, hard = _sum_exactly(model, backend)
    if not hard:
        return Entropy(total)
    if method == "exact":
        raise OutOfReachError(
            f"The entropy is out of reach of exact sums: {len(hard)} of {model.domain.n_variables} variables interact "
            f"so much that tables of more than {MOST_STATES} entries would be needed. Use method='draws'.",
            reason="exact sums out of reach",
            remedy="Use method='draws'.",
        )
    found = _draw(take_variables(model, hard), n_draws, seed, backend)
    return replace(found, value=total + found.value)


def _sum_exactly(model: PairwiseMRF, backend: Backend) -> tuple[float, list[int]]:
    """Return the entropy of the parts of a field that allow exact sums, and the variables of the others."""
    easy, components = split_by_reach(model)
    total, hard = 0.0, list[int]()
    if easy:
        total = Given(take_variables(model, easy), np.full((1, len(easy)), MISSING, dtype=np.uint8)).entropy()
    for own in components:
        part = take_variables(model, own)
        if count_states(part.domain) <= MAX_STATES:
            total += _enumerate(part, backend)
        else:
            hard.extend(own)
    return total, sorted(hard)


def _enumerate(model: PairwiseMRF, backend: Backend) -> float:
    """Return the entropy as the log-partition function less the mean exponent, over all states."""
    log_partition, moments = backend.enumerate(model)
    return log_partition - sum_once(as_theta(model) * moments.pair)


def _draw(model: PairwiseMRF, n_draws: int | None, seed: int, backend: Backend) -> Entropy:
    """Return the entropy as the log-partition function plus the mean energy, both by draws of their own."""
    partition = find_log_partition(model, "draws", n_draws=n_draws, seed=seed, backend=backend)
    seeds = make_seeds(derive_seed(seed, Use.ENERGIES, 0))
    energy = np.concatenate(list(_draw_energies(model, n_draws, seeds, backend)))
    check_error([energy - energy.mean()], f"there are {len(energy)} draws", "entropy")
    n = len(energy)
    # A state that one draw in n shows adds log(n) to the mean of -log p, with that probability.
    error = math.hypot(partition.error, add_unseen(float(energy.std(ddof=1)) / math.sqrt(n), [energy], math.log(n)))
    return Entropy(partition.value + float(energy.mean()), error, "draws", partition.n_draws + len(energy))


def _draw_energies(
    model: PairwiseMRF, n_draws: int | None, seeds: Iterator[int], backend: Backend
) -> Iterator[NDArray[np.float64]]:
    """Yield the energies of exact draws: so many, or as many as can be had without waiting for them."""
    limit = limit_sweeps(model)
    if n_draws is None:
        _, run = backend.draw(model, BLOCK, seed=next(seeds), max_sweeps=limit)
        n_draws = afford_draws(model, [run.block_length])
    for start in range(0, n_draws, DRAWS_AT_ONCE):
        size = min(DRAWS_AT_ONCE, n_draws - start)
        chains, _ = backend.draw(model, size, seed=next(seeds), max_sweeps=limit)
        yield -chains.draws().along(as_theta(model))
