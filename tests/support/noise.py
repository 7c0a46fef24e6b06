"""How far noise can lead a fit: bounds at the rate of false alarms of `statistics_`, from laws found by enumeration."""

import numpy as np
from scipy import stats

from support.statistics_ import FALSE_ALARM


def enumerate_statistics(model):
    """Return the probabilities (n,) of all states, the statistics (n, m) that have parameters, and these' slots."""
    domain = model.domain
    states = np.indices(tuple(domain.n_levels), dtype=np.uint8).reshape(domain.n_variables, -1).T
    a, b = np.triu_indices(domain.n_slots)
    own = (a == b) | (domain.slot_variables[a] != domain.slot_variables[b])
    a, b = a[own], b[own]
    s = domain.indicators(states).astype(float)
    return np.exp(model.log_prob(states)), s[:, a] * s[:, b], (a, b)


def covariance(probabilities, values):
    """Return the covariance (m, m) of values (n, m) that states of these probabilities have."""
    centred = values - probabilities @ values
    return (centred.T * probabilities) @ centred


def curvature(model):
    """Return the curvature of the log-partition function, which is Fisher's information of one row."""
    probabilities, statistics, _ = enumerate_statistics(model)
    return covariance(probabilities, statistics)


def largest_norm(probabilities, values, n, n_checks=1):
    """Bound the norm of the error of a mean of n independent values, at each of several checks.

    Bousquet's form of Talagrand's inequality, for every n: the norm is the supremum of sums along unit vectors. Its
    mean is at most e = sqrt(trace / n); above that it has the tail of a sum of variance v = largest eigenvalue + 2 b e,
    b the largest norm of a centred value: norm <= e + sqrt(2 v t / n) + b t / (3 n) except with probability exp(-t).
    """
    own = covariance(probabilities, values)
    t = np.log(n_checks / FALSE_ALARM)
    e = np.sqrt(np.trace(own) / n)
    b = np.linalg.norm(values - probabilities @ values, axis=1).max()
    return e + np.sqrt(2 * (np.linalg.eigvalsh(own)[-1] + 2 * b * e) * t / n) + b * t / (3 * n)


def largest_floor(fits, n):
    """Bound the mean gap of independent fits whose gradient steps only follow the noise of n draws each.

    Along an eigenvector of the curvature with eigenvalue c, a step of size s makes (1 - s c) of a deviation and adds
    noise of variance s^2 c / n. Deviations then have the variance s / (n (2 - s c)) and cost c / 2 of their square: the
    gap is a sum of w z^2 / (2 n) with z standard normal and w = s c / (2 - s c). Thresholds only shorten deviations.
    Laurent and Massart (2000): sum w z^2 <= sum w + 2 sqrt(t sum w^2) + 2 t max w, except with probability exp(-t).
    Step sizes vary a little: the largest counts, of the 80 iterations over which fits are compared with noise.
    """
    sizes = [max(step.step_size for step in fit.steps[-80:]) for fit in fits]
    c = np.concatenate([s * np.linalg.eigvalsh(curvature(fit.model)) for s, fit in zip(sizes, fits, strict=True)])
    w, t = c / (2 - c), np.log(1 / FALSE_ALARM)
    return (w.sum() + 2 * np.sqrt(t * (w**2).sum()) + 2 * t * w.max()) / (2 * n * len(fits))


def largest_excess(gap, n_parameters, n, risk):
    """Return how far a bound from n draws is above the gap, except with the probability of three standard errors.

    As docs/math/optimality.md says, to leading order it is above by 1 / (2 n) for each zero near its penalty, and by z
    standard errors of the decrement, (2 k + 4 n delta^2)^1/2 / (2 n) with delta^2 = 2 gap, for a risk of sf(z): no more
    than n_parameters are either. Noise puts the decrement itself three higher at most. What is not quadratic adds 0.27
    delta + delta^2 to a bound, relative to delta^2 / 2, for a direction that is normal.

    Holds where the bound is not that of a walk, whose fall has noise of its own.
    """
    error = np.sqrt(2 * n_parameters + 8 * n * gap) / (2 * n)
    bound = gap + n_parameters / (2 * n) + (stats.norm.isf(risk) + 3) * error
    delta = np.sqrt(2 * bound)
    return bound * (1 + 0.27 * delta + delta**2) - gap


def step_to_end(fit):
    """Return the row of the step that led to the end of a Newton fit: the one before the last that was not taken back.

    None if the fit ends where it started.
    """
    is_kept = ["taken back" not in step.reason for step in fit.steps]
    ends = [k for k, step in enumerate(fit.steps) if step.decrease is not None and is_kept[k]]
    return None if not ends else [step for k, step in enumerate(fit.steps[: ends[-1]]) if is_kept[k]][-1]


def assert_gaps_are_noise(gaps, steps, n_parameters, *, n_held=None, bias=0.0):
    """Check that Newton fits, each with its gap and the step that led there, are off by no more than noise.

    A step from n draws finds the least f(x) + e . x + penalty(x), but for terms of higher order: f is the smooth part
    of the objective, with the curvature H, and e the noise of the mean of m statistics, with the covariance H / n. So
    -f'(x) - e is a subgradient of the penalty at the x found. By convexity, with d from the optimum to x,

        gap <= -e . d - d . H d / 2 <= e . H^-1 e / 2,

    whatever is zero and whatever is not: chi-squared with m degrees of freedom over 2 n, to leading order (and with as
    many as are not zero where noise does not change which). What is left out adds to e, in the norm by H^-1. With |s|
    the norm by H of that step, half the square of which its quadratic model promises at least, it is

    - 2 sqrt(m / n) |s|, since a covariance of m statistics over n draws is off by that share (Marchenko and Pastur):
      n_held draws, where not all are kept for it;
    - |s|^2 / sqrt(2), since moments are not linear along s: exp(z) - 1 - z has that norm for normal z of norm |s|;
    - a twentieth of the noise, to which the quadratic model is minimised;
    - the norm of the bias, where draws are not exact.

    Zeros that violated nothing at the start of the step are not part of it; they are counted as if they were. The ridge
    of the curvature is of order m / n, and left out. Chi-squares of independent fits add up, and the squares of the
    rest (Minkowski's inequality).
    """
    assert {step.share for step in steps} == {1.0}
    n = np.array([step.n_chains for step in steps])
    moved = np.sqrt([2 * step.predicted for step in steps])
    beyond = 2 * np.sqrt(n_parameters / (n if n_held is None else n_held)) * moved + moved**2 / np.sqrt(2) + bias
    noise = 1.05 * np.sqrt(stats.chi2.isf(FALSE_ALARM, len(steps) * n_parameters))
    total, allowed = (2 * n * gaps).sum(), (noise + np.sqrt((n * beyond**2).sum())) ** 2
    assert total < allowed, (total, allowed)


def assert_end_is_measured(problem, fit, optimum, *, n_held=2**16, law=None):
    """Check that a Newton fit ends where nothing is left to gain but noise, by draws that had no part in choosing it.

    Its last row is about draws at its end. They promise the decrease of the best step d of a quadratic model,

        -(g + e) . d - d . (C + R) d / 2 + penalty(theta) - penalty(theta + d),

    with g the exact gradient, e the noise of the draws, C their covariance and R its ridge. The promise is no less than
    that of the step d to the optimum, which is known here, and which the draws at the end do not depend on. Along it
    e . d is the error of a mean of n independent values x = d . s, and d . C d at most the mean of n_held values
    (x - mean)^2. Bernstein's inequality bounds both, for every n, at each of the checks that could have ended the fit.
    The quadratic model is minimised until no parameter violates its optimality by more than tol = 0.025 / sqrt(n): that
    leaves tol^2 m / (2 c) at most, m the number of parameters and c the least eigenvalue of the curvature, of which
    sampling leaves half at least. Fits end when they are promised 2.5 times nonzeros / (2 n) or less.

    The gap itself differs from the promise along d by what is not quadratic, and is returned.

    Parameters
    ----------
    problem : Problem
        Of observed moments.
    fit : Fit
        Which has converged.
    optimum : ndarray
        The parameters of the optimum.
    n_held : int
        How many of the draws are behind the covariance at most.
    law : ndarray, optional
        The probability with which a draw at the end is each of the states, where draws are not exact.

    Returns
    -------
    float
        How far the objective is above its optimum.
    """
    last, theta = fit.steps[-1], fit.model.interactions + np.diag(fit.model.main)
    n, n_held = last.n_chains, min(n_held, last.n_chains)
    assert "taken back" not in last.reason
    assert last.share == 0
    assert last.n_nonzero == np.count_nonzero(np.triu(theta))
    assert last.predicted <= 2.5 * max(1, last.n_nonzero) / (2 * n) * (1 + 1e-12)
    probabilities, statistics, (a, b) = enumerate_statistics(fit.model)
    step = (optimum - theta)[a, b]
    own = covariance(probabilities, statistics)
    variances = np.diagonal(own)
    x = (statistics - probabilities @ statistics) @ step
    t = np.log(2 * len(fit.steps) / FALSE_ALARM)
    law = probabilities if law is None else law
    error = _bernstein(law, x, n, t) + _bernstein(law, x**2, n_held, t) / 2
    ridge = (variances * len(a) / n_held + np.maximum(0.0, 4 / n_held - variances)) @ step**2
    inner = 0.025**2 / n * len(a) / np.linalg.eigvalsh(own)[0]
    gradient = problem.gradient(fit.model.moments())[a, b]
    by_penalty = problem.penalty.value(theta) - problem.penalty.value(optimum)
    promise = -(gradient @ step + law @ x) - (law @ x**2 + ridge) / 2 + by_penalty
    assert promise - error - inner <= last.predicted, (promise, error, inner, last.predicted)
    return problem.objective(theta) - problem.objective(optimum)


def _bernstein(probabilities, values, n, t):
    """Bound the error of a mean of n independent values, except with probability 2 exp(-t)."""
    mean = probabilities @ values
    variance = probabilities @ (values - mean) ** 2
    return np.sqrt(2 * variance * t / n) + 2 * np.abs(values - mean).max() * t / (3 * n)
