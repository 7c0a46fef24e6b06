"""What schedules do: as their names say, with arguments that are checked, and as anybody can write one."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import gradients
from sparsefield.certificates import Certificate
from sparsefield.datasets import make_field
from sparsefield.gradients import (
    BestDraws,
    Estimate,
    ExactMoments,
    Fixed,
    Increasing,
    PerfectDraws,
    Point,
    Simulation,
    Tay,
    enumerates,
)
from sparsefield.marks import fit_newton
from sparsefield.model import norm
from sparsefield.objective import Problem
from sparsefield.solvers import NEWTON, solve
from support.problems import make_problem, make_table, theta_of
from support.zoo import random_field


@dataclass(frozen=True)
class Own:
    """As `Fixed`, written as a user would."""

    n_sweeps: int = 5
    keeps_chains: bool = True

    def estimate(self, problem, point, simulation):  # noqa: ARG002
        chains = simulation.begin(point)
        chains.sweep(simulation.backend.prepare(point.model), self.n_sweeps)
        return Estimate(chains.moments(), self.n_sweeps, "my own", chains if self.keeps_chains else None)


@pytest.mark.parametrize("run", [solve, fit_newton])
def test_a_schedule_of_ones_own_works_with_both_solvers(run):
    problem = make_problem()
    options = {"max_iter": 6, "start": 0.1 * np.eye(6)}
    own, known = (run(problem, way, Simulation(800, 2), **options) for way in (Own(), Fixed(5)))
    np.testing.assert_array_equal(theta_of(own), theta_of(known))
    assert set(own.trace["reason"]) == {"my own"}
    assert own.status.code == known.status.code
    assert own.status.code != "not_certified"  # nothing was promised


def test_an_estimator_takes_it_too():
    table = make_table()
    one, other = (sf.SparseMRF(0.05, solver=sf.Newton(schedule=way), random_state=1).fit(table) for way in (Own(), 5))
    np.testing.assert_array_equal(one.interactions_, other.interactions_)
    assert one.fit_.settings["solver"] == "Newton(schedule=Own(n_sweeps=5, keeps_chains=True))"


def test_newton_steps_need_draws_and_gradient_steps_do_not():
    problem = make_problem()
    assert solve(problem, Own(keeps_chains=False), Simulation(500, 1), step_size=0.3, max_iter=3).steps
    with pytest.raises(
        ValueError, match=r"have no chains, and Newton steps need draws: .* use solver=Proximal\(schedule=\.\.\.\)"
    ):
        fit_newton(problem, Own(keeps_chains=False), Simulation(500, 1))


def test_a_promise_that_is_not_kept_is_told_with_its_remedy():
    @dataclass(frozen=True)
    class Hopeful(Own):
        def estimate(self, problem, point, simulation):
            found = super().estimate(problem, point, simulation)
            return replace(found, is_promised=True, remedy="Hope for more.")

    problem = make_problem()
    fit = solve(problem, Hopeful(), Simulation(500, 1), step_size=0.3, max_iter=3)
    assert fit.status.code == "not_certified"
    assert fit.status.sentence.endswith("Hope for more.")
    assert set(fit.trace["remedy"]) == {"Hope for more."}
    newton = fit_newton(problem, Hopeful(), Simulation(500, 1), gap=0.05)
    assert newton.status.code == "not_certified"
    assert newton.status.sentence.endswith("The last gradient is not certified (my own). Hope for more.")


WAYS = {
    "fixed": (Fixed(3), False, False),
    "increasing": (Increasing(), False, False),
    "perfect": (PerfectDraws(), True, False),
    "best": (BestDraws(), True, True),
    "best, draws": (BestDraws(max_states=0), True, False),
    "exact": (ExactMoments(), True, True),
    "tay": (Tay(), True, False),
    "coalescence": (Tay("coalescence"), True, False),
    "conservative": (Tay(conservative=True), True, False),
}


@pytest.mark.parametrize("name", WAYS)
def test_an_estimate_says_itself_what_it_is(name):
    schedule, is_promised, is_exact = WAYS[name]
    problem = make_problem(5, strength=(0.3, 0.6))
    theta = 0.2 * np.eye(5)
    point, simulation = Point(1, theta, problem.model(theta), 0.4), Simulation(2000, 1)
    found = schedule.estimate(problem, point, simulation)
    assert found.is_promised is is_promised
    assert found.is_exact is is_exact
    assert found.n_chains == (0 if is_exact else found.moments.n)
    assert (found.certificate is None) is not is_promised
    if is_promised:
        assert isinstance(found.certificate, Certificate)
        assert found.certificate.model is point.model
        assert found.certificate.pair.shape == (5, 5)
        # A bound for each statistic, and so for their norm.
        assert norm(found.certificate.pair) == pytest.approx(found.certificate.bias)
        assert found.certificate.total == found.certificate.bias + found.certificate.simulation_error
    draws = found.draws(point, simulation)
    assert draws.n == (None if is_exact else found.n_chains)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (sf.Domain.binary(2), True),
        (sf.Domain.binary(20), True),
        (sf.Domain.binary(21), False),
        (sf.Domain.binary(5000), False),
        (random_field([3] * 12, seed=1).domain, True),
        (random_field([4] * 10, seed=1).domain, True),
        (random_field([3] * 13, seed=1).domain, False),
    ],
)
def test_all_states_are_taken_up_to_a_million_of_them(domain, expected):
    assert enumerates(domain) is expected


def test_all_states_are_taken_up_to_a_number_that_is_given():
    problem = make_problem(5)
    theta = 0.2 * np.eye(5)
    point, simulation = Point(1, theta, problem.model(theta), 1.0), Simulation(500, 1)
    for max_states, reason in ((None, "enumeration"), (32, "enumeration"), (31, "exact draws"), (0, "exact draws")):
        assert BestDraws(max_states=max_states).estimate(problem, point, simulation).reason == reason


def test_moments_are_exact_also_where_states_are_too_many_to_hold():
    model = make_field(21, seed=1)
    problem = Problem.with_l1(model.moments(), model.domain, 0.1)
    point = Point(1, np.zeros((21, 21)), problem.model(np.zeros((21, 21))), 1.0)
    found = ExactMoments().estimate(problem, point, Simulation())
    assert found.is_exact
    # Without parameters all states are equally likely: a moment is 1/2, or 1/4, but for a sum of 2^21 roundings.
    np.testing.assert_allclose(found.moments.pair, (1 + np.eye(21)) / 4, rtol=0, atol=2.0**21 * 2.0**-53)
    with pytest.raises(ValueError, match="exact Newton steps are for up to 1048576"):
        found.draws(point, Simulation())


def test_only_the_conservative_form_bounds_simulation_error():
    problem = make_problem(5, strength=(0.3, 0.6))
    theta = 0.2 * np.eye(5)
    point, simulation = Point(1, theta, problem.model(theta), 0.4), Simulation(2000, 1)
    assert Tay().estimate(problem, point, simulation).certificate.simulation_error == 0
    whole = Tay(conservative=True).estimate(problem, point, simulation).certificate
    assert whole.simulation_error > whole.bias
    assert whole.confidence == 0.95


def test_levels_without_a_certificate_get_the_remedy_that_helps_them():
    # More levels than bounding chains can hold: no number of sweeps leads to exact draws.
    model = random_field([65, 3], seed=1)
    strong = sf.PairwiseMRF(model.domain, model.main, 9 * model.interactions)
    theta = strong.interactions + np.diag(strong.main)
    data = sf.data.moments_of_table(model.sample(50, n_sweeps=5, seed=1))
    problem = Problem.with_l1(data, model.domain, 0.01)
    found = Tay(max_sweeps=3).estimate(problem, Point(1, theta, strong, 0.1), Simulation(100, 1))
    assert not found.is_certified
    assert found.remedy == "Raise max_sweeps. Raise alpha: weaker interactions are certified sooner."
    best = BestDraws(gibbs_sweeps=3, max_states=0).estimate(problem, Point(1, theta, strong, 0.1), Simulation(100, 1))
    assert best.remedy == "Raise alpha: weaker interactions are certified sooner."


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tay("nonsense"), "bound is 'nonsense'"),
        (lambda: Tay(max_sweeps=0), "max_sweeps is 0"),
        (lambda: Tay(confidence=1.0), "confidence is 1"),
        (lambda: Tay(max_chains=0), "max_chains is 0"),
        (lambda: Tay("persistent", conservative=True), "starts its chains anew"),
        (lambda: Fixed(0), "n_sweeps is 0"),
        (lambda: Fixed(1.5), "n_sweeps is 1.5"),
        (lambda: PerfectDraws(max_sweeps=0), "max_sweeps is 0"),
        (lambda: BestDraws(max_sweeps=0), "max_sweeps is 0"),
        (lambda: BestDraws(gibbs_sweeps=0), "gibbs_sweeps is 0"),
        (lambda: BestDraws(max_states=-1), "max_states is -1"),
        (lambda: BestDraws(max_states=0.5), "max_states is 0.5"),
    ],
)
def test_constructors_check_their_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_all_schedules_are_public():
    for name in ("BestDraws", "ExactMoments", "Fixed", "Increasing", "PerfectDraws", "Tay", "Schedule", "Estimate"):
        assert name in gradients.__all__
    assert sf.gradients is gradients


@dataclass(frozen=True)
class Stubborn:
    """A schedule that makes as many chains as it likes, whatever it is asked for."""

    n_chains: int

    def estimate(self, problem, point, simulation):  # noqa: ARG002
        chains = simulation.begin(point, self.n_chains)
        chains.sweep(simulation.backend.prepare(point.model), 20)
        certificate = Certificate("sharp", point.model, 0.01, lambda: np.full((6, 6), 0.01), 20, confidence=0.95)
        return Estimate(chains.moments(), 20, "as I like", chains, certificate, is_certified=True, is_promised=True)


def test_a_schedule_that_makes_fewer_draws_ends_at_their_noise():
    fit = fit_newton(make_problem(), Stubborn(500), Simulation(2000, 1), gap=1e-4)
    assert fit.status.code == "simulation_error"
    assert "no more are made" in fit.status.sentence
    assert set(fit.trace["n_chains"]) == {500}
    # Marks are at a confidence that this certificate does not have.
    assert fit.undecided is None


@pytest.mark.parametrize("n_chains", [400, 600, 5000])
def test_batches_end_whatever_a_schedule_makes(n_chains):
    options = {"gap": 1e-3, "max_iter": 4, "policy": replace(NEWTON, most_cells=6 * 600)}
    fit = fit_newton(make_problem(), Stubborn(n_chains), Simulation(2000, 1), **options)
    assert fit.steps
    last = fit.steps[-1]
    n_batches = last.n_chains / n_chains
    assert n_batches == int(n_batches)
    # Several certificates hold together less surely than one.
    assert last.confidence == pytest.approx(max(0.0, 1 - 0.05 * n_batches))


def test_the_bias_of_a_certificate_that_may_fail_is_not_called_none():
    problem = make_problem()
    fit = solve(problem, Stubborn(500), Simulation(500, 1), step_size=0.3, max_iter=2)
    sure = replace(fit.steps[-1], certificate=0.0, confidence=0.9)
    said = replace(fit, steps=(sure,)).certified
    assert "had no bias" not in said
    assert "with confidence 0.9" in said


def test_persistent_chains_are_those_that_are_asked_for():
    problem = make_problem()
    chains = Simulation(300, 1).begin(Point(1, np.zeros((6, 6)), problem.model(np.zeros((6, 6))), 1.0))
    point = Point(2, np.zeros((6, 6)), problem.model(np.zeros((6, 6))), 1.0, chains)
    persistent = Simulation(300, 1, persist=True)
    np.testing.assert_array_equal(persistent.begin(point).codes(), chains.codes())
    assert persistent.begin(point, 500).n_chains == 500


def test_schedules_do_what_their_names_say():
    problem = make_problem(5)
    simulation = Simulation(500, seed=1)
    assert solve(problem, Fixed(7), simulation, max_iter=5).trace["n_sweeps"].to_list() == [7] * 5
    assert solve(problem, Increasing(), simulation, max_iter=5).trace["n_sweeps"].to_list() == [1, 2, 3, 4, 5]
    exactly = solve(problem, PerfectDraws(), simulation, max_iter=3)
    assert exactly.trace["certificate"].to_list() == [0.0] * 3
    assert exactly.trace["is_certified"].all()
    assert solve(problem, ExactMoments(), max_iter=3, tol=0).trace["n_chains"].to_list() == [0] * 3


def test_bad_schedules_are_refused():
    with pytest.raises(ValueError, match="n_sweeps is 0"):
        Fixed(0)
    with pytest.raises(ValueError, match="bound is 'best'"):
        Tay("best")
    with pytest.raises(ValueError, match="max_sweeps is 0"):
        Tay(max_sweeps=0)
    with pytest.raises(ValueError, match="starts its chains anew"):
        Tay("persistent", conservative=True)
    with pytest.raises(ValueError, match="chains='restart'"):
        solve(make_problem(4), Tay("sharp", conservative=True), Simulation(300, persist=True))
