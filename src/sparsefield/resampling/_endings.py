"""How the fits of resamples ended, and what their rows lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.parallel import Result

_FINE = ("converged", "simulation_error")  # the ends of a fit that has done what it was asked for


@dataclass(frozen=True, eq=False)
class Ends:
    """How the fits of resamples ended, and what their rows lack.

    Parameters
    ----------
    statuses : tuple of str
        How each fit ended; see `Status`.
    is_moved : ndarray of shape (n_resamples,)
        Whether each fit differs from that of the whole table, at which it starts.
    n_unseen : ndarray of shape (n_resamples,)
        Levels that the table shows and a resample does not.
    n_constant : ndarray of shape (n_resamples,)
        Columns that have several levels in the table and at most one in a resample.
    """

    statuses: tuple[str, ...]
    is_moved: NDArray[np.bool_]
    n_unseen: NDArray[np.int64]
    n_constant: NDArray[np.int64]

    @classmethod
    def of(cls, results: Sequence[Result]) -> Ends:
        """Take them from what the pieces gave."""
        return cls(
            tuple(str(result["status"]) for result in results),
            np.array([bool(result["is_moved"]) for result in results]),
            np.array([int(result["n_unseen"]) for result in results]),
            np.array([int(result["n_constant"]) for result in results]),
        )

    @property
    def is_serious(self) -> bool:
        """Whether some fits did not reach what was asked."""
        return any(code not in _FINE for code in self.statuses)

    @property
    def sentence(self) -> str:
        """What is odd, in words; nothing where nothing is."""
        said = []
        odd = Counter(code for code in self.statuses if code not in _FINE)
        if odd:
            codes = ", ".join(f"{code}: {n}" for code, n in sorted(odd.items()))
            said.append(f"The fits of {odd.total()} did not reach what was asked ({codes}); they count all the same.")
        n_still = np.count_nonzero(~self.is_moved)
        if n_still:
            said.append(f"The fits of {n_still} stayed where they started, at that of all rows.")
        n_lacking, n_constant = np.count_nonzero(self.n_unseen), np.count_nonzero(self.n_constant)
        if n_lacking:
            constant = f"; in {n_constant}, a column that varies in the table is constant" if n_constant else ""
            said.append(f"A level that the table shows is lacking in {n_lacking}{constant}.")
        return " ".join(said)
