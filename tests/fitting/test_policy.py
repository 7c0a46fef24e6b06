"""What a policy of a fit reaches: missing values, proximal gradient steps and certificates."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.fitting import FITTING, Learner, Options
from sparsefield.inference import EnumerationPolicy
from sparsefield.objective import COMPLETED
from sparsefield.optimality import GAPS
from sparsefield.solvers import PROXIMAL
from sparsefield.tables import read_rows
from support.problems import QUICK_STEPS, make_table

DRAWN = replace(FITTING, completed=replace(COMPLETED, enumeration=EnumerationPolicy(always_cheap=1, states_per_cell=0)))


def make_incomplete():
    codes = make_table().codes.astype(float)
    codes[np.random.default_rng(1).random(codes.shape) < 0.2] = np.nan
    return sf.encode(codes)


def learn(table, policy=FITTING, alpha=0.03, **options):
    return Learner(read_rows(table), Options(**options), policy=policy).learn(alpha)


@pytest.mark.parametrize("policy", [FITTING, DRAWN], ids=["enumerated", "drawn"])
@pytest.mark.parametrize("schedule", ["tay", "perfect", "exact", "auto"])
def test_gradients_with_missing_values_are_certified_where_these_are_drawn_exactly(schedule, policy):
    fit = learn(make_incomplete(), policy, solver=sf.Newton(schedule=schedule, **QUICK_STEPS))
    assert fit.steps[-1].certificate is not None
    assert fit.trace["is_certified"].any()


def test_bounds_on_the_simulation_error_do_not_speak_for_drawn_missing_values():
    steps = sf.Proximal(schedule="conservative", **QUICK_STEPS)
    enumerated, drawn = (learn(make_incomplete(), policy, solver=steps) for policy in (FITTING, DRAWN))
    assert enumerated.steps[-1].certificate is not None
    assert all(step.certificate is None for step in drawn.steps)
    assert not drawn.trace["is_certified"].any()
    assert "the simulation error of missing values is not part of the bound" in drawn.trace["reason"][0]


def test_a_policy_says_how_a_gap_is_certified():
    policy = replace(FITTING, gaps=replace(GAPS, confidence=0.9, most_attempts=1))
    table = sf.datasets.make_field(30, degree=2, strength=(0.3, 0.6), seed=1).sample(500, method="perfect", seed=1)
    fits = [learn(table, own, 0.05, gap=0.1, certify=True) for own in (FITTING, policy)]
    assert [fit.optimality.confidence for fit in fits] == [0.99, 0.9]


def test_a_policy_says_when_gradient_steps_lead_nowhere_any_more():
    policy = replace(FITTING, proximal=replace(PROXIMAL, window=3))
    fit = learn(make_table(), policy, solver=sf.Proximal(schedule="perfect", n_chains=200))
    assert fit.status.code == "simulation_error"
    assert "in the last 6 it went no further" in fit.status.sentence
