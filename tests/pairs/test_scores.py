"""Score tests of all pairs at one time, against sums over all states of one pair, and against full fits."""

import numpy as np
import pytest

from sparsefield.data import Domain, Table
from sparsefield.pairs import infer_table
from sparsefield.pairs._fits import fit_pairs
from sparsefield.pairs._pair_rows import Kinds, PairRows
from sparsefield.pairs._scores import Residuals, score_pairs
from sparsefield.structure import Design
from sparsefield.structure._nodes import PRECISION, Nodes
from support import naive_pairs as naive

EDGES = [(0, 1), (1, 2), (3, 4)]

KINDS = {
    "binary": ((2, 2, 2, 2, 2), ()),
    "ordered": ((3, 4, 3, 3, 4), (0, 1, 2, 3, 4)),
    "nominal": ((3, 3, 2, 3, 2), ()),
    "mixed": ((2, 4, 3, 3, 2), (1, 3)),
}


def make_table(kind, n=300, seed=1):
    n_levels, ordered = KINDS[kind]
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, (n, 5))
    for j in range(1, 5):
        follows = rng.random(n) < 0.3
        codes[follows, j] = np.minimum(codes[follows, j - 1], n_levels[j] - 1)
    scores = tuple(tuple(map(float, range(k))) if j in ordered else None for j, k in enumerate(n_levels))
    levels = tuple(tuple(range(k)) for k in n_levels)
    domain = Domain(tuple("abcde"), levels, (0,) * 5, scores if ordered else None)
    return Table(domain, np.asfortranarray(codes.astype(np.uint8)))


def make_rows(table, weights=None, n_threads=None):
    design = Design.of(table, weights, gather=False)
    nodes = Nodes(design, n_threads)
    nodes.set_edges(EDGES, are_there=True)
    return PairRows(design, nodes, Kinds.of(design))


def lay_out(rows, i, j):
    """Return the features of a pair and of its neighbours, and the parameters with Theta = 0, as the oracle does."""
    design = rows.design
    features, starts = [own.features for own in design.variables], design.starts
    parameters, columns, ridges = [], [], []
    for v in (i, j):
        fit = rows.nodes.fits[v]
        z = [design.columns[:, starts[s] : starts[s + 1]] for s in fit.neighbours.tolist()]
        columns.append(np.hstack([np.zeros((len(design.counts), 0)), *z]))
        variances = np.concatenate([np.zeros(0), *(design.variables[s].variances for s in fit.neighbours)])
        ridges.append(PRECISION * np.outer(1 / design.variables[v].variances, 1 / variances).ravel())
        parameters.append((fit.intercepts[1:] - fit.intercepts[0], fit.slopes.ravel()))
    (b, slopes), (c, others) = parameters
    # The oracle's features are zero at the first level; what that leaves of slopes is with the intercepts.
    f, g = features[i], features[j]
    r = f.shape[1] * g.shape[1]
    ridge = np.concatenate([np.zeros(len(b) + len(c)), ridges[0], ridges[1]])
    return f, g, columns, np.concatenate([b, c, slopes, others, np.zeros(r)]), np.diag(ridge)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_sums_over_all_states(kind, weighted):
    table = make_table(kind)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, 300) if weighted else None
    rows = make_rows(table, weights)
    left = Residuals.of(rows)
    own, both = score_pairs(rows, left)
    codes = np.asarray(table.codes).astype(int)
    for i, j in ((0, 2), (0, 3), (2, 4)):
        f, g, columns, parameters, ridge = lay_out(rows, i, j)
        statistics = naive.list_statistics(f, g, *columns)
        states = codes[:, i] * len(g) + codes[:, j]
        counts, r = rows.design.counts, f.shape[1] * g.shape[1]
        score = counts @ naive.scores_of_rows(parameters, statistics, states)[:, -r:]
        whole = naive.information(parameters, statistics, counts)
        m = len(whole) - r
        spread = whole[:m, :m] + ridge
        exact = whole[m:, m:] - whole[m:, :m] @ np.linalg.solve(spread, whole[:m, m:])
        order = np.arange(r).reshape(f.shape[1], g.shape[1]).T.ravel()  # the larger number is first there
        found, information = own.of(j, i)
        np.testing.assert_allclose(found, score[order], rtol=1e-8, atol=1e-7)
        # What regressions explain has their curvature before a last step of 1e-6 nats, (2e-6)^(1/2) standard errors.
        np.testing.assert_allclose(information, exact[np.ix_(order, order)], rtol=1.5e-3, atol=1.5e-3 * exact.max())
        # Those of both are made of residuals, and of the covariances that they have by the model.
        shares = naive.weigh(parameters, statistics).reshape(-1, len(f), len(g))
        one, other = shares.sum(axis=2), shares.sum(axis=1)
        residuals = [features[codes[:, v]] - p @ features for v, features, p in ((i, f, one), (j, g, other))]
        spreads = [np.einsum("tu,tua,tub->tab", p, h, h) for p, h in
                   ((one, f - (one @ f)[:, None]), (other, g - (other @ g)[:, None]))]  # fmt: skip
        found, information = both.of(j, i)
        np.testing.assert_allclose(found, np.einsum("t,ta,tb->ba", counts, *residuals).ravel(), rtol=1e-8, atol=1e-7)
        blocks = [np.kron(b, a) for a, b in zip(*spreads, strict=True)]
        np.testing.assert_allclose(information, np.einsum("t,tab->ab", counts, blocks), rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_score(kind):
    table = make_table(kind, n=100_000)  # so many rows that variables are in different parts
    by_one, by_two = (make_rows(table, np.ones(table.n_rows), n_threads) for n_threads in (1, 2))
    left = Residuals.of(by_one)
    np.testing.assert_array_equal(by_one.nodes.scores, by_two.nodes.scores)
    for one, other in zip(score_pairs(by_one, left), score_pairs(by_two, left), strict=True):
        for i in range(5):
            for j in range(i):
                for own, same in zip(one.of(i, j), other.of(i, j), strict=True):
                    np.testing.assert_array_equal(own, same)


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_from_zero_is_near_the_full_fit(kind):
    # Of many rows and pairs without an edge, both are the same but for terms of second order.
    codes = np.random.default_rng(4).integers(0, KINDS[kind][0], (4000, 5)).astype(np.uint8)
    found = infer_table(Table(make_table(kind).domain, np.asfortranarray(codes)))
    rows, pairs = found.rows, found.pairs[found.p_value > 0.1]
    assert not rows.near.any()
    assert len(pairs) >= 5
    left = Residuals.of(rows)
    scores, fits = score_pairs(rows, left), {}
    fit_pairs(rows, pairs, fits.__setitem__, z_ends=np.zeros(len(pairs)))
    for k, (i, j) in enumerate(pairs.tolist()):
        for told, own in zip((fits[k].own, fits[k].both), scores, strict=True):
            score, information = own.of(j, i)
            root = np.sqrt(score @ np.linalg.solve(information, score))
            # Of a root z, terms of second order have z^2 / sqrt(n) of it, and those of Firth's penalty 1 / sqrt(n).
            near = (1 + root**2) / np.sqrt(4000)
            assert abs(told.root) == pytest.approx(root, abs=near)
        at = found.index[frozenset((found.domain.names[i], found.domain.names[j]))]
        scale = rows.kinds.scale(i, j)
        theta, covariance = fits[k].both.theta, fits[k].both.covariance
        error = np.sqrt(np.trace(scale @ covariance))
        if len(theta) == 1:
            assert found.estimate[at] == pytest.approx(theta[0] * np.sqrt(scale[0, 0]), abs=near * error)
            assert found.error[at] == pytest.approx(error, rel=near)
        else:
            square = theta @ scale @ theta - np.trace(scale @ covariance)
            assert found.estimate[at] ** 2 == pytest.approx(max(0.0, square), abs=2 * (1 + root) * near * error**2)
