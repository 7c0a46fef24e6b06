"""Many draws in batches, of which no more are held than memory allows and the curvature needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsefield._kernels._bytes import BLOCK
from sparsefield._seeds import Use
from sparsefield.certificates import Certificate, hold_together
from sparsefield.data import Moments
from sparsefield.gradients import Estimate, Point, Schedule, Simulation
from sparsefield.model import row_parts
from sparsefield.objective import Problem, size_of_working_set
from sparsefield.solvers._newton_policy import NEWTON, NewtonPolicy


def estimate_in_batches(
    problem: Problem, point: Point, schedule: Schedule, simulation: Simulation, *, policy: NewtonPolicy = NEWTON
) -> Estimate:
    """Return moments of many draws, of which no more are kept than the curvature needs and memory allows."""
    size = max(1, problem.domain.n_slots)
    most = max(BLOCK, policy.most_cells // size, policy.cells_a_pair * size)
    held = min(most, max(policy.held_always, policy.held_each * size_of_working_set(point.theta)))
    total = simulation.n_chains
    first = schedule.estimate(problem, point, replace(simulation, n_chains=min(held, total), n_total=total))
    if first.is_exact or first.n_chains == total:
        return first
    found = [first]
    n = first.n_chains
    while held <= n < total:
        seed = simulation.seed_of(point.iteration, Use.BATCHES + len(found))
        some = replace(simulation, n_chains=min(most, total - n), n_total=total, seed=seed)
        found.append(schedule.estimate(problem, point, some))
        n += found[-1].n_chains
    return _join(found, n)


def _join(found: list[Estimate], n: int) -> Estimate:
    """Join batches: moments of all of them, what is said of the worst, and the chains of the first."""
    pair = found[0].n_chains * found[0].moments.pair
    for own in found[1:]:
        for rows in row_parts(len(pair)):
            pair[rows] += own.n_chains * own.moments.pair[rows]
    pair /= n
    known = [own.certificate for own in found if own.certificate is not None]
    worst = max(found, key=_rank)
    return replace(
        found[0],
        moments=Moments.of_pairs(pair, n),
        certificate=_join_certificates(known) if len(known) == len(found) else None,
        is_certified=worst.is_certified,
        reason=worst.reason,
        remedy=worst.remedy,
    )


def _rank(own: Estimate) -> tuple[bool, float]:
    """Return by what the worst of several estimates is found: whether a certificate is lacking, and how large it is."""
    return not own.is_certified, np.inf if own.certificate is None else own.certificate.total


def _join_certificates(known: list[Certificate]) -> Certificate:
    """Return the worst of several certificates, with the confidence that all of them hold."""
    worst = max(known, key=lambda own: own.total)
    return replace(worst, confidence=hold_together([own.confidence for own in known]))
