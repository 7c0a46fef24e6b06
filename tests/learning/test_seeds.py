"""Where random numbers start: integers, and both kinds of numpy's generators."""

import numpy as np
import pytest
from sklearn.base import clone

import sparsefield as sf
from sparsefield import datasets
from sparsefield.learning import seed_of
from support.problems import QUICK_STEPS, make_table, theta_of

TABLE = make_table(6, 60)
DRAWN = {"solver": sf.Newton(schedule="perfect", n_chains=QUICK_STEPS["n_chains"])}
ESTIMATORS = {"one": sf.SparseMRF(0.05, **DRAWN), "chosen": sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.05]), **DRAWN)}


def what_draws_say(mrf):
    """Return the norm of the gradient in each iteration, which other draws make another one."""
    return mrf.fit(TABLE).trace_["subgradient_norm"].to_list()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_generator_is_a_random_state(name, make):
    one, same, other = (
        what_draws_say(clone(ESTIMATORS[name]).set_params(random_state=make(seed))) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_a_number_is_the_seed_itself():
    assert [seed_of(own) for own in (0, 7, np.int64(7), 2**32 - 1)] == [0, 7, 7, 2**32 - 1]
    mrf, fit = sf.SparseMRF(0.05, **DRAWN, random_state=7).fit(TABLE), sf.learn(TABLE, 0.05, **DRAWN, seed=7)
    np.testing.assert_array_equal(theta_of(mrf), theta_of(fit))


def test_a_generator_goes_on_from_fit_to_fit():
    mrf = sf.SparseMRF(0.05, **DRAWN, random_state=np.random.default_rng(1))
    assert what_draws_say(mrf) != what_draws_say(mrf)


@pytest.mark.parametrize("resample", [sf.bootstrap, sf.stability])
def test_resamples_start_where_a_generator_says(resample):
    def draw(estimator, **more):
        if resample is sf.stability:
            return sf.stability(estimator, TABLE, n=3, shares=(0.5,), **more).edges
        return sf.bootstrap(estimator, TABLE, n=3, **more).weights

    plain = sf.PseudoLikelihood(0.05)
    for make in (np.random.default_rng, np.random.RandomState):
        one, same, other = (draw(plain, seed=make(seed)) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert one.shape != other.shape or not np.array_equal(one, other)
        mine = draw(sf.SparseMRF(0.05, random_state=make(1)))
        np.testing.assert_array_equal(mine, draw(sf.SparseMRF(0.05, random_state=make(1))))
    np.testing.assert_array_equal(draw(plain, seed=3), draw(plain, seed=np.int64(3)))


@pytest.mark.parametrize("bad", ["a", 1.5, -1, [1, 2], 2**32])
def test_what_is_no_random_state_is_refused(bad):
    with pytest.raises(ValueError, match=r"random_state is .*: use a whole number"):
        seed_of(bad)
    with pytest.raises(ValueError, match=r"random_state is .*: use a whole number"):
        sf.SparseMRF(0.05, random_state=bad).fit(TABLE)


def test_draws_of_an_estimator_take_a_random_state():
    mrf = sf.SparseMRF(0.05, random_state=1).fit(TABLE)
    for make in (int, np.random.default_rng, np.random.RandomState):
        one, same, other = (mrf.sample(50, random_state=make(seed)).codes for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)
    np.testing.assert_array_equal(mrf.sample(50, seed=1).codes, mrf.model_.sample(50, seed=1).codes)
    assert not np.array_equal(mrf.sample(50).codes, mrf.sample(50).codes)
    with pytest.raises(ValueError, match="random_state and seed are both given"):
        mrf.sample(50, seed=1, random_state=1)


@pytest.mark.parametrize("bad", ["a", 1.5, [1, 2], np.random.RandomState(1), None])
def test_what_is_no_seed_is_refused(bad):
    model = datasets.make_chain(3, seed=1)
    takes = [
        lambda: datasets.make_field(4, seed=bad),
        lambda: datasets.make_chain(4, seed=bad),
        lambda: datasets.make_small_world(6, seed=bad),
    ]
    if bad is not None:  # anywhere
        takes += [
            lambda: model.sample(5, seed=bad),
            lambda: model.sample(5, seed=bad, method="perfect"),
            lambda: sf.learn(TABLE, 0.05, seed=bad),
            lambda: sf.path(TABLE, [0.1], seed=bad),
            lambda: sf.certify(sf.SparseMRF(0.05, random_state=1).fit(TABLE), TABLE, seed=bad),
        ]
    for take in takes:
        with pytest.raises(TypeError, match=r"seed is of type .*: use a whole number"):
            take()


@pytest.mark.parametrize("bad", [np.random.default_rng(1)], ids=["Generator"])
def test_a_model_says_how_a_generator_gives_a_seed(bad):
    with pytest.raises(TypeError, match=r"int\(rng.integers\(2\*\*31\)\) of a Generator"):
        datasets.make_chain(3, seed=1).sample(5, seed=bad)


def test_a_small_world_goes_on_with_a_generator():
    rng = np.random.default_rng(7)
    first, second = (datasets.make_small_world(12, 4, 0.5, seed=rng) for _ in range(2))
    again = datasets.make_small_world(12, 4, 0.5, seed=np.random.default_rng(7))
    np.testing.assert_array_equal(theta_of(again), theta_of(first))
    assert not np.array_equal(first.interactions != 0, second.interactions != 0)


@pytest.mark.parametrize("make", [datasets.make_field, datasets.make_chain, datasets.make_star])
def test_made_fields_take_generators(make):
    rng = np.random.default_rng(7)
    np.testing.assert_array_equal(theta_of(make(6, seed=rng)), theta_of(make(6, seed=7)))
    assert not np.array_equal(theta_of(make(6, seed=rng)), theta_of(make(6, seed=7)))  # it went on
    with pytest.raises(ValueError, match="seed is -1: use a number from zero on"):
        make(6, seed=-1)
