"""Edges refitted variable by variable: against regressions of scikit-learn and of a general optimiser."""

import tracemalloc

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.linear_model import LogisticRegression

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.inference import Cpu
from sparsefield.objective import L1
from sparsefield.pseudolikelihood import _nodewise
from sparsefield.pseudolikelihood._nodewise import NodeRefits

N = 300
# The prior has a precision of 0.01 for weights, and a regression ends where a step gains 0.001 nats.
PRECISION, LAST = 0.01, 1e-3


def make_levels(reference):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, (3, 2, 4), (N, 3)).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(N) < 0.5, codes[:, 0] > 0, codes[:, 1])
    levels = tuple(tuple(range(k)) for k in (3, 2, 4))
    domain = sf.Domain(("a", "b", "c"), levels, None if reference is None else (0, 0, 0))
    return sf.Table(domain, np.asfortranarray(codes))


def model_with(domain, support):
    return sf.PairwiseMRF(domain, np.zeros(domain.n_slots), support.astype(float))


def refit(table, support, weights=None, filler=None):
    model = model_with(table.domain, support)
    return NodeRefits(table, weights, filler or model, seed=1, backend=Cpu(), penalty=L1(table.domain, 0.1)).of(model)


@pytest.mark.parametrize("reference", [0, None])
def test_whole_neighbourhoods_are_multinomial_regressions(reference):
    table = make_levels(reference)
    variables = table.domain.slot_variables
    found = refit(table, variables[:, None] != variables)
    total, squares = 0.0, 0.0
    for i in range(3):
        others = np.column_stack(
            [table.codes[:, j] == k for j in range(3) if j != i for k in range(1, table.domain.n_levels[j])]
        ).astype(float)
        regression = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(others, table.codes[:, i])
        total += regression.predict_log_proba(others)[np.arange(N), table.codes[:, i]].sum()
        squares += (regression.coef_**2).sum()
    # Differences of two levels' weights may be twice as large as weights: four times their squares.
    assert -1e-6 <= total - N * found <= PRECISION / 2 * 4 * squares + 3 * LAST


def test_each_level_has_the_neighbours_that_it_has():
    table = make_levels(0)
    support = np.zeros((6, 6), dtype=bool)  # slots: a=1, a=2, b=1, c=1, c=2, c=3
    for a, b in ((0, 2), (1, 4), (2, 5)):
        support[a, b] = support[b, a] = True
    statistics = table.domain.indicators(table.codes).astype(float)
    total, squares = 0.0, 0.0
    for slots in ([0, 1], [2], [3, 4, 5]):
        weighted = [(a, b) for a in slots for b in np.flatnonzero(support[a])]

        def loss(theta, slots=slots, weighted=weighted):
            exponents = np.zeros((N, 1 + len(slots)))
            exponents[:, 1:] = theta[: len(slots)]
            for value, (a, b) in zip(theta[len(slots) :], weighted, strict=True):
                exponents[:, 1 + slots.index(a)] += value * statistics[:, b]
            own = (statistics[:, slots] * exponents[:, 1:]).sum()
            return special.logsumexp(exponents, axis=1).sum() - own

        best = optimize.minimize(loss, np.zeros(len(slots) + len(weighted)), method="BFGS", options={"gtol": 1e-6})
        total, squares = total - best.fun, squares + (best.x[len(slots) :] ** 2).sum()
    assert -1e-3 <= total - N * refit(table, support) <= PRECISION / 2 * squares + 3 * LAST


def test_weights_are_rows():
    table, weights = make_levels(0), np.random.default_rng(2).integers(0, 4, N).astype(float)
    rows = sf.Table(table.domain, np.asfortranarray(np.repeat(table.codes, weights.astype(int), axis=0)))
    variables = table.domain.slot_variables
    support = variables[:, None] != variables
    assert refit(table, support, weights) == pytest.approx(refit(rows, support), rel=1e-9)


@pytest.mark.parametrize("n_rows", [N, 20])  # of which neighbours tell 24 apart at most
@pytest.mark.parametrize("reference", [0, None])
def test_rows_with_the_same_neighbours_count_together(monkeypatch, reference, n_rows):
    whole, weights = make_levels(reference), np.random.default_rng(2).random(n_rows)
    codes = whole.codes[:n_rows].copy()
    codes[::7, 0] = MISSING
    table = sf.Table(whole.domain, np.asfortranarray(codes))
    variables = table.domain.slot_variables
    support = variables[:, None] != variables
    together = refit(table, support, weights)
    monkeypatch.setattr(_nodewise, "_find_distinct", lambda codes, _: (np.arange(len(codes)),) * 2)
    assert together == pytest.approx(refit(table, support, weights), rel=1e-9)


def test_neighbours_that_are_missing_are_drawn_given_what_is_observed():
    # Two equal columns, and a filler that knows so: cells of one are filled by the other, and nothing is lost.
    codes = np.repeat(np.random.default_rng(3).integers(0, 2, (N, 1)), 2, axis=1).astype(np.uint8)
    codes[::3, 1] = MISSING
    table = sf.Table(sf.Domain.binary(2), np.asfortranarray(codes))
    support = np.array([[False, True], [True, False]])
    equal = sf.PairwiseMRF.binary([-20.0, -20.0], [[0.0, 40.0], [40.0, 0.0]])
    alone = sf.PairwiseMRF.binary([0.0, 0.0], np.zeros((2, 2)))
    known, unknown = (refit(table, support, filler=own) for own in (equal, alone))
    # With the prior, weights of 20 in all take at most 0.01 / 2 * 20^2 nats each, of all rows.
    assert -2 * PRECISION / 2 * 20**2 / N - 0.01 <= known <= 0
    assert unknown < known - 0.1


def test_refits_hold_no_statistics_of_all_rows():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (1000, 300)).astype(np.uint8)
    codes[np.arange(1000), rng.integers(0, 300, 1000)] = MISSING  # a cell of each row, so that each is filled
    table = sf.Table(sf.Domain.binary(300), np.asfortranarray(codes))
    interactions = np.zeros((300, 300))
    interactions[0, 1] = interactions[1, 0] = 0.1
    model = sf.PairwiseMRF(table.domain, np.zeros(300), interactions)
    how = {"seed": 1, "backend": Cpu(), "penalty": L1(table.domain, 0.1)}
    NodeRefits(table, None, model, **how).of(model)  # compiles
    tracemalloc.start()
    NodeRefits(table, None, model, **how).of(model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5 * 1000 * 300 * 8  # of doubles; codes are bytes
