"""Certificates of supports without their penalty, against optima over the parameters of the support alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import Rows
from sparsefield.datasets import make_field
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Options
from sparsefield.model import across_variables
from sparsefield.objective import Support
from sparsefield.optimality import problem_of
from sparsefield.selection import relax
from sparsefield.tables import read_rows
from support.exact_chains import least_objective
from support.noise import enumerate_statistics
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM


def make_levels():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 3, (400, 4))
    rows[:, 1] = np.where(rng.random(400) < 0.6, rows[:, 0], rows[:, 1])
    return sf.encode(rows)


TABLES = {
    "two levels": make_table(6, 400),
    "strong": make_field(5, strength=(1.5, 2.5), seed=2).sample(300, n_sweeps=300, seed=1),
    "levels": make_levels(),
}
FEW_DRAWS = sf.Newton(schedule="perfect", n_chains=300)


def lowest_of(fit, table):
    """Return the least objective over main effects and the interactions of the support: there are no others."""
    problem = problem_of(fit, Rows(table))
    is_real = across_variables(table.domain, 1.0) > 0
    kept = np.nonzero(np.triu(is_real & (fit.support | np.eye(len(fit.support), dtype=bool))))
    _, psi, pairs = enumerate_statistics(fit.model)
    index = {pair: k for k, pair in enumerate(zip(*pairs, strict=True))}
    columns = [index[pair] for pair in zip(*kept, strict=True)]
    weights = np.full(len(columns), fit.alpha)
    weights[kept[0] == kept[1]] *= float(fit.penalize_main)
    return least_objective(psi[:, columns], problem.data.moments.pair[kept], weights)[1]


def gap_of(fit, table):
    return problem_of(fit, Rows(table)).objective(theta_of(fit)) - lowest_of(fit, table)


def relaxed_fit(table, alpha=0.05, **options):
    learner = Learner(read_rows(table), Options(penalty="l1", **options))
    return relax(learner, learner.learn(alpha))


def moved(fit, table, seed, size):
    """Return the fit with other parameters on its support."""
    rng = np.random.default_rng(seed)
    noise = np.triu(rng.normal(0, size, fit.support.shape))
    noise = (noise + np.triu(noise, 1).T) * (fit.support | np.eye(len(noise), dtype=bool))
    problem = problem_of(fit, Rows(table))
    return replace(fit, model=problem.model(theta_of(fit) + noise * (across_variables(table.domain, 1.0) > 0)))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("penalize_main", [False, True])
def test_enumerated_gaps_of_supports_enclose_the_gap(name, penalize_main):
    table = TABLES[name]
    fit = relaxed_fit(table, penalize_main=penalize_main)
    for own in (fit, moved(fit, table, 1, 0.1), moved(fit, table, 2, 1.0)):
        found, gap = sf.certify(own, table).optimality, gap_of(own, table)
        # The other solver is right to 1e-10 or so, and above the optimum.
        assert gap <= found.gap <= gap + 1e-9
        assert (found.kind, found.confidence) == ("exact", 1.0)
        n = table.domain.n_slots + np.count_nonzero(np.triu(fit.support, 1))
        assert f"the objective on these {n} parameters is at most" in str(found)


def test_a_zero_of_the_support_is_still_one_of_its_parameters(tmp_path):
    # The best fit without an edge is not the best one of a support that has it.
    table = TABLES["two levels"]
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-8)))
    fit = learner.learn(0.02)
    whole = relax(learner, fit)
    a, b = np.argwhere(np.triu(np.abs(fit.model.interactions) == np.abs(fit.model.interactions).max()))[0]
    fewer = whole.support.copy()
    fewer[a, b] = fewer[b, a] = False
    without = learner.learn(whole.alpha, penalty=Support(table.domain, whole.alpha, 0.0, fewer))
    assert without.model.interactions[a, b] == 0
    assert sf.certify(without, table).optimality.gap < 1e-6
    claimed = replace(without, support=whole.support)
    gap = gap_of(claimed, table)
    assert gap > 0.01
    claimed.save(tmp_path / "fit")
    loaded = Fit.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.support, whole.support)
    for own in (claimed, loaded):
        assert gap <= sf.certify(own, table).optimality.gap <= gap + 1e-9


def test_an_optimum_with_zeros_in_its_support_is_certified():
    table = TABLES["two levels"]
    learner = Learner(read_rows(table), Options(solver=sf.Newton(tol=1e-9)))
    fit = learner.learn(0.01, penalty=Support(table.domain, 0.01, 0.0, np.ones((6, 6), dtype=bool)))
    assert 0 < np.count_nonzero(np.triu(fit.model.interactions, 1)) < 15
    assert np.count_nonzero(np.triu(fit.support, 1)) == 15
    assert gap_of(fit, table) <= sf.certify(fit, table).optimality.gap < 1e-9


@pytest.mark.parametrize("penalize_main", [False, True])
def test_bounds_of_supports_from_draws_hold_as_often_as_they_say(penalize_main):
    n_broken = n_finite = 0
    for seed in range(40):
        truth = make_field(5, edge_probability=0.4, strength=(0.5, 1.5), seed=seed)
        table = truth.sample(300, method="perfect", seed=seed)
        options = {"solver": FEW_DRAWS, "gap": 0.05, "penalize_main": penalize_main}
        fit = relaxed_fit(table, 0.04, **options, seed=seed)
        found = sf.certify(fit, table, confidence=0.99, n_draws=10_000, seed=seed, max_states=0).optimality
        gap = gap_of(fit, table)
        problem = problem_of(fit, Rows(table))
        largest = np.abs(problem.subgradient(theta_of(fit), problem.gradient(fit.model.moments()))).max()
        n_broken += gap > found.gap or largest > found.subgradient or found.lower > gap
        n_finite += found.gap < 1.0
        assert sf.certify(fit, table).optimality.gap == pytest.approx(gap, abs=1e-9)
    assert n_broken <= stats.binom.isf(FALSE_ALARM, 40, 0.01)
    assert n_finite > 20


def test_a_promise_is_kept_for_a_support():
    table = TABLES["two levels"]
    fit = relaxed_fit(table, solver=FEW_DRAWS, gap=0.002, certify=True, seed=1)
    assert fit.optimality.kind == "exact"
    assert gap_of(fit, table) <= fit.optimality.gap <= 0.002
    n = 6 + np.count_nonzero(np.triu(fit.support, 1))
    assert f"above its optimum on these {n} parameters, with confidence" in fit.status.sentence


def test_a_promise_is_kept_for_a_support_that_is_not_enumerated():
    table = make_field(22, degree=2, strength=(0.5, 1.0), seed=1).sample(500, method="perfect", seed=1)
    fit = relaxed_fit(table, 0.06, gap=0.05, certify=True, seed=1)
    assert fit.status.code == "converged"
    assert fit.optimality.kind == "asymptotic"
    assert fit.optimality.gap <= 0.05
    assert "parameters" in fit.status.sentence


def test_supports_of_another_form_are_refused():
    table = TABLES["two levels"]
    penalty = Support(table.domain, 0.01, 0.5, np.ones((6, 6), dtype=bool))
    fit = sf.learn(table, penalty=penalty)
    with pytest.raises(ValueError, match="certify knows no other"):
        sf.certify(fit, table)
    with pytest.raises(ValueError, match="a support without it"):
        sf.learn(table, penalty=penalty, certify=True)
    relaxed = relaxed_fit(table)
    with pytest.raises(ValueError, match="certify knows no other"):
        sf.certify(replace(relaxed, support=None), table)
