"""The edges of fits without their penalty, variable by variable: what each tells of a variable, given the others."""

from __future__ import annotations

import numpy as np

from sparsefield._typing import Codes, Index, Mask, Values
from sparsefield.data import MISSING, Table
from sparsefield.inference import Backend, OutOfReachError
from sparsefield.model import PairwiseMRF
from sparsefield.objective import L1, Group, find_nonzero
from sparsefield.pseudolikelihood._multinomial import MultinomialRegression
from sparsefield.pseudolikelihood._policy import REFITS, RefitPolicy

_MOST_KEYS = 2**62  # ways to combine levels that a whole number can tell apart


class NodeRefits:
    """The edges of models, refitted without a penalty, variable by variable (node-wise regression).

    For each variable, the probability of its observed values given its neighbours is maximised: a logistic regression
    on them, as Barber and Drton (2015) have it. An edge has its parameters twice, once at each end. Neighbourhoods that
    several models have in common are refitted once.

    The exponent of level k of a variable is sum_a f_a(k) (h_a + sum_b Z_ab f_b), with f_b the features of neighbours: a
    multinomial regression, where each feature has the neighbours that it has. Of an ordered variable only the score
    interacts, and a single slope tells of two of them. The prior is the same in all directions of an edge, so that with
    contrasts nothing depends on which level is the reference, nor on the order of levels.

    Parameters
    ----------
    table : Table
        The rows, some cells of which may be missing.
    weights : ndarray of shape (n_rows,), optional
        How often each counts.
    filler : PairwiseMRF
        Missing cells of neighbours are drawn from it, given the observed ones: the same for all models, so that they
        can be compared.
    seed : int
        Where the random numbers of these draws start.
    backend : Backend
        What draws them.
    penalty : L1 or Group
        Whose features and parameters edges have. With groups neighbours are whole variables.
    max_sweeps : int, optional
        As for `Completed`.
    policy : RefitPolicy, optional
        How cells are drawn, and regressions solved.
    """

    def __init__(
        self,
        table: Table,
        weights: Values | None,
        filler: PairwiseMRF,
        *,
        seed: int,
        backend: Backend,
        penalty: L1 | Group,
        max_sweeps: int | None = None,
        policy: RefitPolicy = REFITS,
    ) -> None:
        own = np.ones(table.n_rows) if weights is None else weights
        codes, rows = _fill(table, filler, seed, backend, max_sweeps, policy)
        self._codes, self._rows, self._weights = table.codes, rows, own[rows] / np.bincount(rows)[rows]
        # Statistics are made where they are needed: of 40,000 rows of 1000 levels they would take 320 MB, and 1.6 GB
        # where each has a missing cell.
        self._filled = np.asfortranarray(codes)
        self._penalty, self._n_levels, self._policy = penalty, table.domain.n_levels, policy
        self._variables = penalty.coordinates.variables
        self._blocks = [np.ascontiguousarray(block) for block in penalty.coordinates.blocks]
        self._columns = [np.flatnonzero(self._variables == i) for i in range(table.domain.n_variables)]
        self._total = float(own.sum())
        self._known: dict[tuple[int, bytes], float] = {}
        self._last: dict[int, tuple[Index, Values]] = {}  # which columns a variable had last, and its parameters

    def of(self, model: PairwiseMRF) -> float:
        """Return the pseudo-log-likelihood of the edges of a model, in nats per row."""
        support = find_nonzero(self._penalty, model)
        np.fill_diagonal(support, val=False)
        return sum(self._refit_node(i, support[own]) for i, own in enumerate(self._columns)) / self._total

    def _refit_node(self, variable: int, support: Mask) -> float:
        key = variable, np.packbits(support).tobytes()
        if key not in self._known:
            self._known[key] = self._maximise(variable, support) if len(support) else 0.0
        return self._known[key]

    def _maximise(self, variable: int, support: Mask) -> float:
        """Refit one variable, from where its last neighbours left it.

        Rows whose neighbours have the same levels count as one, with how often the variable has each of its own.
        """
        chosen = np.flatnonzero(self._codes[self._rows, variable] != MISSING)
        is_used = np.asarray(support.any(axis=0))
        used = np.flatnonzero(is_used)
        neighbours = np.unique(self._variables[used])
        codes, n = self._filled[np.ix_(chosen, neighbours)], int(self._n_levels[variable])
        first, which = _find_distinct(codes, self._n_levels[neighbours])
        keys = which * n + self._filled[chosen, variable]
        counts = np.bincount(keys, self._weights[chosen], len(first) * n).astype(np.float64).reshape(len(first), n)
        if not counts.any():
            return 0.0
        blocks = [self._blocks[j][:, is_used[self._columns[j]]] for j in neighbours]
        regression = MultinomialRegression(
            codes[first], blocks, counts, self._blocks[variable], support[:, used], self._policy
        )
        # Slots, each with neighbours of its own, have as small a tolerance together as features have one by one.
        tolerance = self._policy.tolerance * (1 if self._penalty.coordinates.is_plain else regression.n_parameters)
        theta, value = regression.maximise(self._start(variable, used, support[:, used]), tolerance)
        self._last[variable] = used, theta
        return value

    def _start(self, variable: int, used: Index, support: Mask) -> Values:
        """Return the parameters that a variable had last, (d, 1 + n_used), and zero for what it did not have."""
        start = np.zeros((len(support), 1 + len(used)))
        if variable in self._last:
            columns, theta = self._last[variable]
            start[:, 0] = theta[:, 0]
            _, new, old = np.intersect1d(used, columns, assume_unique=True, return_indices=True)
            start[:, 1 + new] = np.where(support[:, new], theta[:, 1 + old], 0.0)
        return start


def _fill(
    table: Table, filler: PairwiseMRF, seed: int, backend: Backend, max_sweeps: int | None, policy: RefitPolicy
) -> tuple[Codes, Index]:
    """Fill missing cells, several times, and return the filled rows and which row each of them was."""
    is_whole = ~table.mask.any(axis=1)
    whole, open_ = np.flatnonzero(is_whole), np.repeat(np.flatnonzero(~is_whole), policy.n_filled)
    if not len(open_):
        return np.asarray(table.codes), whole
    wanted = np.ascontiguousarray(table.codes[open_])
    most = policy.max_sweeps if max_sweeps is None else max_sweeps
    try:
        chains, _ = backend.clamped_draw(filler, wanted, seed=seed, max_sweeps=most)
    except OutOfReachError:
        chains = backend.clamped_chains(table.domain, wanted, seed=seed)
        chains.sweep(backend.prepare(filler), policy.gibbs_sweeps)
    return np.concatenate([table.codes[whole], chains.codes()]), np.concatenate([whole, open_])


def _find_distinct(codes: Codes, n_levels: Index) -> tuple[Index, Index]:
    """Return the first row of each combination of levels, and which combination each row has."""
    keys, n_keys = np.zeros(len(codes), dtype=np.int64), 1
    for column, n in zip(codes.T, n_levels.tolist(), strict=True):
        if n_keys > _MOST_KEYS // n:
            keys, n_keys = np.unique(keys, return_inverse=True)[1], len(keys)
        keys, n_keys = keys * n + column, n_keys * n
    if n_keys > len(keys):
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which
    found = np.full(n_keys, -1)
    found[keys[::-1]] = np.arange(len(keys))[::-1]  # the first of each is written last
    is_seen = found >= 0
    return found[is_seen], (np.cumsum(is_seen) - 1)[keys]
