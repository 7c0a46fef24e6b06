"""Draws in batches: what is certified of them all."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws, Drawn, PerfectDraws, Point, Simulation, negligible_bias
from sparsefield.inference import Cpu
from sparsefield.marks._parameter_marks import find_undecided
from sparsefield.model import as_theta
from sparsefield.objective import Problem
from sparsefield.solvers import NEWTON
from sparsefield.solvers._batched_estimate import estimate_in_batches
from support.problems import Undrawn
from support.zoo import random_field

SMALL = replace(NEWTON, held_always=512, held_each=0, most_cells=0)  # so that a batch has 512 draws


def ask(model, schedule, n, backend=None):
    """Estimate moments of a model from n draws, in batches of 512, and return the problem and the estimate."""
    problem = Problem.with_l1(model.moments(), model.domain, 0.02)
    point = Point(1, as_theta(model), model, 1.0)
    simulation = Simulation(n, seed=1, backend=backend or Cpu())
    return problem, estimate_in_batches(problem, point, schedule, simulation, policy=SMALL)


def test_the_bias_of_batches_is_negligible_beside_the_noise_of_them_all():
    model = random_field([3] * 5, seed=1, scale=0.15)
    n = 20 * 512
    problem, found = ask(model, BestDraws(max_states=0), n, Undrawn())
    assert found.n_chains == n
    assert 0 < found.certificate.total <= negligible_bias(n)
    assert found.chains.n_chains == 512
    # So there are marks, as without batches.
    here = Drawn(problem, as_theta(model), found, found.chains.draws(), n, missing=0.0)
    assert find_undecided(here) is not None


def test_a_bias_below_the_noise_of_a_batch_and_not_of_all_is_not_certified():
    model = random_field([3] * 5, seed=1, scale=0.15)
    m = 10 + 40  # statistics: two slots of each of five variables, and ten pairs of variables with four pairs of slots
    n, n_sweeps = 100 * 512, 3
    _, one = ask(model, BestDraws(max_states=0, gibbs_sweeps=n_sweeps), 512, Undrawn())
    assert one.certificate.total <= np.sqrt(m / 512) / 8
    assert one.is_certified
    assert one.certificate.total > np.sqrt(m / n) / 8
    assert not ask(model, BestDraws(max_states=0, gibbs_sweeps=n_sweeps), n, Undrawn())[1].is_certified


class Fails:
    """Exact draws, which in the second batch are said to be worse."""

    def __init__(self, has_certificate):
        self.n_batches, self.has_certificate = 0, has_certificate

    def estimate(self, problem, point, simulation):
        self.n_batches += 1
        found = PerfectDraws().estimate(problem, point, simulation)
        if self.n_batches != 2:
            return found
        certificate = replace(found.certificate, bias=0.1) if self.has_certificate else None
        said = {"reason": "too strong", "remedy": "Wait."}
        return replace(found, certificate=certificate, is_certified=self.has_certificate, **said)


@pytest.mark.parametrize("has_certificate", [True, False])
def test_batches_say_what_was_in_the_way_of_the_worst(has_certificate):
    model = make_field(5, seed=1)
    _, found = ask(model, Fails(has_certificate), 3 * 512)
    assert (found.reason, found.remedy) == ("too strong", "Wait.")
    assert found.is_certified == has_certificate
    assert (found.certificate is not None) == has_certificate
    assert ask(model, PerfectDraws(), 3 * 512)[1].reason == "exact draws"
