"""Bounds on simulation error: the formulas, and how often they hold."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.certificates import chains_needed, concentration, dobrushin
from sparsefield.datasets import make_field
from sparsefield.inference import Gibbs, Perfect
from support import exact_chains
from support.statistics_ import FALSE_ALARM


def test_sharp_concentration_is_that_of_the_binomial():
    model = make_field(4, seed=1)
    moments = Gibbs(70, 5, seed=1).moments(model)
    found = concentration(model, moments, confidence=0.9, kind="sharp")
    beta = 0.1 / (2 * 10)
    for i in range(4):
        for j in range(4):
            k = round(moments.pair[i, j] * 70)
            interval = stats.binomtest(k, 70).proportion_ci(1 - 2 * beta, method="exact")
            expected = max(interval.high - k / 70, k / 70 - interval.low)
            assert found.pair[i, j] == pytest.approx(expected, rel=1e-6)


def test_concentration_is_the_papers_formula():
    model = make_field(6, strength=(0.2, 0.4), seed=1)
    chains = Gibbs(2000, 10, seed=1).run(model)
    bias = dobrushin(model, 10, kind="paper")
    found = concentration(model, chains.moments(), bias, confidence=0.9)
    q, m = 2000, 21
    beta = 0.1 / (2 * m)
    x = chains.codes().astype(float)
    total = 0.0
    for i in range(6):
        for j in range(i, 6):
            v = (x[:, i] * x[:, j]).var(ddof=1)
            eps = 2 * (np.sqrt(v * np.log(2 / beta) / (2 * q)) + 7 * np.log(2 / beta) / (3 * (q - 1)))
            np.testing.assert_allclose(found.pair[i, j], eps, rtol=1e-9)
            total += eps**2
    np.testing.assert_allclose(found.total, bias.bias + np.sqrt(total), rtol=1e-9)
    np.testing.assert_allclose(found.main, np.diagonal(found.pair))
    assert found.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_concentration_holds_as_often_as_it_says(kind):
    model = make_field(4, edge_probability=0.7, strength=(0.5, 1.0), seed=2)
    exact = model.moments().pair
    failures = 0
    for seed in range(200):
        moments = Perfect(300, seed=seed).moments(model)
        found = concentration(model, moments, confidence=0.8, kind=kind)
        error = moments.pair - exact
        failures += bool(np.any(np.abs(error) > found.pair) or exact_chains.norm(error) > found.total)
    assert failures <= stats.binom.isf(FALSE_ALARM, 200, 0.2)
    sharp = concentration(model, moments, confidence=0.8, kind="sharp")
    assert sharp.total < concentration(model, moments, confidence=0.8, kind="paper").total


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_chains_needed_are_enough_and_no_more(kind):
    model = make_field(8, strength=(0.5, 1.0), seed=1)
    bias = dobrushin(model, 10)
    n = chains_needed(model, model.moments(), 0.2, bias, kind=kind)
    exact = model.moments()

    def total(q):
        rounded = exact.pair if kind == "paper" else np.rint(exact.pair * q) / q
        return concentration(model, type(exact)(np.diagonal(rounded), rounded, q), bias, kind=kind).total

    assert total(n) <= 0.2
    assert total(int(0.99 * n)) > 0.2
    with pytest.raises(ValueError, match=r"bias alone is .* sweep more"):
        chains_needed(model, exact, 0.2, dobrushin(model, 1))
    with pytest.raises(ValueError, match="chains would be needed"):
        chains_needed(model, exact, 1e-7)
