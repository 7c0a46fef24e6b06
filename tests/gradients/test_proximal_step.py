"""Proximal steps: those that are made in one pass are those of any penalty, and the bound on their norm holds."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield.data import Moments
from sparsefield.gradients import ProximalStep
from sparsefield.objective import L1
from support.problems import make_problem


class General(L1):
    """The L1 penalty, were it not known that it is a soft threshold."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "is_threshold", False)


def make_theta(rng):
    theta = rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.5)
    return theta + theta.T


def moments_of(pair):
    return Moments.of_pairs(pair, 100)


def test_steps_and_norms_in_one_pass_are_those_of_any_penalty():
    problem = make_problem(6, 0.04, seed=2)
    general = replace(problem, penalty=General(problem.domain, problem.penalty.alpha, problem.penalty.main))
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta, pair = make_theta(rng), np.abs(make_theta(rng)) / 10
        fast, slow = (ProximalStep(own, theta, 0.3) for own in (problem, general))
        for found, expected in zip(fast.take(moments_of(pair)), slow.take(moments_of(pair)), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert fast.norm(moments_of(pair)) == pytest.approx(slow.norm(moments_of(pair)), rel=1e-12)
        # The bound is over all moments, and some that are near the ends come near to it.
        most = fast.largest_norm()
        ends = [np.full((6, 6), end) for end in (0.0, 1.0)]
        tried = [fast.norm(moments_of(own)) for own in (pair, *ends)]
        assert most / 2 < max(tried) <= most
        assert slow.largest_norm() == np.inf
        assert slow.rule() is None
