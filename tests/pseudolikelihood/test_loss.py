"""The pseudo-likelihood: its value, slope and curvature."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.pseudolikelihood import PSEUDO, PseudoLikelihoodLoss
from support.problems import make_table
from support.zoo import ZOO


def test_large_tables_are_not_held_as_floats():
    observed = make_table(6, 500)
    weights = np.ones(500)
    held = PseudoLikelihoodLoss(observed, weights)
    policy = replace(PSEUDO, most_held=0, rows_at_once=64)
    streamed = PseudoLikelihoodLoss(observed, weights, policy=policy)
    assert streamed._held is None
    theta = make_field(6, seed=3).interactions
    for own, other in zip(streamed.evaluate(theta), held.evaluate(theta), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)
    single = PseudoLikelihoodLoss(observed, weights, policy=replace(policy, most_double=0))
    assert single.dtype == np.float32
    for own, other in zip(single.evaluate(theta), held.evaluate(theta), strict=True):
        np.testing.assert_allclose(own, other, atol=500 * 2**-24)  # sums of 500 terms up to 1


@pytest.mark.parametrize("name", ["dense", "three levels", "mixed, no reference"])
def test_blocks_of_curvature_are_the_hessian(name):
    model = ZOO[name]
    observed = sf.Table(model.domain, model.sample(300, n_sweeps=20, seed=1).codes)
    loss = PseudoLikelihoodLoss(observed, np.ones(300))
    inside = (model.domain.slot_variables[:, None] == model.domain.slot_variables) & ~np.eye(
        model.domain.n_slots, dtype=bool
    )
    theta = model.interactions + np.diag(model.main)
    blocks, starts = loss.curvatures(theta, ~inside)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = np.where(inside, 0.0, rng.normal(0, 1, theta.shape))
        step = np.triu(step) + np.triu(step, 1).T
        # Double precision: differences at 1e-4 are right to about 1e-7.
        change = loss.evaluate(theta + 1e-4 * step)[1] - loss.evaluate(theta - 1e-4 * step)[1]
        along = np.triu(change * step).sum() / 2e-4
        quadratic = 0.0
        for i in range(model.domain.n_variables):
            slots = model.domain.slot_variables == i
            own = step[slots][~inside[slots]]
            quadratic += own @ blocks[starts[i] : starts[i + 1]].reshape(len(own), -1) @ own / 2
        assert along == pytest.approx(quadratic, rel=1e-5)
