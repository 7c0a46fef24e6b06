"""Supports without their penalty: against the moments that they must have, and against exact gaps."""

import numpy as np
import pytest

import sparsefield as sf
from problems import make_table, theta_of
from sparsefield.data import moments_of_table
from sparsefield.model import as_theta
from sparsefield.objective import Problem, Support
from sparsefield.selection import relax
from sparsefield.solvers import Learner, Options, bound_gap

TABLE = make_table(8, 500)


@pytest.mark.parametrize("penalize_main", [False, True])
def test_a_relaxed_fit_has_the_frequencies_of_its_edges(penalize_main):
    learner = Learner(TABLE, Options(penalize_main=penalize_main, tol=1e-8))
    fit = learner.learn(0.03)
    found = relax(learner, fit)
    assert found.status.code == "converged"
    edges = fit.model.interactions != 0
    assert not found.model.interactions[~edges].any()  # one that made up for penalised main effects may be zero now
    # The frequency of a pair with an edge is missed by half a row, 1 / 1000, and by tol; that of a level alone by none.
    left = np.abs(found.model.moments().pair - moments_of_table(TABLE).pair)
    assert left[edges].max() <= 1 / 1000 + 1e-8
    assert np.diagonal(left).max() <= (1 / 1000 if penalize_main else 0) + 1e-8
    # The penalised fit misses them by alpha.
    assert np.abs(fit.model.moments().pair - moments_of_table(TABLE).pair)[edges].max() == pytest.approx(0.03)


def test_edges_of_levels_that_never_meet_are_finite():
    x = np.repeat([[0, 0], [0, 1], [1, 0]], [50, 25, 25], axis=0)
    learner = Learner(x, Options())
    found = relax(learner, learner.learn(0.02))
    weight = found.model.interactions[0, 1]
    # Half of 100 rows in which both are on: the odds ratio is that of frequencies 0.505, 0.245, 0.245 and 0.005.
    assert weight == pytest.approx(np.log(0.505 * 0.005 / 0.245**2), rel=1e-3)


def test_other_interactions_stay_zero_and_the_gap_is_known():
    learner = Learner(TABLE, Options(tol=1e-8))
    rng = np.random.default_rng(1)
    support = np.triu(rng.random((8, 8)) < 0.3, 1)
    support = support | support.T
    penalty = Support(TABLE.domain, 0.001, 0.0, support)
    fit = learner.learn(0.001, penalty=penalty)
    assert not fit.model.interactions[~support].any()
    assert bound_gap(Problem(learner.data, TABLE.domain, penalty), as_theta(fit.model)).bound < 1e-9
    assert (fit.penalty, fit.penalize_main) == ("Support", False)
    np.testing.assert_array_equal(fit.support, support)
    # What is outside has a gradient below its weight of one, whatever it is.
    assert np.abs(fit.model.moments().pair - learner.data.moments.pair).max() < 1


def test_a_path_has_relaxed_fits_beside_it():
    path = sf.path(TABLE, n_alphas=6, relax=True, tol=1e-8)
    assert len(path.relaxed) == len(path.relaxed_likelihoods) == 6
    for fit, relaxed, known in zip(path.fits, path.relaxed, path.relaxed_likelihoods, strict=True):
        assert not relaxed.model.interactions[fit.model.interactions == 0].any()
        assert known.value == pytest.approx(relaxed.model.log_prob(TABLE.codes).mean(), rel=1e-12)
    alone = sf.path(TABLE, n_alphas=6, tol=1e-8)
    for fit, other in zip(path.fits, alone.fits, strict=True):
        np.testing.assert_allclose(theta_of(fit), theta_of(other), atol=1e-5)  # no curvature here is below 2e-3
    # A support without its penalty is nearer to the data.
    assert all(a.value >= b.value - 1e-9 for a, b in zip(path.relaxed_likelihoods, path.likelihoods, strict=True))
