"""The theorem of the decrement with exact quantities, and the limits of Hotelling."""

import numpy as np
import pytest
from scipy import stats

from sparsefield.optimality._decrement import Tail, bound_divergence, find_excess, spill
from sparsefield.optimality._hotelling import limit_decrement, remove_errors, widen_limit
from support.exact_chains import penalised_optimum
from support.noise import enumerate_statistics
from support.problems import make_problem

ROUNDING = 1e-12  # objectives of order 10, sums of 64 states: 640 roundings of 2^-53 are 7e-14


def starts(rng, best):
    """Return parameters that are near the optimum and far from it, with signs right and wrong."""
    support = best != 0
    noise = np.triu(rng.normal(size=best.shape))
    noise = noise + np.triu(noise, 1).T
    return [
        best,
        np.zeros_like(best),
        *(best + size * noise * support for size in (0.05, 0.2, 0.5)),
        best + 0.2 * noise,
    ]


def theorem(problem, theta, rng):
    """Return the bound for a random choice of S and t, or None where the conditions do not hold."""
    model = problem.model(theta)
    p, s, (a, b) = enumerate_statistics(model)
    weights, data, theta = problem.penalty.weights[a, b], problem.data.moments.pair[a, b], theta[a, b]
    mu = p @ s
    s = s - mu
    h_all, gradient = (s.T * p) @ s, mu - data
    t = np.where(theta != 0, weights * np.sign(theta), np.clip(-gradient, -weights, weights))
    t = np.clip(t + 0.5 * weights * rng.normal(size=len(t)) * (rng.random(len(t)) < 0.2), -weights, weights)
    inside = (theta != 0) | (weights == 0) | (np.abs(gradient) > rng.uniform(0, 1) * weights)
    own = h_all[np.ix_(inside, inside)]
    v = (gradient + t)[inside]
    c = np.linalg.solve(own, v)
    h = -s[:, inside] @ c
    reach = np.sqrt(np.einsum("ij,ij->i", s[:, inside], np.linalg.solve(own, s[:, inside].T).T).max())
    tail = Tail.of(h, p)
    if h.min() >= -1:
        tail = Tail(np.zeros_like(tail.moments))
    excess = find_excess(tail, reach)
    moved = gradient - h_all[:, inside] @ c
    if not np.isfinite(excess) or np.any((np.abs(moved) + spill(tail, excess) > weights)[~inside]):
        return None
    low = np.maximum(0.0, -h)
    cost = (weights * np.abs(theta) - t * theta)[inside].sum()
    return cost + bound_divergence(v @ c, p @ low**3, p @ low**4, excess, reach), excess, np.sqrt(v @ c)


@pytest.mark.parametrize("penalize_main", [True, False])
def test_the_decrement_bounds_the_gap_for_every_choice_of_targets(penalize_main):
    n_held = n_mended = 0
    tightest = np.inf
    for seed in range(30):
        rng = np.random.default_rng(seed)
        problem = make_problem(4 + seed % 3, 0.05, 300, seed, (0.5, 2.0), penalize_main)
        best, lowest = penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
        best = np.where(np.abs(best) < 1e-6, 0.0, best)
        for theta in starts(rng, best):
            gap = problem.objective(theta) - lowest
            for _ in range(3):
                found = theorem(problem, theta, rng)
                if found is None:
                    continue
                n_held += 1
                n_mended += found[1] > 0
                assert found[0] >= gap - ROUNDING
                # Above the precision of the optimum, by far, and where no walk would be made.
                if gap > 1e-6 and found[2] ** 2 < 0.03:
                    tightest = min(tightest, found[0] / gap / (1 + 0.27 * found[2] + found[2] ** 2))
    # Only so that the test is not empty: the conditions are met where there are choices enough to break the theorem,
    # and negative states are mended.
    assert n_held > 100
    assert n_mended > 0
    # Where S and t are the best ones, the bound is delta^2 / 2 and what terms of higher order add to it for a normal
    # direction, 0.27 delta + delta^2 of it.
    assert tightest <= 1


def test_negative_states_are_mended_by_a_distribution_that_exists():
    # The construction of the proof, on random values: it is positive, and has the moments that are wanted.
    rng = np.random.default_rng(1)
    n_mended = 0
    for _ in range(500):
        p = rng.dirichlet(np.ones(40))
        s = (rng.random((40, 2)) < 0.4).astype(float)
        s -= p @ s
        own = (s.T * p) @ s
        if np.linalg.eigvalsh(own)[0] < 1e-3:
            continue
        v = 0.4 * np.linalg.cholesky(own) @ rng.normal(size=2)
        h = -s @ np.linalg.solve(own, v)
        reach = np.sqrt(np.einsum("ij,ij->i", s, np.linalg.solve(own, s.T).T).max())
        e = find_excess(Tail.of(h, p), reach)
        a = np.maximum(0.0, -(1 + (1 + e) * h))
        if not np.isfinite(e) or not a.any():
            continue
        tau = p @ a
        u = -s @ np.linalg.solve(own, s.T @ (p * a)) / (e - tau)
        share = (e - tau) / (1 + e)
        q = p * (1 + (1 + e) * h + a) / (1 + e) + share * p * (1 + u)
        assert q.min() >= 0
        assert q.sum() == pytest.approx(1)
        np.testing.assert_allclose(q @ s, -v, atol=1e-12)
        n_mended += 1
    assert n_mended > 5  # only so that the test is not empty


@pytest.mark.parametrize(("k", "n"), [(1, 1000), (20, 1000), (20, 100_000), (300, 3000)])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0])
def test_limits_are_those_of_the_noncentral_f(k, n, ratio):
    decrement = ratio * k / n
    limit = limit_decrement(decrement, k, n, 0.01)
    statistic = n * decrement * (n - k) / (k * (n - 1))
    reached = stats.ncf.cdf(statistic, k, n - k, n * limit)
    # One per mille of the limit moves a probability of 0.01 by no more than a twentieth of it.
    assert reached == pytest.approx(0.01, rel=0.05) or (limit == 1 / n and reached < 0.01)


def test_limits_hold_for_normal_statistics():
    rng = np.random.default_rng(1)
    k, n, delta, n_below = 5, 200, 0.3, 0
    for _ in range(2000):
        x = rng.normal(size=(n, k))
        x[:, 0] += delta
        v, own = x.mean(axis=0), np.cov(x.T)
        c = np.linalg.solve(own, v)
        limit = widen_limit(limit_decrement(v @ c, k, n, 0.05), v @ c, k, (x - v) @ c)
        n_below += limit < delta**2
    assert n_below <= stats.binom.isf(1e-6, 2000, 0.05)
    assert n_below > stats.binom.isf(1 - 1e-6, 2000, 0.02)  # and are no wider than they must be


def test_a_decrement_far_beyond_its_noise_has_no_limit():
    assert limit_decrement(200.0, 3, 100, 0.01) == np.inf
    assert remove_errors(0.1, 100, 1000) == 0.0
