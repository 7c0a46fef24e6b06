"""How far estimates may lie from the truth, from a wanted rate of false alarms."""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6  # for one call, over all the comparisons that it makes; the suite makes a few hundred


def assert_moments_agree(estimate, exact, n):
    """Check means of n independent indicators against their expectations.

    Bernstein's inequality, which holds for every n and probability: |error| <= sqrt(2 v t / n) + 2 t / (3 n) except
    with probability 2 exp(-t), v = q (1 - q).
    """
    exact = np.clip(exact, 0, 1)
    t = np.log(2 * exact.size / FALSE_ALARM)
    allowed = np.sqrt(2 * exact * (1 - exact) * t / n) + 2 * t / (3 * n)
    error = np.abs(estimate - exact)
    worst = np.unravel_index(np.argmax(error - allowed), error.shape)
    assert np.all(error <= allowed), (worst, error[worst], allowed[worst])


def assert_counts_agree(counts, probabilities):
    """Check counts of states by chi-square; states expected fewer than 5 times are put together."""
    n = counts.sum()
    rare = probabilities * n < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(probabilities[~rare] * n, probabilities[rare].sum() * n)
    if expected[-1] < 5:
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(observed) - 1) > FALSE_ALARM, statistic
