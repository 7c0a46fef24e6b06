"""From p-values to rates, against the rules as their papers have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsefield.pairs import RATES, adjust
from sparsefield.pairs._rates import largest_discovery
from support import naive_pairs as naive

# Many ties, and values at the borders of the rules.
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.integers(0, 40).map(lambda k: k / 400)), min_size=1, max_size=30)
RATE = st.sampled_from(sorted(RATES))
AT = st.sampled_from([0.01, 0.05, 0.1, 0.2])


@given(P_VALUES, RATE, st.floats(0.001, 0.999))
def test_tests_at_a_rate_are_the_discoveries_of_the_papers(p_values, rate, at):
    adjusted = adjust(np.array(p_values), rate)
    if np.abs(adjusted - at).min() < 1e-12:  # a border, on which rounding decides
        return
    assert (adjusted <= at).tolist() == naive.discoveries(p_values, rate, at)


@given(P_VALUES, RATE)
def test_adjusted_values_keep_the_order_and_are_no_less_than_p_values(p_values, rate):
    p_values = np.array(p_values)
    adjusted = adjust(p_values, rate)
    assert np.all(adjusted >= p_values * (1 - 1e-12))
    assert adjusted.max() <= 1
    order = np.argsort(p_values)
    assert np.all(np.diff(adjusted[order]) >= 0)
    np.testing.assert_array_equal(adjust(p_values[::-1], rate), adjusted[::-1])
    by_rule = {name: adjust(p_values, name) for name in RATES}
    assert np.all(by_rule["bh"] <= by_rule["by"] * (1 + 1e-12))
    assert np.all(by_rule["bh"] <= by_rule["holm"] * (1 + 1e-12))


@given(P_VALUES, RATE, AT)
def test_one_more_test_is_a_discovery_up_to_the_largest_p_value(p_values, rate, at):
    p_values = np.append(p_values, 1.0)
    cut = largest_discovery(p_values, at, rate)
    assert 0 < cut <= at * (1 + 1e-12)
    # In place of the one that says nothing; a little on either side, where rounding does not decide.
    for own, is_found in ((cut * (1 - 1e-9), True), (cut * (1 + 1e-9), False)):
        found = naive.discoveries([*p_values[:-1], own], rate, at * (1 + 1e-13))
        assert found[-1] == is_found


def test_no_test_has_no_rate():
    assert adjust(np.zeros(0)).shape == (0,)
    assert largest_discovery(np.zeros(0), 0.1) == 0.1


@pytest.mark.parametrize("rate", RATES)
def test_tests_that_cannot_be_made_only_count(rate):
    p_values = np.array([0.001, 0.02, 1.0, 1.0])
    times = {"bh": 1.0, "by": 1 + 1 / 2 + 1 / 3 + 1 / 4, "holm": 1.0}[rate]
    assert adjust(p_values, rate)[0] == pytest.approx(0.004 * times)
    assert adjust(p_values, rate)[1] == pytest.approx({"bh": 0.04, "by": 0.04 * times, "holm": 0.06}[rate])
    assert adjust(p_values, rate)[2:].tolist() == [1.0, 1.0]
