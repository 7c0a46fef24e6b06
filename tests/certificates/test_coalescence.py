"""Certificates from bounding chains against their exact law."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.certificates import coalescence, dobrushin, influence_matrix
from sparsefield.certificates._coalescence import certify_bounds, upper_limits
from sparsefield.certificates._influence import spectral_radius
from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Scan
from support import naive
from support.random_fields import assert_holds, worst_errors
from support.statistics_ import FALSE_ALARM

STRONG = [make_field(4, edge_probability=1.0, strength=(2.0, 4.0), main=False, seed=seed) for seed in (0, 2)]


def open_probabilities(model, n_sweeps):
    """Return the probability that bounding chains leave each statistic open, and that they leave any open."""
    p = model.domain.n_variables
    law = naive.bounding_law(model.main.tolist(), model.interactions.tolist(), n_sweeps)
    share = np.zeros((p, p))
    for state, mass in law.items():
        low, high = np.array(state).T
        share += mass * (np.outer(high, high) - np.outer(low, low))
    return share, sum(mass for state, mass in law.items() if any(low != high for low, high in state))


@pytest.mark.parametrize("model", STRONG)
@pytest.mark.parametrize("n_sweeps", [1, 3, 8])
def test_bounding_chains_are_open_as_often_as_they_should(model, n_sweeps):
    n = 200_000
    bounds = BoundingChains(model.domain, n, seed=5)
    bounds.sweep(Scan(model, n_planes=2), n_sweeps)
    share, any_open = open_probabilities(model, n_sweeps)
    found = np.append(bounds.open_counts().ravel(), bounds.n_open)
    expected = np.append(share.ravel(), any_open)
    t = np.log(2 * expected.size / FALSE_ALARM)
    allowed = np.sqrt(2 * expected * (1 - expected) * t / n) + 2 * t / (3 * n)
    assert np.all(np.abs(found / n - expected) <= allowed)


@pytest.mark.parametrize("model", STRONG)
@pytest.mark.parametrize("n_sweeps", [1, 4])
def test_coalescence_fails_no_more_often_than_it_says(model, n_sweeps):
    # 1000 seeds, since 200 do not tell limits without the union over statistics apart from limits with it.
    assert spectral_radius(influence_matrix(model))[0] > 1.5
    n_seeds, confidence = 1000, 0.8
    share, _ = open_probabilities(model, n_sweeps)
    errors, bias = list(worst_errors(model, n_sweeps))[-1]
    together, one, biased = 0, 0, 0
    for seed in range(n_seeds):
        bounds = BoundingChains(model.domain, 300, seed=seed)
        bounds.sweep(Scan(model, n_planes=2), n_sweeps)
        certificate = certify_bounds(model, bounds, confidence=confidence)
        assert np.all((certificate.pair >= 0) & (certificate.pair <= 1))
        together += bool(np.any(share > certificate.pair))
        # One statistic alone, at its own level.
        one += upper_limits(bounds.open_counts()[:1, 0], 300, 1 - confidence)[0] < share[0, 0]
        biased += bool(bias > certificate.bias or np.any(errors > certificate.pair))
    most = stats.binom.isf(FALSE_ALARM, n_seeds, 1 - confidence)
    assert together <= most
    assert biased <= most
    # The limits are no wider than they must be: one of them alone does fail now and then.
    assert 0 < one <= most


@pytest.mark.parametrize("seed", range(8))
def test_coalescence_exceeds_the_exact_bias(seed):
    model = make_field(7, edge_probability=0.6, strength=(1.0, 2.0), seed=seed)
    for t, (errors, bias) in enumerate(worst_errors(model, 20), start=1):
        certificate = coalescence(model, t, 2000, seed=seed, confidence=1 - FALSE_ALARM)
        assert_holds(certificate, errors, bias)
    assert certificate.confidence == 1 - FALSE_ALARM


def test_coalescence_certifies_where_the_papers_bound_diverges():
    model = make_field(20, seed=1)
    assert spectral_radius(influence_matrix(model))[0] > 2
    assert dobrushin(model, 100, kind="paper").is_vacuous
    certificate = coalescence(model, 100, 20_000, seed=1)
    assert certificate.bias < 0.01
    assert not certificate.is_vacuous


def test_limits_are_those_of_clopper_and_pearson():
    n, failure = 50, 0.03
    counts = np.array([[0, 1, 49], [50, 7, 7]])
    found = upper_limits(counts, n, failure)
    for k, limit in zip(counts.ravel(), found.ravel(), strict=True):
        # The largest probability at which as few as k out of n are not yet rarer than `failure`.
        assert limit == 1 if k == n else stats.binom.cdf(k, n, limit) == pytest.approx(failure, rel=1e-9)


def test_coalescence_takes_the_smaller_of_two_limits():
    model = make_field(6, strength=(1.0, 2.0), seed=1)
    for n_sweeps in (1, 30):
        bounds = BoundingChains(model.domain, 900, seed=3)
        bounds.sweep(Scan(model, n_planes=2), n_sweeps)
        own = upper_limits(bounds.open_counts(), 900, 0.1 / 2 / 21)
        everything = upper_limits(np.array([bounds.n_open]), 900, 0.1 / 2)
        found = certify_bounds(model, bounds, confidence=0.9)
        np.testing.assert_allclose(found.pair, np.minimum(own, everything), rtol=1e-12)
    with pytest.raises(ValueError, match="of other variables"):
        certify_bounds(make_field(5, seed=1), bounds)
