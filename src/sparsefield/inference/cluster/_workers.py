"""Workers of a dask cluster, the tasks that they are given, and how their results are waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from threading import Semaphore
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._deadline import check_time
from sparsefield.inference.cluster import _tasks as tasks

# Sums of f parts at a time take log W / log f rounds of f transfers: f / log f is 2.9 at 2, 2.7 at 3 and 3.8 at 8, with
# a third of the rounds, each of which also waits for a task.
_ADDED_AT_ONCE = 8


class Workers:
    """Workers of a dask cluster.

    Tasks are pure: where a worker is lost, dask makes what it held again on another one.

    Parameters
    ----------
    client : distributed.Client, optional
        The client; the current one of this process unless given.
    """

    def __init__(self, client: Any = None) -> None:
        self.client = _check_client(client)
        _check_versions(self.client)
        self._places: list[str] = []  # the worker of each part, as far as it is there

    def cut(self, n_blocks: int) -> NDArray[np.int64]:
        """Cut blocks into one run for each thread of the workers: part k from cuts[k] on, up to cuts[k + 1]."""
        self._places = self.find_places()
        if not self._places:
            raise ValueError("The cluster has no workers: start some, and wait for them with client.wait_for_workers.")
        n_parts = min(n_blocks, len(self._places))
        return np.asarray(n_blocks * np.arange(n_parts + 1) // n_parts)

    def find_places(self) -> list[str]:
        """Return the worker of every thread: each worker's first one, then their second ones, and so on."""
        threads = [(k, worker) for worker, n in self.client.nthreads().items() for k in range(n)]
        return [worker for _, worker in sorted(threads)]

    def send(self, value: Any) -> Any:
        """Send a value, once, which tasks can then be given."""
        return self.call(tasks.hold, value)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a function called by a worker; values that it is given may be those of other calls."""
        import dask

        # dask warns of more than 10 MB at a time and proposes to scatter them, but what is scattered cannot be made
        # again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, pure=False)

    def call_each(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> list[Any]:
        """Have a function called with each part, by the worker of that part, and the same other arguments."""
        # Left to itself dask gives all parts to the worker that has the field, which takes as long as one worker alone.
        own: dict[str, list[int]] = {}
        for k in range(len(parts)):
            own.setdefault(self._places[k % len(self._places)], []).append(k)
        calls: dict[int, Any] = {}
        for worker, numbers in own.items():
            given = [parts[k] for k in numbers], *([one] * len(numbers) for one in shared)
            where: dict[str, Any] = {"workers": [worker], "allow_other_workers": True}
            calls.update(zip(numbers, self.client.map(function, *given, pure=False, **where), strict=True))
        return [calls[k] for k in range(len(parts))]

    def add_up(self, parts: list[Any], behind: Sequence[Any] = ()) -> Any:
        """Return the sum of what several calls return; of many parts workers make sums of their own."""
        while len(parts) > _ADDED_AT_ONCE:
            starts = range(0, len(parts), _ADDED_AT_ONCE)
            parts = [self.call(tasks.add_up, *parts[start : start + _ADDED_AT_ONCE]) for start in starts]
        return reduce(add, self.collect(parts, behind))

    def collect(self, calls: Sequence[Any], behind: Sequence[Any] = ()) -> list[Any]:
        """Return the results of calls, in their order.

        At an interrupt, and when the time is up, calls that have not begun are taken back, and so are those behind
        them, which they wait for; those that are under way on a worker go on to their end, and are then forgotten.
        """
        from distributed import KilledWorker

        try:
            _wait(calls)
            found: list[Any] = self.client.gather(list(calls))
            return found
        except KilledWorker as error:
            raise RuntimeError(
                f"Draws were given up, as every worker that made them was lost ({error}). Workers mostly end for want "
                "of memory: give them more of it, or ask for fewer draws."
            ) from error
        except BaseException:
            self.client.cancel([call for call in (*calls, *behind) if call.status == "pending"])
            raise


def _wait(calls: Sequence[Any]) -> None:
    """Wait until all calls have ended, whichever way, and ask now and then whether the time is up."""
    # dask can wait with a limit too, but by an exception whose traceback keeps the draws until garbage is collected.
    n_ended = Semaphore(0)
    for call in calls:
        call.add_done_callback(lambda _: n_ended.release())
    check_time()
    for _ in calls:
        while not n_ended.acquire(timeout=_threads.LONGEST_CALL):
            check_time()


def _check_client(client: Any) -> Any:
    """Return a client that can be asked for work, or say what is missing."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("Draws on a cluster need dask: pip install 'sparsefield[dask]'.") from error
    if _is_task():
        raise RuntimeError(
            "A task on a worker cannot spread its draws over the same workers: spread either fits or the draws of each."
        )
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError("There is no cluster: give a dask.distributed.Client, or make one before.") from None
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client is of type {type(client).__name__}: use a dask.distributed.Client.")
    if client.asynchronous:
        raise TypeError("The client is asynchronous: use one that waits, Client(..., asynchronous=False).")
    if client.status != "running":
        raise ValueError(f"The client is {client.status}: connect a new one to the scheduler.")
    return client


def _is_task() -> bool:
    """Say whether this is a task of a worker."""
    import distributed

    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def _check_versions(client: Any) -> None:
    """Refuse workers that have other versions than this machine: they would make other bits."""
    here = tasks.name_versions()
    for worker, found in client.run(tasks.name_versions).items():
        for name, version in here.items():
            if found[name] != version:
                raise ValueError(
                    f"The worker {worker} has {name} {found[name]}, and this machine {version}: the same draws need "
                    "the same versions everywhere."
                )
