"""Fits of pairs against the slow oracle, with the same neighbours: roots, errors, intervals, missing neighbours."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import MISSING, Domain, Table
from sparsefield.pairs._fits import fit_pairs
from sparsefield.pairs._pair_rows import Kinds, PairRows
from sparsefield.structure import Design
from sparsefield.structure._nodes import Nodes
from support import naive_pairs as naive

# A climb ends at a step that promises this many nats; statistics are twice the difference of two maxima.
TOLERANCE = 1e-5

EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]

# Levels of five variables, and which of them are ordered.
KINDS = {
    "binary": ((2, 2, 2, 2, 2), ()),
    "ordered": ((3, 4, 3, 3, 4), (0, 1, 2, 3, 4)),
    "nominal": ((3, 3, 2, 3, 2), ()),
    "mixed": ((2, 4, 3, 3, 2), (1, 3)),
}


def make_codes(n_levels, n=200, seed=1, missing=0.0):
    """Return codes of levels that follow one another."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, (n, len(n_levels)))
    for j in range(1, len(n_levels)):
        follows = rng.random(n) < 0.35
        codes[follows, j] = np.minimum(codes[follows, j - 1], n_levels[j] - 1)
    codes[rng.random(codes.shape) < missing] = MISSING
    return codes.astype(np.uint8)


def make_rows(codes, n_levels, ordered, *, weights=None, edges=EDGES, gather=True):
    """Return rows whose neighbours are known."""
    scores = tuple(tuple(map(float, range(n))) if j in ordered else None for j, n in enumerate(n_levels))
    domain = Domain(
        tuple("abcde"[: len(n_levels)]),
        tuple(tuple(range(n)) for n in n_levels),
        (0,) * len(n_levels),
        scores if ordered else None,
    )
    design = Design.of(Table(domain, np.asfortranarray(codes)), weights, gather=gather)
    nodes = Nodes(design)
    nodes.set_edges(edges, are_there=True)
    return PairRows(design, nodes, Kinds.of(design))


def fit(rows, pairs, *, z=0.0, **options):
    """Return the fits of some pairs."""
    found = {}
    fit_pairs(rows, np.array(pairs), found.__setitem__, z_ends=np.full(len(pairs), z), **options)
    return [found[k] for k in range(len(pairs))]


def features_of(rows, variable):
    n, is_ordered = rows.design.domain.n_levels[variable], rows.design.domain.scores
    return naive.scores(n) if is_ordered is not None and is_ordered[variable] is not None else naive.indicators(n)


def show(rows, codes, counts, i, j, own, other):
    """Return what the oracle takes of a pair with neighbours of either variable."""
    f, g = features_of(rows, i), features_of(rows, j)

    def lay_out(neighbours):
        return np.hstack([np.zeros((len(codes), 0)), *(features_of(rows, s)[codes[:, s]] for s in neighbours)])

    states = codes[:, i].astype(int) * len(g) + codes[:, j]
    return naive.list_statistics(f, g, lay_out(own), lay_out(other)), states, counts


def weigh(rows, i, j, theta, covariance):
    """Return a weight, or the norm of several, of features as the oracle has them; and its variance, their mean."""
    f, g = features_of(rows, i), features_of(rows, j)
    if theta.size == 1:
        one = naive.gauge_norm(f @ theta.reshape(1, 1) @ g.T) / abs(theta[0])
        return one * theta[0], one**2 * covariance[0, 0]
    block = np.einsum("ua,vb->uvab", f, g).reshape(len(f) * len(g), -1)
    centred = block.reshape(len(f), len(g), -1)
    centred = centred - centred.mean(0) - centred.mean(1)[:, None] + centred.mean((0, 1))
    scale = 16 * np.einsum("uva,uvb->ab", centred, centred) / (len(f) * len(g))
    return np.sqrt(theta @ scale @ theta), np.trace(scale @ covariance) / theta.size


def tell(rows, i, j, told):
    """Return a weight and its variance as fits have them."""
    scale = rows.kinds.scale(i, j)
    if told.theta.size == 1:
        return told.theta[0] * np.sqrt(scale[0, 0]), scale[0, 0] * told.covariance[0, 0]
    return np.sqrt(told.theta @ scale @ told.theta), np.trace(scale @ told.covariance) / told.theta.size


def neighbours_of(edges, i, but):
    return sorted({a + b - i for a, b in edges if i in (a, b)} - {but})


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_are_those_of_sums_over_all_states(kind, weighted):
    n_levels, ordered = KINDS[kind]
    codes = make_codes(n_levels, n=150)
    weights = np.random.default_rng(2).uniform(0.5, 1.5, len(codes)) if weighted else None
    rows = make_rows(codes, n_levels, ordered, weights=weights)
    assert not rows.twins.any()
    pairs = [(0, 1), (1, 4)]
    for (i, j), found in zip(pairs, fit(rows, pairs), strict=True):
        own, other = neighbours_of(EDGES, i, j), neighbours_of(EDGES, j, i)
        joint = sorted({*own, *other})
        for told, columns in ((found.own, (own, other)), (found.both, (joint, joint))):
            shown = show(rows, codes, np.ones(len(codes)) if weights is None else weights, i, j, *columns)
            theta, covariance, ratio = naive.tell(*shown, n_theta=told.theta.size)
            assert told.is_whole
            assert told.effect == 1
            assert told.root**2 == pytest.approx(ratio, abs=4 * TOLERANCE)
            weight, variance = weigh(rows, i, j, theta, covariance)
            error = np.sqrt(variance)
            own_weight, own_variance = tell(rows, i, j, told)
            assert own_weight == pytest.approx(weight, abs=np.sqrt(2 * TOLERANCE * told.theta.size) * error)
            # The information is that of the step before the last, which is no longer than that.
            assert own_variance == pytest.approx(variance, rel=2 * np.sqrt(2 * TOLERANCE))
            if told.theta.size == 1:
                assert np.sign(told.root) == np.sign(weight)


@pytest.mark.parametrize("kind", ["binary", "ordered"])
def test_intervals_end_where_the_profile_has_fallen(kind):
    n_levels, ordered = KINDS[kind]
    codes = make_codes(n_levels, n=60, seed=3)
    rows = make_rows(codes, n_levels, ordered, edges=[(0, 1), (1, 2)])
    z = stats.norm.isf(0.025)
    (found,) = fit(rows, [(0, 2)], z=z)
    shown = show(rows, codes, np.ones(60), 0, 2, [1], [1])
    one = np.sqrt(rows.kinds.scale(0, 2)[0, 0]) / weigh(rows, 0, 2, np.ones(1), np.eye(1))[0]
    for end, side in zip(found.ends, (-1, 1), strict=True):
        exact = naive.find_end(*shown, side, z)
        theta, _, _ = naive.tell(*shown)
        # Ends are found where the root is right to a hundredth; it is steepest, where it is not linear, near the error.
        assert end * one == pytest.approx(exact, abs=0.02 * abs(exact - theta[0]))


def test_columns_that_are_nearly_the_same_are_in_each_others_equations():
    codes = make_codes((2, 2, 2, 2), n=300)
    codes[:, 1] = np.where(np.random.default_rng(4).random(300) < 0.9, codes[:, 0], 1 - codes[:, 0])
    rows = make_rows(codes, (2, 2, 2, 2), (), edges=[])
    assert np.argwhere(rows.twins).tolist() == [[0, 1], [1, 0]]
    assert rows.likeness[0, 1] == pytest.approx(np.corrcoef(codes[:, 0], codes[:, 1])[0, 1])
    (found,) = fit(rows, [(0, 2)])
    # Variable 2 has no neighbours: what is like 0 is there all the same.
    theta, covariance, ratio = naive.tell(*show(rows, codes, np.ones(300), 0, 2, [1], [1]))
    assert found.own.theta[0] == pytest.approx(theta[0], abs=np.sqrt(2 * TOLERANCE * covariance[0, 0]))
    assert found.own.root**2 == pytest.approx(ratio, abs=4 * TOLERANCE)


@pytest.mark.parametrize("kind", KINDS)
def test_likeness_is_the_largest_correlation_of_features(kind):
    n_levels, ordered = KINDS[kind]
    codes = make_codes(n_levels)
    rows = make_rows(codes, n_levels, ordered)
    for i, j in ((0, 1), (1, 4), (2, 3)):
        x, y = (own - own.mean(axis=0) for own in (features_of(rows, v)[codes[:, v]] for v in (i, j)))
        q, r = np.linalg.qr(x)[0], np.linalg.qr(y)[0]
        largest = np.linalg.svd(q.T @ r, compute_uv=False).max()
        assert rows.likeness[i, j] == pytest.approx(rows.likeness[j, i], rel=1e-12)
        assert rows.likeness[i, j] == pytest.approx(largest, abs=1e-9)


def expected_rows(rows, codes, i, j, own, other):
    """Return what the oracle takes where neighbours are missing: a row for each state of theirs, and which it is of."""
    p, design = len(codes[0]), rows.design
    features = [design.variables[v].features for v in range(p)]
    intercepts = [fit.intercepts for fit in rows.nodes.fits]
    links = [[rows.links[design.starts[v] : design.starts[v + 1], design.starts[w] : design.starts[w + 1]]
              for w in range(p)] for v in range(p)]  # fmt: skip
    near = sorted({*own, *other})
    more, counts, of = [], [], []
    for t, row in enumerate(codes):
        if row[i] == MISSING or row[j] == MISSING:
            continue
        missing = [v for v in near if row[v] == MISSING]
        means = [rows.columns[t, design.starts[v] : design.starts[v + 1]] for v in range(p)]
        states, shares = naive.complete(codes, features, intercepts, links, t, missing, means)
        for levels, share in zip(states, shares, strict=True):
            whole = row.copy()
            whole[missing] = levels
            more.append(whole)
            counts.append(share)
            of.append(t)
    return np.array(more), np.array(counts), np.array(of)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_neighbours_have_the_states_that_the_others_tell(kind):
    n_levels, ordered = KINDS[kind]
    codes = make_codes(n_levels, missing=0.12, seed=6)
    rows = make_rows(codes, n_levels, ordered, gather=False)
    for i, j in ((0, 2), (1, 4)):
        own, other = neighbours_of(EDGES, i, j), neighbours_of(EDGES, j, i)
        more, counts, of = expected_rows(rows, codes, i, j, own, other)
        assert np.bincount(of).max() > 2  # rows that lack two
        (found,) = fit(rows, [(i, j)], with_moves=True)
        shown = show(rows, more, counts, i, j, own, other)
        theta, covariance, ratio = naive.tell(*shown, n_theta=found.own.theta.size)
        weight, variance = weigh(rows, i, j, theta, covariance)
        own_weight, own_variance = tell(rows, i, j, found.own)
        assert found.own.root**2 == pytest.approx(ratio, abs=4 * TOLERANCE)
        assert own_weight == pytest.approx(weight, abs=np.sqrt(2 * TOLERANCE * theta.size * variance))
        assert own_variance == pytest.approx(variance, rel=2 * np.sqrt(2 * TOLERANCE))
        _, at = naive.maximise(*shown)
        left = np.linalg.inv(naive.hide(at, *shown, of))[-theta.size :, -theta.size :]
        effect = np.trace(np.linalg.solve(covariance, left)) / theta.size
        assert effect > 1
        assert found.own.effect == pytest.approx(effect, rel=1e-3)
        lacking = (codes[:, i] == MISSING) | (codes[:, j] == MISSING)
        assert not found.own.moves[:, lacking].any()
        assert np.abs(found.own.moves[:, ~lacking]).min() > 0


@pytest.mark.parametrize("kind", ["binary", "mixed"])
def test_means_of_missing_cells_do_not_depend_on_the_order_of_variables(kind):
    n_levels, ordered = KINDS[kind]
    codes = make_codes(n_levels, missing=0.2, seed=7)
    rows = make_rows(codes, n_levels, ordered, gather=False)
    order = np.array([3, 0, 4, 1, 2])
    back = np.argsort(order)
    edges = [tuple(sorted((back[i], back[j]))) for i, j in EDGES]
    others = make_rows(
        codes[:, order], tuple(np.array(n_levels)[order]), tuple(back[list(ordered)]) if ordered else (), edges=edges,
        gather=False,
    )  # fmt: skip
    starts, other_starts = rows.design.starts, others.design.starts
    for v in range(5):
        one = rows.columns[:, starts[v] : starts[v + 1]]
        other = others.columns[:, other_starts[back[v]] : other_starts[back[v] + 1]]
        # Regressions end at a step that promises 1e-6 nats; one is found after another set of neighbours here.
        np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-4)


def test_the_number_of_threads_changes_no_bit():
    codes = make_codes(KINDS["mixed"][0], missing=0.05)
    rows = make_rows(codes, *KINDS["mixed"], gather=False)
    pairs = [(i, j) for j in range(5) for i in range(j)]
    found = [fit(rows, pairs, n_threads=n, with_moves=True) for n in (1, 2, 4)]
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            for name in ("theta", "covariance", "root", "effect", "moves", "parts"):
                np.testing.assert_array_equal(getattr(one.both, name), getattr(other.both, name))
                np.testing.assert_array_equal(getattr(one.own, name), getattr(other.own, name))


def test_whoever_watches_hears_of_all_pairs():
    codes = make_codes((2, 2, 2, 2, 2))
    rows = make_rows(codes, *KINDS["binary"])
    heard = []
    pairs = [(i, j) for j in range(5) for i in range(j)]
    fit(rows, pairs, n_threads=1, watch=lambda done, all_: heard.append((done, all_)))
    assert heard == [(8, 10), (10, 10)]


def test_a_row_with_many_missing_neighbours_has_the_last_at_their_means():
    rng = np.random.default_rng(8)
    p = 12
    codes = rng.integers(0, 2, (300, p)).astype(np.uint8)
    codes[0, 2:] = MISSING  # 2^10 states
    domain = sf.Domain.binary(p)
    nodes = Nodes(Design.of(Table(domain, np.asfortranarray(codes)), gather=False))
    nodes.set_edges([(0, k) for k in range(2, p)], are_there=True)
    rows = PairRows(nodes.design, nodes, Kinds.of(nodes.design))
    (found,) = fit(rows, [(0, 1)])
    assert np.all(np.isfinite(found.both.theta))
    assert found.both.effect >= 1
