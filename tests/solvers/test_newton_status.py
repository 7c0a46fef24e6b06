"""What is kept of a fit that ends early, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._deadline import OutOfTimeError
from sparsefield.fits import NewtonStep
from sparsefield.gradients import BestDraws
from sparsefield.objective import L1
from sparsefield.optimality import _certified_solve
from sparsefield.solvers import NEWTON, _safeguard
from sparsefield.tables import read_rows
from support.problems import make_table, theta_of

DRAWS = BestDraws(max_states=0)


def first_then(monkeypatch, error):
    """Let the second attempt to bound a gap fail."""
    assess, calls = _certified_solve.assess, []

    def once(*arguments, **options):
        calls.append(options)
        if len(calls) > 1:
            raise error
        return assess(*arguments, **options)

    monkeypatch.setattr(_certified_solve, "assess", once)
    return calls


@pytest.mark.parametrize(("error", "code"), [(OutOfTimeError, "not_certified"), (KeyboardInterrupt, "interrupted")])
def test_a_bound_that_is_known_is_kept_when_the_next_attempt_ends_early(monkeypatch, error, code):
    calls = first_then(monkeypatch, error)
    table = sf.datasets.make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(1000, method="perfect", seed=1)
    monkeypatch.setattr(
        _certified_solve, "_choose_draws", lambda *_: 20_000
    )  # too few for a bound of the order of the gap
    fit = sf.learn(table, 0.03, gap=5e-4, certify=True, seed=1)
    assert len(calls) == 2
    assert fit.status.code == code
    assert np.isfinite(fit.optimality.gap)
    assert fit.optimality.gap > 5e-4
    expected = "it is certified to be at most" if code == "not_certified" else "Interrupted while it was certified"
    assert expected in fit.status.sentence
    assert ("there was no time for it" in fit.status.sentence) == (code == "not_certified")


def test_a_certified_fit_makes_no_more_iterations_than_it_may():
    table = make_table()
    fit = sf.learn(table, 0.02, gap=1e-6, certify=True, solver=sf.Newton(max_iter=2, schedule=DRAWS), seed=1)
    assert len(fit.steps) <= 2
    assert fit.status.code == "not_certified"


def test_newton_steps_that_keep_a_promise_after_the_papers_have_a_trace_of_their_own():
    table = make_table()
    fit = sf.learn(table, 0.02, solver=sf.Proximal(max_iter=40, n_chains=200), gap=1e-4, certify=True, seed=1)
    assert fit.optimality.gap <= 1e-4
    assert {type(step) for step in fit.steps} == {NewtonStep}
    assert fit.trace["subgradient_norm"].null_count() == 0
    assert "iterations were for a larger gap, of another kind." in fit.status.sentence


def test_a_penalty_that_cannot_be_certified_is_refused_before_any_step():
    table, steps = make_table(), []
    with pytest.raises(ValueError, match="certify=True is for the L1 penalty"):
        sf.learn(table, penalty=L1(table.domain, 0.05, 0.5), certify=True, watch=steps.append)
    assert not steps


def test_an_interrupt_is_not_overruled_by_a_step_that_is_too_long():
    def stop(info):
        if info.iteration == 3:
            raise KeyboardInterrupt

    fit = sf.learn(make_table(), 0.05, solver=sf.Proximal(step_size=50.0), certify=True, watch=stop, seed=1)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 3
    assert fit.optimality is None


def test_an_interrupt_while_a_fit_is_compared_with_its_start_keeps_it(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_safeguard, "_is_lower", stop)
    fit = sf.learn(make_table(), 0.05, solver=sf.Proximal(max_iter=3), seed=1)
    assert fit.status.code == "interrupted"
    assert len(fit.steps) == 3
    assert "Interrupted while it was compared with its start." in fit.status.sentence


def test_it_is_said_how_many_draws_agreement_would_take_where_they_are_too_many():
    table = sf.datasets.make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(500, method="perfect", seed=1)
    free = sf.learn(table, 0.03, seed=1)
    assert "would be those of another seed" not in free.status.sentence
    policy = replace(sf.fitting.FITTING, newton=replace(NEWTON, most_agreed=24 * 3000))
    fit = sf.fitting.Learner(read_rows(table), sf.fitting.Options(seed=1), policy=policy).learn(0.03)
    assert fit.steps[-1].n_chains < free.steps[-1].n_chains
    assert fit.status.code == "converged"
    assert "99% of the edges would be those of another seed with" in fit.status.sentence


def test_each_fit_of_a_learner_has_random_numbers_of_its_own():
    table = sf.datasets.make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(500, method="perfect", seed=1)
    learner = sf.fitting.Learner(read_rows(table), sf.fitting.Options(gap=0.01, init="zero", seed=3))
    first, second = learner.learn(0.03), learner.learn(0.03)
    np.testing.assert_array_equal(theta_of(first), theta_of(sf.learn(table, 0.03, gap=0.01, init="zero", seed=3)))
    assert first.settings["seed"] == 3
    assert second.settings["seed"] != 3
    again = sf.learn(table, 0.03, gap=0.01, init="zero", seed=second.settings["seed"])
    np.testing.assert_array_equal(theta_of(second), theta_of(again))
    assert (theta_of(first) != theta_of(second)).any()
