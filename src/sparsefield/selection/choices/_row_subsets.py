"""Parts of a table, each of which has a path of its own: all rows, folds, and subsamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._seeds import Use, derive_seed, make_generator
from sparsefield.data import Rows
from sparsefield.fits import Fit
from sparsefield.fitting import Options
from sparsefield.inference import is_own_machine, make_backend
from sparsefield.model import as_theta
from sparsefield.objective import L1, Group, Penalty, choose_penalty
from sparsefield.pseudolikelihood import NodeRefits
from sparsefield.selection.choices._criteria import Worth
from sparsefield.selection.choices._degrees_of_freedom import Parameters
from sparsefield.selection.choices._early_stopping import Following
from sparsefield.selection.paths._likelihoods import Likelihood, seed_of_missing
from sparsefield.selection.paths._observed import ObservedRows
from sparsefield.selection.paths._path import Objective, WatchFits, find_edges, path
from sparsefield.selection.paths._path_weights import find_weights

RowIndex = NDArray[np.int64]

# Fits on draws are below the best log-likelihood of the rows by half a nat over the draws for each parameter. With four
# draws for each row, of the main effects alone, this is a quarter of a nat of a criterion, in which a parameter costs
# log(rows): the gap is slots / (8 rows). With 40 variables and 2000 rows, seeds differ by 8 to 15 in the EBIC near its
# least value, and by 60 to 100 with a gap of 0.05, in half the time. The least gap is for tables of many rows: with 400
# parameters it takes 200,000 draws.
_DRAWS_A_ROW, _LARGEST_GAP, _LEAST_GAP = 4, 0.05, 0.001

# Where an edge has d parameters, the gap is smaller by sqrt(d): steps that promise less than their simulation error are
# not made, and it grows with d. Of ten six-point questions as categories (d = 25), edges came in at every second
# penalty with the gap of two levels, and seeds chose among 6 to 9 edges; with a fifth of it paths of four seeds differ
# by one edge or two, in 4.5 s in place of 2.


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a table to fit a path to.

    Parameters
    ----------
    seed : int
        Where the random numbers of the fits start.
    fitted : ndarray of int, optional
        The rows; all unless given.
    held_out : ndarray of int, optional
        Other rows, whose log-likelihood is wanted.
    """

    seed: int
    fitted: RowIndex | None = None
    held_out: RowIndex | None = None


def make_folds(n_rows: int, n_folds: int, seed: int) -> list[Part]:
    """Shuffle the rows and cut them into folds, each of which is held out once."""
    order = _generator(seed).permutation(n_rows)
    folds = [np.sort(fold) for fold in np.array_split(order, n_folds)]
    every = np.arange(n_rows)
    return [Part(seed_of_part(seed, k + 1), np.setdiff1d(every, fold), fold) for k, fold in enumerate(folds)]


def make_subsamples(n_rows: int, n_subsamples: int, size: int, seed: int) -> list[Part]:
    """Draw rows without replacement, several times."""
    rng = _generator(seed)
    return [
        Part(seed_of_part(seed, k + 1), np.sort(rng.choice(n_rows, size, replace=False))) for k in range(n_subsamples)
    ]


def seed_of_part(seed: int, index: int) -> int:
    """Return where the random numbers of a part start; index 0 is the whole table."""
    return derive_seed(seed, Use.FITS_OF_PARTS, index)


def _generator(seed: int) -> np.random.Generator:
    return make_generator(seed, Use.ROWS_OF_PARTS, 0)


def _find_gap(rows: Rows, penalty: Penalty) -> float:
    """Return how far above its optimum the objective of a fit on draws may be: little, beside sampling error."""
    domain = rows.table.domain
    gap = float(np.clip(domain.n_slots / (2 * _DRAWS_A_ROW * rows.n), _LEAST_GAP, _LARGEST_GAP))
    return gap / float(np.sqrt(max(1.0, penalty.mean_group_size)))


@dataclass(frozen=True, eq=False)
class PathOfPart:
    """Fit a path to a part of a table: the function that `run_pieces` runs.

    Parameters
    ----------
    rows : Rows
        All rows. Every part has their variables and levels, also where no row of it shows a level.
    alphas : sequence of float
        The penalties, the same for all parts.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    needs_likelihood : bool
        Whether the log-likelihood of each fit is wanted.
    worth : Worth, optional
        What edges are worth, where they are refitted without their penalty, variable by variable, and their
        pseudo-log-likelihood is wanted; paths may end early by it (`Following`).
    null_edges : ndarray of shape (n_alphas,)
        How many edges sampling error makes among independent variables, at each penalty. Missing cells that variables
        are refitted on are drawn from the last fit before it makes one, with a probability of 0.05.
    options : mapping
        Further options of `path`, without seed and threads.
    watch : callable, optional
        Called with the number of fits made, that of all, and the last fit; for a piece that is run here.
    """

    rows: Rows
    alphas: Sequence[float]
    objective: Objective
    needs_likelihood: bool
    worth: Worth | None
    null_edges: NDArray[np.float64]
    options: Mapping[str, Any]
    watch: WatchFits | None = None

    def __call__(self, part: Part, n_threads: int) -> dict[str, Any]:
        """Return what is known of each fit of the path, as arrays."""
        rows = self._take(part.fitted)
        n_own = n_threads if is_own_machine(self.options.get("device")) else None  # a backend has its own
        following = None if self.worth is None else self._follow(self.worth, part, rows, n_own)
        own = {"gap": _find_gap(rows, self._penalty), **self.options, "seed": part.seed, "n_threads": n_own}
        found = path(
            rows,
            self.alphas,
            objective=self.objective,
            likelihoods=self.needs_likelihood,
            watch=self.watch,
            stop=following,
            **own,
        )
        if not found.is_whole and self.options.get("max_seconds") is None:  # somebody has interrupted it
            raise KeyboardInterrupt
        fits, known, parameters = found.fits, found.likelihoods, Parameters(self._penalty, rows.table)
        return {
            "pairs": np.packbits([find_edges(fit.model) for fit in fits], axis=1) if fits else np.zeros((0, 0)),
            "edges": found.table["edges"].to_numpy(),
            "status": [fit.status.code for fit in fits],
            "n_rows": found.n_rows,
            "is_whole": found.is_whole,
            "is_moved": [
                k == 0 or not np.array_equal(as_theta(fit.model), as_theta(fits[k - 1].model))
                for k, fit in enumerate(fits)
            ],
            "parameters": [parameters.count(fit.model) for fit in fits],
            **(self._take_likelihoods(known) if self.needs_likelihood else {}),
            **(self._take_weights(fits) if part.fitted is None else {}),
            **({} if following is None else following.take()),
            **self._hold_out(part, fits, known, n_own),
        }

    def _follow(self, worth: Worth, part: Part, rows: Rows, n_threads: int | None) -> Following:
        """Return what refits the edges of the path, and may end it."""
        options = Options(**self.options)
        make = partial(
            NodeRefits,
            rows.table,
            rows.weights,
            seed=seed_of_missing(part.seed if self.objective == "likelihood" else 0),  # as the path draws them
            backend=make_backend(options.device, n_threads),
            max_sweeps=options.steps.max_sweeps,
            penalty=self._penalty,
        )
        return Following(
            worth,
            self.null_edges,
            Parameters(self._penalty, rows.table),
            make,
            n_rows=rows.n,
            has_missing=bool(rows.table.n_missing.any()),
        )

    def _take_likelihoods(self, known: Sequence[Likelihood | None]) -> dict[str, Any]:
        """Return the log-likelihood of each fit, and its error, as far as they can be had."""
        return {
            "log_likelihood": [np.nan if own is None else own.value for own in known],
            "error": [np.nan if own is None else own.error for own in known],
        }

    def _take_weights(self, fits: tuple[Fit, ...]) -> dict[str, Any]:
        """Return the pairs that have an edge at some penalty, in one row, and their weights, a row for each penalty."""
        pairs, values = find_weights(fits)
        return {"joined": pairs[None], "weights": values}

    @property
    def _penalty(self) -> L1 | Group:
        """The penalty of the fits, but for its strength."""
        options = Options(**self.options)
        return choose_penalty(self.rows.table.domain, 1.0, options.penalty, penalize_main=options.penalize_main)

    def _hold_out(
        self, part: Part, fits: Sequence[Fit], known: Sequence[Likelihood | None], n_threads: int | None
    ) -> dict[str, Any]:
        """Return the log-likelihood of the rows that are held out, and how many they are."""
        if part.held_out is None:
            return {}
        rows = self._take(part.held_out)
        options = Options(**self.options)
        backend = make_backend(options.device, n_threads)
        # The next seed: that of the part itself is the one of the rows that are fitted.
        observed = ObservedRows(
            rows.table,
            rows.weights,
            seed=seed_of_missing(part.seed + 1),
            backend=backend,
            max_sweeps=options.steps.max_sweeps,
        )
        values = [
            np.nan if own is None or (at := observed.at(fit.model)) is None else at[0] - own.log_partition
            for fit, own in zip(fits, known, strict=True)
        ]
        return {"held_out": values, "n_held_out": rows.table.n_rows if rows.weights is None else rows.weights.sum()}

    def _take(self, which: RowIndex | None) -> Rows:
        return self.rows if which is None else self.rows[which]
