"""Regressions of variables on their neighbours, against slow maximisation of the same likelihoods."""

import numpy as np
import pytest
from scipy import optimize, stats

import sparsefield as sf
from sparsefield.structure._design import Design
from sparsefield.structure._nodes import PRECISION, Nodes
from support.statistics_ import FALSE_ALARM

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]  # without bridges

KINDS = {"two levels": (2, None), "three levels": (3, None), "ordered": (4, True)}


def make_table(n_levels, ordinal, n=300, p=5, seed=1, missing=0.0):
    """Return rows of levels that follow one another, some of which may be missing."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_levels, (n, p)).astype(float)
    for j in range(1, p):
        follows = rng.random(n) < 0.4
        rows[follows, j] = rows[follows, j - 1]
    rows[rng.random(rows.shape) < missing] = np.nan
    return sf.encode(rows, ordinal=ordinal)


def make_contrasts(n_levels, ordinal):
    """Return contrasts of levels with squared norms of n / 4: scores, or any orthogonal ones."""
    if ordinal:
        scores = np.arange(n_levels) - (n_levels - 1) / 2
        return (scores * np.sqrt(n_levels / 4 / (scores @ scores)))[:, None]
    q, _ = np.linalg.qr(np.eye(n_levels)[:, 1:] - 1 / n_levels)
    return q * np.sqrt(n_levels) / 2


class Climb:
    """A variable given its neighbours where log-likelihood and prior are largest, by slow means."""

    def __init__(self, rows, i, neighbours, contrasts, precision):
        rows = rows[rows[:, i] != 255]
        shares = np.bincount(rows[:, i], minlength=len(contrasts)) / len(rows)
        columns = [contrasts[rows[:, j]] - contrasts[rows[:, j]].mean(axis=0) for j in neighbours]
        self._z = np.hstack([np.zeros((len(rows), 0)), *columns])
        self._codes, self._centred = rows[:, i], contrasts - shares @ contrasts
        self._precision, self._neighbours = precision, neighbours
        size = len(contrasts) - 1 + contrasts.shape[1] * self._z.shape[1]
        found = optimize.minimize(self._fall, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
        self._theta = found.x
        likelihood, slopes = self._look(found.x)
        self.value = likelihood - precision / 2 * (slopes**2).sum()
        d = contrasts.shape[1]
        self.squares = [float((slopes[:, d * m : d * m + d] ** 2).sum()) for m in range(len(neighbours))]

    def _look(self, theta):
        n_levels, d = self._centred.shape
        main, slopes = np.append(0.0, theta[: n_levels - 1]), theta[n_levels - 1 :].reshape(d, -1)
        exponents = main + self._z @ slopes.T @ self._centred.T
        logs = exponents - np.logaddexp.reduce(exponents, axis=1)[:, None]
        return logs[np.arange(len(self._codes)), self._codes].sum(), slopes

    def _fall(self, theta):
        likelihood, slopes = self._look(theta)
        return -likelihood + self._precision / 2 * (slopes**2).sum()

    def variance_of(self, j):
        """Return the mean variance of the slopes of a neighbour, by second differences."""
        h, unit = 1e-3, np.eye(len(self._theta))
        curvature = np.empty((len(unit),) * 2)
        for a, first in enumerate(unit):
            for b, second in enumerate(unit):
                curvature[a, b] = sum(
                    sign * other * self._fall(self._theta + h * (sign * first + other * second))
                    for sign in (1, -1)
                    for other in (1, -1)
                ) / (4 * h**2)
        n_levels, d = self._centred.shape
        at, k = self._neighbours.index(j), self._z.shape[1]
        own = (n_levels - 1 + np.arange(d)[:, None] * k + np.arange(d * at, d * at + d)).ravel()
        return float(np.diagonal(np.linalg.inv(curvature))[own].mean())


@pytest.mark.parametrize("kind", KINDS)
def test_regressions_are_the_penalised_maximum(kind):
    n_levels, ordinal = KINDS[kind]
    table, contrasts = make_table(n_levels, ordinal), make_contrasts(n_levels, ordinal)
    nodes = Nodes(Design.of(table))
    nodes.set_edges([(0, 1), (1, 2), (1, 4)], are_there=True)
    rows = np.asarray(table.codes)
    for i, neighbours in enumerate([[1], [0, 2, 4], [1], [], [1]]):
        best = Climb(rows, i, neighbours, contrasts, PRECISION)
        assert nodes.fits[i].value == pytest.approx(best.value, abs=2e-4)
        for j, square in zip(neighbours, best.squares, strict=True):
            own = nodes.design.variables
            weights = own[i].axes @ nodes.fits[i].slopes_of(j) @ own[j].axes.T
            assert (weights**2).sum() == pytest.approx(square, rel=2e-3)


@pytest.mark.parametrize("prior", [1 / PRECISION, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_looks_are_likelihood_ratios_of_both_ends(kind, prior):
    n_levels, ordinal = KINDS[kind]
    table, contrasts = make_table(n_levels, ordinal), make_contrasts(n_levels, ordinal)
    nodes, rows = Nodes(Design.of(table)), np.asarray(table.codes)
    nodes.set_edges(RING, are_there=True)
    nodes.expect(prior)
    for i, j in ((0, 1), (0, 2)):
        gains = []
        for a, b in ((i, j), (j, i)):
            neighbours = sorted({*np.flatnonzero(nodes.support[a]).tolist(), b})
            whole = Climb(rows, a, neighbours, contrasts, 1 / prior)
            without = Climb(rows, a, [m for m in neighbours if m != b], contrasts, 1 / prior)
            variance = whole.variance_of(b)
            r = 1 - variance / prior
            square = whole.squares[neighbours.index(b)]
            gains.append((2 * (whole.value - without.value) / r, square / r**2, variance / r))
        seen = nodes.look([(i, j)])[0]
        ratio, square, variance = np.mean(gains, axis=0)
        # A trial ends where a step promises a hundredth of a nat: what it leaves is of the order of that to the 3/2.
        assert seen.ratio == pytest.approx(ratio, abs=4 * 0.01**1.5)
        assert seen.square == pytest.approx(square, rel=0.02)
        assert seen.variance == pytest.approx(variance, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_what_rows_tell_of_a_pair_hardly_depends_on_its_prior(kind):
    n_levels, ordinal = KINDS[kind]
    nodes = Nodes(Design.of(make_table(n_levels, ordinal, n=4000)))
    pairs, seen = [(i, i + 1) for i in range(4)], []
    for variance in (1 / PRECISION, 0.5):
        nodes.expect(variance)
        seen.append(nodes.look(pairs))
    for one, other in zip(*seen, strict=True):
        # It does to third order: by about the share of a weight that the prior takes, which is the variance over 0.5.
        assert one.variance < 0.01
        assert other.ratio == pytest.approx(one.ratio, rel=0.02)
        assert other.square == pytest.approx(one.square, rel=0.02)
        assert other.variance == pytest.approx(one.variance, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_wald_statistics_are_likelihood_ratios_to_second_order(kind):
    n_levels, ordinal = KINDS[kind]
    table = make_table(n_levels, ordinal, n=4000)
    nodes = Nodes(Design.of(table))
    nodes.set_edges(RING, are_there=True)
    walds = nodes.walds()
    for i, j in ((0, 2), (0, 3), (1, 3), (1, 4), (2, 4)):
        seen = nodes.look([(i, j)])[0].ratio
        assert nodes.scores[i, j] == pytest.approx(seen, abs=0.05 + 0.05 * seen)
    for i in range(4):
        assert walds[i, i + 1] == pytest.approx(nodes.look([(i, i + 1)])[0].ratio, rel=0.25)
    assert not walds[~nodes.support].any()
    assert not nodes.scores[nodes.support].any()


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_independent_variables_are_chi_squares(kind):
    n_levels, ordinal = KINDS[kind]
    rng = np.random.default_rng(5)
    rows = rng.integers(0, n_levels, (2000, 60))
    nodes = Nodes(Design.of(sf.encode(rows, ordinal=ordinal)))
    pairs = np.triu_indices(60, 1)
    degrees = nodes.design.degrees[pairs]
    assert np.all(degrees == (1 if ordinal else (n_levels - 1) ** 2))
    p_values = stats.chi2.sf(nodes.scores[pairs], degrees)
    assert stats.kstest(p_values, "uniform").pvalue > FALSE_ALARM
    # Where no variable has neighbours they are Pearson's statistics of tables of two variables.
    if not ordinal:
        table = np.histogram2d(rows[:, 0], rows[:, 1], bins=n_levels)[0]
        assert nodes.scores[0, 1] == pytest.approx(stats.chi2_contingency(table, correction=False).statistic)


def test_rows_that_count_twice_are_two_rows():
    table = make_table(3, None)
    weights = np.random.default_rng(1).integers(0, 4, table.n_rows).astype(float)
    twice = sf.Table(table.domain, np.asfortranarray(np.repeat(table.codes, weights.astype(int), axis=0)))
    found = []
    for nodes in (Nodes(Design.of(table, weights)), Nodes(Design.of(twice))):
        nodes.set_edges([(0, 1), (1, 2)], are_there=True)
        found.append((nodes.scores, nodes.walds(), [fit.value for fit in nodes.fits], nodes.design.n))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_results_do_not_depend_on_the_number_of_threads(n_threads):
    table = make_table(2, None, n=60_000, p=12)  # enough for two threads
    nodes = Nodes(Design.of(table), n_threads)
    nodes.set_edges([(i, i + 1) for i in range(11)], are_there=True)
    other = Nodes(Design.of(table), 1)
    other.set_edges([(i, i + 1) for i in range(11)], are_there=True)
    np.testing.assert_array_equal(nodes.scores, other.scores)
    pairs = [(i, j) for i in range(12) for j in range(i)]
    assert [one.ratio for one in nodes.look(pairs)] == [one.ratio for one in other.look(pairs)]


def test_missing_neighbours_are_what_the_others_say_of_them():
    table = make_table(2, None, n=60_000, missing=0.2)
    nodes = Nodes(Design.of(table))
    nodes.set_edges([(0, 1), (1, 2)], are_there=True)
    before = nodes.scores[0, 2]
    nodes.fill()
    # x0 and x2 go together by x1 alone: where it is missing, its mean says nothing of that.
    assert before > stats.chi2.isf(FALSE_ALARM, 1) > nodes.scores[0, 2]
    nodes.set_edges([(1, 2)], are_there=False)
    assert nodes.scores[0, 2] > stats.chi2.isf(FALSE_ALARM, 1)
