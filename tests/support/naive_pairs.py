"""The likelihood of a pair given all others again, slow and obvious: the statistics of all states of all rows at once.

Shares no code with the package. Rows are given as the states (u, v) that they show, their neighbours' features z for
either variable, and how often they count. Parameters are intercepts of both, slopes of both, and Theta, as in the paper
formula exp(b_u + c_v + f_u . A z + g_v . C z' + f_u . Theta g_v).
"""

import itertools

import numpy as np
from scipy import optimize


def indicators(n_levels):
    """Return the features of levels without order: indicators of all but the first."""
    return np.eye(n_levels)[:, 1:]


def scores(n_levels):
    """Return the feature of ordered levels: their number."""
    return np.arange(n_levels, dtype=float)[:, None]


def list_statistics(f, g, z, z_other):
    """Return the statistics of every state (u, v) of every row, (n, n_u * n_v, m)."""
    found = []
    for u, v in itertools.product(range(len(f)), range(len(g))):
        one, two = np.arange(1, len(f)) == u, np.arange(1, len(g)) == v
        fixed = np.tile(np.concatenate([one, two]).astype(float), (len(z), 1))
        slopes = [f[u, a] * z for a in range(f.shape[1])]
        others = [g[v, a] * z_other for a in range(g.shape[1])]
        theta = np.tile(np.outer(f[u], g[v]).ravel(), (len(z), 1))
        found.append(np.hstack([fixed, *slopes, *others, theta]))
    return np.stack(found, axis=1)


def weigh(parameters, statistics):
    """Return the probability of every state of every row, (n, n_states)."""
    exponents = statistics @ parameters
    shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def log_likelihood(parameters, statistics, states, counts):
    """Return the log-likelihood of the rows."""
    return float(counts @ np.log(weigh(parameters, statistics)[np.arange(len(states)), states]))


def scores_of_rows(parameters, statistics, states):
    """Return the gradient of the log-likelihood of each row, (n, m)."""
    means = np.einsum("ty,tym->tm", weigh(parameters, statistics), statistics)
    return statistics[np.arange(len(states)), states] - means


def information(parameters, statistics, counts):
    """Return the Fisher information: the covariances of the statistics, summed over rows."""
    shares = weigh(parameters, statistics)
    centred = statistics - (shares[:, :, None] * statistics).sum(axis=1, keepdims=True)
    own = (centred * np.sqrt(counts[:, None] * shares)[:, :, None]).reshape(-1, statistics.shape[2])
    return own.T @ own


def penalised(parameters, statistics, states, counts):
    """Return the log-likelihood with Jeffreys' prior."""
    known = np.linalg.slogdet(information(parameters, statistics, counts))[1]
    return log_likelihood(parameters, statistics, states, counts) + known / 2


def maximise(statistics, states, counts, *, theta=None, n_theta=1, value=penalised):
    """Return the maximum of a likelihood and where it is, by central differences; Theta is held where it is given."""
    size = statistics.shape[2]
    n_free = size if theta is None else size - n_theta
    at = np.zeros(size)
    at[n_free:] = 0.0 if theta is None else theta
    units = np.eye(size)[:n_free] * 1e-5
    best = value(at, statistics, states, counts)
    for _ in range(200):
        ends = [[value(at + sign * unit, statistics, states, counts) for sign in (-1, 1)] for unit in units]
        gradient = np.array([(high - low) / 2e-5 for low, high in ends])
        step = np.linalg.solve(information(at, statistics, counts)[:n_free, :n_free], gradient)
        if gradient @ step < 1e-11:
            break
        share = 1.0
        while value(trial := at + np.append(share * step, np.zeros(size - n_free)), statistics, states, counts) < best:
            share /= 2
            if share < 1e-9:
                return best, at
        at, best = trial, value(trial, statistics, states, counts)
    return best, at


def tell(statistics, states, counts, n_theta=1):
    """Return Theta, its covariance, and the penalised likelihood ratio statistic of Theta = 0."""
    best, parameters = maximise(statistics, states, counts)
    without, _ = maximise(statistics, states, counts, theta=np.zeros(n_theta), n_theta=n_theta)
    covariance = np.linalg.inv(information(parameters, statistics, counts))[-n_theta:, -n_theta:]
    return parameters[-n_theta:], covariance, 2 * (best - without)


def find_end(statistics, states, counts, side, z):
    """Return where twice the fall of the profile is z^2, on one side of a Theta that is one number."""
    best, parameters = maximise(statistics, states, counts)

    def fall(theta):
        return 2 * (best - maximise(statistics, states, counts, theta=[theta])[0]) - z**2

    far = parameters[-1] + side
    while fall(far) < 0:
        far += side
    return optimize.brentq(fall, parameters[-1], far, xtol=1e-4)


def hide(parameters, statistics, states, counts, rows):
    """Return the information less what rows hide that stand for states of one and the same row (Louis 1982)."""
    left, own = information(parameters, statistics, counts), scores_of_rows(parameters, statistics, states)
    for row in np.unique(rows):
        here = rows == row
        w = counts[here] / counts[here].sum()
        centred = own[here] - w @ own[here]
        left -= counts[here].sum() * (centred.T * w) @ centred
    return left


def complete(codes, features, intercepts, links, row, missing, columns):
    """Return the states of missing cells of a row and their probabilities given the rest of it.

    The field has these intercepts and links of features; all cells that are not in `missing` have the features
    `columns[v]`.
    """
    states, energies = [], []
    for levels in itertools.product(*(range(len(features[v])) for v in missing)):
        own = [features[v][codes[row, v]] if codes[row, v] != 255 else columns[v] for v in range(len(features))]
        for v, level in zip(missing, levels, strict=True):
            own[v] = features[v][level]
        energy = sum(intercepts[v][level] for v, level in zip(missing, levels, strict=True))
        for a, v in enumerate(missing):
            for w in range(len(features)):
                if w != v and w not in missing[:a]:
                    energy += own[v] @ links[v][w] @ own[w]
        states.append(levels)
        energies.append(energy)
    shares = np.exp(np.array(energies) - max(energies))
    return states, shares / shares.sum()


def find_structured(spreads, counts, residuals, groups, pairs):
    """Return the design effects of pairs by how much residuals of two rows of a cluster are alike."""
    n, p = residuals.shape
    together = [(t, u) for t in range(n) for u in range(n) if t != u and groups[t] == groups[u]]
    s = np.sqrt(spreads)
    rho = np.zeros(p)
    for i in range(p):
        alike = sum(counts[t] * counts[u] * residuals[t, i] * residuals[u, i] for t, u in together)
        could = sum(counts[t] * counts[u] * s[t, i] * s[u, i] for t, u in together)
        rho[i] = min(1.0, max(0.0, alike / could)) if together else 0.0
    found = []
    for i, j in pairs:
        alone = (counts**2 * spreads[:, i] * spreads[:, j]).sum()
        more = sum(counts[t] * counts[u] * s[t, i] * s[t, j] * s[u, i] * s[u, j] for t, u in together)
        found.append((alone + rho[i] * rho[j] * more) / (counts * spreads[:, i] * spreads[:, j]).sum())
    return np.array(found)


def discoveries(p_values, rate, at):
    """Say which tests are discoveries at a rate, by going through the ranks as the papers do."""
    n = len(p_values)
    order = sorted(range(n), key=lambda k: p_values[k])
    harmonic = sum(1 / k for k in range(1, n + 1))
    found = [False] * n
    if rate == "holm":
        for rank, k in enumerate(order):  # the first that fails ends it
            if p_values[k] * (n - rank) > at:
                break
            found[k] = True
        return found
    times = harmonic if rate == "by" else 1
    last = max((rank for rank, k in enumerate(order, 1) if p_values[k] * n * times / rank <= at), default=0)
    for k in order[:last]:
        found[k] = True
    return found


def gauge_norm(theta):
    """Return four times the root mean square of the interactions of levels in the zero-sum gauge."""
    centred = theta - theta.mean(axis=0) - theta.mean(axis=1, keepdims=True) + theta.mean()
    return 4 * np.sqrt((centred**2).mean())
