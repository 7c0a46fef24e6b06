"""Which pairs have an edge: the edges of known fields, none of independent variables, the same in any order."""

import time

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import Rows
from sparsefield.fitting import Learner, Options
from sparsefield.model import as_theta
from sparsefield.objective import Ridge
from sparsefield.structure import RISK, EdgePrior, find_structure
from sparsefield.structure._bridges import find_links
from sparsefield.structure._design import Design
from sparsefield.structure._independence import judge_independence
from sparsefield.structure._nodes import Nodes
from sparsefield.structure._prior import learn_prior
from sparsefield.structure._search import Search
from sparsefield.tables import read_rows


def find(table, weights=None):
    return find_structure(Rows(table, weights))


def make_rows(kind, n=800, p=9, seed=1):
    """Return rows of levels from 1 on, which follow one another along a chain."""
    rng = np.random.default_rng(seed)
    n_levels = {"binary": 2, "nominal": 3, "ordinal": 4, "missing": 2}[kind]
    rows = np.ceil(n_levels * rng.random((n, p)) ** 1.3)
    for j in range(1, p):
        follows = rng.random(n) < 0.35
        rows[follows, j] = rows[follows, j - 1]
    if kind == "missing":
        rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def encode(rows, kind):
    return sf.encode(rows, ordinal=True if kind == "ordinal" else None)


@pytest.mark.parametrize("kind", ["binary", "nominal", "ordinal", "missing"])
def test_the_order_of_rows_columns_and_levels_changes_no_edge(kind):
    rows = make_rows(kind)
    found = find(encode(rows, kind))
    assert np.count_nonzero(np.diagonal(found.is_edge, 1)) == rows.shape[1] - 1
    for seed in range(12):
        rng = np.random.default_rng(seed)
        order, most = rng.permutation(rows.shape[1]), int(np.nanmax(rows))
        other = rows[rng.permutation(len(rows))]
        for column in other.T:
            levels = np.arange(most)[::-1] if kind == "ordinal" else rng.permutation(most)
            if rng.random() < 0.7:
                known = ~np.isnan(column)
                column[known] = 1 + levels[column[known].astype(int) - 1]
        own = find(encode(other[:, order], kind))
        back = np.argsort(order)
        np.testing.assert_array_equal(own.is_edge[np.ix_(back, back)], found.is_edge)
        assert own.prior.share == pytest.approx(found.prior.share, rel=1e-6)
        assert own.prior.variance == pytest.approx(found.prior.variance, rel=1e-6)


@pytest.mark.parametrize("kind", ["binary", "nominal", "ordinal", "missing"])
def test_edges_of_many_rows_are_the_true_ones(kind):
    rows = make_rows(kind, n=6000, seed=2)
    found = find(encode(rows, kind))
    near = np.abs(np.subtract.outer(np.arange(9), np.arange(9))) == 1
    assert np.all(found.is_edge[near])
    if kind != "ordinal":  # whose chain is not one of scores: what these leave of it is there for other pairs
        np.testing.assert_array_equal(found.is_edge, near)
        assert found.support.sum() == near.sum() * (1 if kind != "nominal" else 4)


@pytest.mark.parametrize("kind", ["binary", "nominal", "ordinal", "missing"])
def test_few_tables_of_independent_variables_have_an_edge(kind):
    n_tables, n_found = 60, 0
    rng = np.random.default_rng(3)
    for seed in range(n_tables):
        rows = make_rows(kind, n=int(rng.choice([60, 150, 400])), seed=seed)
        for j, column in enumerate(rows.T):
            rows[:, j] = rng.permutation(column)
        found = find(encode(rows, kind))
        n_found += found.n_edges > 0
        assert found.n_edges == 0 or found.independence.p_value < RISK
    assert n_found <= stats.binom.isf(1e-4, n_tables, RISK)


def test_p_values_of_independence_are_no_smaller_than_they_should_be():
    rng, p_values = np.random.default_rng(4), []
    for _ in range(300):
        frequencies = rng.uniform(0.05, 0.95, 12)
        rows = (rng.random((150, 12)) < frequencies).astype(np.uint8)
        nodes = Nodes(Design.of(sf.Table(sf.Domain.binary(12), np.asfortranarray(rows))))
        p_values.append(judge_independence(nodes).p_value)
    for level in (0.01, 0.05, 0.2):
        assert np.sum(np.array(p_values) < level) <= stats.binom.isf(1e-4, 300, level)


def test_many_weak_edges_are_seen_together():
    # None of them is beyond chance by itself.
    weak = sf.datasets.make_chain(40, strength=(0.35, 0.35), seed=1)
    nodes = Nodes(Design.of(weak.sample(400, method="perfect", seed=3)))
    strongest = nodes.scores.max()
    assert stats.chi2.sf(strongest, 1) * 780 > RISK
    assert judge_independence(nodes).p_value < RISK


def test_strong_associations_of_rare_levels_have_an_edge():
    rng = np.random.default_rng(5)
    rows = (rng.random((4000, 20)) < 0.01).astype(np.uint8)
    for k in range(3):
        together = rng.random(4000) < 0.006
        rows[together, 2 * k] = rows[together, 2 * k + 1] = 1
    found = find(sf.Table(sf.Domain.binary(20), np.asfortranarray(rows)))
    assert all(found.is_edge[2 * k, 2 * k + 1] for k in range(3))
    assert found.n_edges <= 4


def test_every_edge_is_worth_its_price_and_no_other_pair_is():
    table = sf.datasets.make_small_world(16, strength=(0.4, 1.0), seed=2).sample(600, method="perfect", seed=1)
    nodes = Nodes(Design.of(table))
    search = Search(nodes)
    assert search.run()
    prior = search.prior
    for i in range(16):
        for j in range(i):
            seen = nodes.look([(i, j)])[0]
            variance = max(seen.variance, 1e-4)
            is_worth = seen.ratio > prior.prices(1.0, variance)
            # A pair whose score is below its price is not looked at, and scores differ from ratios.
            if abs(seen.ratio - prior.prices(1.0, variance)) > 1:
                assert is_worth == nodes.support[i, j]


def test_a_prior_is_learned_from_statistics_that_follow_it():
    rng = np.random.default_rng(6)
    n, share, variance, error = 20_000, 0.1, 1.5, 0.1
    weights = np.where(rng.random(n) < share, rng.normal(0, np.sqrt(variance), n), 0.0) + rng.normal(0, error**0.5, n)
    ones = np.ones(n)
    found = learn_prior(weights**2, weights**2 / error, ones, error * ones)
    assert found.share == pytest.approx(share, rel=0.1)
    assert found.variance == pytest.approx(variance, rel=0.1)
    # At its price an edge is as probable as none.
    assert found.log_odds(found.prices(ones, error * ones), ones, error * ones) == pytest.approx(0.0, abs=1e-9)
    many = EdgePrior(0.1, 1.0)
    assert many.prices(4.0, 0.1) > many.prices(1.0, 0.1)


def test_no_pair_is_an_edge_of_which_rows_tell_nothing():
    # All 66 pairs have a weak edge, as where all variables have one cause: most are probable before one looks.
    weights = np.where(np.eye(12) > 0, 0.0, 0.25)
    table = sf.PairwiseMRF.binary(-weights.sum(axis=1) / 2, weights).sample(1500, method="perfect", seed=1)
    nodes = Nodes(Design.of(table))
    search = Search(nodes)
    assert search.run()
    assert search.prior.share == 0.5
    assert "half of all pairs or more have an edge" in str(search.prior)
    edges = [(i, j) for i, j in np.argwhere(np.triu(nodes.support)).tolist()]
    for seen in nodes.look(edges):
        # With odds of one beforehand, an edge is what multiplies them by more than one.
        assert EdgePrior(0.5, search.prior.variance).log_odds(seen.ratio, 1.0, seen.variance) > 0
        assert seen.ratio > 1


def test_the_model_of_a_structure_is_that_of_its_regressions():
    for kind in ("binary", "nominal", "ordinal"):
        rows = make_rows(kind, n=20_000, p=5, seed=7)
        table = encode(rows, kind)
        found = find(table)
        # With as many rows regressions are near maximum likelihood.
        penalty = Ridge(table.domain, 0.0, found.support)
        best = Learner(read_rows(table), Options()).learn(0.0, penalty=penalty, start=as_theta(found.model)).model
        assert np.abs(found.model.interactions - best.interactions).max() < 0.1
        assert np.abs(found.model.moments().pair - best.moments().pair).max() < 0.01


def test_constant_columns_and_tables_without_rows_to_speak_of_have_no_edge():
    rows = make_rows("binary", p=4)
    rows[:, 2] = 1
    found = find(sf.Table(sf.Domain.binary(4), np.asfortranarray(rows.astype(np.uint8) - 1)))
    assert not found.is_edge[2].any()
    assert np.isfinite(found.model.main).all()
    one = find(sf.Table(sf.Domain.binary(1), np.zeros((3, 1), np.uint8, order="F")))
    assert one.n_edges == 0
    assert "may be independent" in str(one)
    copied = np.column_stack([rows[:, 0]] * 3)
    assert find(encode(copied, "binary")).n_edges >= 2


def test_what_time_leaves_of_a_search_is_told(monkeypatch):
    table = sf.datasets.make_chain(12, strength=(0.8, 1.2), seed=1).sample(800, method="perfect", seed=1)
    set_edges, n_set = Nodes.set_edges, []

    def set_some(*given, **more):
        n_set.append(1)
        if len(n_set) > 1:
            raise OutOfTimeError
        set_edges(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Nodes, "set_edges", set_some)
        found = find(table)
    assert not found.is_whole
    assert 0 < found.n_edges < 11
    assert "There was no time to find all of them" in str(found)
    with until(time.perf_counter() - 1):
        found = find(table)
    assert str(found) == "There was no time to look for edges: give more seconds, or an alpha."
    assert found.n_edges == 0
    main = 1 / (1 + np.exp(-found.model.main))
    np.testing.assert_allclose(main, sf.data.moments_of_table(table).main, atol=1e-12)


def test_links_are_bridges_and_pairs_of_different_components():
    rng = np.random.default_rng(8)
    for _ in range(50):
        upper = np.triu(rng.random((9, 9)) < 0.18, 1)
        is_edge = upper | upper.T
        graph = nx.from_numpy_array(is_edge)
        found, components = find_links(is_edge)
        bridges = {frozenset(edge) for edge in nx.bridges(graph)}
        for i in range(9):
            for j in range(i):
                is_apart = not nx.has_path(graph, i, j)
                assert found[i, j] == found[j, i] == (is_apart or {i, j} in bridges)
                assert (components[i] != components[j]) == is_apart


def test_the_likelihood_ratio_of_a_bridge_is_that_of_its_two_variables():
    table = sf.datasets.make_chain(5, strength=(0.8, 1.2), seed=3).sample(500, method="perfect", seed=1)
    nodes = Nodes(Design.of(table))
    nodes.set_edges([(0, 1), (1, 2), (2, 3), (3, 4)], are_there=True)

    def likelihood(pairs):
        support = np.zeros((5, 5), dtype=bool)
        for i, j in pairs:
            support[i, j] = support[j, i] = True
        penalty = Ridge(table.domain, 0.0, support)
        model = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8))).learn(0.0, penalty=penalty).model
        return model.log_prob(np.asarray(table.codes)).sum()

    whole = likelihood([(0, 1), (1, 2), (2, 3), (3, 4)])
    exact = 2 * (whole - likelihood([(0, 1), (2, 3), (3, 4)]))
    # A prior takes a little of it, to second order in the weight: PRECISION / 2 times its square, at most.
    assert nodes.look([(1, 2)])[0].ratio == pytest.approx(exact, abs=0.1)


def test_copies_of_a_column_are_joined():
    rng = np.random.default_rng(9)
    first = (rng.random(300) < 0.4).astype(np.uint8)
    rows = np.column_stack([first, first, first, first, (rng.random((300, 2)) < 0.5)]).astype(np.uint8)
    found = find(sf.Table(sf.Domain.binary(6), np.asfortranarray(rows)))
    # Given one copy all others say nothing more; but one way or another all four are joined.
    assert nx.is_connected(nx.from_numpy_array(found.is_edge[:4, :4]))
    assert not found.is_edge[4:].any()


def test_the_scale_of_survey_weights_does_not_matter():
    table = sf.datasets.make_field(7, degree=2, strength=(0.6, 1.2), seed=1).sample(300, method="perfect", seed=1)
    weights = np.random.default_rng(0).random(300)
    first, second = (find(table, scale * weights) for scale in (0.01, 1e6))
    assert first.n_edges > 0
    np.testing.assert_array_equal(first.is_edge, second.is_edge)
    assert first.ridge == pytest.approx(second.ridge, rel=1e-9)


def test_survey_weights_make_no_edges_of_noise():
    def has_edge(seed):
        rng = np.random.default_rng(seed)
        table = sf.encode((rng.random((300, 10)) < rng.uniform(0.2, 0.8, 10)).astype(int))
        return find(table, rng.lognormal(0, 1, 300)).n_edges > 0

    # As many rows as weights of sd 1.3 add up to gave an edge to 96% of tables. At 5% more than 10 of 60 have a
    # probability of 2e-4.
    assert sum(map(has_edge, range(60))) <= 10


def test_ties_are_settled_in_the_same_way_for_other_labels_and_orders():
    """Small tables have pairs that tell exactly as much as others: rounding is not to choose among them."""
    names = [f"x{i}" for i in range(6)]

    def edges(x, names):
        found = find(sf.encode(pl.DataFrame(x, schema=names)))
        return {frozenset((names[i], names[j])) for i, j in np.argwhere(found.is_edge)}

    n_some = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = (rng.random((30, 6)) < 0.25 + 0.5 * (rng.random((30, 1)) > 0.5)).astype(int)
        x[:, 5] = x[:, 0]  # a copy ties with its original everywhere
        exchanged, order = x.copy(), rng.permutation(6)
        exchanged[:, 5] = 1 - x[:, 5]
        known = edges(x, names)
        n_some += len(known) > 1
        assert edges(exchanged, names) == known
        assert edges(x[:, order], [names[k] for k in order]) == known
    assert n_some > 30


@pytest.mark.parametrize(
    "draw", [lambda rng: rng.choice(6, (60, 6)), lambda rng: (rng.random((15, 10)) < 0.5).astype(int)]
)
def test_few_rows_for_many_cells_make_no_edges(draw):
    tables = [find(sf.encode(draw(np.random.default_rng(seed)))) for seed in range(100)]
    # 21 and 13 of 100 had one by likelihood ratios alone. At 5% more than 14 have a probability of 1e-4.
    assert sum(own.n_edges > 0 for own in tables) <= 14
