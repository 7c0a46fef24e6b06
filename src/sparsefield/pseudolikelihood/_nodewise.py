"""The edges of fits without their penalty, variable by variable: what each tells of a variable, given the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sparsefield._typing import Index, Mask, Values
from sparsefield.data import MISSING, Table
from sparsefield.inference import Backend, OutOfReachError
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, Group
from sparsefield.pseudolikelihood._newton_ascent import PRECISION, PRECISION_OF_MAIN, climb
from sparsefield.pseudolikelihood._nodewise_features import FeatureNodes

# Levels of neighbours have a common name as long as it is a whole number of 64 bits.
_MOST_NAMES = 2**62

# Rows with missing cells are filled so many times, each with a share of the weight: the convention of multiple
# imputation (Rubin 1987), which keeps 1 / (1 + g / 5) of the efficiency where a share g of the information is missing.
_N_FILLED = 5
_GIBBS_SWEEPS = 100  # where exact draws of missing cells are out of reach
_MAX_SWEEPS = 2000  # within which chains must meet for these, unless given, as for `Completed`


class NodeRefits:
    """The edges of models, refitted without a penalty, variable by variable.

    For each variable, the probability of its observed values given its neighbours is maximised: a logistic regression
    on them, as Barber and Drton (2015) have it. An edge has its parameters twice, once at each end. Neighbourhoods that
    several models have in common are refitted once.

    Parameters
    ----------
    table : Table
        The rows.
    weights : ndarray of shape (n_rows,), optional
        How often each counts.
    filler : PairwiseMRF
        Missing cells of neighbours are drawn from it, given the observed ones: the same for all models, so that they
        can be compared.
    seed : int
        Where the random numbers of these draws start.
    backend : Backend
        What draws them.
    max_sweeps : int, optional
        As for `Completed`.
    penalty : L1 or Group, optional
        Whose parameters edges have; those of slots unless given. With groups neighbours are whole variables.
    """

    def __init__(
        self,
        table: Table,
        weights: Values | None,
        filler: PairwiseMRF,
        *,
        seed: int,
        backend: Backend,
        max_sweeps: int | None = None,
        penalty: L1 | Group | None = None,
    ) -> None:
        own = np.ones(table.n_rows) if weights is None else weights
        codes, rows = _fill(table, filler, seed, backend, _MAX_SWEEPS if max_sweeps is None else max_sweeps)
        shares = own[rows] / np.bincount(rows)[rows]
        self._nodes: _Nodes | FeatureNodes
        if penalty is None or penalty.coordinates.is_plain:
            self._nodes = _Nodes(table, codes, rows, shares)
        else:
            self._nodes = FeatureNodes(table, codes, rows, shares, penalty)
        self._total = float(own.sum())

    def of(self, model: PairwiseMRF) -> float:
        """Return the pseudo-log-likelihood of the edges of a model, in nats per row."""
        return self._nodes.refit(model) / self._total


def _fill(
    table: Table, filler: PairwiseMRF, seed: int, backend: Backend, max_sweeps: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Fill missing cells, several times, and return the filled rows and which row each of them was."""
    is_whole = ~table.mask.any(axis=1)
    whole, open_ = np.flatnonzero(is_whole), np.repeat(np.flatnonzero(~is_whole), _N_FILLED)
    if not len(open_):
        return np.asarray(table.codes), whole
    wanted = np.ascontiguousarray(table.codes[open_])
    try:
        chains, _ = backend.clamped_draw(filler, wanted, seed=seed, max_sweeps=max_sweeps)
    except OutOfReachError:
        chains = backend.clamped_chains(table.domain, wanted, seed=seed)
        chains.sweep(backend.prepare(filler), _GIBBS_SWEEPS)
    return np.concatenate([table.codes[whole], chains.codes()]), np.concatenate([whole, open_])


class _Nodes:
    """The logistic regressions of all variables on their neighbours.

    Parameters
    ----------
    table : Table
        The rows, some cells of which may be missing.
    codes : ndarray of shape (n_filled, n_variables)
        Filled rows.
    rows : ndarray of shape (n_filled,)
        Which row of the table each of them was.
    weights : ndarray of shape (n_filled,)
        How often each counts.
    """

    def __init__(self, table: Table, codes: NDArray[np.uint8], rows: NDArray[np.int64], weights: Values) -> None:
        self._domain, self._codes, self._rows, self._weights = table.domain, table.codes, rows, weights
        # Statistics are made where they are needed: of 40,000 rows of 1000 levels they would take 320 MB, and 1.6 GB
        # where each has a missing cell.
        self._filled = np.asfortranarray(codes)
        self._known: dict[tuple[int, bytes], float] = {}
        self._last: dict[int, tuple[Mask, list[Values]]] = {}

    def refit(self, model: PairwiseMRF) -> float:
        """Return the sum of the log-likelihoods of all variables given their neighbours, refitted."""
        support = model.interactions != 0
        return sum(self._refit_node(i, support) for i in range(self._domain.n_variables))

    def _refit_node(self, variable: int, support: Mask) -> float:
        slots = np.flatnonzero(self._domain.slot_variables == variable)
        own = support[slots]
        key = variable, np.packbits(own).tobytes()
        if key not in self._known:
            self._known[key] = self._maximise(variable, slots, own) if len(slots) else 0.0
        return self._known[key]

    def _maximise(self, variable: int, slots: NDArray[np.int64], support: Mask) -> float:
        """Refit one variable, from where its last neighbours left it.

        Rows whose neighbours have the same levels count as one, with the shares of the levels of the variable.
        """
        is_there = self._codes[self._rows, variable] != MISSING
        chosen = np.arange(len(self._rows)) if is_there.all() else np.flatnonzero(is_there)
        neighbours = np.unique(self._domain.slot_variables[support.any(axis=0)])
        first, which = self._find_distinct(neighbours, chosen)
        own_weights, codes = self._weights[chosen], self._filled[chosen, variable]
        weights = np.asarray(np.bincount(which, own_weights, len(first)), dtype=np.float64)
        shares = [np.bincount(which, own_weights * (codes == k), len(first)) for k in self._domain.slot_levels[slots]]
        outcomes = np.column_stack(shares) / np.maximum(weights, 1e-300)[:, None]
        designs = [
            np.column_stack([np.ones(len(first)), self._find_statistics(np.flatnonzero(own), first)]) for own in support
        ]
        regression = _Regression(designs, outcomes, weights, has_reference=self._domain.reference is not None)
        start = [np.zeros(design.shape[1]) for design in designs]
        if variable in self._last:
            before, theta = self._last[variable]
            for own, old, new, values in zip(support, before, start, theta, strict=True):
                new[0] = values[0]
                places = np.full(len(own), -1)
                places[old] = np.arange(1, len(values))
                new[1:] = np.where(places[own] > 0, values[places[own]], 0.0)
        theta, value = regression.maximise(start)
        self._last[variable] = support, theta
        return value

    def _find_distinct(self, variables: Index, rows: Index) -> tuple[Index, Index]:
        """Return the first of all filled rows that some variables tell apart, and which of these each row is like."""
        names, n_names = np.zeros(len(rows), dtype=np.int64), 1
        for i in variables:
            n_names *= int(self._domain.n_levels[i])
            if n_names > _MOST_NAMES:
                return rows, np.arange(len(rows))
            names = names * self._domain.n_levels[i] + self._filled[rows, i]
        if n_names > len(rows):
            _, first, which = np.unique(names, return_index=True, return_inverse=True)
            return rows[first], which
        found = np.full(n_names, -1)
        found[names[::-1]] = np.arange(len(rows))[::-1]  # the first of each is written last
        is_seen = found >= 0
        return rows[found[is_seen]], (np.cumsum(is_seen) - 1)[names]

    def _find_statistics(self, slots: Index, rows: Index) -> Values:
        """Return whether each of some filled rows has the level of each of some slots."""
        codes = self._filled[np.ix_(rows, self._domain.slot_variables[slots])]
        return np.asarray(codes == self._domain.slot_levels[slots], dtype=np.float64)


class _Regression:
    """A logistic regression, multinomial where a variable has several slots, each of which has its own neighbours.

    Parameters
    ----------
    designs : sequence of ndarray of shape (n, 1 + n_neighbours)
        For each slot, ones and the statistics of its neighbours.
    outcomes : ndarray of shape (n, n_slots)
        Whether the variable has the level of each slot, or the share of rows in which it does.
    weights : ndarray of shape (n,)
        How often each row counts.
    has_reference : bool
        Whether there is a further level, of exponent zero.
    """

    def __init__(self, designs: Sequence[Values], outcomes: Values, weights: Values, *, has_reference: bool) -> None:
        self._designs, self._outcomes, self._weights, self._has_reference = designs, outcomes, weights, has_reference
        self._cuts = np.cumsum([design.shape[1] for design in designs])[:-1]
        self._precision = np.concatenate(
            [[PRECISION_OF_MAIN] + [PRECISION] * (design.shape[1] - 1) for design in designs]
        )

    def maximise(self, start: Sequence[Values]) -> tuple[list[Values], float]:
        """Return the parameters of each slot, and the log-likelihood, by Newton steps that never lead down."""
        theta, likelihood = climb(np.concatenate(start), self._evaluate, self._find_step)
        return np.split(theta, self._cuts), likelihood

    def _evaluate(self, theta: Values) -> tuple[float, float, Values]:
        """Return the log-likelihood with and without the prior, and the probabilities of the slots in each row."""
        parts = np.split(theta, self._cuts)
        exponents = np.column_stack([design @ own for design, own in zip(self._designs, parts, strict=True)])
        if len(parts) == 1 and self._has_reference:
            logs = np.logaddexp(0.0, exponents[:, 0])
        else:
            zero = [np.zeros((len(exponents), 1))] if self._has_reference else []
            logs = logsumexp(np.column_stack([*zero, exponents]), axis=1)
        likelihood = float(self._weights @ ((self._outcomes * exponents).sum(axis=1) - logs))
        prior = float(self._precision @ theta**2) / 2
        return likelihood - prior, likelihood, np.exp(exponents - logs[:, None])

    def _find_step(self, theta: Values, probabilities: Values) -> Values:
        """Return the Newton step."""
        gradient = np.concatenate(
            [
                design.T @ (self._weights * own)
                for design, own in zip(self._designs, (self._outcomes - probabilities).T, strict=True)
            ]
        )
        rows = []
        for a, first in enumerate(self._designs):
            blocks = []
            for b, second in enumerate(self._designs):
                spread = self._weights * probabilities[:, a] * (float(a == b) - probabilities[:, b])
                blocks.append(first.T @ (second * spread[:, None]))
            rows.append(np.hstack(blocks))
        curvature = np.vstack(rows) + np.diag(self._precision)
        return np.asarray(np.linalg.solve(curvature, gradient - self._precision * theta))
