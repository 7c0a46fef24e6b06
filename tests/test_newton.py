"""Newton steps: with exact curvature against an independent solver, with draws against exact objectives."""

import numpy as np
import pytest
from scipy import optimize, stats

import exact_chains
import sparsefield as sf
from sparsefield import _newton
from sparsefield._kernels._descent import descend_moments
from sparsefield._kernels._target import HAS_AVX2
from sparsefield._missing import expected_moments
from sparsefield._newton import find_move, solve_newton
from sparsefield._problem import Problem, choose_active
from sparsefield._pseudolikelihood import solve_pseudo_likelihood
from sparsefield._result import Fit
from sparsefield._sample import Draws, EnumeratedStates
from sparsefield._schedule import BestDraws, PerfectDraws, Sampler, best, exact, fixed, perfect
from sparsefield._solver import solve
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Gibbs, OutOfReachError
from statistics_ import FALSE_ALARM
from zoo import LEVELS, ZOO


def make_problem(p=6, alpha=0.05, n=400, seed=1, strength=(0.5, 1.5), penalize_main=True):
    truth = make_field(p, edge_probability=0.4, strength=strength, seed=seed)
    data = sf.moments_of_table(truth.sample(n, method="perfect", seed=seed))
    return Problem(data, truth.domain, alpha, penalize_main)


def theta_of(fit):
    return fit.model.interactions + np.diag(fit.model.main)


def largest_gap(n_nonzero, n_draws):
    """Return what noise of n draws costs at most: chi-squared over 2 n, were the support known.

    It is not; each wrong parameter at the edge of the support adds at most what it would inside. Twice as many
    parameters, and twice that for what the quadratic model leaves out, are well on the safe side.
    """
    return 2 * stats.chi2.isf(FALSE_ALARM, 2 * n_nonzero) / (2 * n_draws)


@pytest.mark.parametrize("p", [1, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("penalize_main", [True, False])
def test_exact_curvature_leads_to_the_optimum_of_an_independent_solver(p, alpha, penalize_main):
    problem = make_problem(p, alpha, seed=p, penalize_main=penalize_main, strength=(0.3, 0.9))
    theta, value = exact_chains.penalised_optimum(problem.data.pair, problem.penalty)
    fit = solve_newton(problem, exact(), tol=1e-9)
    assert fit.status.code == "converged"
    assert len(fit.steps) <= 15
    assert problem.objective(theta_of(fit)) == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(theta_of(fit), theta, atol=1e-3)
    assert not fit.undecided.any()


@pytest.mark.parametrize("name", LEVELS)
def test_levels_have_their_optimum_too(name):
    model = LEVELS[name]
    data = sf.moments_of_table(sf.Table(model.domain, model.sample(500, n_sweeps=50, seed=1).codes))
    problem = Problem(data, model.domain, 0.03)
    fit = solve_newton(problem, exact(), tol=1e-9)
    assert fit.status.code == "converged"
    gradient = problem.gradient(fit.model.moments())
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(len(gradient), dtype=bool)
    assert np.abs(problem.violation(theta_of(fit), gradient))[~inside].max() < 1e-9


def test_any_working_set_leads_to_the_same_optimum(monkeypatch):
    problem = make_problem(8, 0.02, seed=3)
    whole = {"tol": 1e-9, "max_iter": 1000}
    free = solve_newton(problem, exact(), **whole)
    monkeypatch.setattr(_newton, "choose_active", lambda theta, *_: np.ones(theta.shape, dtype=bool))
    full = solve_newton(problem, exact(), **whole)
    monkeypatch.setattr(_newton, "choose_active", choose_active)
    monkeypatch.setattr(_newton, "_MOST_ACTIVE", 6)
    small = solve_newton(problem, exact(), **whole)
    for other in (full, small):
        assert other.status.code == "converged"
        np.testing.assert_allclose(theta_of(free), theta_of(other), atol=1e-6)


def test_the_descent_minimises_its_model():
    rng = np.random.default_rng(1)
    for n, dtype in ((40, np.int32), (1, np.float64)):
        s = (rng.random((40, 12)) < 0.4).astype(float)
        second, means = (s.T @ s).astype(np.int32), s.mean(axis=0)
        if dtype == np.float64:
            second = second / 40
        theta, gradient, penalty = (
            rng.normal(0, 1, 12) * (rng.random(12) < 0.5),
            rng.normal(0, 0.2, 12),
            0.1 * np.ones(12),
        )
        ridge = np.full(12, 0.01)
        moves, slopes = descend_moments(second, 1 / n, means, theta, gradient, penalty, ridge, 10_000, 1e-13)
        h = s.T @ s / 40 - np.outer(means, means)
        np.testing.assert_allclose(slopes, h @ moves, atol=1e-12)
        h = h + np.diag(ridge)

        def value(parts, theta=theta, gradient=gradient, h=h):
            d = parts[:12] - parts[12:] - theta
            return gradient @ d + d @ h @ d / 2 + 0.1 * parts.sum()

        found = optimize.minimize(value, np.ones(24), bounds=[(0, None)] * 24, options={"ftol": 1e-15, "gtol": 1e-12})
        best_value = value(np.concatenate([np.maximum(theta + moves, 0), np.maximum(-theta - moves, 0)]))
        assert best_value <= found.fun + 1e-9


@pytest.mark.parametrize("storage", ["packed", "bytes"])
@pytest.mark.parametrize("name", [*ZOO])
def test_draws_know_their_moments(name, storage):
    model = ZOO[name]
    if storage == "packed" and (not HAS_AVX2 or np.any(model.domain.n_levels > 2)):
        return
    d = model.domain.n_slots
    if d == 0:
        return
    chains = Chains(model.domain, 700, seed=1, storage=storage)
    s = model.domain.indicators(chains.codes())
    a, b = np.triu_indices(d)
    psi = s[:, a] * s[:, b]
    draws = Draws(chains)
    counts, scale = draws.second_moments(a, b)
    np.testing.assert_array_equal(counts, psi.T @ psi)
    assert scale == 1 / 700
    move = np.random.default_rng(2).normal(size=(d, d))
    move = np.triu(move) + np.triu(move, 1).T
    values = draws.along(move)
    np.testing.assert_allclose(values, psi @ move[a, b], atol=1e-12)
    log_mean, share = draws.reweight(values)
    weights = np.exp(values)
    assert log_mean == pytest.approx(np.log(weights.mean()))
    assert share == pytest.approx(weights.sum() ** 2 / (weights**2).sum() / 700)
    covariance = (psi - psi.mean(axis=0)).T @ values / 700
    np.testing.assert_allclose(draws.project(values)[a, b], covariance, atol=1e-12)


def test_enumerated_states_are_draws_without_noise():
    model = ZOO["dense"]
    d = model.domain.n_slots
    exactly, drawn = EnumeratedStates(model), Draws(model_draws(model, 200_000))
    np.testing.assert_allclose(exactly.moments.pair, model.moments().pair, atol=1e-12)
    a, b = np.triu_indices(d)
    counts, scale = drawn.second_moments(a, b)
    # Six standard errors of a mean of zeros and ones.
    np.testing.assert_allclose(exactly.second_moments(a, b)[0], scale * counts, atol=3 / np.sqrt(200_000))
    move = 0.1 * (model.interactions + np.diag(model.main))
    log_mean, share = exactly.reweight(exactly.along(move))
    other = sf.PairwiseMRF(model.domain, 1.1 * model.main, 1.1 * model.interactions)
    assert log_mean == pytest.approx(other.log_partition() - model.log_partition())
    assert share == 1
    with pytest.raises(ValueError, match="exact Newton steps are for up to 16384"):
        EnumeratedStates(make_field(15, seed=1))


def model_draws(model, n):
    return Gibbs(n, 100, seed=1).run(model)


def test_where_the_plain_step_runs_away_the_solver_does_not():
    # The undamped method diverges here: the first whole step would leave next to no draws with a say.
    truth = make_field(12, strength=(1.0, 2.0), seed=1)
    problem = Problem(sf.moments_of_table(truth.sample(2000, method="perfect", seed=1)), truth.domain, 0.017)
    lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-9)))
    for seed in range(5):
        fit = solve_newton(problem, best(), Sampler(1000, seed), gap=0.001)
        assert fit.status.code == "converged"
        assert fit.steps[0].step_size < 1
        assert fit.steps[0].effective >= 0.3
        assert all(step.decrease >= -1e-12 for step in fit.steps)
        assert fit.steps[0].objective == pytest.approx(problem.objective(np.zeros((12, 12))))
        assert fit.steps[-1].objective < fit.steps[0].objective
        assert fit.trace["is_certified"].all()
        last = fit.steps[-1]
        assert last.n_chains >= 0.9 * last.n_nonzero / 0.002
        assert problem.objective(theta_of(fit)) - lowest < largest_gap(last.n_nonzero, last.n_chains)


def test_a_smaller_gap_is_a_smaller_gap():
    problem = make_problem(8, 0.03, n=1000, seed=2)
    lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-9)))
    means = []
    for gap in (0.02, 0.001):
        gaps = [
            problem.objective(theta_of(solve_newton(problem, best(), Sampler(200, seed), gap=gap))) - lowest
            for seed in range(20)
        ]
        means.append(np.mean(gaps))
        # The mean of 20 gaps that are gap on average, each with a standard deviation of at most its mean or so.
        assert means[-1] < 2.5 * gap
    assert means[1] < means[0] / 4


def test_a_warm_start_takes_few_steps():
    problem = make_problem(10, 0.05, n=1000, seed=2)
    fit = solve_newton(problem, best(), Sampler(2000, 1), gap=0.005)
    for alpha in (0.045, 0.04, 0.036, 0.032):
        near = Problem(problem.data, problem.domain, alpha)
        fit = solve_newton(near, best(), Sampler(2000, 1), gap=0.005, start=theta_of(fit))
        assert fit.status.code == "converged"
        assert len(fit.steps) <= 4


def test_marks_tell_what_noise_leaves_open():
    n_decided = n_wrong = n_marked = 0
    for seed in range(12):
        problem = make_problem(7, 0.04, n=600, seed=seed)
        support = theta_of(solve_newton(problem, exact(), tol=1e-9)) != 0
        upper = np.triu_indices(7)
        for draw in range(5):
            fit = solve_newton(problem, best(), Sampler(1000, draw), gap=0.002)
            decided = ~fit.undecided[upper]
            wrong = ((theta_of(fit) != 0) != support)[upper]
            n_decided += decided.sum()
            n_wrong += (wrong & decided).sum()
            n_marked += (~decided).sum()
    # Wrong ones are at most as frequent as the confidence allows, a binomial count.
    assert n_decided > 500
    assert n_marked > 0
    assert n_wrong <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - _newton.UNDECIDED)


def test_marks_reach_the_table_of_edges_and_the_file(tmp_path):
    problem = make_problem(8, 0.03, n=600, seed=4)
    fit = solve_newton(problem, best(), Sampler(1000, 1), gap=0.01)
    edges = sf.edge_table(fit)
    assert edges.columns == ["first", "second", "weight", "undecided"]
    for first, second, weight, undecided in edges.iter_rows():
        i, j = (problem.domain.index_of(name) for name in (first, second))
        assert weight == fit.model.interactions[i, j]
        assert undecided == fit.undecided[i, j]
    listed = len(edges.filter(edges["weight"] == 0))
    assert listed == (np.triu(fit.undecided, 1) & (fit.model.interactions == 0)).sum() > 0
    assert sf.edge_table(fit.model).height == edges.height - listed
    fit.save(tmp_path / "fit")
    again = Fit.load(tmp_path / "fit")
    np.testing.assert_array_equal(again.undecided, fit.undecided)
    assert (again.alpha, again.penalize_main, again.optimality) == (0.03, True, None)
    assert again.trace.equals(fit.trace)


def test_an_edge_between_levels_is_settled_by_any_of_its_parameters():
    model = LEVELS["three levels"]
    marked = model.interactions != 0
    fit = Fit(model, None, (), undecided=marked)
    assert sf.edge_table(fit)["undecided"].all()
    a, b = np.argwhere(np.triu(marked))[0]
    marked[a, b] = marked[b, a] = False
    names = {model.domain.names[model.domain.slot_variables[k]] for k in (a, b)}
    for row in sf.edge_table(fit).iter_rows(named=True):
        assert row["undecided"] == ({row["first"], row["second"]} != names)


def test_too_strong_for_a_certificate_is_said():
    strong = make_field(12, edge_probability=0.9, strength=(2.5, 3.5), seed=1)
    data = sf.moments_of_table(strong.sample(500, n_sweeps=200, seed=1))
    problem = Problem(data, strong.domain, 0.001)
    fit = solve_newton(problem, best(max_sweeps=30), Sampler(1000, 1), max_iter=8)
    assert fit.status.code == "not certified"
    assert "exact draws out of reach" in fit.status.sentence
    assert fit.undecided is None
    # A number of sweeps that was asked for promises nothing, and is not complained about.
    assert solve_newton(make_problem(), fixed(5), gap=0.05).status.code == "converged"


def test_interrupts_and_limits():
    problem = make_problem()

    def stop(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    fit = solve_newton(problem, best(), Sampler(500, 1), gap=0.0001, watch=stop)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 2
    assert solve_newton(problem, best(), gap=0.0001, max_iter=1).status.code == "max_iter"
    assert solve_newton(problem, best(), gap=0.0001, max_seconds=0.0).status.code == "time"
    for options, message in (({"gap": 0.0}, "gap is 0"), ({"start": np.ones((2, 2))}, "start must be")):
        with pytest.raises(ValueError, match=message):
            solve_newton(problem, best(), **options)


def test_more_draws_than_the_limit_end_at_the_noise_floor(monkeypatch):
    monkeypatch.setattr(_newton, "_MOST_DRAWS", 2000)
    fit = solve_newton(make_problem(), best(), Sampler(500, 1), gap=1e-6)
    assert fit.status.code == "noise floor"
    assert fit.steps[-1].n_chains == 2000


def test_draws_that_memory_does_not_hold_come_in_batches(monkeypatch):
    problem = make_problem(6, 0.05, seed=2)
    lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-9)))
    monkeypatch.setattr(_newton, "_MOST_CELLS", 6 * 1500)
    held = []
    monkeypatch.setattr(_newton, "Draws", lambda chains, n: held.append(chains.n_chains) or Draws(chains, n))
    fit = solve_newton(problem, best(), Sampler(1000, 1), gap=0.001)
    last = fit.steps[-1]
    assert last.n_chains > 2 * 1500
    assert max(held) == 1500
    assert fit.trace["is_certified"].all()
    assert fit.undecided is not None
    assert problem.objective(theta_of(fit)) - lowest < largest_gap(last.n_nonzero, last.n_chains)


def test_a_step_that_gains_nothing_is_not_made():
    problem = make_problem(6, 0.05, seed=2)
    optimum = solve_newton(problem, exact(), tol=1e-12, max_iter=30)
    sample = EnumeratedStates(optimum.model)
    move = find_move(problem, sample, theta_of(optimum), sample.moments.pair)
    assert np.abs(move.made).max() < 1e-9


@pytest.mark.parametrize("penalize_main", [True, False])
def test_certified_gaps_hold(penalize_main):
    # 200 fits of small fields: the exact gap is above the bound no more often than the confidence allows.
    n_useful = n_broken = 0
    for seed in range(200):
        truth = make_field(5, edge_probability=0.4, strength=(0.5, 1.5), seed=seed)
        table = truth.sample(300, method="perfect", seed=seed)
        problem = Problem(sf.moments_of_table(table), table.domain, 0.06, penalize_main)
        lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-8)))
        fit = solve_newton(problem, perfect(), Sampler(300, seed), gap=0.05)
        certified = sf.certify(fit, table, confidence=0.99, n_draws=20_000, seed=seed)
        found = certified.optimality
        gap = problem.objective(theta_of(fit)) - lowest
        gradient = problem.gradient(fit.model.moments())
        slope = np.abs(problem.violation(theta_of(fit), gradient)).max()
        n_broken += gap > found.gap or slope > found.slope
        n_useful += found.gap < 0.5
    assert n_broken <= stats.binom.isf(FALSE_ALARM, 200, 0.01)
    # Free main effects cannot be certified by alpha, which the sentence says.
    assert n_useful == 200 or not penalize_main
    assert ("main effects are free" in str(found)) is not penalize_main


def test_certificates_of_optimality_need_what_they_need(tmp_path):
    table = make_field(6, seed=1).sample(500, method="perfect", seed=1)
    mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    certified = sf.certify(mrf.fit_, table, n_draws=20_000)
    assert str(certified.optimality).startswith(
        "With confidence 0.99, from 20000 fresh draws: the objective is at most"
    )
    certified.save(tmp_path / "fit")
    assert Fit.load(tmp_path / "fit").optimality == certified.optimality
    assert sf.certify(mrf.fit_, table.to_frame(), n_draws=20_000).optimality == certified.optimality
    weighted = sf.certify(mrf.fit_, table, n_draws=20_000, sample_weight=np.full(500, 2.0)).optimality
    assert weighted.gap == pytest.approx(certified.optimality.gap)
    with pytest.raises(ValueError, match="not one of penalised likelihood"):
        sf.certify(sf.PseudoLikelihood().fit(table).fit_, table)
    with pytest.raises(ValueError, match="n_draws is 1"):
        sf.certify(mrf.fit_, table, n_draws=1)
    strong = Fit(make_field(12, edge_probability=0.9, strength=(6.0, 8.0), seed=1), mrf.status_, (), alpha=0.01)
    data = strong.model.sample(50, n_sweeps=5, seed=1)
    assert "cannot be certified" in str(sf.certify(strong, data, n_draws=100).optimality)


def test_levels_are_certified_by_gibbs_chains():
    model = LEVELS["three levels"]
    table = sf.Table(model.domain, model.sample(400, n_sweeps=50, seed=1).codes)
    problem = Problem(sf.moments_of_table(table), table.domain, 0.05)
    lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-8)))
    fit = solve_newton(problem, best(), Sampler(500, 1), gap=0.02)
    found = sf.certify(fit, table, n_draws=20_000).optimality
    assert problem.objective(theta_of(fit)) - lowest <= found.gap < 1


def exclusive_table(seed, n=300):
    """Return rows in which the first two columns are never both one."""
    rows = (np.random.default_rng(seed).random((n, 5)) < 0.4).astype(np.uint8)
    rows[(rows[:, 0] == 1) & (rows[:, 1] == 1), 1] = 0
    return sf.encode(rows)


@pytest.mark.parametrize("seed", range(8))
def test_what_no_draw_shows_is_not_taken_for_certain(seed):
    # The optimum makes the pair as rare as alpha, so that next to no draw shows it.
    table = exclusive_table(seed)
    problem = Problem(sf.moments_of_table(table), table.domain, 5e-4)
    lowest = problem.objective(theta_of(solve_newton(problem, exact(), tol=1e-8, max_iter=200)))
    mrf = sf.SparseMRF(5e-4, random_state=seed).fit(table)
    assert mrf.status_.code == "converged"
    last = mrf.fit_.steps[-1]
    assert problem.objective(theta_of(mrf.fit_)) - lowest < largest_gap(last.n_nonzero, last.n_chains)
    # Without a penalty there is no optimum, and still no failure.
    assert sf.SparseMRF(0.0, random_state=seed, max_iter=30, schedule="perfect").fit(table).fit_.undecided is not None


def test_working_sets_with_ties_and_few_draws_come_to_an_end():
    # Two rows: hundreds of parameters are as bad as each other.
    rows = np.random.default_rng(1).integers(0, 2, (2, 500)).astype(np.uint8)
    assert len(solve_pseudo_likelihood(sf.Table(sf.Domain.binary(500), rows), 0.01, max_iter=3).steps) == 3
    sizes = np.ones((40, 40))
    for most in (1, 7, 100):
        active = choose_active(
            np.ones((40, 40)), sizes, lambda some, most=most: np.count_nonzero(np.triu(some)) <= most
        )
        assert 1 <= np.count_nonzero(np.triu(active)) <= most
        np.testing.assert_array_equal(active, active.T)
    for n in (1, 2, 3):
        assert solve_newton(make_problem(), best(), Sampler(n, 1), gap=0.05).steps


def test_batches_lead_as_far_as_draws_at_one_time(monkeypatch):
    problem = make_problem(8, 0.03, seed=5)
    monkeypatch.setattr(_newton, "_MOST_CELLS", 8 * 512)
    for seed in range(10):
        fit = solve_newton(problem, best(), Sampler(1000, seed), gap=0.003)
        assert fit.status.code == "converged"
        assert all(step.decrease >= -1e-12 for step in fit.steps)


def test_certify_reads_tables_in_any_order_of_levels_or_refuses():
    table = make_field(5, seed=2).sample(400, method="perfect", seed=1)
    fit = sf.SparseMRF(0.05, random_state=1).fit(table).fit_
    known = sf.certify(fit, table, n_draws=5000).optimality
    names, p = table.domain.names, table.domain.n_variables
    reversed_levels = sf.Domain(names, ((1, 0),) * p, (0,) * p)
    assert sf.certify(fit, sf.Table(reversed_levels, 1 - table.codes), n_draws=5000).optimality == known
    swapped = sf.Domain(names[::-1], table.domain.levels, table.domain.reference)
    with pytest.raises(ValueError, match="another order"):
        sf.certify(fit, sf.Table(swapped, table.codes[:, ::-1]), n_draws=5000)
    # Rows that do not count may have holes.
    holed = np.vstack([table.codes, np.full((1, p), 255, dtype=np.uint8)])
    weights = np.append(np.ones(400), 0.0)
    found = sf.certify(fit, sf.Table(table.domain, holed), n_draws=5000, sample_weight=weights).optimality
    assert found.gap == pytest.approx(known.gap)
    alone = sf.Domain(("x",), (("a",),), (0,))
    nothing = Fit(sf.PairwiseMRF(alone, [], np.zeros((0, 0))), fit.status, (), alpha=0.1)
    assert sf.certify(nothing, sf.Table(alone, np.zeros((3, 1), dtype=np.uint8))).optimality.gap == 0


def test_interrupts_of_the_start_and_of_the_second_fit_are_not_lost(monkeypatch):
    table = make_field(5, seed=2).sample(400, method="perfect", seed=1)
    fit = sf.SparseMRF(0.05, random_state=1).fit(table).fit_

    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.certify(fit, table, n_draws=20_000, watch=stop)
    monkeypatch.setattr("sparsefield._pseudolikelihood.descend_pairs", stop)
    with pytest.raises(KeyboardInterrupt):
        sf.SparseMRF(0.05).fit(table)


@pytest.mark.parametrize("run", [solve, solve_newton])
def test_draws_that_get_out_of_reach_end_a_fit_with_what_there_is(run, monkeypatch):
    problem = make_problem()
    drawn = PerfectDraws.estimate

    def estimate(self, problem, point, sampler):
        if point.iteration == 3:
            raise OutOfReachError("Exact draws are out of reach.")
        return drawn(self, problem, point, sampler)

    monkeypatch.setattr(PerfectDraws, "estimate", estimate)
    fit = run(problem, perfect(), Sampler(1000, 1), max_iter=10, tol=0.0, start=5 * np.eye(6))
    assert fit.status.code == "not certified"
    assert fit.status.sentence == "Stopped after 2 iterations. Exact draws are out of reach."
    assert len(fit.steps) == 2


@pytest.mark.parametrize("name", ["dense", "three levels", "mixed, no reference"])
def test_expectations_given_the_observed_cells_are_exact(name):
    model = ZOO[name]
    rng = np.random.default_rng(1)
    codes = model.sample(12, n_sweeps=20, seed=1).codes.copy()
    codes[rng.random(codes.shape) < 0.4] = 255
    codes[0] = 255
    weights = rng.random(12)
    found = expected_moments(model, sf.Table(model.domain, codes), weights).pair
    # Every state has its probability; a row picks those that agree with what it shows.
    states = np.indices(tuple(model.domain.n_levels), dtype=np.uint8).reshape(model.domain.n_variables, -1).T
    chances = np.exp(model.log_prob(states))
    s = model.domain.indicators(states)
    total = np.zeros_like(found)
    for row, weight in zip(codes, weights, strict=True):
        fits = chances * np.all((row == 255) | (states == row), axis=1)
        total += weight * (s.T * fits) @ s / fits.sum()
    np.testing.assert_allclose(found, total / weights.sum(), atol=1e-12)


def test_fits_with_holes_are_certified_as_stationary():
    table = make_field(6, seed=1).sample(400, method="perfect", seed=1)
    codes = np.where(np.random.default_rng(1).random(table.codes.shape) < 0.15, 255, table.codes).astype(np.uint8)
    holed = sf.Table(table.domain, codes)
    fit = sf.SparseMRF(0.05, gap=0.0005, n_chains=20_000, random_state=1).fit(holed).fit_
    found = sf.certify(fit, holed, n_draws=100_000).optimality
    assert found.gap == np.inf
    expected = expected_moments(fit.model, holed, np.ones(400))
    problem = Problem(expected, table.domain, 0.05)
    slope = np.abs(problem.violation(theta_of(fit), problem.gradient(fit.model.moments()))).max()
    assert slope <= found.slope < 0.05
    assert "no bound on the gap: holes" in str(found)
    wide = sf.Table(sf.Domain.binary(21), np.full((3, 21), 255, dtype=np.uint8))
    strong = Fit(make_field(21, seed=1), fit.status, (), alpha=0.1)
    with pytest.raises(ValueError, match="Row 0 has 21 holes"):
        sf.certify(strong, wide)


def test_marks_need_draws_without_bias_to_speak_of():
    model = LEVELS["three levels"]
    table = sf.Table(model.domain, model.sample(400, n_sweeps=50, seed=1).codes)
    problem = Problem(sf.moments_of_table(table), table.domain, 0.05)
    support = theta_of(solve_newton(problem, exact(), tol=1e-9)) != 0
    fit = solve_newton(problem, best(), Sampler(500, 1), gap=0.002)
    assert fit.steps[-1].certificate <= 0.05 / np.sqrt(fit.steps[-1].n_chains)
    wrong = ((theta_of(fit) != 0) != support) & ~fit.undecided
    upper = np.triu_indices(len(support))
    n_decided = int((~fit.undecided[upper]).sum())
    assert wrong[upper].sum() <= stats.binom.isf(FALSE_ALARM, n_decided, 1 - _newton.UNDECIDED)
    few = solve_newton(problem, BestDraws(gibbs_sweeps=2), Sampler(500, 1), gap=0.05)
    assert few.undecided is None
