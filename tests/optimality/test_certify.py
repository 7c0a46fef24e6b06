"""Certificates of optimality against exact gaps."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import Rows, TableError, find_unseen
from sparsefield.datasets import make_field
from sparsefield.fits import Fit, Optimality
from sparsefield.gradients import BestDraws, ExactMoments, PerfectDraws, Simulation
from sparsefield.marks import fit_newton
from sparsefield.objective import Problem, expected_moments
from sparsefield.optimality import certify_rows
from sparsefield.optimality._entropy_bound import entropy_of
from sparsefield.optimality._gap_bound import GapBound
from support.noise import largest_excess
from support.problems import Undrawn, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS


@pytest.mark.parametrize("penalize_main", [True, False])
def test_certified_gaps_hold(penalize_main):
    # 60 fits of small fields: the exact gap is above a bound no more often than the confidence allows.
    n_broken = n_near = n_loose = 0
    for seed in range(60):
        truth = make_field(5, edge_probability=0.4, strength=(0.5, 1.5), seed=seed)
        table = truth.sample(300, method="perfect", seed=seed)
        problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.06, penalize_main)
        lowest = problem.objective(theta_of(fit_newton(problem, ExactMoments(), tol=1e-8)))
        fit = fit_newton(problem, PerfectDraws(), Simulation(300, seed), gap=0.05)
        found = sf.certify(fit, table, confidence=0.99, n_draws=10_000, seed=seed, max_states=0).optimality
        gap = problem.objective(theta_of(fit)) - lowest
        gradient = problem.gradient(fit.model.moments())
        largest = np.abs(problem.subgradient(theta_of(fit), gradient)).max()
        n_broken += gap > found.gap or largest > found.subgradient or found.lower > gap
        assert found.gap <= found.proven
        assert found.kind == "asymptotic" or found.gap == found.proven
        if 2 * gap < 0.03 / 2:  # no walk is made where a squared decrement, and its noise, is below 0.03
            n_near += 1
            # The limit of the decrement has more than seven tenths of the risk.
            n_loose += found.gap - gap > largest_excess(gap, 15, 10_000, 0.7 * 0.01)
        exact = sf.certify(fit, table).optimality
        assert (exact.kind, exact.confidence, exact.n_draws) == ("exact", 1.0, 0)
        # Both optima are right to 1e-12 or so, and rounded objectives to 1e-14.
        assert exact.gap == pytest.approx(gap, abs=1e-10)
        assert exact.subgradient == pytest.approx(largest, abs=1e-10)
    assert n_broken <= stats.binom.isf(FALSE_ALARM, 60, 0.01)
    assert n_loose <= stats.binom.isf(FALSE_ALARM, n_near, stats.norm.sf(3))
    assert n_near > 0


def test_fits_that_are_certain_of_every_cell_are_certified():
    # All states but one have probabilities that are too small for a double.
    table = make_field(5, edge_probability=0.4, strength=(0.5, 1.5), seed=1).sample(300, method="perfect", seed=1)
    certain = sf.PairwiseMRF(table.domain, np.full(5, 900.0), np.zeros((5, 5)))
    fit = sf.learn(table, 0.06, gap=0.01, init=certain, solver=sf.Newton(max_iter=3))
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.06, penalize_main=False)
    lowest = problem.objective(theta_of(fit_newton(problem, ExactMoments(), tol=1e-8)))
    gap = problem.objective(theta_of(fit)) - lowest
    # The optimum is right to 1e-12 or so, and objectives, which are sums of a few thousand, to 1e-12 as well.
    assert sf.certify(fit, table).optimality.gap == pytest.approx(gap, abs=1e-10)


def test_certificates_of_optimality_need_what_they_need(tmp_path):
    table = make_field(6, seed=1).sample(500, method="perfect", seed=1)
    mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    for most in (0, 2**14):
        certified = sf.certify(mrf.fit_, table, n_draws=20_000, max_states=most)
        certified.save(tmp_path / "fit")
        assert Fit.load(tmp_path / "fit").optimality == certified.optimality
        again = sf.certify(mrf.fit_, table.to_frame(), n_draws=20_000, max_states=most)
        assert again.optimality == certified.optimality
        twice = np.full(500, 2.0)
        weighted = sf.certify(mrf.fit_, table, n_draws=20_000, sample_weight=twice, max_states=most).optimality
        assert weighted == certified.optimality  # weights that are all equal are the same as none
    with pytest.raises(ValueError, match="certify knows no other"):
        sf.certify(sf.PseudoLikelihood().fit(table).fit_, table)
    with pytest.raises(ValueError, match="n_draws is 1"):
        sf.certify(mrf.fit_, table, n_draws=1)
    strong = Fit(make_field(12, edge_probability=0.9, strength=(6.0, 8.0), seed=1), mrf.status_, (), alpha=0.01)
    data = strong.model.sample(50, n_sweeps=5, seed=1)
    refused = sf.certify(strong, data, n_draws=100, max_states=0).optimality
    assert "cannot be certified" in str(refused)
    assert refused.n_draws == 0
    codes = data.codes.copy()
    codes[0, 0] = 255
    refused = sf.certify(strong, sf.Table(data.domain, codes), n_draws=100, max_states=0).optimality
    assert "cannot be certified" in str(refused)
    assert refused.n_draws == 0


def test_sentences_name_the_kind_and_round_outwards():
    said = str(Optimality(0.0123456, 0.0010001, 0.99, 400, kind="asymptotic", proven=1.2341, lower=0.0120999))
    assert said == (
        "With confidence 0.99, from 400 fresh draws: the objective is at least 0.012 and at most 0.0124 above its "
        "optimum by the central limit theorem, and no entry of its smallest subgradient is above 0.00101. For every "
        "number of draws it is proven to be at most 1.24 above it."
    )
    said = str(Optimality(0.5, 0.25, 0.99998765, 400))
    assert said.startswith("With confidence 0.9999876, from 400 fresh draws: the objective is at most 0.5 above its")
    assert "limit theorem" not in said
    assert Optimality(0.5, 0.25, 0.99, 400).proven == 0.5
    assert str(Optimality(1.00001e-9, 0.25, 1.0, 0, kind="exact")).startswith(
        "By enumeration: the objective is at most 1.01e-09 above its optimum, and no entry"
    )
    refused = Optimality(np.inf, 0.25, 0.99, 400, "draws are too few", kind="asymptotic")
    assert "There is no bound on the gap: draws are too few." in str(refused)


@pytest.mark.parametrize("value", [0, 1])
def test_gaps_are_those_of_tables_with_half_a_row_of_what_is_never_seen(value):
    table = make_field(5, seed=1).sample(300, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[:, 2] = value
    table = sf.Table(table.domain, codes)
    half = find_unseen(table)
    problem = Problem.with_l1(half.fill(sf.data.moments_of_table(table)), table.domain, 0.05, penalize_main=False)
    lowest = problem.objective(theta_of(fit_newton(problem, ExactMoments(), tol=1e-10)))
    fit = sf.learn(table, 0.05, solver=sf.Newton(schedule="perfect"), gap=0.05, seed=1)
    gap = problem.objective(theta_of(fit)) - lowest
    exact = sf.certify(fit, table).optimality
    assert exact.kind == "exact"
    assert exact.gap == pytest.approx(gap, abs=1e-10)
    # Bounds from draws hold except with the probability that is given them here.
    drawn = sf.certify(fit, table, confidence=1 - FALSE_ALARM, n_draws=20_000, max_states=0).optimality
    assert drawn.lower <= gap <= drawn.gap <= drawn.proven


def test_another_table_is_refused_even_where_every_frequency_is_the_same():
    table = make_field(6, seed=1).sample(300, method="perfect", seed=1)
    fit = sf.learn(table, 0.05, seed=1)
    codes = table.codes.copy()
    codes[:, 2] = np.random.default_rng(1).permutation(codes[:, 2])
    with pytest.raises(ValueError, match="not the 300 rows that the field was fitted to"):
        sf.certify(fit, sf.Table(table.domain, codes), n_draws=1000)


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_the_table_that_was_fitted_is_accepted_with_its_missing_values(missing):
    table = make_field(5, seed=1).sample(300, method="perfect", seed=1)
    codes = np.where(np.random.default_rng(1).random(table.shape) < 0.05, 255, table.codes).astype(np.uint8)
    incomplete = sf.Table(table.domain, codes)
    fit = sf.learn(incomplete, 0.05, missing=missing, seed=1)
    resolved = incomplete.fill_first() if missing == "zero" else incomplete.drop_missing()
    found = sf.certify(fit, incomplete, n_draws=5000).optimality
    assert found == sf.certify(fit, resolved, n_draws=5000).optimality
    assert np.isfinite(found.gap)


def test_levels_are_certified_by_gibbs_chains():
    model = LEVELS["three levels"]
    table = sf.Table(model.domain, model.sample(400, n_sweeps=50, seed=1).codes)
    problem = Problem.with_l1(sf.data.moments_of_table(table), table.domain, 0.05)
    lowest = problem.objective(theta_of(fit_newton(problem, ExactMoments(), tol=1e-8)))
    fit = fit_newton(problem, BestDraws(max_states=0), Simulation(500, 1, backend=Undrawn()), gap=0.02)
    found = sf.certify(fit, table, n_draws=20_000, max_states=0, device=Undrawn()).optimality
    assert problem.objective(theta_of(fit)) - lowest <= found.gap < 1
    assert found.kind == "proven"
    assert "there are no exact draws" in str(found)


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
    # Rows that do not count may have missing values.
    incomplete = np.vstack([table.codes, np.full((1, p), 255, dtype=np.uint8)])
    weights = np.append(np.ones(400), 0.0)
    found = sf.certify(fit, sf.Table(table.domain, incomplete), n_draws=5000, sample_weight=weights).optimality
    assert found.gap == pytest.approx(known.gap)
    alone = sf.Domain(("x",), (("a",),), (0,))
    nothing = Fit(sf.PairwiseMRF(alone, [], np.zeros((0, 0))), fit.status, (), alpha=0.1)
    assert sf.certify(nothing, sf.Table(alone, np.zeros((3, 1), dtype=np.uint8))).optimality.gap == 0


def test_interrupts_of_the_start_and_of_the_second_fit_are_not_lost(monkeypatch):
    table = make_field(5, seed=2).sample(400, method="perfect", seed=1)
    # There is no second fit where main effects are free: their bound by entropies is that of the data.
    fit = sf.SparseMRF(0.05, penalize_main=True, random_state=1).fit(table).fit_

    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.certify(fit, table, n_draws=50_000, watch=stop, max_states=0)
    monkeypatch.setattr("sparsefield.pseudolikelihood._binary_solver.descend_pairs", stop)
    with pytest.raises(KeyboardInterrupt):
        sf.SparseMRF(0.05).fit(table)


@pytest.mark.parametrize("penalize_main", [False, True])
def test_fits_with_missing_values_are_certified_as_stationary(penalize_main):
    table = make_field(6, seed=1).sample(400, method="perfect", seed=1)
    codes = np.where(np.random.default_rng(1).random(table.codes.shape) < 0.15, 255, table.codes).astype(np.uint8)
    incomplete = sf.Table(table.domain, codes)
    options = {"gap": 0.0005, "solver": sf.Newton(n_chains=20_000), "random_state": 1}
    fit = sf.SparseMRF(0.05, penalize_main=penalize_main, **options).fit(incomplete).fit_
    expected = expected_moments(fit.model, incomplete, np.ones(400))
    problem = Problem.with_l1(expected, table.domain, 0.05, penalize_main)
    largest = np.abs(problem.subgradient(theta_of(fit), problem.gradient(fit.model.moments()))).max()
    for most in (0, 2**14):
        found = sf.certify(fit, incomplete, n_draws=100_000, max_states=most).optimality
        assert found.gap == np.inf
        assert largest <= found.subgradient < 0.05
        assert "no bound on the gap: missing values" in str(found)
    wide = sf.Table(sf.Domain.binary(21), np.full((3, 21), 255, dtype=np.uint8))
    strong = Fit(make_field(21, seed=1), fit.status, (), alpha=0.1)
    with pytest.raises(ValueError, match="Row 0 has 21 missing values"):
        sf.certify(strong, wide)


@pytest.mark.parametrize("max_states", [0, 2**14])
def test_rows_that_are_read_have_the_certificate_of_their_table(max_states):
    table = make_field(6, seed=1).sample(300, method="perfect", seed=1)
    weights = np.random.default_rng(1).uniform(0, 3, 300)
    fit = sf.learn(table, 0.05, sample_weight=weights, seed=1)
    options = {"n_draws": 5000, "seed": 2, "max_states": max_states}
    read = certify_rows(fit, Rows.of(table, weights), **options)
    assert read.optimality == sf.certify(fit, table, sample_weight=weights, **options).optimality
    with pytest.raises(ValueError, match="n_draws is 1"):
        certify_rows(fit, Rows.of(table, weights), n_draws=1)
    with pytest.raises(TableError, match="have weights, and none are given"):
        certify_rows(fit, Rows.of(table), **options)


def test_the_smaller_of_two_bounds_says_of_which_kind_it_is():
    far, near = (GapBound(0.2, proven=0.5).or_proven(other) for other in (0.3, 0.1))
    assert (far.bound, far.proven, far.kind) == (0.2, 0.3, "asymptotic")
    assert (near.bound, near.proven, near.kind) == (0.1, 0.1, "proven")
    assert GapBound().or_proven(np.inf).kind == "proven"  # of no kind: there is none


@pytest.mark.parametrize("weights", [None, np.random.default_rng(2).uniform(0, 3, 300)], ids=["no weights", "weights"])
def test_the_entropy_of_the_data_is_that_of_the_shares_of_their_rows(weights):
    table = make_field(4, seed=1).sample(300, method="perfect", seed=1)
    total = Counter()
    for row, weight in zip(table.codes.tolist(), np.ones(300) if weights is None else weights, strict=True):
        total[tuple(row)] += weight
    shares = np.array(list(total.values())) / sum(total.values())
    assert 1 < len(shares) < 300
    assert entropy_of(Rows(table, weights)) == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-12)


@pytest.mark.filterwarnings("ignore::sparsefield.data.ConstantColumnWarning")
@pytest.mark.parametrize("solver", ["newton", "proximal"])
def test_a_fit_of_constant_columns_is_certified_at_once(solver):
    fit = sf.learn(np.zeros((3, 4), dtype=int), solver=solver, certify=True)
    assert fit.status.code == "converged"
    assert fit.optimality.kind == "exact"
    assert fit.optimality.gap == fit.optimality.subgradient == 0
    assert sf.certify(fit, np.zeros((3, 4), dtype=int)).optimality.gap == 0
    # With missing values, of which nothing depends.
    incomplete = np.where(np.eye(3, 4) == 1, np.nan, 0.0)
    assert sf.learn(incomplete, solver=solver, certify=True).optimality.subgradient == 0


def make_far(seed, n=300):
    """Return a table of three variables, and a fit to it with one interaction that is far off."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.7, x, rng.integers(0, 2, n))
    table = sf.Table(sf.Domain.binary(3), np.column_stack([x, y, rng.integers(0, 2, n)]).astype(np.uint8))
    fit = sf.learn(table, 0.02)
    weights = fit.model.interactions.copy()
    weights[0, 1] = weights[1, 0] = -12.0 if seed == 0 else rng.choice([-1, 1]) * rng.uniform(2, 14)
    return table, replace(fit, model=sf.PairwiseMRF(table.domain, fit.model.main, weights))


def test_fits_that_are_far_off_have_no_lower_limit_above_their_gap():
    n_above = n_lower = n_fits = 0
    for seed in range(30):
        table, fit = make_far(seed)
        exact = sf.certify(fit, table).optimality.gap
        for n_draws in (2000, 20_000, 200_000) if seed == 0 else (2000,):
            found = sf.certify(fit, table, max_states=0, n_draws=n_draws, seed=seed).optimality
            n_fits += 1
            assert found.lower <= found.gap
            n_above += found.lower > exact or found.gap < exact
            n_lower += found.lower > 0
    assert n_above <= stats.binom.isf(FALSE_ALARM, n_fits, 0.01)
    assert n_lower > 0  # where draws show what it takes there is one
