"""Missing cells and weights."""

import numpy as np
import pandas as pd
import pytest

import sparsefield as sf
from sparsefield import SparseMRF
from sparsefield.inference import OutOfReachError
from sparsefield.objective import Problem
from support.problems import QUICK, make_table, quick, theta_of

# Most fits here are short on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Stopped after max_iter")


def test_weights_are_repeated_rows():
    observed = make_table(5, 60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    options = {"alpha": 0.05, "solver": sf.Newton(schedule="exact", max_iter=50)}
    weighted = SparseMRF(**options).fit(observed, sample_weight=weights)
    repeated = sf.Table(observed.domain, np.repeat(observed.codes, weights, axis=0))
    np.testing.assert_allclose(theta_of(weighted), theta_of(SparseMRF(**options).fit(repeated)), atol=1e-12)
    for bad in (np.ones(59), -np.ones(60), np.full(60, np.nan), ["often"] * 60):
        with pytest.raises(ValueError, match="Weights must be 60 numbers"):
            SparseMRF(**options).fit(observed, sample_weight=bad)
    with pytest.raises(ValueError, match="add up to zero"):
        SparseMRF(**options).fit(observed, sample_weight=np.zeros(60))


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize("schedule", ["auto", "perfect"])
def test_modelled_missing_values_cost_less_than_filled_or_dropped_ones(schedule, penalize_main, seed):
    observed = make_table(8, 2000, seed=seed)
    whole = observed.codes.astype(float)
    incomplete = whole.copy()
    incomplete[np.random.default_rng(0).random(incomplete.shape) < 0.3] = np.nan
    options = {"solver": sf.Newton(schedule=schedule), "penalize_main": penalize_main, "random_state": 1}
    # What they cost is measured on the whole table: how far its objective is above the optimum.
    problem = Problem.with_l1(sf.data.moments_of_table(observed), observed.domain, 0.02, penalize_main)
    lowest = problem.objective(
        theta_of(SparseMRF(0.02, solver=sf.Newton(tol=1e-8), penalize_main=penalize_main).fit(whole))
    )
    cost = {
        m: problem.objective(theta_of(SparseMRF(0.02, missing=m, **options).fit(incomplete))) - lowest
        for m in ("model", "zero", "drop")
    }
    assert 0 < cost["model"] < min(cost["zero"], cost["drop"])


def test_nothing_hidden_is_the_same_fit_bit_for_bit():
    observed = make_table()
    fits = [theta_of(SparseMRF(missing=m, **QUICK).fit(observed)) for m in ("model", "zero", "drop", "error")]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)


def test_gradients_are_not_certified_where_missing_values_are_filled_by_chains(monkeypatch):
    # Three levels in 13 columns can be filled in more than 2^20 ways, and exact draws may not meet.
    def refuse(*_, **__):
        raise OutOfReachError("They do not meet.", reason="exact draws of missing values are out of reach")

    monkeypatch.setattr("sparsefield.inference._backend.draw_missing", refuse)
    codes = np.random.default_rng(1).integers(0, 3, (60, 13)).astype(float)
    codes[0] = np.nan
    for schedule in ("tay", "auto"):
        mrf = SparseMRF(0.2, **quick(schedule=schedule)).fit(codes)
        assert mrf.certificate_ is None
        assert not mrf.trace_["is_certified"].any()
        assert "filled by Gibbs chains without a certificate" in mrf.trace_["reason"][0]


def test_weights_of_zero_are_rows_that_are_not_there():
    observed = make_table(5, 300)
    incomplete = sf.Table(observed.domain, observed.codes.copy())
    incomplete.codes[:100, 0] = 255
    for counted in (slice(0, 100), slice(100, 300), slice(50, 150)):
        weights = np.zeros(300)
        weights[counted] = 0.3
        weighted = SparseMRF(0.05, **quick(sf.Proximal)).fit(incomplete, sample_weight=weights)
        alone = SparseMRF(0.05, **quick(sf.Proximal)).fit(sf.Table(incomplete.domain, incomplete.codes[counted]))
        np.testing.assert_allclose(theta_of(weighted), theta_of(alone), atol=1e-9)


def test_missing_values_with_weights_and_in_every_row():
    rng = np.random.default_rng(1)
    codes = make_table(5, 400).codes.astype(float)
    codes[np.arange(400), rng.integers(0, 5, 400)] = np.nan
    mrf = SparseMRF(0.05, **QUICK).fit(codes, sample_weight=rng.random(400))
    assert np.isfinite(theta_of(mrf)).all()
    with pytest.raises(ValueError, match="Every row has a missing value"):
        SparseMRF(missing="drop", **QUICK).fit(codes)
    with pytest.raises(ValueError, match=r"contains NaN.*missing='model'"):
        SparseMRF(missing="error", **QUICK).fit(codes)
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "v", "v"]})
    with pytest.raises(ValueError, match=r"1 missing value .*column 'a'"):
        SparseMRF(missing="error", **QUICK).fit(frame)
    with pytest.raises(ValueError, match="missing is 'guess'"):
        SparseMRF(missing="guess", **QUICK).fit(frame)
