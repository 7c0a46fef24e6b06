"""Bridges between models: ratios of normalising constants, and their standard errors."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from sparsefield.model import add_influences, as_theta, bridge, chain_bridges, skewness_of_sum
from support import naive
from support.statistics_ import FALSE_ALARM
from support.zoo import parts, random_field

# Normal in the limit of many draws; here there are thousands of bounded terms.
FAR = stats.norm.isf(FALSE_ALARM / 2)
DELTA = np.log(3)


class Law:
    """A small field by enumeration, with draws that numpy makes."""

    def __init__(self, model):
        states, self.probabilities, self.log_partition = naive.distribution(*parts(model))
        self.s = model.domain.indicators(np.array(states, dtype=np.uint8))
        self.theta = as_theta(model)

    def draw(self, n, rng):
        return self.s[rng.choice(len(self.s), n, p=self.probabilities)]


def along(move, s):
    return ((s @ move) * s).sum(axis=1) / 2 + s @ np.diagonal(move) / 2


def build(laws, sizes, rng):
    """Bridge laws one after the other, with one set of draws of each."""
    drawn = [law.draw(n, rng) for law, n in zip(laws, sizes, strict=True)]
    moves = [after.theta - before.theta for before, after in pairwise(laws)]
    return [bridge(along(move, drawn[k]), along(move, drawn[k + 1])) for k, move in enumerate(moves)]


def three_laws(n_levels=(2,) * 6):
    """Make a field, and two on the way to it, with parameters of a third and of two thirds the size."""
    return [Law(random_field(list(n_levels), seed=1, scale=0.6 * share)) for share in (1 / 3, 2 / 3, 1)]


@pytest.mark.parametrize("sizes", [(20_000, 20_000), (2_000, 40_000), (40_000, 2_000)])
@pytest.mark.parametrize("n_levels", [(2,) * 6, (3, 2, 4, 3)])
def test_a_bridge_finds_the_ratio_of_two_normalising_constants(n_levels, sizes):
    first, _, last = three_laws(n_levels)
    (found,) = build([first, last], sizes, np.random.default_rng(1))
    assert 0 < found.error < 0.05
    assert abs(found.log_ratio - (last.log_partition - first.log_partition)) < FAR * found.error


def test_standard_errors_are_those_of_the_spread_although_neighbours_share_draws():
    laws, rng, n_runs = three_laws(), np.random.default_rng(2), 1000
    exact = laws[-1].log_partition - laws[0].log_partition
    runs = [build(laws, (700, 500, 600), rng) for _ in range(n_runs)]
    chains = np.array([chain_bridges(own) for own in runs])
    squares = (((chains[:, 0] - exact) / chains[:, 1]) ** 2).sum()
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_runs)
    assert low < squares < high
    # Influences on both sides have the same sign: errors that were added as independent ones would be too small.
    apart = np.array([np.hypot(*(own.error for own in run)) for run in runs])
    assert (apart < chains[:, 1]).all()
    assert (((chains[:, 0] - exact) / apart) ** 2).sum() > high


def test_draws_in_exact_proportion_give_the_exact_ratio_overlap_and_error():
    # One variable: level 1 has probability 1/2 before and 3/4 after; the normalising constants are 2 and 4.
    n = 400
    before, after = np.repeat([0, DELTA], [200, 200]), np.repeat([0, DELTA], [100, 300])
    found = bridge(before, after)
    assert found.log_ratio == pytest.approx(np.log(2), abs=1e-11)
    overlap = 0.5 * 0.25 / 0.375 + 0.5 * 0.75 / 0.625
    assert found.overlap == pytest.approx(overlap, rel=1e-10)
    # Bennett's variance, and the loss of one degree of freedom to each mean.
    assert found.error**2 == pytest.approx(2 / n * (1 / overlap - 1) * n / (n - 1), rel=1e-9)


def test_a_bridge_shifts_and_turns_with_its_values():
    rng = np.random.default_rng(3)
    forward, backward = rng.normal(size=300), rng.normal(0.5, 1, 500)
    found = bridge(forward, backward)
    shifted, turned = bridge(forward + 7, backward + 7), bridge(-backward, -forward)
    assert shifted.log_ratio == pytest.approx(found.log_ratio + 7, abs=1e-11)
    assert turned.log_ratio == pytest.approx(-found.log_ratio, abs=1e-11)
    assert found.error == pytest.approx(shifted.error) == pytest.approx(turned.error)


def test_a_model_bridges_itself_without_error():
    found = bridge(np.zeros(10), np.zeros(20))
    assert found.log_ratio == pytest.approx(0, abs=1e-11)
    # Rounding of equal numbers whose mean is not quite what they are.
    assert found.error < 1e-15
    assert found.overlap == pytest.approx(1)


def test_models_without_overlap_have_an_infinite_error():
    found = bridge(np.full(10, -1000.0), np.full(10, 1000.0))
    assert (found.overlap, found.error) == (0, np.inf)


def test_bridges_that_do_not_meet_are_refused():
    with pytest.raises(ValueError, match="needs draws of both"):
        bridge(np.zeros(0), np.zeros(3))
    pair = [bridge(np.zeros(3), np.zeros(4)), bridge(np.zeros(5), np.zeros(6))]
    with pytest.raises(ValueError, match="ends with 4 draws and the next begins with 5"):
        chain_bridges(pair)
    assert chain_bridges([]) == (0, 0)


def test_influences_of_each_model_add_up_to_nothing_and_know_their_skewness():
    bridges = build(three_laws(), (300, 400, 500), np.random.default_rng(4))
    influences = add_influences(bridges)
    assert [len(own) for own in influences] == [300, 400, 500]
    # Sums of at most 500 roundings of values below 0.1.
    assert max(abs(own.sum()) for own in influences) < 1e-13
    together = np.concatenate(influences)
    expected = stats.skew(together) / np.sqrt(len(together))
    assert skewness_of_sum(influences) == pytest.approx(expected, rel=1e-9)
    assert skewness_of_sum([np.zeros(5)]) == 0
