"""All states of a small field, against plain loops over them."""

import itertools
import tracemalloc

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.inference import EnumeratedStates, enumerate_states
from support import naive
from support.zoo import ZOO, parts, random_field


def rounding(model, scale=1.0):
    """Bound the rounding of a sum of probabilities, each times up to a scale.

    A state's exponent is a sum of terms, no partial sum of which is above the sum of all absolute values: a rounding of
    2^-53 of that for each term. The probability is the ratio of two exponentials of such sums; each is off by its
    share, and sums over states by one rounding for each. The other side has the same errors.
    """
    n_terms = model.domain.n_variables * (model.domain.n_variables + 1) / 2
    largest = np.abs(model.main).sum() + np.abs(model.interactions).sum() / 2
    n_states = float(np.prod(model.domain.n_levels))
    return 2 * scale * 2.0**-53 * (2 * n_terms * largest + 2 * n_states)


def random_move(domain, seed):
    """Make a symmetric move that has nothing between levels of one variable."""
    d = domain.n_slots
    move = np.triu(np.random.default_rng(seed).normal(size=(d, d)))
    move[(domain.slot_variables[:, None] == domain.slot_variables) & ~np.eye(d, dtype=bool)] = 0
    return move + np.triu(move, 1).T


FIELDS = ZOO | {
    f"random, {reference} reference": random_field([3, 2, 1, 4, 2, 3], seed=20 + k, scale=1.5, reference=reference)
    for k, reference in enumerate(("first", "last", None))
}


@pytest.mark.parametrize("name", FIELDS)
def test_states_have_the_moments_of_plain_loops(name):
    model = FIELDS[name]
    n_levels, reference, main, interactions = parts(model)
    states, probabilities, log_normaliser = naive.distribution(n_levels, reference, main, interactions)
    known = naive.slots(n_levels, reference)
    found = EnumeratedStates(model)
    tol = rounding(model)
    assert found.n is None
    assert found.log_normaliser == pytest.approx(log_normaliser, abs=tol * (1 + abs(log_normaliser)))
    expected = naive.moments(n_levels, reference, main, interactions)
    np.testing.assert_allclose(found.moments.pair, np.reshape(expected, found.moments.pair.shape), rtol=0, atol=tol)
    assert found.moments.n is None
    # Every statistic, also those of two levels of one variable, which are never seen together.
    pairs = list(itertools.combinations_with_replacement(range(len(known)), 2))
    shown = np.array(
        [[all(s[known[k][0]] == known[k][1] for k in pair) for pair in pairs] for s in states], dtype=float
    )
    a, b = np.array(pairs, dtype=np.int64).T
    products, scale, _ = found.second_moments(a, b)
    assert scale == 1
    np.testing.assert_allclose(products, (shown.T * probabilities) @ shown, rtol=0, atol=tol)
    np.testing.assert_array_equal(products, products.T)
    swapped, _, _ = found.second_moments(b, a)
    np.testing.assert_array_equal(swapped, products)


@pytest.mark.parametrize("name", FIELDS)
def test_states_speak_for_other_parameters_as_plain_loops_do(name):
    model = FIELDS[name]
    n_levels, reference, main, interactions = parts(model)
    states, probabilities, start = naive.distribution(n_levels, reference, main, interactions)
    known = naive.slots(n_levels, reference)
    move = random_move(model.domain, 1)
    diagonal = np.diagonal(move)
    by_state = [naive.exponent(s, n_levels, reference, diagonal, move) for s in states]
    other = sf.PairwiseMRF(model.domain, model.main + diagonal, model.interactions + move - np.diag(diagonal))
    end = naive.distribution(*parts(other))[2]
    found = EnumeratedStates(model)
    values = found.along(move)
    tol = rounding(model, 1 + np.abs(by_state).max()) + rounding(other)
    apart = np.abs(values[:, None] - by_state)
    assert apart.min(axis=0).max() <= tol
    assert apart.min(axis=1).max() <= tol
    log_mean, share = found.reweight(values)
    assert log_mean == pytest.approx(end - start, abs=tol * (1 + abs(start) + abs(end)))
    assert share == 1
    s = np.array([[state[i] == k for i, k in known] for state in states], dtype=float)
    centred = np.array(by_state) - np.dot(probabilities, by_state)
    expected = (s.T * (np.array(probabilities) * centred)) @ s
    np.testing.assert_allclose(found.project(values), expected, rtol=0, atol=tol)


@pytest.mark.parametrize("name", FIELDS)
def test_states_too_rare_for_a_double_speak_too(name):
    # At main effects of 900 all other states have probabilities below 1e-308, and a move of -1000 makes them the rule.
    model = FIELDS[name]
    certain = sf.PairwiseMRF(model.domain, model.main + 900.0, model.interactions)
    other = sf.PairwiseMRF(model.domain, model.main - 100.0, model.interactions)
    start, end = (naive.distribution(*parts(own))[2] for own in (certain, other))
    found = EnumeratedStates(certain)
    log_mean, share = found.reweight(found.along(np.diag(np.full(model.domain.n_slots, -1000.0))))
    tol = rounding(certain, 1 + 1000.0 * model.domain.n_variables) + rounding(other)
    assert log_mean == pytest.approx(end - start, abs=tol)
    assert share == 1


@pytest.mark.parametrize(
    "model",
    [make_field(16, seed=1), random_field([4] * 8, seed=1, scale=0.3), random_field([3] * 8, seed=2, reference=None)],
    ids=["two levels", "four levels", "no reference"],
)
def test_many_states_agree_with_the_enumeration_that_holds_none(model):
    log_partition, moments = enumerate_states(model)
    found = EnumeratedStates(model)
    tol = rounding(model)
    assert found.log_normaliser == pytest.approx(log_partition, abs=tol * (1 + abs(log_partition)))
    np.testing.assert_allclose(found.moments.pair, moments.pair, rtol=0, atol=tol)


def test_results_do_not_depend_on_the_number_of_threads():
    model = make_field(20, seed=1)
    move = random_move(model.domain, 1)
    a, b = np.triu_indices(20)

    def look(n_threads):
        found = EnumeratedStates(model, n_threads)
        values = found.along(move)
        return [
            found.log_normaliser,
            found.second_moments(a, b)[0],
            values,
            found.reweight(values)[0],
            found.project(values),
        ]

    for one, several in zip(look(1), look(3), strict=True):
        np.testing.assert_array_equal(one, several)


def test_memory_is_a_few_numbers_for_each_state():
    model = make_field(20, seed=1)
    move = random_move(model.domain, 1)

    def look():
        found = EnumeratedStates(model, 1)
        values = found.along(move)
        found.reweight(values)
        found.project(values)

    look()  # compile
    tracemalloc.start()
    try:
        look()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Probabilities, the table of moments and values are held; weights, or another table, join them. The states of a row
    # and the parameters take no more than a hundredth of one of these.
    assert peak < 4.01 * 8 * 2**20


def test_larger_fields_are_refused():
    with pytest.raises(ValueError, match=r"has 2.1e\+06 states: exact Newton steps are for up to 1048576"):
        EnumeratedStates(make_field(21, seed=1))
    # Where all levels have parameters, moments of all orders are 3^13.
    with pytest.raises(ValueError, match=r"has 8.19e\+03 states, and no level is without parameters"):
        EnumeratedStates(random_field([2] * 13, seed=1, reference=None))
