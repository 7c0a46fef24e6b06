"""Fits of pairs, shared among threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield._deadline import check_time
from sparsefield._kernels._pair_fits import fit_pair
from sparsefield._threads import available, run
from sparsefield.pairs._rows import Rows

Values = NDArray[np.float64]
Index = NDArray[np.int64]

Watch = Callable[[int, int], None]

_AT_A_TIME = 8  # pairs for each thread, between two looks at the clock and at whoever wants to know how far it is


@dataclass(frozen=True, eq=False)
class PairFit:
    """What the likelihood of a pair says, given all other variables.

    Parameters
    ----------
    theta : ndarray of shape (r,)
        The interactions, with the neighbours of both variables in both equations.
    covariance : ndarray of shape (r, r)
        Their covariance.
    own_covariance : ndarray of shape (r, r)
        That where each variable has its own neighbours.
    root, own_root : float
        The root of the penalised likelihood ratio statistic of Theta = 0, with the sign of Theta where that is a single
        number: with all neighbours, and where each variable has its own.
    effect, own_effect : float
        How much larger variances are because neighbours are missing; 1 where none is.
    ends : tuple of float, or None
        Where the penalised likelihood falls by as much as the level of the interval asks for.
    moves, parts : ndarray of shape (r, n), or None
        By how much each row moves the interactions, and the variance that it has a part in.
    own_moves, own_parts : ndarray of shape (r, n), or None
        The same where each variable has its own neighbours.
    is_whole : bool
        Whether steps came to their end.
    """

    theta: Values
    covariance: Values
    own_covariance: Values
    root: float
    own_root: float
    effect: float = 1.0
    own_effect: float = 1.0
    ends: tuple[float, float] | None = None
    moves: Values | None = None
    parts: Values | None = None
    own_moves: Values | None = None
    own_parts: Values | None = None
    is_whole: bool = True


def fit_pairs(
    rows: Rows,
    pairs: Index,
    use: Callable[[int, PairFit], None],
    *,
    z_ends: Values,
    with_moves: bool = False,
    n_threads: int | None = None,
    watch: Watch | None = None,
) -> None:
    """Fit pairs, and hand over what each says, in their order.

    Parameters
    ----------
    rows : Rows
        The rows and the neighbours.
    pairs : ndarray of shape (n_pairs, 2)
        The variables.
    use : callable
        Called with the place of each pair and its fit, which is not kept here.
    z_ends : ndarray of shape (n_pairs,)
        How many standard errors the ends of its interval are away, to be found on the profile; 0 for none.
    with_moves : bool
        Whether to say by how much each row moves the interactions.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    watch : callable, optional
        Called with the number of pairs that are done, and that of all.
    """
    known = (
        rows.codes,
        rows.design.counts,
        rows.columns,
        rows.design.starts.astype(np.int64),
        (rows.kinds.n_levels, rows.kinds.features, rows.kinds.sizes, rows.kinds.is_plain),
        rows.near,
        rows.twins,
        rows.regressions,
        rows.filled,
        rows.features,
        rows.links,
    )
    n_rows = len(rows.design.counts)

    def fit(k: int) -> PairFit:
        i, j = (int(v) for v in pairs[k])
        r = int(rows.kinds.sizes[i] * rows.kinds.sizes[j])
        theta, blocks, numbers = np.zeros(r), [np.zeros((r, r)) for _ in range(4)], np.zeros(4)
        moved = [np.zeros((r, n_rows if with_moves else 0)) for _ in range(4)]
        whole = fit_pair(i, j, *known, float(z_ends[k]), (theta, *blocks, numbers, *moved))
        covariance, own_covariance, hidden, own_hidden = blocks
        ends = (float(numbers[2]), float(numbers[3])) if z_ends[k] > 0 and r == 1 else None
        effects = [_compare(*two) for two in ((hidden, covariance), (own_hidden, own_covariance))]
        moves = (*moved[2:], *moved[:2]) if with_moves else (None,) * 4
        roots = float(numbers[1]), float(numbers[0])
        return PairFit(theta, covariance, own_covariance, *roots, *effects, ends, *moves, bool(whole))

    def fit_part(part: range) -> list[PairFit]:
        return [fit(k) for k in part]

    threads = n_threads or available()
    at_a_time = _AT_A_TIME * threads
    for first in range(0, len(pairs), at_a_time):
        check_time()
        here = range(first, min(len(pairs), first + at_a_time))
        # One after the other: neighbouring pairs take about as long.
        calls = [(here[t::threads],) for t in range(threads) if here[t::threads]]
        for (part,), found in zip(calls, run(fit_part, calls), strict=True):
            for k, one in zip(part, found, strict=True):
                use(k, one)
        if watch is not None:
            watch(here.stop, len(pairs))


def _compare(larger: Values, smaller: Values) -> float:
    """Return the mean ratio of two covariances, which is no less than one (Rao and Scott 1981)."""
    if len(larger) == 1:
        return max(1.0, float(larger[0, 0] / smaller[0, 0]))
    return max(1.0, float(np.trace(np.linalg.solve(smaller, larger)) / len(larger)))
