import itertools

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield.model import block_norms, zero_sum
from support import naive
from support.zoo import BINARY, ZOO, parts, random_field

everyone = pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())


def rounding(model):
    """Bound the rounding of sums of parameters: a few additions for each, of sizes up to the sum of all of them."""
    size = np.abs(model.main).sum() + np.abs(model.interactions).sum()
    return 8 * np.finfo(float).eps * model.domain.n_variables * (1 + size)


def references(model):
    """Yield each choice of reference levels, and none."""
    yield None
    yield from itertools.product(*[range(n) for n in model.domain.n_levels])


@everyone
def test_every_reference_gives_the_same_probabilities(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    for reference in references(model):
        other = model.with_reference(reference)
        assert other.domain.reference == reference
        assert other.domain.levels == model.domain.levels
        found = naive.distribution(*parts(other))[1]
        # Exponents are off by the rounding of each, hence probabilities by twice that share.
        np.testing.assert_allclose(found, probabilities, rtol=4 * rounding(model))
        np.testing.assert_allclose(other.log_prob(states), np.log(probabilities), atol=4 * rounding(model))


@everyone
def test_rows_and_columns_of_zero_sum_blocks_add_up_to_zero(model):
    main, pair = zero_sum(model)
    np.testing.assert_array_equal(pair, pair.T)
    own = np.repeat(np.arange(model.domain.n_variables), model.domain.n_levels)
    for i in range(model.domain.n_variables):
        assert abs(main[own == i].sum()) < rounding(model)
        assert np.abs(pair[:, own == i].sum(axis=1)).max() < rounding(model)
        assert not pair[np.ix_(own == i, own == i)].any()


@everyone
def test_a_round_trip_over_any_reference_comes_back(model):
    back = model.domain.reference
    start = model if back is not None else model.with_reference(None)
    for reference in references(model):
        again = model.with_reference(reference).with_reference(back)
        np.testing.assert_allclose(again.main, start.main, atol=rounding(model))
        np.testing.assert_allclose(again.interactions, start.interactions, atol=rounding(model))


def test_the_own_reference_changes_no_bit():
    model = random_field([3, 2, 4], seed=1)
    same = model.with_reference(model.domain.reference)
    np.testing.assert_array_equal(same.main, model.main)
    np.testing.assert_array_equal(same.interactions, model.interactions)


def test_blocks_of_zeros_stay_zero_in_every_gauge():
    model = random_field([3, 4, 2, 3], seed=10, density=0.0)
    pair = model.interactions.copy()
    a, b = model.domain.slot_variables == 0, model.domain.slot_variables == 3
    pair[np.ix_(a, b)] = [[0.1, 0.2], [0.3, 0.7]]
    pair[np.ix_(b, a)] = pair[np.ix_(a, b)].T
    model = PairwiseMRF(model.domain, model.main, pair)
    for reference in references(model):
        strengths = block_norms(model.with_reference(reference))
        assert np.argwhere(strengths).tolist() == [[0, 3], [3, 0]]


def test_other_orders_of_levels_have_the_zero_sum_parameters_in_that_order():
    rng = np.random.default_rng(2)
    model = random_field([3, 2, 4], seed=2)
    orders = [rng.permutation(n) for n in model.domain.n_levels]  # code k of the other field is code order[k] here
    slots = dict(zip(zip(model.domain.slot_variables, model.domain.slot_levels, strict=True), range(100), strict=False))
    domain = Domain(
        model.domain.names,
        tuple(tuple(own[k] for k in order) for own, order in zip(model.domain.levels, orders, strict=True)),
        tuple(int(np.flatnonzero(order == 0)[0]) for order in orders),
    )
    pairs = zip(domain.slot_variables, domain.slot_levels, strict=True)
    taken = np.array([slots[i, orders[i][k]] for i, k in pairs])
    other = PairwiseMRF(domain, model.main[taken], model.interactions[np.ix_(taken, taken)])
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    moved = np.concatenate([start + order for start, order in zip(starts, orders, strict=True)])
    (main, pair), (found, found_pair) = zero_sum(model), zero_sum(other)
    np.testing.assert_allclose(found, main[moved], atol=rounding(model))
    np.testing.assert_allclose(found_pair, pair[np.ix_(moved, moved)], atol=rounding(model))
    np.testing.assert_allclose(block_norms(other), block_norms(model), atol=rounding(model))


@everyone
def test_strengths_do_not_depend_on_the_reference(model):
    strengths = block_norms(model)
    np.testing.assert_array_equal(strengths, strengths.T)
    for reference in references(model):
        other = block_norms(model.with_reference(reference))
        np.testing.assert_allclose(other, strengths, atol=4 * rounding(model))


def test_strengths_are_absolute_interactions_where_there_are_two_levels():
    for name in ("one edge", "disconnected", "all negative", "dense", "reference last"):
        # Means of two and of four are exact, and so is the root of a rounded square.
        np.testing.assert_array_equal(2 * block_norms(BINARY[name]), np.abs(BINARY[name].interactions))


def test_zero_sum_blocks_have_the_least_norm():
    model = random_field([3, 4], seed=3)
    strength = block_norms(model)[0, 1]
    for reference in references(model):
        if reference is not None:
            assert strength < np.sqrt((model.with_reference(reference).interactions ** 2).sum() / 2)


@pytest.mark.parametrize(
    ("reference", "message"), [((0,), "2 variables but 1 reference"), ((0, 3), "'v1' is code 3: use 0 to 2")]
)
def test_references_that_do_not_exist_are_refused(reference, message):
    with pytest.raises(ValueError, match=message):
        random_field([2, 3], seed=0).with_reference(reference)
