import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sparsefield import Domain, PairwiseMRF
from sparsefield.datasets import make_field
from sparsefield.inference import EnumeratedStates
from sparsefield.model import as_theta, count_once
from support import naive
from support.zoo import ZOO, parts, random_field

everyone = pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())


@everyone
def test_enumeration_agrees_with_the_oracle(model):
    _, _, log_partition = naive.distribution(*parts(model))
    # Sums of at most 120 positive terms of order one: rounding stays far below 1e-12 relative.
    assert float(model.log_partition()) == pytest.approx(log_partition, rel=1e-12, abs=1e-12)
    expected = np.array(naive.moments(*parts(model))).reshape(model.domain.n_slots, -1)
    np.testing.assert_allclose(model.moments().pair, expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(model.moments().main, np.diagonal(model.moments().pair))


@everyone
def test_energies_and_log_probabilities_agree_with_the_oracle(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    exponents = [naive.exponent(s, *parts(model)) for s in states]
    np.testing.assert_allclose(-model.energy(states), exponents, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.log_prob(states), np.log(probabilities), rtol=1e-11, atol=1e-12)


@everyone
def test_conditionals_agree_with_the_oracle(model):
    rng = np.random.default_rng(0)
    states = rng.integers(0, model.domain.n_levels, size=(5, model.domain.n_variables))
    for i, name in enumerate(model.domain.names):
        expected = [naive.conditional(i, tuple(s.tolist()), *parts(model)) for s in states]
        np.testing.assert_allclose(model.conditional(i, states), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(model.conditional(name, states), model.conditional(i, states))


def test_enumeration_is_right_across_high_and_low_variables():
    # 4096 states are held at once: 13 binary variables, and mixed levels, need both kinds.
    for n_levels in ([2] * 13, [3, 2, 4, 3, 2, 5, 3, 4]):
        model = random_field(n_levels, seed=1, scale=0.4)
        states, probabilities, log_partition = naive.distribution(*parts(model))
        assert float(model.log_partition()) == pytest.approx(log_partition, rel=1e-12)
        s = model.domain.indicators(np.array(states))
        expected = (s.T * probabilities) @ s
        np.testing.assert_allclose(model.moments().pair, expected, rtol=1e-10, atol=1e-13)


def test_enumeration_survives_extreme_parameters():
    model = PairwiseMRF.binary([500.0, -800.0, 0.0], [[0, 900.0, 0], [900.0, 0, -700.0], [0, -700.0, 0]])
    _, _, log_partition = naive.distribution(*parts(model))
    assert float(model.log_partition()) == pytest.approx(log_partition, rel=1e-14)
    np.testing.assert_allclose(model.moments().pair, naive.moments(*parts(model)), atol=1e-14)


def test_enumeration_is_right_where_some_states_are_products_and_others_are_not():
    # Of the eight high states of 15 variables some leave exponents that span more than a product of doubles can hold,
    # and some do not; the largest weights are among the former or among the latter.
    rng = np.random.default_rng(1)
    for height in (-30.0, 0.0, 30.0):
        main, pair = rng.normal(0, 1, 15), rng.normal(0, 1, (15, 15))
        pair[0] += rng.choice([-70.0, 70.0], 15)
        pair = np.triu(pair, 1) + np.triu(pair, 1).T
        main[0] = height - np.maximum(pair[0], 0).sum()  # so that the first variable is undecided where that is zero
        model = PairwiseMRF.binary(main, pair)
        found = EnumeratedStates(model)
        # Exponents add up to a few thousand, and each is right to 2^-53 of that.
        assert float(model.log_partition()) == pytest.approx(found.log_normaliser, rel=1e-13)
        np.testing.assert_allclose(model.moments().pair, found.moments.pair, atol=1e-11)


def test_enumeration_takes_little_memory():
    model = make_field(22, seed=1)
    model.moments()
    tracemalloc.start()
    model.moments()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 4 million states; held are 64 chunks of 4096 states and of (44, 44) sums, whatever the number of states.
    assert peak < 2**24


def test_a_model_too_large_to_enumerate_says_what_to_use_instead():
    model = make_field(60, seed=1)
    with pytest.raises(ValueError, match=r"1\.15e\+18 states.*sample\(\) or inference\.Gibbs"):
        model.log_partition("exact")


reals = st.floats(-1e3, 1e3)


@given(h=arrays(float, 4, elements=reals), j=arrays(float, (4, 4), elements=reals))
def test_spins_survive_a_round_trip(h, j):
    couplings = np.triu(j, 1) + np.triu(j, 1).T
    fields, back = PairwiseMRF.from_spins(h, couplings).as_spins()
    np.testing.assert_array_equal(back, couplings)
    # Each way rounds once, at the size of the larger of the field and the sum of the couplings.
    size = np.abs(h) + np.abs(couplings).sum(axis=1)
    assert np.all(np.abs(fields - h) <= 2 * np.finfo(float).eps * size)


@given(h=arrays(np.int64, 3, elements=st.integers(-64, 64)), j=st.lists(st.integers(-64, 64), min_size=3, max_size=3))
def test_spins_with_short_binary_fractions_come_back_exactly(h, j):
    couplings = np.zeros((3, 3))
    couplings[np.triu_indices(3, 1)] = np.array(j) / 16
    couplings += couplings.T
    fields, back = PairwiseMRF.from_spins(h / 16, couplings).as_spins()
    np.testing.assert_array_equal(fields, h / 16)
    np.testing.assert_array_equal(back, couplings)


def test_spins_have_the_probabilities_of_their_definition():
    rng = np.random.default_rng(3)
    h, j = rng.normal(size=3), np.triu(rng.normal(size=(3, 3)), 1)
    j += j.T
    model = PairwiseMRF.from_spins(h, j)
    states = np.array(list(np.ndindex(2, 2, 2)))
    exponents = np.array([naive.spin_exponent(2 * s - 1, h, j) for s in states])
    expected = exponents - np.log(np.exp(exponents).sum())
    np.testing.assert_allclose(model.log_prob(states), expected, rtol=1e-12)
    assert model.domain.levels[0] == (-1, 1)


def test_as_spins_refuses_more_than_two_levels():
    with pytest.raises(ValueError, match="'v1' does not have two levels"):
        random_field([2, 3], seed=0).as_spins()


def test_a_model_does_not_change():
    main = np.zeros(2)
    model = PairwiseMRF.binary(main, np.zeros((2, 2)))
    main[0] = 1
    assert model.main[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        model.main[0] = 1
    with pytest.raises(AttributeError):
        model.main = main


@pytest.mark.parametrize(
    ("main", "interactions", "message"),
    [
        ([0, 0], [[0, 1], [2, 0]], r"not symmetric: entry \(0, 1\) is 1, but \(1, 0\) is 2"),
        ([0, 0], [[1, 0], [0, 0]], "inside variable 'x0'"),
        ([0, np.nan], np.zeros((2, 2)), r"main has the entry nan at \(1,\): use numbers below 1e\+100"),
        ([0, 1e200], np.zeros((2, 2)), r"main has the entry 1e\+200"),
        ([1, 2, 3], [[1, 2], [3]], "interactions must be numbers in an array"),
        ([0, 0], np.zeros((3, 3)), r"interactions has shape \(3, 3\): the domain needs \(2, 2\)"),
        ([[0]], np.zeros((1, 1)), r"main has shape \(1, 1\): the domain needs \(1,\)"),
        (5, np.zeros((1, 1)), "one number per variable"),
        (["a"], np.zeros((1, 1)), "main must be numbers"),
    ],
)
def test_bad_parameters_are_refused(main, interactions, message):
    with pytest.raises(ValueError, match=message):
        PairwiseMRF.binary(main, interactions)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([[0, 2]], "State 0 has code 2 for variable 'x1', which has codes 0 to 1"),
        ([[0, -1]], "code -1"),
        ([[0, 1, 1]], "one column per variable, and there are 2"),
        ([[0.5, 1.0]], "whole-number codes"),
        ([[0], [0, 1]], "States have different lengths"),
    ],
)
def test_bad_states_are_refused(states, message):
    model = PairwiseMRF(Domain.binary(2), np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=message):
        model.energy(states)


def test_an_unknown_variable_is_named():
    model = PairwiseMRF.binary([0.0, 0.0], np.zeros((2, 2)), names=["a", "b"])
    with pytest.raises(ValueError, match="no variable named 'c'; the names are 'a', 'b'"):
        model.conditional("c", [[0, 0]])
    with pytest.raises(ValueError, match="no variable 2"):
        model.conditional(2, [[0, 0]])


def test_fields_made_of_one_matrix_are_checked_as_others_are():
    model = make_field(40, degree=5, seed=1)
    theta = as_theta(model)
    made = PairwiseMRF.of_theta(model.domain, theta)
    np.testing.assert_array_equal(made.main, model.main)
    np.testing.assert_array_equal(made.interactions, model.interactions)
    assert not made.interactions.flags.writeable
    assert count_once(theta) == np.count_nonzero(np.triu(theta))
    theta[3, 35] += 0.5
    with pytest.raises(ValueError, match="not symmetric"):
        PairwiseMRF.of_theta(model.domain, theta)
    theta[35, 3] = theta[3, 35] = np.nan
    with pytest.raises(ValueError, match="nan"):
        PairwiseMRF.of_theta(model.domain, theta)
