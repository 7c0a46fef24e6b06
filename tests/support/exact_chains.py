"""The exact law of Gibbs chains of small binary fields, with numpy alone; compared with `naive` in the tests."""

import numpy as np
from scipy import optimize


def states(p):
    """Return all states (2^p, p), the first variable slowest."""
    return np.array(list(np.ndindex(*[2] * p)), dtype=np.float64).reshape(-1, p)


def probabilities(main, interactions):
    """Return the probability of each state."""
    x = states(len(main))
    exponents = x @ main + ((x @ interactions) * x).sum(axis=1) / 2
    weights = np.exp(exponents - exponents.max())
    return weights / weights.sum()


def influence(main, interactions):
    """Return Dobrushin's influences (p, p): the largest change of P(x_i = 1 | x), over all states, as x_j flips."""
    p = len(main)
    x = states(p)
    ones = 1 / (1 + np.exp(-(main + x @ interactions)))
    numbers = np.arange(len(x))
    return np.stack([np.abs(ones - ones[numbers ^ (1 << (p - 1 - j))]).max(axis=0) for j in range(p)], axis=1)


def sweep(laws, main, interactions, order=None):
    """Carry laws (n, 2^p) through one sweep."""
    p = len(main)
    x = states(p)
    numbers = np.arange(len(x))
    for i in range(p) if order is None else order:
        one = 1 / (1 + np.exp(-(main[i] + x @ interactions[i])))
        bit = 1 << (p - 1 - i)
        both = laws + laws[:, numbers ^ bit]
        laws = both * np.where(numbers & bit, one, 1 - one)
    return laws


def pair_moments(laws, p):
    """Return the moments (n, p, p) of laws."""
    x = states(p)
    return np.einsum("ns,si,sj->nij", laws, x, x, optimize=True)


def norm(pair):
    """Return the L2 norm over the statistics of matrices (..., p, p): the diagonal and the upper triangle."""
    upper = np.triu(np.ones(pair.shape[-2:], dtype=bool))
    return np.sqrt((pair**2 * upper).sum(axis=(-2, -1)))


def penalised_optimum(data, penalty):
    """Minimise log Z(theta) - theta . data + penalty . |theta| over binary fields; return theta and the value."""
    p = len(data)
    rows, columns = np.triu_indices(p)
    x = states(p)
    found, lowest = least_objective(x[:, rows] * x[:, columns], data[rows, columns], penalty[rows, columns])
    theta = np.zeros((p, p))
    theta[rows, columns] = theta[columns, rows] = found
    return theta, lowest


def least_objective(psi, mean, weight):
    """Minimise log Z(theta) - theta . mean + weight . |theta|, given the statistics psi (n, m) of all states.

    By a bounded quasi-Newton method on the positive and negative parts: nothing in common with proximal steps.
    """

    def value(parts):
        theta = parts[: len(mean)] - parts[len(mean) :]
        exponents = psi @ theta
        top = exponents.max()
        weights = np.exp(exponents - top)
        gradient = psi.T @ weights / weights.sum() - mean
        penalised = top + np.log(weights.sum()) - theta @ mean + weight @ (parts[: len(mean)] + parts[len(mean) :])
        return penalised, np.concatenate([gradient + weight, weight - gradient])

    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50}
    start, last = np.zeros(2 * len(mean)), np.inf
    # Its line search may give up early: go on from there until nothing is gained.
    for _ in range(50):
        bounds = [(0, None)] * len(start)
        found = optimize.minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        if found.fun >= last - 1e-14:
            break
        start, last = found.x, found.fun
    return found.x[: len(mean)] - found.x[len(mean) :], found.fun
