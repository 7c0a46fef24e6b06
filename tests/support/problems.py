"""Small problems that several rooms try their hands on."""

import numpy as np

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.gradients import Drawn, Point
from sparsefield.inference import Cpu, OutOfReachError
from sparsefield.objective import Problem

# Options of fits that are short on purpose.
QUICK_STEPS = {"max_iter": 5, "n_chains": 200}
QUICK = {"solver": sf.Newton(**QUICK_STEPS), "random_state": 0}


def quick(solver=sf.Newton, **own):
    """Return the options of a fit of a few steps, with others of its solver."""
    return {**QUICK, "solver": solver(**{**QUICK_STEPS, **own})}


def make_problem(p=6, alpha=0.05, n=400, seed=1, strength=(0.5, 1.5), penalize_main=True):
    truth = make_field(p, edge_probability=0.4, strength=strength, seed=seed)
    data = sf.data.moments_of_table(truth.sample(n, method="perfect", seed=seed))
    return Problem.with_l1(data, truth.domain, alpha, penalize_main)


def make_table(p=6, n=1000, seed=1, strength=(0.7, 1.3)):
    return make_field(p, strength=strength, seed=seed).sample(n, method="perfect", seed=seed)


def look_at(problem, theta, schedule, simulation, iteration=1):
    """Return what is known at some parameters by the draws of a schedule, or by all states."""
    point = Point(iteration, theta, problem.model(theta), 1.0)
    estimate = schedule.estimate(problem, point, simulation)
    return Drawn.at(problem, point, estimate, simulation, simulation.n_chains)


def theta_of(found):
    """Return the parameters of a field, of a fit or of an estimator, laid out as in `Problem`."""
    model = getattr(found, "model_", getattr(found, "model", found))
    return model.interactions + np.diag(model.main)


def safe_step(problem):
    """Return 1 / L for L = m / 4: statistics are 0 or 1, so the largest eigenvalue of their covariance is no more."""
    return 4 / (problem.domain.n_slots * (problem.domain.n_slots + 1) / 2)


class Undrawn(Cpu):
    """The processors of this machine, where exact draws are always out of reach."""

    def draw(self, field, n_draws, *, seed, max_sweeps):  # noqa: ARG002
        raise OutOfReachError("There are no exact draws here.")
