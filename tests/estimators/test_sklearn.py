"""Scikit-learn's contract."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from problems import QUICK
from sparsefield import PseudoLikelihood, SparseMRF, SparseMRFCV


def expected_failures(estimator):
    """Name the checks that feed what is not a table of levels."""
    found = {"check_sample_weight_equivalence_on_dense_data": "its columns are continuous"}
    if not isinstance(estimator, PseudoLikelihood):  # takes NaN, so that it is given floats
        found["check_positive_only_tag_during_fit"] = "it centres whole numbers, which makes them continuous"
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*constant")
@parametrize_with_checks(
    [SparseMRF(**QUICK), SparseMRFCV(n_alphas=2, **QUICK), PseudoLikelihood(max_iter=20)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
