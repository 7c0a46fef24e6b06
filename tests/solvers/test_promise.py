"""The gap as a promise."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.gradients import BestDraws
from sparsefield.inference import MOST_ENTRIES, count_entries
from sparsefield.objective import Problem
from sparsefield.solvers import bound_gap


def theta_of(fit):
    return fit.model.interactions + np.diag(fit.model.main)


@pytest.mark.parametrize("gap", [0.02, 0.002])
def test_a_promised_gap_is_kept_and_known_to_be(gap):
    table = sf.datasets.make_field(8, seed=1).sample(500, method="perfect", seed=1)
    fit = sf.learn(table, 0.02, gap=gap, certify=True, schedule=BestDraws(max_states=0), seed=1)
    problem = Problem.with_l1(sf.moments_of_table(table), table.domain, 0.02, penalize_main=False)
    assert bound_gap(problem, theta_of(fit)).bound <= fit.optimality.gap + 1e-9 <= gap + 1e-9
    assert "by enumeration" in fit.status.sentence


def test_the_status_names_the_central_limit_theorem_where_draws_certify():
    table = sf.datasets.make_field(24, degree=2, strength=(0.5, 1.0), seed=1).sample(1000, method="perfect", seed=1)
    assert count_entries(table.domain) > MOST_ENTRIES
    fit = sf.learn(table, 0.03, gap=0.02, certify=True, seed=1)
    assert fit.optimality.kind == "asymptotic"
    assert fit.optimality.gap <= 0.02
    assert fit.status.sentence.endswith("above its optimum, with confidence 0.99, by the central limit theorem.")


def test_a_gap_that_cannot_be_certified_is_said_to_be_none():
    table = sf.datasets.make_field(6, seed=1).sample(300, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[::10, 0] = 255
    fit = sf.learn(sf.Table(table.domain, codes), 0.03, gap=0.01, certify=True, seed=1)
    assert fit.status.code == "not certified"
    assert "The gap asked for, 0.01, is not certified: missing values" in fit.status.sentence
    assert np.isfinite(fit.optimality.subgradient)
