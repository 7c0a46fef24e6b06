"""Missing values given the observed cells of their rows, by variable elimination."""

from dataclasses import replace

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield._deadline import OutOfTimeError, until
from sparsefield.inference import ELIMINATION, Given, OutOfReachError, energies
from support import naive
from support.statistics_ import assert_counts_agree
from support.zoo import ZOO, parts, random_field

MISSING = 255
FIELDS = ZOO | {
    "sparse levels, reference last": random_field([3, 2, 4, 2, 3], seed=11, density=0.15, reference="last"),
    "sparse levels, no reference": random_field([2, 4, 3, 2, 2], seed=12, density=0.1, reference=None),
    "large parameters": random_field([3, 2, 3, 2], seed=13, scale=300.0),
}
everyone = pytest.mark.parametrize("model", FIELDS.values(), ids=FIELDS.keys())


def make_rows(model, n=40, seed=1):
    """Make rows of uniform levels that miss any number of values, none and all among them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, model.domain.n_levels, (n, model.domain.n_variables)).astype(np.uint8)
    codes[rng.random(codes.shape) < np.linspace(0, 1, n)[:, None]] = MISSING
    return codes


def as_plain(row):
    return tuple(None if x == MISSING else int(x) for x in row)


@everyone
def test_log_probabilities_of_observed_cells_are_sums_over_all_states(model):
    codes = make_rows(model)
    states, _, log_normaliser = naive.distribution(*parts(model))
    exponents = [naive.exponent(state, *parts(model)) for state in states]
    found = Given(model, codes).log_sums()
    for row, log_sum in zip(codes, found, strict=True):
        own = naive.those_that_agree(exponents, states, as_plain(row))
        assert log_sum == pytest.approx(np.logaddexp.reduce(own), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(model.log_prob_observed(codes), found - log_normaliser, rtol=1e-9, atol=1e-9)


@everyone
def test_conditional_probabilities_sum_out_missing_values(model):
    codes = make_rows(model)
    n_levels = parts(model)[0]
    states, probabilities, _ = naive.distribution(*parts(model))
    for i, n in enumerate(n_levels):
        found = model.conditional(i, codes)
        for row, own in zip(codes, found, strict=True):
            if naive_mass(i, row, states, probabilities) > 0:  # parameters of 300 leave rows that no float can hold
                expected = naive.level_probabilities(i, as_plain(row), states, probabilities, n)
                np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-12)


def naive_mass(i, row, states, probabilities):
    plain = as_plain(row)
    others = (*plain[:i], None, *plain[i + 1 :])
    return sum(naive.those_that_agree(probabilities, states, others))


@everyone
def test_the_most_probable_values_have_the_least_energy(model):
    codes = make_rows(model)
    states, _, _ = naive.distribution(*parts(model))
    exponents = [naive.exponent(state, *parts(model)) for state in states]
    filled = Given(model, codes).find_mode()
    assert np.all((codes == MISSING) | (filled == codes))
    for row, found in zip(codes, -energies(model, filled), strict=True):
        own = naive.those_that_agree(exponents, states, as_plain(row))
        assert found == pytest.approx(max(own), rel=1e-12, abs=1e-12)


@everyone
def test_draws_have_the_probabilities_given_the_observed_cells(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    numbers = {state: k for k, state in enumerate(states)}
    n = 4000
    for k, row in enumerate(make_rows(model, 6, seed=3)):
        if (row == MISSING).any():
            uniforms = np.random.default_rng(k).random((n, len(row)))
            drawn = Given(model, np.tile(row, (n, 1))).draw(uniforms)
            counts = np.bincount([numbers[tuple(own)] for own in drawn.tolist()], minlength=len(states))
            law = np.array(naive.given(as_plain(row), states, probabilities))
            assert counts[law == 0].sum() == 0
            if np.count_nonzero(n * law >= 5) > 1:
                assert_counts_agree(counts[law > 0], law[law > 0])


def test_trees_are_summed_out_whatever_their_size():
    # A chain of 1000 variables: the transfer matrix has the answer.
    p, main, weight = 1000, 0.3, 0.8
    interactions = np.zeros((p, p))
    interactions[np.arange(p - 1), np.arange(1, p)] = weight
    model = PairwiseMRF.binary(np.full(p, main), interactions + interactions.T)
    vector, expected = np.array([1.0, np.exp(main)]), 0.0
    for _ in range(p - 1):
        vector = np.array([[1.0, 1.0], [np.exp(main), np.exp(main + weight)]]) @ vector
        expected += np.log(vector.sum())
        vector /= vector.sum()
    found = Given(model, np.full((1, p), MISSING, dtype=np.uint8))
    assert found.log_sums()[0] == pytest.approx(expected, rel=1e-12)


def make_clique(p):
    return PairwiseMRF.binary(np.zeros(p), 0.1 * (1 - np.eye(p)))


def test_what_is_out_of_reach_is_refused_and_named():
    codes = np.zeros((3, 30), dtype=np.uint8)
    codes[1, :20], codes[2, :21] = MISSING, MISSING
    assert Given(make_clique(30), codes).is_in_reach.tolist() == [True, True, False]
    with pytest.raises(OutOfReachError, match=r"row 2 misses 21 of 30 values"):
        Given(make_clique(30), codes).log_sums()
    # Rows are named as they were given, whatever is put together.
    with pytest.raises(OutOfReachError, match=r"row 1 misses 20 of 30 values"):
        make_clique(30).conditional(29, codes)
    with pytest.raises(OutOfReachError, match=r"row 2 misses 20 of 30 values"):
        make_clique(30).conditional(29, codes[[0, 0, 1, 2, 1]])


def test_more_work_than_anybody_waits_for_is_refused_before_it_begins():
    codes = np.full((5, 10), MISSING, dtype=np.uint8)
    work = 5 * 2046  # 1024 + 512 + ... + 2 for each row
    Given(make_clique(10), codes, policy=replace(ELIMINATION, most_work=work)).log_sums()
    less = replace(ELIMINATION, most_work=work - 1)
    for ask in (Given.log_sums, Given.find_mode, lambda given: given.draw(np.zeros(codes.shape))):
        with pytest.raises(OutOfReachError, match="fewer rows at a time"):
            ask(Given(make_clique(10), codes, policy=less))


@pytest.mark.parametrize(("most", "is_in_reach"), [(2046, True), (2045, False)])
def test_tables_that_are_too_large_together_are_refused(most, is_in_reach):
    codes = np.full((1, 10), MISSING, dtype=np.uint8)
    found = Given(make_clique(10), codes, policy=replace(ELIMINATION, most_together=most))
    assert found.is_in_reach.tolist() == [is_in_reach]


def test_work_ends_when_its_time_is_up():
    codes = np.full((5, 10), MISSING, dtype=np.uint8)
    given = Given(make_clique(10), codes)
    with until(0.0), pytest.raises(OutOfTimeError):
        given.log_sums()
    with until(0.0), pytest.raises(OutOfTimeError):
        Given(make_clique(10), codes)


def test_rows_taken_a_few_at_a_time_are_the_same():
    model = FIELDS["mixed levels"]
    codes, uniforms = make_rows(model, 200), np.random.default_rng(1).random((200, 5))
    whole = Given(model, codes)
    log_sums, drawn = whole.log_sums(), whole.draw(uniforms)
    few = Given(model, codes, policy=replace(ELIMINATION, entries_at_once=300))
    np.testing.assert_allclose(few.log_sums(), log_sums, rtol=1e-14)
    np.testing.assert_array_equal(few.draw(uniforms), drawn)


@everyone
def test_expected_products_are_those_of_all_states(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    laws = [naive.those_that_agree(probabilities, states, as_plain(row)) for row in make_rows(model)]
    codes = make_rows(model)[[sum(own) > 0 for own in laws]]  # parameters of 300 leave rows that no float can hold
    weights = np.random.default_rng(2).random(len(codes))
    s = model.domain.indicators(np.array(states, dtype=np.uint8))
    expected = np.zeros((model.domain.n_slots,) * 2)
    for row, weight in zip(codes, weights, strict=True):
        law = np.array(naive.given(as_plain(row), states, probabilities))
        expected += weight * (s.T * law) @ s
    log_sums, found = Given(model, codes).expect(weights)
    np.testing.assert_allclose(log_sums, Given(model, codes).log_sums(), rtol=1e-12)
    are_asked = (model.interactions != 0) | np.eye(len(found), dtype=bool)
    np.testing.assert_allclose(found[are_asked], expected[are_asked], atol=1e-12 * len(codes))


def test_the_rows_of_a_graph_are_those_of_all_its_fields():
    wide, narrow = ZOO["dense"], ZOO["dense"]
    interactions = narrow.interactions.copy()
    interactions[0, 1:] = interactions[1:, 0] = 0.0
    narrow = PairwiseMRF(narrow.domain, narrow.main, interactions)
    codes = make_rows(wide)
    for model in (wide, narrow):
        found, expected = Given(wide, codes).at(model), Given(model, codes)
        np.testing.assert_allclose(found.log_sums(), expected.log_sums(), rtol=1e-12)
        for own, other in zip(found.expect(np.ones(len(codes))), expected.expect(np.ones(len(codes))), strict=True):
            are_asked = ... if own.ndim == 1 else interactions != 0
            np.testing.assert_allclose(own[are_asked], other[are_asked], rtol=1e-9)


@everyone
def test_many_draws_of_a_row_have_its_law(model):
    states, probabilities, _ = naive.distribution(*parts(model))
    numbers, n = {state: k for k, state in enumerate(states)}, 4000
    drawn = Given(model, np.full((1, model.domain.n_variables), MISSING, dtype=np.uint8)).draw_all(n, seed=1)
    counts, law = (
        np.bincount([numbers[tuple(own)] for own in drawn.tolist()], minlength=len(states)),
        np.array(probabilities),
    )
    assert counts[law == 0].sum() == 0
    if np.count_nonzero(n * law >= 5) > 1:
        assert_counts_agree(counts[law > 0], law[law > 0])


def test_other_orders_make_smaller_tables_and_the_same_sums():
    rng = np.random.default_rng(1)
    p = 40
    edges = np.triu(rng.random((p, p)) < 0.12, 1) * rng.normal(size=(p, p))
    model = PairwiseMRF.binary(rng.normal(size=p), edges + edges.T)
    nothing = np.full((1, p), MISSING, dtype=np.uint8)
    first, best = (Given(model, nothing, policy=replace(ELIMINATION, small=1, n_trials=n)) for n in (0, 20))
    assert best.work < first.work
    assert best.log_sums()[0] == pytest.approx(first.log_sums()[0], rel=1e-12)
