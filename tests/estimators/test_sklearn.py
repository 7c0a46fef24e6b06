"""Scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparsefield as sf
from sparsefield import PseudoLikelihood, SparseMRF, TableError
from support.problems import QUICK

CHECKED = [SparseMRF(**QUICK), SparseMRF(sf.EBIC(n_alphas=2), **QUICK), PseudoLikelihood(max_iter=20)]


def expected_failures(_):
    """Name the checks that feed what is not a table of levels."""
    return {
        "check_sample_weight_equivalence_on_dense_data": "its columns are continuous",
        "check_positive_only_tag_during_fit": "it centres whole numbers, which makes them continuous",
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*constant")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", CHECKED, ids=["number", "rule", "pseudo-likelihood"])
def test_checks_that_fail_do_so_for_the_reason_that_is_given(estimator):
    for name in expected_failures(estimator):
        with pytest.raises((AssertionError, TableError)) as caught:
            getattr(estimator_checks, name)(type(estimator).__name__, estimator)
        error = caught.value if isinstance(caught.value, TableError) else caught.value.__cause__
        assert "is continuous" in str(error)


@pytest.mark.parametrize("estimator", CHECKED, ids=["number", "rule", "pseudo-likelihood"])
def test_what_these_checks_ask_holds_for_levels(estimator):
    """A weight is a number of copies of a row, and levels may be negative."""
    rng = np.random.default_rng(1)
    X, weights = rng.integers(-1, 2, (60, 3)), rng.integers(0, 4, 60)
    X[:, 1] = np.where(rng.random(60) < 0.8, X[:, 0], X[:, 1])
    tol = 1e-10
    exact = {"solver": sf.Newton(schedule="exact", max_iter=50, tol=tol)}
    options = exact if isinstance(estimator, SparseMRF) else {"tol": tol}
    options |= {"alpha__alphas": [0.02]} if isinstance(estimator.alpha, sf.EBIC) else {"alpha": 0.02}
    one, other = (clone(estimator).set_params(**options) for _ in range(2))
    one.fit(X, sample_weight=weights)
    other.fit(np.repeat(X, weights, axis=0))
    assert one.model_.domain == other.model_.domain
    assert one.model_.domain.levels[0] == (-1, 0, 1)
    assert np.abs(other.interactions_).max() > 0.1
    # Subgradients are below tol at both, and the least eigenvalue of the curvature at the optimum is 0.0018.
    np.testing.assert_allclose(one.interactions_, other.interactions_, atol=2 * tol / 0.0018)
