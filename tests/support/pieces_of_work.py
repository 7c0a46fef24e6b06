"""Pieces of work for `run_pieces`. Workers are other processes and import them from here."""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import sparsefield as sf
from sparsefield.parallel import run_pieces

N_PIECES = 5
IDENTITY = {"what": "fits", "alpha": 0.02}


def make_table():
    """Return a table beyond enumeration, and beyond the megabyte from which joblib hands out read-only arrays."""
    return sf.datasets.make_field(24, degree=3, strength=(0.5, 1.0), seed=1).sample(50_000, n_sweeps=50, seed=1)


def fit(seed, n_threads, table):
    """Fit a field to rows drawn with replacement."""
    weights = np.bincount(np.random.default_rng(seed).integers(table.n_rows, size=table.n_rows), minlength=table.n_rows)
    found = sf.learn(table, 0.02, gap=0.05, sample_weight=weights, seed=seed, n_threads=n_threads)
    return {"main": found.model.main, "interactions": found.model.interactions, "status": found.status.code}


def square(piece, _n_threads):
    return {"square": piece**2, "name": f"piece {piece}"}


def square_counted(piece, n_threads, folder, seconds=0.0):
    """Leave a file for each time that a piece is run, and take a while."""
    (Path(folder) / f"{piece}-{time.time_ns()}-{os.getpid()}").touch()
    time.sleep(seconds)
    return square(piece, n_threads)


def count_runs(folder):
    """Return how often each piece was run."""
    pieces = [int(path.name.partition("-")[0]) for path in Path(folder).iterdir()]
    return {piece: pieces.count(piece) for piece in sorted(set(pieces))}


def kill_once(folder):
    """Kill this process, the first time."""
    mark = Path(folder) / "killed"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def fit_unless_killed(seed, n_threads, table, folder):
    """Kill the worker in the middle of piece 2, the first time."""
    if seed == 2:
        kill_once(folder)
    return fit(seed, n_threads, table)


def add_up_unless_killed(piece, _n_threads, folder):
    """Kill the worker that was given the piece, the first time."""
    kill_once(folder)
    return {"sum": piece.sum()}


def fail_at_two(piece, n_threads, folder):
    """Fail at piece 2, once the two before it are kept."""
    if piece == 2:
        end = time.monotonic() + 60
        while not all((Path(folder) / f"00000{k}.npz").exists() for k in (0, 1)):
            if time.monotonic() > end:
                raise TimeoutError("The first pieces were not kept.")
            time.sleep(0.01)
        raise sf.TableError("The table is empty", "give rows")
    time.sleep(0.1 if piece < 2 else 0.5)
    return square(piece, n_threads)


class OddError(Exception):
    """An error that pickle cannot make again: it wants two arguments, and remembers one."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def fail_oddly(_piece, _n_threads):
    raise OddError("this", "that")


def interrupt_at_two(piece, n_threads):
    """End early and return when interrupted, as a fit does."""
    if piece == 2:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return {"square": -1}
    return square(piece, n_threads)


def look_at_threads(_piece, n_threads):
    """Say how many threads there are, in the middle of other pieces that begin and end meanwhile."""
    seen = []
    for _ in range(5):
        seen.append(max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"))
        time.sleep(0.01 * (1 + _piece % 3))
    return {"n_threads": n_threads, "blas": max(seen)}


if __name__ == "__main__":
    run_pieces(
        partial(square_counted, folder=sys.argv[2], seconds=0.2), range(8), identity=IDENTITY, checkpoint=sys.argv[1]
    )
