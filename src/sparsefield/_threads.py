"""Work shared among threads, in parts whose results do not depend on how many threads there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController

from sparsefield._deadline import check_time

# Handing two calls to two threads and waiting for them takes 144 microseconds (median of 2000, two cores of a Zen 3).
SMALLEST_SHARE = 3e-4  # seconds of work that make a share worth handing out

LONGEST_CALL = 0.1  # seconds after which an interrupt takes effect at the latest


def available() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool(n_threads: int, _process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="sparsefield")


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Look once for the libraries that multiply matrices, which takes 5 ms."""
    return ThreadpoolController()


def one_for_products() -> Any:
    """Return a context in which a product of matrices has one thread, which takes 12 microseconds.

    Threads of the library wait for each other by spinning: products of 100 x 1000 and 1000 x 100 numbers take 30 ms
    with two of them between sweeps of ours, and 1 ms with one (two cores).
    """
    return _libraries().limit(limits=1, user_api="blas")


def share(n_parts: int, n_threads: int | None, seconds: float) -> list[slice]:
    """Cut parts 0 .. n_parts - 1 into one run a thread; a single run where the work is too small to hand out."""
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads is {n_threads}: use a positive number, or None for all processors.")
    n = max(1, min(n_threads or available(), n_parts, int(seconds / SMALLEST_SHARE)))
    cuts = [n_parts * k // n for k in range(n + 1)]
    return [slice(a, b) for a, b in pairwise(cuts)]


def fit_call(seconds: float, most: int) -> int:
    """Return how many pieces of work, of so many seconds each, one call may have; most where they take no time."""
    return max(1, int(LONGEST_CALL / seconds)) if seconds else most


def run(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a function that releases the interpreter with each tuple of arguments, one thread a call.

    Raises OutOfTimeError where the time is up before it begins.
    """
    check_time()
    if len(calls) == 1:
        return [function(*calls[0])]
    # A pool does not survive a fork: the process number makes a new one there.
    pool = _pool(len(calls), os.getpid())
    futures = [pool.submit(function, *arguments) for arguments in calls]
    try:
        return [future.result() for future in futures]
    finally:
        wait(futures)  # also when interrupted: nobody may still be writing when the caller goes on
