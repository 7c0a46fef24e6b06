"""Independent pieces of work, such as folds, penalties or resamples, on one machine or on a cluster.

joblib hands the pieces out, so that `joblib.parallel_config` says where they run. A piece carries its own seed, and
has one BLAS thread wherever it runs: its result has the same bits in every way of running.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from statistics import fmean
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from sparsefield.parallel._checkpoint import Checkpoint, Result
from sparsefield.parallel._task import Failure, Finished, PieceFunction, Task, run_task

Watch = Callable[[int, int, float | None], object]


def run_pieces(
    function: PieceFunction,
    pieces: Sequence[Any],
    *,
    identity: Mapping[str, object],
    checkpoint: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    n_threads: int | None = None,
    watch: Watch | None = None,
) -> list[Result]:
    """Run independent pieces of work, and return what they give in the order of the pieces.

    Parameters
    ----------
    function : callable
        `function(piece, n_threads)` does the work of one piece with so many threads, and returns arrays, numbers and
        strings by name. It is pickled, with what it is bound to, for workers that are other processes; what it is given
        may be read-only there.
    pieces : sequence
        What the function is called with. A piece holds its own seed, so that it gives the same wherever it is run.
    identity : mapping of str to str, number, bool or None
        What tells this run from others: what is run, on which data (a hash) and with which settings. The number of
        pieces and the versions of this library, numpy and numba are added.
    checkpoint : path, optional
        A folder that keeps each piece once it is finished. A run with the same identity goes on from there; a folder of
        another run is refused.
    n_jobs : int, optional
        Pieces at a time, -1 for as many as there are processors. By default `joblib.parallel_config` decides, and
        without it pieces run one after the other.
    n_threads : int, optional
        Threads for each piece. By default the processors of a machine are shared by all pieces that run at a time.
    watch : callable, optional
        `watch(n_done, n_all, seconds_left)` is called at the start and after each piece. The time that is left is None
        until each worker has finished a piece, in which it may have compiled, and one of them another one.

    Returns
    -------
    list of dict of str to ndarray
        For each piece, the arrays that it gave. Numbers and strings have become arrays without axes.

    Raises
    ------
    Exception
        What a piece raised, with a note that says which piece it was. Pieces that were finished before are kept.
    KeyboardInterrupt
        Where somebody interrupts, also in the middle of a fit, which by itself would end early and return. Pieces that
        were finished before are kept.

    Examples
    --------
    >>> from sparsefield.parallel import run_pieces
    >>> def square(piece, n_threads):
    ...     return {"square": piece**2}
    >>> [int(result["square"]) for result in run_pieces(square, [1, 2, 3], identity={"what": "squares"})]
    [1, 4, 9]
    """
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads is {n_threads}: use a positive number, or None to share the processors.")
    kept = None if checkpoint is None else Checkpoint(checkpoint, _whole_identity(identity, len(pieces)))
    found = {index: result for index in range(len(pieces)) if kept and (result := kept.read(index)) is not None}
    left = [index for index in range(len(pieces)) if index not in found]
    n_workers = min(joblib.effective_n_jobs(n_jobs), len(left)) if left else 1
    progress = _Progress(watch, len(pieces), len(found), n_workers)
    with _running([Task(function, pieces[index], index, n_threads, n_workers) for index in left], n_jobs) as outputs:
        for finished in outputs:
            if isinstance(finished, Failure):
                raise _explain(finished, len(pieces))
            if kept:
                kept.write(finished.index, finished.result)
            found[finished.index] = finished.result
            progress.tell(finished.seconds)
    return [found[index] for index in range(len(pieces))]


@contextmanager
def _running(tasks: Sequence[Task], n_jobs: int | None) -> Iterator[Iterator[Finished | Failure]]:
    """Give what tasks return, in the order in which they end; at the end, cancel those that still run."""
    if not tasks:
        yield iter(())
        return
    # Batches of one: a piece that is finished is worth keeping at once.
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    with threadpool_limits(1, user_api="blas"):  # for pieces that run in threads of this process: see `run_task`
        outputs = parallel(joblib.delayed(run_task)(task) for task in tasks)
        try:
            yield outputs
        finally:
            with warnings.catch_warnings():
                # After an error or an interrupt joblib warns that it cancels what still runs, which is what is meant.
                warnings.simplefilter("ignore", UserWarning)
                outputs.close()


class _Progress:
    """Tell somebody how far the pieces are, and how long the rest will take."""

    def __init__(self, watch: Watch | None, n_pieces: int, n_done: int, n_workers: int) -> None:
        self._watch, self._n_pieces, self._n_done, self._n_workers = watch, n_pieces, n_done, n_workers
        self._seconds: list[float] = []
        self._say()

    def tell(self, seconds: float) -> None:
        """Count a piece that has taken so many seconds."""
        self._n_done += 1
        self._seconds.append(seconds)
        self._say()

    def _say(self) -> None:
        if self._watch is not None:
            self._watch(self._n_done, self._n_pieces, self._left())

    def _left(self) -> float | None:
        """Return the mean time of pieces after the first ones, which may compile, times the rounds that are to come."""
        n_rounds = math.ceil((self._n_pieces - self._n_done) / self._n_workers)
        if n_rounds == 0:
            return 0.0
        timed = self._seconds[self._n_workers :]
        return n_rounds * fmean(timed) if timed else None


def _whole_identity(identity: Mapping[str, object], n_pieces: int) -> dict[str, str]:
    versions = {name: version(name) for name in ("sparsefield", "numpy", "numba")}
    return {name: str(value) for name, value in {**identity, "pieces": n_pieces, **versions}.items()}


def _explain(failure: Failure, n_pieces: int) -> Exception:
    """Return the error of a piece, with a note that says which one it was and where in it."""
    failure.error.add_note(f"This was piece {failure.index}, counted from 0, of {n_pieces}.\n{failure.traceback}")
    return failure.error
