"""Draws as a solver sees them: moments, curvature, and how far they speak for other parameters."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.inference import Chains, EnumeratedStates, Gibbs
from support.statistics_ import assert_moments_agree
from support.zoo import BINARY, ZOO

# Fields of two levels are packed where the processor can; every field can be held as bytes.
HELD = [(name, "bytes") for name in ZOO] + [(name, "packed") for name in BINARY if HAS_AVX2]


@pytest.mark.parametrize(("name", "storage"), HELD)
def test_draws_know_their_moments(name, storage):
    model = ZOO[name]
    d = model.domain.n_slots
    chains = Chains(model.domain, 700, seed=1, storage=storage)
    s = model.domain.indicators(chains.codes())
    a, b = np.triu_indices(d)
    psi = s[:, a] * s[:, b]
    draws = chains.draws()
    counts, scale, _ = draws.second_moments(a, b)
    np.testing.assert_array_equal(counts, psi.T @ psi)
    assert scale == 1 / 700
    move = np.random.default_rng(2).normal(size=(d, d))
    move = np.triu(move) + np.triu(move, 1).T
    values = draws.along(move)
    np.testing.assert_allclose(values, psi @ move[a, b], atol=1e-12)
    np.testing.assert_array_equal(draws.along_some(move[a, b], a, b), values)
    np.testing.assert_allclose(
        draws.along_some(move[a, b][::2], a[::2], b[::2]), psi[:, ::2] @ move[a, b][::2], atol=1e-12
    )
    log_mean, share = draws.reweight(values)
    weights = np.exp(values)
    assert log_mean == pytest.approx(np.log(weights.mean()))
    assert share == pytest.approx(weights.sum() ** 2 / (weights**2).sum() / 700)
    covariance = (psi - psi.mean(axis=0)).T @ values / 700
    np.testing.assert_allclose(draws.project(values)[a, b], covariance, atol=1e-12)
    np.testing.assert_allclose(draws.project_onto(values, a, b), covariance, atol=1e-12)


@pytest.mark.parametrize("storage", ["bytes", *(["packed"] if HAS_AVX2 else [])])
@pytest.mark.parametrize("shape", ["normal", "skewed", "constant", "two values"])
def test_rough_covariances_are_within_their_error(storage, shape, monkeypatch):
    monkeypatch.setattr("sparsefield.inference._draws._MOST_EXACT", 0)
    model = sf.datasets.make_field(13, seed=1)
    rng = np.random.default_rng(3)
    draws = Chains(model.domain, 1300, seed=1, storage=storage).draws()
    along = draws.along(model.interactions)
    values = {
        "normal": along + rng.normal(size=1300),
        "skewed": np.exp(2 * along),
        "constant": np.full(1300, 0.1),
        "two values": np.where(along > np.median(along), 1.0, -3.0),
    }[shape]
    rough, error = draws.project_roughly(values)
    assert np.abs(rough - draws.project(values)).max() <= error + 1e-14
    # Max (1960): with 8 bits rounding leaves 0.01 of the standard deviation of normal values, and half of it counts.
    assert error <= 0.01 * values.std() or shape == "skewed"


def test_enumerated_states_are_draws_without_noise():
    model = ZOO["dense"]
    d = model.domain.n_slots
    exactly, drawn = EnumeratedStates(model), model_draws(model, 200_000).draws()
    np.testing.assert_allclose(exactly.moments.pair, model.moments().pair, atol=1e-12)
    a, b = np.triu_indices(d)
    counts, scale, _ = drawn.second_moments(a, b)
    # Products of indicators are indicators.
    assert_moments_agree(scale * counts, exactly.second_moments(a, b)[0], 200_000)
    move = 0.1 * (model.interactions + np.diag(model.main))
    log_mean, share = exactly.reweight(exactly.along(move))
    other = sf.PairwiseMRF(model.domain, 1.1 * model.main, 1.1 * model.interactions)
    assert log_mean == pytest.approx(float(other.log_partition()) - float(model.log_partition()))
    assert share == 1


def model_draws(model, n):
    return Gibbs(n, 100, seed=1).run(model)
