"""What may and what must differ from zero close in on each other, whatever the margins are of."""

from dataclasses import replace

import numpy as np

from sparsefield.marks._narrowing import Candidates, find_open, possible_and_certain
from sparsefield.marks._policy import MARKS


class Chain:
    """Margins in a chain: each answer takes the one before it.

    Candidate 0 pays nothing, 1 and 3 are zero, 2 and 4 are not, and 5 has another sign in the fit.
    """

    def __init__(self):
        is_same, is_zero = np.isin(np.arange(6), [0, 2, 4]), np.isin(np.arange(6), [1, 3])
        sizes = np.where(is_zero, 0.0, 1.0)
        self.candidates = Candidates(sizes, np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]), is_same, is_zero)
        self.asked = []

    def value_margins(self, some, possible):
        self.asked.append(("values", *some))
        return np.where(possible[some - 1], 2.0, 0.5)

    def largest_gradients(self, some, certain):
        self.asked.append(("gradients", *some))
        return np.where(certain[some - 1], 0.5, 2.0)


def test_each_set_makes_the_margins_of_the_other_one_smaller_until_nothing_changes():
    margins = Chain()
    possible, certain = possible_and_certain(margins, most_rounds=10)
    np.testing.assert_array_equal(np.flatnonzero(certain), [0, 2, 4])
    np.testing.assert_array_equal(np.flatnonzero(~possible), [1, 3])
    # What is settled is not asked for again, nor what differs from the fit.
    values, gradients = [("values", 2, 4), ("values", 2, 4), ("values", 4)], [("gradients", 1, 3), ("gradients", 3)]
    assert margins.asked == [values[0], gradients[0], values[1], gradients[1], values[2]]
    np.testing.assert_array_equal(np.flatnonzero(find_open(Chain(), policy=MARKS)), [5])


def test_sets_are_right_after_every_round():
    settled = [np.flatnonzero(~find_open(Chain(), policy=replace(MARKS, most_narrowings=k))) for k in range(4)]
    assert [list(found) for found in settled] == [[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
