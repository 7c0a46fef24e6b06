"""How long a step takes whose draws are made by several workers: tasks, blocks of draws, and bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sparsefield.inference import Perfect

ADDED_AT_ONCE = 8  # parts whose counts are added up by one worker
TASKS_OF_A_PART = 3  # draw, count, values along a step
TRIPS = 2  # exact draws with their counts, and values along a step, are waited for
BYTES_OF_A_DRAW = 8  # its value along a step


@dataclass(frozen=True)
class Costs:
    """What tasks and bytes cost.

    Parameters
    ----------
    seconds_per_trip : float
        From asking for a task that does nothing until its result is here.
    seconds_per_task : float
        Of a further task, when many are asked for at a time: the scheduler hands them out one after the other.
    bytes_per_second : float
        That arrive here.
    """

    seconds_per_trip: float
    seconds_per_task: float
    bytes_per_second: float

    def with_network(self, bytes_per_second: float) -> Costs:
        """Return the same costs with another network, where it is slower than what was measured."""
        return replace(self, bytes_per_second=min(bytes_per_second, self.bytes_per_second))


@dataclass(frozen=True)
class Field:
    """What the draws of a field cost.

    Parameters
    ----------
    n_variables : int
        Its variables, of two levels.
    seconds_per_block : float
        Of a step for each 512 draws, on one thread.
    seconds_before : float
        Of what is done once, on one machine: the pilot run.
    bytes_of_field, bytes_of_counts : int
        Sent to a worker, and sent back by each.
    """

    n_variables: int
    seconds_per_block: float
    seconds_before: float
    bytes_of_field: int
    bytes_of_counts: int


def count_step(costs: Costs, field: Field, n_draws: int, n_workers: int) -> dict[str, float]:
    """Return the seconds of a step on workers of one thread each: for tasks, for draws, and for bytes."""
    layout = Perfect(n_draws, 0)
    n_parts = min(n_workers, layout.n_blocks)
    n_sums, n_levels = 0, 0
    left = n_parts
    while left > ADDED_AT_ONCE:
        left = -(-left // ADDED_AT_ONCE)
        n_sums += left
        n_levels += 1
    n_tasks = TASKS_OF_A_PART * n_parts + n_sums + 2
    # Workers add up counts at the same time, level after level; what comes here arrives one after the other.
    n_bytes = field.bytes_of_counts * (left + n_levels * ADDED_AT_ONCE) + 2 * field.bytes_of_field
    return {
        "tasks": (TRIPS + n_levels) * costs.seconds_per_trip + n_tasks * costs.seconds_per_task,
        "draws": field.seconds_before + field.seconds_per_block * _count_blocks(layout, n_parts),
        "bytes": (n_bytes + BYTES_OF_A_DRAW * n_draws) / costs.bytes_per_second,
    }


def _count_blocks(layout: Perfect, n_parts: int) -> int:
    """Return the most blocks of 512 draws that one of the parts makes."""
    cuts = [layout.n_blocks * k // n_parts for k in range(n_parts + 1)]
    return int(np.diff(layout.cuts[cuts]).max())


def time_here(field: Field, n_draws: int, n_threads: int) -> float:
    """Return the seconds of a step on one machine whose threads share the blocks evenly."""
    layout = Perfect(n_draws, 0)
    return field.seconds_before + field.seconds_per_block * _count_blocks(layout, min(n_threads, layout.n_blocks))


def find_least_draws(costs: Costs, field: Field, n_workers: int, n_threads: int, most: int = 2**32) -> int | None:
    """Return the least power of two of draws at which workers take less time than one machine; None beyond the most."""
    for exponent in range(9, math.ceil(math.log2(most)) + 1):
        n = int(2**exponent)
        if sum(count_step(costs, field, n, n_workers).values()) < time_here(field, n, n_threads):
            return n
    return None
