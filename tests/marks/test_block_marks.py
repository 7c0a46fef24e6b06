"""Marks from blocks of statistics that are near each other in the graph, beside those from the whole covariance."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._kernels._local_inverses import invert_blocks
from sparsefield.gradients import BestDraws, PerfectDraws, Simulation
from sparsefield.inference import _draws
from sparsefield.inference._draws import ChainDraws
from sparsefield.marks import _block_marks, _curvatures, _parameter_marks, fit_newton
from sparsefield.marks._block_marks import BlockMargins
from sparsefield.marks._covariance import Covariance
from sparsefield.marks._curvatures import NotLocalError, choose_reach, near_curvature
from sparsefield.marks._narrowing import find_open
from sparsefield.marks._parameter_marks import find_undecided
from sparsefield.marks._policy import MARKS
from sparsefield.marks._reweighted_optimum import find_whole_optimum
from sparsefield.marks._sparse_optimum import SparseSteps, find_near_optimum
from sparsefield.marks._whole_marks import WholeMargins
from sparsefield.objective import L1, Problem, SparseQuadratic, find_near
from support.marks import assert_each_is_rare, count_errors, draw, find_edge, largest_count, make_copies, make_l1
from support.problems import theta_of

NEAR = replace(MARKS, whole_is_cheap=-1, largest_share=1)  # blocks, however small the field is


def make_ring(p, seed, coupling=0.9):
    """Return rows of a field whose variables stand in a ring."""
    rng = np.random.default_rng(seed)
    pair = np.zeros((p, p))
    for i in range(p):
        pair[i, (i + 1) % p] = pair[(i + 1) % p, i] = coupling * rng.choice([-1, 1])
    model = sf.PairwiseMRF.binary(-pair.sum(axis=1) / 2, pair)
    return model.sample(1000, method="perfect", seed=seed)


def fit_ring(p, alpha, seed, n):
    table = make_ring(p, seed)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, alpha, False)
    theta = theta_of(fit_newton(problem, BestDraws(max_states=0), Simulation(n, seed), gap=0.01))
    return draw(problem, theta, n, seed + 100)[0]


def distances(here):
    """Return how far from its margin each nonzero is, over that margin, by the inverse of the whole covariance."""
    found = find_whole_optimum(here, policy=MARKS)
    a, b = found.quadratic.first, found.quadratic.second
    variances = np.diagonal(np.linalg.inv(Covariance.of(found.quadratic).matrix)) / found.n
    ratios = np.zeros_like(here.theta)
    z = 2.5758293035489004  # of a confidence of 0.99
    ratios[a, b] = ratios[b, a] = np.abs(found.theta) / (
        z * np.sqrt(variances + z**2 * variances**2 / 4) + z**2 * variances / 2
    )
    return ratios


@pytest.mark.parametrize("seed", range(6))
def test_marks_from_blocks_are_those_of_the_whole_covariance(seed):
    here = fit_ring(16, 0.03, seed, 6000)
    found = find_undecided(here, policy=NEAR)
    whole = find_undecided(here)
    assert 0 < np.triu(whole, 1).sum() < 60  # of 120 pairs
    # Marks may differ where a parameter is within a twentieth of its margin: variances of blocks have errors of 1%.
    assert np.all(np.abs(distances(here)[found != whole] - 1) < 0.05)


def test_where_block_steps_do_not_end_the_whole_covariance_marks(monkeypatch):
    here = fit_ring(16, 0.03, 1, 6000)
    short = replace(NEAR, most_rounds=1)
    assert find_near_optimum(here, policy=short) is None

    def end_soon(*given, policy):
        assert policy == NEAR
        return find_near_optimum(*given, policy=short)

    monkeypatch.setattr(_parameter_marks, "find_near_optimum", end_soon)
    found = find_undecided(here, policy=NEAR)
    np.testing.assert_array_equal(found, find_undecided(here))
    assert np.triu(found, 1).sum() < 60  # of 120 pairs


def make_cliques(n_cliques, size, n_rows, seed):
    """Return rows of independent groups of variables, which interact with some of their group."""
    rng = np.random.default_rng(seed)
    states = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(np.uint8)
    parts = []
    for _ in range(n_cliques):
        is_edge = np.triu(rng.random((size, size)) < 0.4, 1)
        pair = np.where(is_edge, 1.2 * rng.normal(size=(size, size)), 0.0)
        exponents = states @ (0.5 * rng.normal(size=size) - 0.5) + ((states @ pair) * states).sum(axis=1)
        weights = np.exp(exponents - exponents.max())
        parts.append(states[rng.choice(2**size, n_rows, p=weights / weights.sum())])
    return sf.Table(sf.Domain.binary(n_cliques * size), np.hstack(parts))


@pytest.mark.parametrize("n", [2899, 2900, 2915])
def test_blocks_are_for_every_number_of_draws(monkeypatch, n):
    # A draw counts as 1 / ((1 / n) n), which rounding makes another number than one for 2900 and 2915 draws.
    calls = []
    find = _parameter_marks.find_near_optimum
    monkeypatch.setattr(_parameter_marks, "find_near_optimum", lambda *a, **how: calls.append(1) or find(*a, **how))
    here = fit_ring(12, 0.03, 1, n)
    calls.clear()
    find_undecided(here, policy=NEAR)
    assert len(calls) == 1


@pytest.mark.parametrize("seed", range(3))
def test_blocks_that_reach_further_have_the_marks_of_the_whole_covariance(seed):
    table = make_cliques(6, 6, 4000, seed)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.012, False)
    theta = theta_of(fit_newton(problem, BestDraws(max_states=0), Simulation(20_000, seed), gap=0.01))
    here, _ = draw(problem, theta, 20_000, seed + 100)
    assert choose_reach(here, theta != 0, policy=NEAR) == 2
    assert find_near_optimum(here, 2, policy=NEAR) is not None
    found = find_undecided(here, policy=NEAR)
    whole, is_zero = find_undecided(here), theta == 0
    assert np.all(np.abs(distances(here)[(found != whole) & ~is_zero] - 1) < 0.05)
    # Regressions on about a hundred statistics and on a few count 0.3% apart, for their degrees of freedom: at the
    # edge of their margins, which differ by as much, there are one zero in a hundred or fewer.
    assert np.count_nonzero((found != whole) & is_zero) < 0.01 * np.count_nonzero(is_zero)


def test_fits_of_many_statistics_are_not_marked_all_over():
    # 2142 statistics, where blocks of one neighbour have no minimum: all 719,400 pairs were marked.
    fit = sf.learn(make_cliques(200, 6, 20_000, 0), 0.012, gap=0.1, seed=1)
    is_edge, marks = np.triu(fit.model.interactions != 0, 1), np.triu(fit.undecided, 1)
    assert is_edge.sum() + 1200 > MARKS.whole_is_cheap
    assert np.count_nonzero(marks & is_edge) < is_edge.sum() / 10
    assert np.count_nonzero(marks & ~is_edge) < is_edge.sum() / 2


@pytest.mark.parametrize("far", [1.0, 3.0])
def test_steps_that_lead_away_are_halved_until_they_lead_to_the_optimum(far, monkeypatch):
    here = fit_ring(16, 0.03, 1, 6000)
    minimise = SparseSteps.minimise

    def overshoot(*given):  # as where blocks leave out most of the covariance
        moves, decrement = minimise(*given)
        return far * moves, decrement

    monkeypatch.setattr(SparseSteps, "minimise", overshoot)
    found = find_near_optimum(here, policy=MARKS)
    whole = find_whole_optimum(here, policy=MARKS)
    off = found.theta - whole.theta
    assert off @ whole.quadratic.centred() @ off <= (2 * 0.2) ** 2 / 6000


def test_steps_with_near_covariances_lead_to_the_optimum_of_the_draws():
    here = fit_ring(16, 0.03, 1, 6000)
    ways = find_near_optimum, find_whole_optimum
    found, whole = (find(here, policy=MARKS) for find in ways)
    a, b = whole.quadratic.first, whole.quadratic.second
    np.testing.assert_array_equal(found.quadratic.first, a)
    np.testing.assert_array_equal(found.quadratic.second, b)
    off = found.theta - whole.theta
    moved = whole.theta - here.theta[a, b]
    # Either is known to a fifth of the noise of one parameter.
    assert off @ whole.quadratic.centred() @ off <= (2 * 0.2) ** 2 / 6000
    assert moved @ whole.quadratic.centred() @ moved > 100 * (2 * 0.2) ** 2 / 6000


@pytest.mark.parametrize("seed", range(3))
def test_rough_gradients_lead_to_the_same_optimum_and_to_all_that_may_differ_from_zero(seed, monkeypatch):
    here = fit_ring(16, 0.03, seed, 6000)
    less = L1(here.problem.domain, 0.024, 0.0)
    here = replace(here, problem=replace(here.problem, penalty=less))  # with less to pay some may have to join
    exact, n_rough = find_near_optimum(here, policy=MARKS), []
    project = ChainDraws.project_roughly

    def count(*given):
        found = project(*given)
        n_rough.append(found[1])
        return found

    monkeypatch.setattr(_draws, "_MOST_EXACT", 0)
    monkeypatch.setattr(ChainDraws, "project_roughly", count)
    rough = find_near_optimum(here, policy=MARKS)
    assert len(n_rough) > (seed == 0)  # with this seed some join, and all others are looked at again
    assert min(n_rough) > 0
    for name in ("theta", "gradient", "n"):
        np.testing.assert_array_equal(getattr(rough, name), getattr(exact, name))
    np.testing.assert_array_equal(rough.quadratic.first, exact.quadratic.first)
    np.testing.assert_array_equal(rough.quadratic.second, exact.quadratic.second)


@pytest.mark.parametrize("alpha", [0.2, 0.0])
def test_fits_without_an_edge_or_without_a_zero_have_marks(alpha):
    rows = (np.random.default_rng(0).random((600, 10)) < 0.4).astype(np.uint8)
    problem = Problem.with_l1(
        sf.data.moments_of_table(sf.Table(sf.Domain.binary(10), rows)), sf.Domain.binary(10), alpha
    )
    theta = theta_of(fit_newton(problem, BestDraws(max_states=0), Simulation(2000, 1), gap=0.05))
    assert np.all((theta != 0)[np.triu_indices(10, 1)] == (alpha == 0))
    here, _ = draw(problem, theta, 2000, 2)
    undecided = find_undecided(here, policy=NEAR)
    # No association of independent columns is near 0.2, and what pays nothing is nowhere near zero for good.
    assert not undecided.any()


@pytest.mark.parametrize("side", [0, 1])
def test_marks_from_blocks_hold_at_the_edge_of_zero(side):
    rows, n_fits = make_ring(7, 3).codes, 200
    *alphas, is_edge = find_edge(rows, 0.02, 0.024)
    problem = make_l1(rows, alphas[side], True)
    found = count_errors(problem, n_fits, Simulation(4000), gap=0.05, marks=NEAR)
    assert_each_is_rare(found.n_wrong, n_fits)
    assert found.n_other[is_edge[np.triu_indices(7)]] > largest_count(found.n_wrong, n_fits)
    assert found.n_marked.min() < n_fits / 20


def hide_graph(monkeypatch):
    """Let nothing be near that shares no variable."""

    def find_shared(theta, variables, a, b, _reach):
        return find_near(np.zeros_like(theta), variables, a, b, 0)

    # Blocks of statistics that share a variable with the one in the middle: pairs of them need not share one.
    monkeypatch.setattr(_curvatures, "find_near", find_shared)
    monkeypatch.setattr(_block_marks, "find_near", lambda *given: find_near(np.ones_like(given[0]), *given[1:]))


def compare_both(here, policy):
    """Return marks from blocks and from the whole covariance, and how far nonzeros are from their margins."""
    whole = find_whole_optimum(here, policy=policy)
    a, b = whole.quadratic.first, whole.quadratic.second
    found = replace(whole, quadratic=near_curvature(here, a, b, 1))
    weights = here.problem.penalty.weights[a, b]
    expected = find_open(WholeMargins(here.theta[a, b], whole, Covariance.of(whole.quadratic), weights), policy=policy)
    own = find_open(BlockMargins(here, found, policy=policy), policy=policy)
    return own, expected, distances(here)[a, b]


def test_draws_find_what_matters_outside_a_block(monkeypatch):
    hide_graph(monkeypatch)
    policy = replace(MARKS, most_excess=np.inf)
    wrong, without = 0, 0
    for seed in (91, 7, 12, 33):
        problem = make_l1(make_copies(seed), 0.02, True)
        theta = theta_of(fit_newton(problem, PerfectDraws(), Simulation(4000, 1), gap=0.01))
        here, _ = draw(problem, theta, 4000, 2)
        own, expected, ratios = compare_both(here, policy)
        wrong += np.count_nonzero(expected & ~own & (np.abs(ratios - 1) > 0.05))
        with monkeypatch.context() as blind:
            blind.setattr(BlockMargins, "_probe", lambda *_: (0.0, np.zeros(0, dtype=np.int64)))
            own, *_ = compare_both(here, policy)
            without += np.count_nonzero(expected & ~own & (np.abs(ratios - 1) > 0.05))
    assert wrong == 0
    assert without > 0  # blocks alone leave out what counts


def test_where_much_matters_outside_blocks_the_whole_covariance_serves(monkeypatch):
    problem = make_l1(make_copies(91), 0.02, True)
    theta = theta_of(fit_newton(problem, PerfectDraws(), Simulation(4000, 1), gap=0.01))
    here, _ = draw(problem, theta, 4000, 2)
    expected = find_undecided(here)
    hide_graph(monkeypatch)
    with pytest.raises(NotLocalError):
        compare_both(here, NEAR)
    np.testing.assert_array_equal(find_undecided(here, policy=NEAR), expected)


def test_blocks_are_inverted_one_by_one():
    table = make_ring(8, 2)
    a, b = np.triu_indices(8)
    model = sf.PairwiseMRF.binary(np.zeros(8), np.diag(np.full(7, 0.5), 1) + np.diag(np.full(7, 0.5), -1))
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.1)
    here, x = draw(problem, problem.theta(model), 3000, 1)
    near = (find_near(here.theta, np.arange(8), a, b, reach) for reach in (0, 7))
    blocks, rows = (SparseQuadratic.of(here.draws, a, b, own) for own in near)
    rng = np.random.default_rng(1)
    wanted, among = rng.choice(len(a), 12, replace=False), rng.random(len(a)) < 0.7
    members = np.empty((12, 1 + np.diff(blocks.starts).max()), dtype=np.int64)
    solutions = np.empty(members.shape)
    parts = blocks.starts, blocks.columns, rows.starts, rows.columns, rows.values, rows.variances
    found = invert_blocks(*parts, wanted, among, members, solutions)
    covariance = np.cov((x[:, a] * x[:, b]).T, bias=True)
    for r, c in enumerate(wanted):
        shares = (a == a[c]) | (a == b[c]) | (b == a[c]) | (b == b[c])
        block = np.append(np.flatnonzero(shares & among & (np.arange(len(a)) != c)), c)
        np.testing.assert_array_equal(members[r, : len(block)], block)
        assert np.all(members[r, len(block) :] == -1)
        inverse = np.linalg.inv(covariance[np.ix_(block, block)])
        np.testing.assert_allclose(solutions[r, : len(block)], inverse[-1], rtol=1e-9)
        assert found[r] == pytest.approx(inverse[-1, -1], rel=1e-9)
