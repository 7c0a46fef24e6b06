"""The likelihood of a pair against sums over all states: value, information, maximum, and what rows do to it."""

import numpy as np
import pytest

from sparsefield._kernels._pair_likelihood import lay_out, list_states, maximise
from sparsefield._kernels._pair_rows import find_influence, observe, take_hidden
from support import naive_pairs as naive

KINDS = {
    "binary": (naive.indicators(2), naive.indicators(2)),
    "ordered": (naive.scores(3), naive.scores(4)),
    "nominal": (naive.indicators(3), naive.indicators(3)),
    "binary and ordered": (naive.indicators(2), naive.scores(3)),
    "ordered and nominal": (naive.scores(3), naive.indicators(3)),
    "nominal and binary": (naive.indicators(4), naive.indicators(2)),
}

# A climb ends at a step that promises this many nats, which it is given: the maximum is off by no more, since the
# curvature of a step differs from that of the penalised likelihood by less than itself.
TOLERANCE = 1e-5


class Pair:
    """Rows of a pair that differ in their neighbours, some of which count more than others."""

    def __init__(self, kind, *, n=80, k=2, m=1, seed=1, weighted=True):
        rng = np.random.default_rng(seed)
        self.f, self.g = (np.ascontiguousarray(own) for own in KINDS[kind])
        self.z, self.z_other = rng.normal(size=(n, k)), rng.normal(size=(n, m))
        self.counts = rng.uniform(0.3, 2.0, n) if weighted else np.ones(n)
        self.is_plain = [bool(np.all(own[1:] == np.eye(len(own) - 1))) if own.shape[1] == len(own) - 1 else False
                         for own in (self.f, self.g)]  # fmt: skip
        self.own = len(self.f), self.f.shape[1], k, self.is_plain[0]
        self.other = len(self.g), self.g.shape[1], m, self.is_plain[1]
        self.statistics = naive.list_statistics(self.f, self.g, self.z, self.z_other)
        self.truth = 0.6 * rng.normal(size=self.size)
        shares = naive.weigh(self.truth, self.statistics)
        self.states = (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        n_states = len(self.f) * len(self.g)
        self.index, self.value = np.empty((n_states, 5), np.int64), np.empty((n_states, 5))
        self.n_base = list_states(self.f, self.g, *self.is_plain, self.index, self.value)
        self.rows = np.arange(n)

    @property
    def size(self):
        return self.statistics.shape[2]

    @property
    def n_theta(self):
        return self.f.shape[1] * self.g.shape[1]

    @property
    def shown(self):
        """What the oracle takes."""
        return self.statistics, self.states, self.counts

    @property
    def base(self):
        return self.own, self.other, self.index, self.value

    def climb(self, parameters, n_free=None):
        """Return the penalised likelihood, where it is, the information, its inverse, and whether steps ended."""
        parameters, size = parameters.copy(), self.size
        observed, weights = np.empty(size), np.empty(len(self.z))
        observe(self.states, self.rows, self.counts, self.z, self.z_other, *self.base, observed, weights)
        np.testing.assert_array_equal(weights, self.counts)
        curvature, inverse = np.empty((size, size)), np.empty((size, size))
        value, is_whole = maximise(
            weights, self.z, self.z_other, self.own, self.other, self.f, self.g, self.index, self.value, observed,
            parameters, size if n_free is None else n_free, curvature, inverse
        )  # fmt: skip
        return value, parameters, curvature, inverse, is_whole


@pytest.mark.parametrize("kind", KINDS)
def test_states_have_the_base_functions_of_their_levels(kind):
    pair = Pair(kind)
    assert pair.n_base == lay_out(pair.own, pair.other)[6] + pair.n_theta
    base = np.zeros((len(pair.index), pair.n_base))
    for y in range(len(base)):
        known = pair.index[y] >= 0
        assert np.all(np.diff(pair.index[y][known]) > 0)
        base[y, pair.index[y][known]] = pair.value[y][known]
    # Without neighbours the statistics are those of the parameters: indicators and products.
    alone = naive.list_statistics(pair.f, pair.g, np.zeros((1, 0)), np.zeros((1, 0)))[0]
    n_plain = len(pair.f) + len(pair.g) - 2
    np.testing.assert_array_equal(base[:, :n_plain], alone[:, :n_plain])
    np.testing.assert_array_equal(base[:, -pair.n_theta :], alone[:, n_plain:])
    n_scores = pair.n_base - n_plain - pair.n_theta
    assert n_scores == 2 - sum(pair.is_plain)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_maximum_and_its_information_are_those_of_sums_over_all_states(kind, weighted):
    pair = Pair(kind, weighted=weighted)
    best, at = naive.maximise(*pair.shown)
    value, parameters, curvature, inverse, is_whole = pair.climb(np.zeros(pair.size))
    assert is_whole
    assert value == pytest.approx(best, abs=TOLERANCE)
    errors = np.sqrt(np.diagonal(np.linalg.inv(naive.information(at, pair.statistics, pair.counts))))
    # A quadratic function that falls by so many nats.
    assert np.abs((parameters - at) / errors).max() < np.sqrt(2 * TOLERANCE)
    # Where it begins at the maximum it stays there, and says all of that point.
    value, there, curvature, inverse, _ = pair.climb(at)
    ridge = 1e-9 * pair.counts.sum()
    assert value == pytest.approx(naive.penalised(at, *pair.shown), abs=ridge * (errors**2).sum() + 1e-9)
    assert np.abs((there - at) / errors).max() < 1e-4  # the oracle's gradients end at 1e-5
    exact = naive.information(at, pair.statistics, pair.counts)
    np.testing.assert_allclose(curvature, exact, rtol=1e-8, atol=1e-7)  # but for the ridge
    np.testing.assert_allclose(inverse, np.linalg.inv(exact), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_climb_with_theta_held_ends_where_others_are_best(kind):
    pair = Pair(kind, seed=3)
    held = 0.3 * np.arange(1, pair.n_theta + 1)
    best, at = naive.maximise(*pair.shown, theta=held, n_theta=pair.n_theta)
    value, parameters, *_, is_whole = pair.climb(
        np.concatenate([np.zeros(pair.size - pair.n_theta), held]), pair.size - pair.n_theta
    )
    assert is_whole
    assert value == pytest.approx(best, abs=TOLERANCE)
    np.testing.assert_array_equal(parameters[-pair.n_theta :], held)
    np.testing.assert_allclose(parameters, at, atol=0.01)


@pytest.mark.parametrize("kind", ["binary", "ordered", "nominal and binary"])
def test_rows_of_several_blocks_are_those_of_one(kind):
    pair, few = Pair(kind, n=700, k=1), Pair(kind, n=700, k=1)
    # The same rows in two parts, in another order: blocks are cut elsewhere.
    order = np.random.default_rng(2).permutation(1400)
    for name in ("z", "z_other"):
        setattr(few, name, np.ascontiguousarray(np.repeat(getattr(pair, name), 2, axis=0)[order]))
    few.states, few.counts = np.repeat(pair.states, 2)[order], np.repeat(pair.counts / 2, 2)[order]
    few.rows = np.arange(1400)
    value, parameters, curvature, *_ = pair.climb(pair.truth)
    own, same, again, *_ = few.climb(pair.truth)
    assert own == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(same, parameters, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(again, curvature, rtol=1e-9, atol=1e-9)
    exact = naive.penalised(parameters, *pair.shown)
    assert value == pytest.approx(exact, abs=TOLERANCE)


def test_a_maximum_is_found_where_levels_are_told_without_error():
    pair = Pair("binary", n=40)
    pair.states = np.where(pair.z[:, 0] > 0, 3, 0)  # u = v = 1, where z is above zero
    best, _ = naive.maximise(*pair.shown)
    value, parameters, *_, is_whole = pair.climb(np.zeros(pair.size))
    assert is_whole
    assert value == pytest.approx(best, abs=TOLERANCE)
    assert np.all(np.isfinite(parameters))
    assert np.abs(parameters).max() < 40


def test_columns_that_repeat_each_other_leave_a_maximum():
    pair = Pair("binary", k=1)
    twice = Pair("binary", k=2)
    twice.z = np.column_stack([pair.z[:, 0], pair.z[:, 0]])
    twice.states, twice.counts, twice.z_other = pair.states, pair.counts, pair.z_other
    one, other = pair.climb(np.zeros(pair.size)), twice.climb(np.zeros(twice.size))
    assert other[-1]
    assert other[1][-1] == pytest.approx(one[1][-1], abs=np.sqrt(2 * TOLERANCE * one[3][-1, -1]))
    assert other[3][-1, -1] == pytest.approx(one[3][-1, -1], rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_moves_are_scores_in_units_of_the_inverse_information(kind):
    pair = Pair(kind)
    inverse = np.linalg.inv(naive.information(pair.truth, pair.statistics, pair.counts))
    moves, parts = np.zeros((pair.n_theta, len(pair.z))), np.zeros((pair.n_theta, len(pair.z)))
    find_influence(
        pair.states,
        pair.rows,
        pair.rows,
        pair.counts,
        pair.z,
        pair.z_other,
        *pair.base,
        pair.truth,
        inverse,
        moves,
        parts,
    )
    own = naive.scores_of_rows(pair.truth, pair.statistics, pair.states) * pair.counts[:, None]
    np.testing.assert_allclose(moves, (own @ inverse)[:, -pair.n_theta :].T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.sum(axis=1), np.diagonal(inverse)[-pair.n_theta :], rtol=1e-9)


def test_moves_are_what_a_little_more_weight_does_to_a_maximum():
    pair = Pair("binary and ordered", n=30, k=1)
    _, at = naive.maximise(*pair.shown, value=naive.log_likelihood)
    inverse = np.linalg.inv(naive.information(at, pair.statistics, pair.counts))
    moves, parts = np.zeros((1, 30)), np.zeros((1, 30))
    find_influence(
        pair.states, pair.rows, pair.rows, pair.counts, pair.z, pair.z_other, *pair.base, at, inverse, moves, parts
    )
    change = 0.05
    for t in (0, 7, 19):
        ends = []
        for sign in (-1, 1):
            counts = pair.counts.copy()
            counts[t] *= 1 + sign * change
            ends.append(naive.maximise(pair.statistics, pair.states, counts, value=naive.log_likelihood)[1][-1])
        slope = (ends[1] - ends[0]) / (2 * change)
        # Central differences leave the square of the change; maxima are right to their gradients, 1e-5, in each.
        assert moves[0, t] == pytest.approx(slope, abs=0.01 * abs(slope) + 2e-5 * inverse[-1, -1] / change)


@pytest.mark.parametrize("kind", ["binary", "ordered", "nominal"])
def test_what_states_of_one_row_hide_is_taken_from_the_information(kind):
    pair = Pair(kind, n=60)
    rng = np.random.default_rng(5)
    rows = np.sort(rng.integers(0, 30, 60))  # some of one state, some of several
    assert 0 < (np.bincount(rows) == 1).sum() < 30
    # States of a row share the levels of the pair.
    states = pair.states[np.unique(rows, return_index=True)[1][np.unique(rows, return_inverse=True)[1]]]
    left = naive.information(pair.truth, pair.statistics, pair.counts)
    take_hidden(states, rows, np.arange(60), pair.counts, pair.z, pair.z_other, *pair.base, pair.truth, left)
    exact = naive.hide(pair.truth, pair.statistics, states, pair.counts, rows)
    np.testing.assert_allclose(np.tril(left), np.tril(exact), rtol=1e-9, atol=1e-9)
