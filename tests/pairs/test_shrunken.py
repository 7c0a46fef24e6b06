"""Weights given what all pairs tell of how large weights are."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import chi2, norm

import sparsefield as sf
from sparsefield.pairs._shrunken import Shrunken
from sparsefield.structure import learn_prior


def test_what_is_expected_of_a_weight_is_the_mean_of_a_spike_and_a_slab():
    rng = np.random.default_rng(1)
    weights = np.where(rng.random(60) < 0.4, rng.normal(0, 1.2, 60), 0.0)
    error = rng.uniform(0.1, 0.6, 60)
    estimate = weights + rng.normal(0, error)
    p_value = 2 * norm.sf(np.abs(estimate) / error)
    found = Shrunken.of(estimate, error, p_value)
    prior = learn_prior(estimate**2, chi2.isf(p_value, 1), np.ones(60), error**2)
    for k in range(0, 60, 7):
        slab = norm(0, np.sqrt(prior.variance))

        def posterior(t, k=k, slab=slab):
            return slab.pdf(t) * norm.pdf(estimate[k], t, error[k])

        def mean_of(function, posterior=posterior, at=estimate[k]):
            return quad(lambda t: function(t) * posterior(t), -12, 12, points=[0.0, at], limit=200)[0]

        evidence, none = mean_of(lambda _: 1.0), norm.pdf(estimate[k], 0, error[k])
        chance = expit(np.log(prior.share / (1 - prior.share)) + np.log(evidence / none))
        for name, function in (("mean", lambda t: t), ("size", abs)):
            first, second = (chance * mean_of(own) / evidence for own in (function, lambda t: t**2))
            assert getattr(found, name)[k] == pytest.approx(first, abs=1e-6)
            spread = "variance" if name == "mean" else "size_variance"
            assert getattr(found, spread)[k] == pytest.approx(second - first**2, abs=1e-6)


@pytest.mark.parametrize("strength", [(0.1, 0.6), (0.5, 1.5)])
def test_intervals_of_strengths_hold_those_of_the_edges_that_were_found(strength):
    held, sums = [], []
    for seed in range(40):
        truth = sf.datasets.make_field(10, degree=2.5, strength=strength, seed=seed)
        found = sf.infer(truth.sample(400, method="perfect", seed=seed))
        true = np.abs(truth.interactions[tuple(found.pairs.T)]) * found.is_edge
        for node, row in enumerate(found.nodes.iter_rows(named=True)):
            own = true[(found.pairs == node).any(axis=1)].sum()
            if row["edges"]:
                held.append(row["strength_low"] <= own <= row["strength_high"])
            else:
                assert row["strength_low"] is None
        _, low, high = found.total
        sums.append(low <= true.sum() <= high)
    # Nodes of one table share edges. Of fair intervals of as few as 40 independent ones 34 hold at least, but for a
    # probability of 4e-3; sums of estimates that are not shrunken hold 50 and 68 of 100.
    assert np.mean(held) > 0.85
    assert np.mean(sums) > 0.8
