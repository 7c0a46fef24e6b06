"""The estimator that chooses its penalty."""

import numpy as np
import pytest
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import sparsefield as sf
from sparsefield.gradients import BestDraws
from support.problems import make_table, theta_of

TABLE = make_table(5, 400)


@pytest.mark.parametrize("options", [{}, {"schedule": BestDraws(max_states=0), "gap": 0.02}], ids=["states", "draws"])
def test_the_last_fit_is_that_of_sparse_mrf(options):
    mrf = sf.SparseMRF(sf.EBIC(n_alphas=5), random_state=3, **options).fit(TABLE)
    alone = sf.SparseMRF(mrf.alpha_, random_state=3, **options).fit(TABLE)
    np.testing.assert_array_equal(theta_of(mrf), theta_of(alone))
    assert mrf.alpha_ == mrf.choice_.alpha == mrf.fit_.settings["alpha"]
    assert mrf.path_table_.height == 5
    assert mrf.fit_.settings["estimator"] == "SparseMRFCV"
    assert (mrf.n_features_in_, mrf.n_iter_) == (5, len(mrf.trace_))
    assert mrf.score(TABLE) == alone.score(TABLE)


@pytest.mark.parametrize("criterion", ["ebic", "cv", "stars"])
def test_the_choice_is_that_of_select(criterion):
    mrf = sf.SparseMRFCV(n_alphas=4, criterion=criterion, cv=3, n_subsamples=3, beta=0.1, gamma=0.5, random_state=1)
    seed = sf.learning.seed_of(1)
    options = {"n_folds": 3, "n_subsamples": 3, "beta": 0.1, "gamma": 0.5, "seed": seed}
    assert_frame_equal(
        mrf.fit(TABLE.to_frame()).path_table_,
        sf.selection.select(TABLE, criterion=criterion, n_alphas=4, **options).table,
        check_exact=True,
    )
    given = sf.SparseMRFCV([0.3, 0.01], criterion=criterion, cv=3, n_subsamples=3).fit(TABLE)
    assert given.path_table_["alpha"].to_list() == [0.3, 0.01]


def test_relaxed_edges_have_the_frequencies_of_the_table():
    mrf, plain = (
        sf.SparseMRF(sf.EBIC(n_alphas=6, relax=own), solver=sf.Newton(tol=1e-8), random_state=1).fit(TABLE)
        for own in (True, False)
    )
    support = plain.interactions_ != 0
    assert support.any()
    np.testing.assert_array_equal(mrf.interactions_ != 0, support)
    missed = np.abs(mrf.model_.moments().pair - sf.data.moments_of_table(TABLE).pair)[support]
    assert missed.max() <= 1 / (2 * 400) + 1e-8  # what half a row pays, and the norm of the gradient
    assert np.abs(mrf.interactions_).sum() > np.abs(plain.interactions_).sum()
    assert mrf.fit_.settings["choice"] == mrf.choice_.sentence
    assert mrf.alpha_ == plain.alpha_


def test_a_promised_gap_is_certified():
    mrf = sf.SparseMRF(sf.EBIC(n_alphas=3), certify=True, random_state=1).fit(TABLE)
    assert mrf.fit_.optimality.gap <= 0.05


def test_the_estimator_is_one_of_scikit_learn():
    mrf = sf.SparseMRF(sf.HeldOut(alphas=[0.1, 0.05], cv=3, relax=True), random_state=2)
    copy = clone(mrf)
    assert copy.get_params() == mrf.get_params()
    np.testing.assert_array_equal(theta_of(copy.fit(TABLE)), theta_of(mrf.fit(TABLE)))
    codes = TABLE.codes.astype(int)
    pipeline = Pipeline([("flip", FunctionTransformer(lambda x: 1 - x)), ("mrf", clone(mrf))]).fit(codes)
    np.testing.assert_array_equal(theta_of(pipeline["mrf"]), theta_of(clone(mrf).fit(1 - codes)))
    search = GridSearchCV(sf.SparseMRF(sf.EBIC(n_alphas=3), random_state=2), {"criterion": ["ebic", "cv"]}, cv=2).fit(
        codes
    )
    assert search.best_estimator_.alpha_ > 0


def test_a_checkpoint_is_kept(tmp_path):
    mrf = sf.SparseMRF(sf.HeldOut(alphas=[0.1, 0.05], cv=3, checkpoint=tmp_path, n_jobs=1), random_state=2).fit(TABLE)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    again = clone(mrf).fit(TABLE)
    assert_frame_equal(mrf.path_table_, again.path_table_, check_exact=True)
    with pytest.raises(ValueError, match="pieces of another run"):
        clone(mrf).set_params(penalize_main=True).fit(TABLE)


def test_weights_reach_the_choice_and_the_fit():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE))
    rows = TABLE[np.repeat(np.arange(len(TABLE)), weights)]
    own = sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.05, 0.02]), solver=sf.Newton(tol=1e-8)).fit(TABLE, sample_weight=weights)
    other = sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.05, 0.02]), solver=sf.Newton(tol=1e-8)).fit(rows)
    assert own.alpha_ == other.alpha_
    # At the optimum the log-likelihood of a row changes with each of 10 interactions by 1 / (2 n), and criteria are 2 n
    # of them.
    np.testing.assert_allclose(own.path_table_["ebic"], other.path_table_["ebic"], atol=10 * 1e-5)
    np.testing.assert_allclose(theta_of(own), theta_of(other), atol=1e-5)  # no curvature is below 2 tol / 1e-5


@pytest.mark.parametrize("criterion", ["ebic", "cv", "stars"])
def test_missing_values_are_taken(criterion):
    frame = TABLE.to_frame().to_pandas().astype(float)
    frame.iloc[::9, 2] = np.nan
    options = {"n_alphas": 3, "criterion": criterion, "n_subsamples": 2, "cv": 2, "random_state": 1}
    mrf = sf.SparseMRF(sf.EBIC(), **options).fit(frame)
    assert mrf.alpha_ > 0
    assert mrf.model_.domain.n_variables == 5
    assert sf.SparseMRF(sf.EBIC(), **options, missing="drop").fit(frame).alpha_ > 0
    with pytest.raises(ValueError, match="NaN or null"):
        sf.SparseMRF(sf.EBIC(), **options, missing="error").fit(frame)


def test_splitters_of_scikit_learn_make_the_folds():
    table, groups = TABLE[:200], KFold(4)
    own = sf.SparseMRF(sf.HeldOut(n_alphas=4, cv=groups), random_state=1).fit(table)
    pairs = list(groups.split(np.zeros((200, 1))))
    other = sf.SparseMRF(sf.HeldOut(n_alphas=4, cv=pairs), random_state=1).fit(table)
    assert own.path_table_.equals(other.path_table_)
    assert "over 4 folds" in str(own.choice_)
    with pytest.raises(ValueError, match="cv has indices of rows that there are none of: the table has 100 rows"):
        sf.SparseMRF(sf.HeldOut(cv=pairs)).fit(table[:100])


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="n_folds is 401"):
        sf.SparseMRF(sf.HeldOut(cv=401)).fit(TABLE)


@pytest.mark.filterwarnings("ignore:Stopped after max_iter")
def test_edges_of_a_fit_that_ended_early_come_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"The fit whose edges are kept: .*raise max_iter"):
        sf.SparseMRF(sf.EBIC(alphas=[0.005], relax=True), solver=sf.Newton(max_iter=1)).fit(TABLE)
