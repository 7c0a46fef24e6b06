"""Penalties that rules choose for the estimator."""

import numpy as np
import pytest
from polars.testing import assert_frame_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import sparsefield as sf
from sparsefield.gradients import BestDraws
from support.problems import make_table, theta_of

TABLE = make_table(5, 400)


DRAWS = {"solver": sf.Newton(schedule=BestDraws(max_states=0)), "gap": 0.02}


@pytest.mark.parametrize("options", [{}, DRAWS], ids=["states", "draws"])
def test_the_last_fit_is_that_of_sparse_mrf(options):
    mrf = sf.SparseMRF(sf.EBIC(n_alphas=5), random_state=3, **options).fit(TABLE)
    alone = sf.SparseMRF(mrf.alpha_, random_state=3, **options).fit(TABLE)
    np.testing.assert_array_equal(theta_of(mrf), theta_of(alone))
    assert mrf.alpha_ == mrf.choice_.alpha == mrf.fit_.settings["alpha"]
    assert mrf.choice_.table.height == 5
    assert mrf.fit_.settings["estimator"] == "SparseMRF"
    assert (mrf.n_features_in_, mrf.n_iter_) == (5, len(mrf.trace_))
    assert mrf.score(TABLE) == alone.score(TABLE)


@pytest.mark.parametrize(
    ("rule", "own"),
    [(sf.EBIC, {"gamma": 0.5}), (sf.HeldOut, {"cv": 3}), (sf.StARS, {"n_subsamples": 3, "beta": 0.1})],
    ids=lambda own: getattr(own, "__name__", ""),
)
def test_the_choice_is_that_of_select(rule, own):
    mrf = sf.SparseMRF(rule(n_alphas=4, **own), random_state=1).fit(TABLE.to_frame())
    expected = sf.selection.select(TABLE, rule(n_alphas=4, **own), seed=1)
    assert_frame_equal(mrf.choice_.table, expected.table, check_exact=True)
    assert mrf.choice_.alpha == expected.alpha == mrf.alpha_
    given = sf.SparseMRF(rule(alphas=[0.3, 0.01], **own), random_state=1).fit(TABLE)
    assert given.choice_.table["alpha"].to_list() == [0.3, 0.01]


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
    rules = [sf.EBIC(n_alphas=3), sf.HeldOut(cv=3, n_alphas=3)]
    search = GridSearchCV(sf.SparseMRF(random_state=2), {"alpha": rules}, cv=2).fit(codes)
    assert search.best_estimator_.alpha_ > 0


def test_searches_set_the_parameters_of_rules():
    mrf, codes = sf.SparseMRF(sf.EBIC(n_alphas=6), random_state=2), TABLE.codes.astype(int)
    assert mrf.get_params()["alpha__gamma"] == 0.25
    search = GridSearchCV(mrf, {"alpha__gamma": [0.0, 1.0]}, cv=2).fit(codes)
    assert search.best_params_["alpha__gamma"] in (0.0, 1.0)
    assert search.best_estimator_.alpha == sf.EBIC(gamma=search.best_params_["alpha__gamma"], n_alphas=6)
    assert (mrf.alpha.gamma, mrf.alpha.n_alphas) == (0.25, 6)  # that of the estimator which was given
    for gamma, score in zip((0.0, 1.0), search.cv_results_["split0_test_score"], strict=True):
        alone = sf.SparseMRF(sf.EBIC(gamma, n_alphas=6), random_state=2).fit(codes[200:])
        assert alone.score(codes[:200]) == score
    copy = clone(mrf).set_params(alpha__gamma=0.5)
    assert (copy.alpha.gamma, mrf.alpha.gamma) == (0.5, 0.25)
    with pytest.raises(ValueError, match="EBIC has no parameter 'strength'"):
        copy.set_params(alpha__strength=1.0)


class Largest:
    """A rule of one's own, as plain as can be: a share of the largest penalty."""

    def __init__(self, share=0.5):
        self.share = share

    def choose(self, learner, **_):
        return self.share * sf.selection.alpha_max(learner.table)


def test_a_rule_of_ones_own_chooses():
    rule = Largest()
    mrf = sf.SparseMRF(rule, random_state=1).fit(TABLE)
    assert mrf.alpha_ == 0.5 * sf.selection.alpha_max(TABLE) == mrf.fit_.alpha
    assert mrf.choice_ is None
    np.testing.assert_array_equal(theta_of(mrf), theta_of(sf.learn(TABLE, mrf.alpha_, seed=1)))
    np.testing.assert_array_equal(theta_of(mrf), theta_of(sf.learn(TABLE, rule, seed=1)))
    copy = clone(mrf)
    assert copy.alpha is not rule
    assert copy.alpha.share == 0.5
    np.testing.assert_array_equal(theta_of(copy.fit(TABLE)), theta_of(mrf))
    search = GridSearchCV(sf.SparseMRF(random_state=1), {"alpha": [Largest(0.9), Largest(0.1)]}, cv=2).fit(TABLE.codes)
    assert search.best_params_["alpha"].share == 0.1
    assert sf.bootstrap(sf.SparseMRF(rule, random_state=1), TABLE, n=2).fit.alpha == mrf.alpha_


class Searched(Largest, BaseEstimator):
    """The same with parameters that scikit-learn knows."""


def test_searches_set_the_parameters_of_a_rule_of_ones_own():
    mrf = sf.SparseMRF(Searched(), random_state=1)
    search = GridSearchCV(mrf, {"alpha__share": [0.9, 0.1]}, cv=2).fit(TABLE.codes)
    assert search.best_params_ == {"alpha__share": 0.1}
    assert search.best_estimator_.alpha_ == 0.1 * sf.selection.alpha_max(TABLE)
    assert mrf.alpha.share == 0.5


def test_the_name_of_before_makes_the_estimator_with_a_rule():
    with pytest.warns(FutureWarning, match=r"SparseMRFCV is SparseMRF\(EBIC\(\.\.\.\)\), or HeldOut, or StARS, now"):
        make = sf.SparseMRFCV
    assert make is sf.estimators.SparseMRFCV
    pairs = (
        (make([0.1, 0.05], gamma=0.5, random_state=1), sf.EBIC(0.5, alphas=[0.1, 0.05])),
        (make(criterion="cv", cv=3, n_alphas=4, relax=True), sf.HeldOut(3, n_alphas=4, relax=True)),
        (make(criterion="stars", beta=0.1, n_subsamples=3, n_jobs=2), sf.StARS(0.1, 3, n_jobs=2)),
    )
    for mrf, rule in pairs:
        assert isinstance(mrf, sf.SparseMRF)
        assert mrf.alpha == rule
    assert (pairs[0][0].random_state, pairs[0][0].solver) == (1, "newton")
    assert pairs[0][0].fit(TABLE).alpha_ in (0.1, 0.05)


def test_a_checkpoint_is_kept(tmp_path):
    mrf = sf.SparseMRF(sf.HeldOut(alphas=[0.1, 0.05], cv=3, checkpoint=tmp_path, n_jobs=1), random_state=2).fit(TABLE)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    again = clone(mrf).fit(TABLE)
    assert_frame_equal(mrf.choice_.table, again.choice_.table, check_exact=True)
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
    np.testing.assert_allclose(own.choice_.table["ebic"], other.choice_.table["ebic"], atol=10 * 1e-5)
    np.testing.assert_allclose(theta_of(own), theta_of(other), atol=1e-5)  # no curvature is below 2 tol / 1e-5


@pytest.mark.parametrize(
    "rule",
    [sf.EBIC(n_alphas=3), sf.HeldOut(cv=2, n_alphas=3), sf.StARS(n_subsamples=2, n_alphas=3)],
    ids=lambda own: type(own).__name__,
)
def test_missing_values_are_taken(rule):
    frame = TABLE.to_frame().to_pandas().astype(float)
    frame.iloc[::9, 2] = np.nan
    mrf = sf.SparseMRF(rule, random_state=1).fit(frame)
    assert mrf.alpha_ > 0
    assert mrf.model_.domain.n_variables == 5
    assert sf.SparseMRF(rule, random_state=1, missing="drop").fit(frame).alpha_ > 0
    with pytest.raises(ValueError, match="NaN or null"):
        sf.SparseMRF(rule, random_state=1, missing="error").fit(frame)


def test_splitters_of_scikit_learn_make_the_folds():
    table, groups = TABLE[:200], KFold(4)
    own = sf.SparseMRF(sf.HeldOut(n_alphas=4, cv=groups), random_state=1).fit(table)
    pairs = list(groups.split(np.zeros((200, 1))))
    other = sf.SparseMRF(sf.HeldOut(n_alphas=4, cv=pairs), random_state=1).fit(table)
    assert own.choice_.table.equals(other.choice_.table)
    assert "over 4 folds" in str(own.choice_)
    with pytest.raises(ValueError, match="cv has indices of rows that there are none of: the table has 100 rows"):
        sf.SparseMRF(sf.HeldOut(cv=pairs)).fit(table[:100])


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="cv is 401"):
        sf.SparseMRF(sf.HeldOut(cv=401)).fit(TABLE)


@pytest.mark.filterwarnings("ignore:Stopped after max_iter")
def test_edges_of_a_fit_that_ended_early_come_with_a_warning():
    with pytest.warns(ConvergenceWarning, match=r"The fit whose edges are kept: .*raise max_iter"):
        sf.SparseMRF(sf.EBIC(alphas=[0.005], relax=True), solver=sf.Newton(max_iter=1)).fit(TABLE)


def test_parameters_of_a_solver_that_a_word_names_can_be_set():
    mrf = sf.SparseMRF(0.05).set_params(solver__tol=1e-6)
    assert mrf.solver == sf.Newton(tol=1e-6)
    assert clone(mrf).get_params()["solver__tol"] == 1e-6
    with pytest.raises(ValueError, match=r"alpha is 'auto', which has no parameters: use a rule, such as EBIC\(\)"):
        sf.SparseMRF().set_params(alpha__gamma=0.5)
    assert sf.SparseMRF().set_params(alpha=sf.EBIC(), alpha__gamma=0.5).alpha == sf.EBIC(0.5)


@pytest.mark.parametrize("odd", [None, "x", True, [0.1]])
def test_a_rule_that_returns_no_alpha_is_named(odd):
    class Odd:
        def choose(self, learner, **_):  # noqa: ARG002
            return odd

        def __repr__(self):
            return "Odd()"

    with pytest.raises(TypeError, match=r"The rule Odd\(\) returned .*: it should return a number"):
        sf.SparseMRF(Odd()).fit(TABLE)


def test_edges_of_the_pseudo_likelihood_are_not_fitted_without_a_penalty():
    for fit in (
        sf.PseudoLikelihood(sf.EBIC(relax=True)).fit,
        lambda table: sf.bootstrap(table, alpha=sf.EBIC(relax=True), objective="pseudolikelihood", n=2),
    ):
        with pytest.raises(ValueError, match="relax is for fits of the likelihood"):
            fit(TABLE)
