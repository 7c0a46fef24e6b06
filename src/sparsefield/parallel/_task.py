"""One piece of work, where it is run: its threads, and what becomes of its errors and interrupts."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sparsefield import _threads
from sparsefield.parallel._checkpoint import Result

PieceFunction = Callable[[Any, int], Mapping[str, Any]]


# With slots there are no weak references to it. joblib therefore sends it whole with each piece: a large array, to
# which there are, is left with one worker of a dask cluster, and lost to the others where that worker dies.
@dataclass(frozen=True, slots=True)
class Task:
    """A piece, what to do with it, its index, and how many pieces may run at the same time."""

    function: PieceFunction
    piece: Any
    index: int
    n_threads: int | None
    n_workers: int


@dataclass(frozen=True, slots=True)
class Finished:
    """What a piece gave, and how many seconds it took."""

    index: int
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """What a piece raised, and where.

    It is returned like a result: what joblib is left to raise overtakes pieces that were finished before it.
    """

    index: int
    error: Exception
    traceback: str

    def __reduce__(self) -> Any:
        """Say what another process gets: a pool of processes breaks by an error that cannot be made again there."""
        error = self.error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return Failure, (self.index, error, self.traceback)


def run_task(task: Task) -> Finished | Failure:
    """Do one piece of work."""
    clock = time.perf_counter()
    # Counted here: a worker may be another machine. All pieces of the run may be on this one.
    n_threads = task.n_threads or max(1, _threads.available() // task.n_workers)
    try:
        with _one_blas_thread(), _interrupts():
            result = _as_arrays(task.function(task.piece, n_threads))
    except Exception as error:
        return Failure(task.index, error, traceback.format_exc())
    return Finished(task.index, result, time.perf_counter() - clock)


def _as_arrays(values: Mapping[str, Any]) -> Result:
    """Return values as arrays that a file can hold without code."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"A piece returned {name!r} of type {type(values[name]).__name__}: use arrays of numbers.")
    return arrays


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Give BLAS one thread, the same in every way of running.

    With two threads of OpenBLAS 0.3 the last bits of a solution of 100 equations differ from those with one, and so do
    those of a product of matrices of 500 rows. With as many workers as processors, one is also all that there is.
    """
    limits = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        # The limit belongs to the process. Where pieces run in threads, the first to end would lift it for the others:
        # there it stays, until whoever called `run_pieces` in this process lifts it, or for good in a worker of dask,
        # which gives BLAS one thread by itself.
        if threading.current_thread() is threading.main_thread():
            limits.restore_original_limits()


@contextmanager
def _interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of work that was interrupted and has returned all the same.

    `learn` takes an interrupt as a reason to end early. What it returns is then no finished piece.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    was_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal was_interrupted
        was_interrupted = True
        before(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if was_interrupted:
            raise KeyboardInterrupt
