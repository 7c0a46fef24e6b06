"""Rows as the likelihoods of pairs see them: features, and what regressions say of missing cells."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.data import MISSING, Domain, Table
from sparsefield.model import PairwiseMRF, pair_weights
from sparsefield.pairs._pair_rows import Kinds, PairRows
from sparsefield.structure import Design, find_neighbours
from sparsefield.structure._nodes import Nodes
from support import naive_pairs as naive
from support.statistics_ import FALSE_ALARM

N_LEVELS, SCORES = (2, 3, 4, 2), (None, None, (0.0, 1.0, 3.0, 4.0), (2.0, 5.0))


def make_table(n=300, missing=0.0, shown=None):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, N_LEVELS, (n, 4))
    for j in range(1, 4):
        follows = rng.random(n) < 0.4
        codes[follows, j] = np.minimum(codes[follows, j - 1], N_LEVELS[j] - 1)
    if shown is not None:  # levels of the third variable
        codes[:, 2] = np.asarray(shown)[codes[:, 2] % len(shown)]
    codes[rng.random(codes.shape) < missing] = MISSING
    domain = Domain(tuple("abcd"), tuple(tuple(range(k)) for k in N_LEVELS), (0,) * 4, SCORES)
    return Table(domain, np.asfortranarray(codes.astype(np.uint8)))


def make_rows(table):
    nodes = Nodes(Design.of(table))
    nodes.set_edges([(0, 1), (1, 2), (2, 3)], are_there=True)
    return PairRows(nodes.design, nodes, Kinds.of(nodes.design))


@pytest.mark.parametrize("shown", [None, (0, 2, 3), (1, 3)])
def test_features_of_regressions_are_turned_into_those_of_pairs(shown):
    rows = make_rows(make_table(shown=shown))
    kinds = rows.kinds
    for i, own in enumerate(rows.design.variables):
        features = kinds.features[i, : kinds.n_levels[i], : kinds.sizes[i]]
        assert not features[0].any()
        np.testing.assert_allclose(own.features[0] + features @ kinds.turns[i], own.features, atol=1e-12)
    assert kinds.is_plain.tolist() == [True, True, shown == (1, 3), True]


@pytest.mark.parametrize("shown", [None, (0, 2, 3), (1, 3)])
def test_weights_are_those_of_fields_over_all_levels_that_are_ordered(shown):
    rows = make_rows(make_table(shown=shown))
    kinds, domain = rows.kinds, rows.design.domain
    slot_of = {key: k for k, key in enumerate(naive_slots())}
    # Interactions of a feature of a with one of c, as a field has them: linear in the scores of c, all of its levels.
    for i, j in ((0, 2), (1, 2), (2, 3)):
        r = int(kinds.sizes[i] * kinds.sizes[j])
        theta = np.random.default_rng(i).normal(size=r)
        blocks = [expand(kinds, v, rows) for v in (i, j)]
        interactions = np.zeros((domain.n_slots,) * 2)
        block = blocks[0] @ theta.reshape(len(blocks[0].T), -1) @ blocks[1].T
        for u in range(1, N_LEVELS[i]):
            for v in range(1, N_LEVELS[j]):
                a, b = slot_of[i, u], slot_of[j, v]
                interactions[a, b] = interactions[b, a] = block[u, v] - block[0, v] - block[u, 0] + block[0, 0]
        PairwiseMRF(domain, np.zeros(domain.n_slots), interactions)
        weight = abs(pair_weights(domain, interactions)[i, j])
        assert np.sqrt(theta @ kinds.scale(i, j) @ theta) == pytest.approx(weight, rel=1e-9)


def naive_slots():
    return [(i, k) for i, n in enumerate(N_LEVELS) for k in range(1, n)]


def expand(kinds, v, rows):
    """Return the features of all levels, by scores where levels are ordered, also of those that do not occur."""
    own = kinds.features[v, : kinds.n_levels[v], : kinds.sizes[v]]
    if SCORES[v] is None:
        return own
    seen = np.array(SCORES[v])[rows.design.variables[v].levels]
    slope = (own[-1, 0] - own[0, 0]) / (seen[-1] - seen[0])
    return (slope * np.array(SCORES[v]))[:, None]


def test_links_are_the_mean_of_both_regressions():
    rows = make_rows(make_table())
    starts = rows.design.starts
    np.testing.assert_allclose(rows.links, rows.links.T, atol=1e-12)
    for i in range(4):
        for j in range(4):
            block = rows.links[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            if abs(i - j) != 1:
                assert not block.any()
                continue
            mean = (rows.nodes.fits[i].slopes_of(j) + rows.nodes.fits[j].slopes_of(i).T) / 2
            np.testing.assert_allclose(block, mean, atol=1e-12)


def test_missing_cells_are_as_likely_as_the_field_says():
    # A chain of two levels and many rows: what is missing has the law of the field given its neighbours.
    truth = PairwiseMRF.binary(np.array([-0.6, -1.5, -0.4]), np.array([[0, 1.4, 0], [1.4, 0, -1.1], [0, -1.1, 0.0]]))
    codes = np.asarray(truth.sample(20_000, method="perfect", seed=1).codes).copy()
    hidden = codes.copy()
    hidden[np.random.default_rng(2).random(codes.shape) < 0.2] = MISSING
    design = Design.of(Table(Domain.binary(3), np.asfortranarray(hidden)), gather=False)
    rows = PairRows(design, find_neighbours(design), Kinds.of(design))
    assert rows.near.sum() == 4
    where, exponents, _ = rows.filled
    here = (hidden[:, 1] == MISSING) & (hidden[:, 0] != MISSING) & (hidden[:, 2] != MISSING)
    found = exponents[where[1, here]]
    odds = found[:, 1] - found[:, 0]
    exact = -1.5 + 1.4 * hidden[here, 0] - 1.1 * hidden[here, 2]
    # Regressions of 0.8^2 of so many rows: log-odds are sums of three parameters.
    allowed = stats.norm.isf(FALSE_ALARM / 8) * np.sqrt(3 / (0.64 * 20_000 * 0.15))
    assert np.abs(odds - exact).max() < allowed
    assert (where[1] >= 0).sum() == (hidden[:, 1] == MISSING).sum()
    # Means of features go with them.
    columns = rows.columns[here, design.starts[1]]
    own = design.variables[1].features[:, 0]
    shares = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(columns, own[0] + shares * (own[1] - own[0]), atol=1e-9)


def test_the_oracle_completes_by_the_same_law():
    states, shares = naive.complete(
        np.array([[MISSING, 1]]),
        [naive.indicators(2), naive.indicators(2)],
        [np.array([0.0, 0.3]), np.zeros(2)],
        [[None, np.array([[0.7]])], [np.array([[0.7]]), None]],
        0,
        [0],
        [np.zeros(1), np.zeros(1)],
    )
    assert states == [(0,), (1,)]
    assert shares[1] == pytest.approx(1 / (1 + np.exp(-1.0)))
