"""Small problems over levels, some of them ordered, and their optima by a solver of its own."""

import numpy as np
from scipy.linalg import helmert
from scipy.special import logsumexp

import sparsefield as sf
from sparsefield.data import find_unseen
from sparsefield.objective import L1, Group, Observed, Problem
from support.plain_backend import Plain

N_LEVELS = {"three": (3, 3, 3, 3), "mixed": (3, 2, 4, 2), "ordered": (3, 4, 2, 3)}
SCORES = {"ordered": (None, (0.0, 1.0, 2.0, 3.0), None, (0.0, 1.0, 3.0))}


def make_domain(kind, reference="first"):
    n_levels = N_LEVELS[kind]
    codes = {"first": (0,) * len(n_levels), "last": tuple(n - 1 for n in n_levels), None: None}[reference]
    names = tuple(f"v{i}" for i in range(len(n_levels)))
    return sf.Domain(names, tuple(tuple(range(n)) for n in n_levels), codes, SCORES.get(kind))


def draw_rows(kind, n, seed, strength=1.0):
    """Return rows of a field whose variables interact, or not, by chance; they do not depend on a reference level."""
    domain, rng = make_domain(kind), np.random.default_rng(seed)
    penalty = Group(domain, 0.0)
    features, variables = penalty.coordinates, penalty.coordinates.variables
    theta = np.triu(rng.normal(0, strength, (features.size, features.size)))
    is_edge = rng.random((len(domain.names),) * 2) < 0.6
    is_edge[np.diag_indices(len(is_edge))] = True
    theta = np.where(features.is_parameter, theta * is_edge[np.ix_(variables, variables)], 0.0)
    slots = features.to_slots(theta + np.triu(theta, 1).T)
    main = np.diagonal(slots)
    model = sf.PairwiseMRF(domain, main, slots - np.diag(main))
    return Plain().draw(model, n, seed=seed, max_sweeps=10)[0].codes()


def make_level_problem(
    kind, alpha, *, penalty="group", reference="first", penalize_main=False, n=300, seed=0, strength=1.0
):
    domain = make_domain(kind, reference)
    table = sf.Table(domain, draw_rows(kind, n, seed, strength))
    moments = find_unseen(table, None, is_free=not penalize_main).fill(sf.data.moments_of_table(table))
    own = {"group": Group, "l1": L1}[penalty]
    return Problem(Observed(moments), domain, own(domain, alpha, float(penalize_main)))


def edges_of(problem, marks):
    """Return which pairs of variables have a parameter that is marked, (n_variables, n_variables)."""
    variables = problem.domain.slot_variables if len(marks) == problem.domain.n_slots else problem.coordinates.variables
    found = np.zeros((problem.domain.n_variables,) * 2, dtype=bool)
    a, b = np.nonzero(marks)
    found[variables[a], variables[b]] = True
    return found


def least_group_objective(problem):
    """Return the least objective with the group penalty, by accelerated proximal steps over all states.

    Of variable i the columns of C_i are orthonormal contrasts, of which the score is one where it is ordered. A block
    of interactions C_i B C_j' adds up to zero over the levels of either, and pays 4 alpha sqrt(b / (K_i K_j)) |B|, b
    the number of entries of B and K the numbers of levels; main effects C_i m pay 2 alpha |m| / sqrt(K_i). Data enter
    by the frequencies of levels and of pairs of them alone.
    """
    domain, alpha = problem.domain, problem.penalty.alpha
    states = np.indices(tuple(domain.n_levels)).reshape(domain.n_variables, -1).T
    of_main, of_pairs = zip(*(_contrasts(domain, i) for i in range(domain.n_variables)), strict=True)
    levels = domain.n_levels
    mains = [2 * alpha * problem.penalty.main / np.sqrt(n) for n in levels]
    blocks = [(of_main[i][states[:, i]], mains[i]) for i in range(len(levels))]
    for i in range(len(of_pairs)):
        for j in range(i):
            first, second = of_pairs[i][states[:, i]], of_pairs[j][states[:, j]]
            products = (first[:, :, None] * second[:, None, :]).reshape(len(states), -1)
            blocks.append((products, 4 * alpha * np.sqrt(products.shape[1] / (levels[i] * levels[j]))))
    psi = np.hstack([values for values, _ in blocks])
    starts = np.cumsum([0, *(values.shape[1] for values, _ in blocks)])
    weights = np.array([weight for _, weight in blocks])
    return _descend(psi, _data_means(problem, states) @ psi, starts, weights)


def _contrasts(domain, i):
    """Return orthonormal contrasts of the levels of a variable: all, and those that interact."""
    n = int(domain.n_levels[i])
    own = helmert(n).T
    if domain.scores is None or domain.scores[i] is None:
        return own, own
    score = np.array(domain.scores[i]) - np.mean(domain.scores[i])
    return own, (score / np.linalg.norm(score))[:, None]


def _data_means(problem, states):
    """Return weights of all states, some below zero, that have the data moments: a linear equation has many such."""
    s = problem.domain.indicators(states.astype(np.uint8)).astype(float)
    a, b = np.triu_indices(s.shape[1])
    statistics = np.column_stack([np.ones(len(s)), s[:, a] * s[:, b]])
    moments = problem.data.moments.pair[a, b]
    found = np.linalg.lstsq(statistics.T, np.append(1.0, moments), rcond=None)[0]
    np.testing.assert_allclose(statistics.T @ found, np.append(1.0, moments), atol=1e-12)
    return found


def _descend(psi, mean, starts, weights, n_steps=20_000):
    step = 1 / np.linalg.eigvalsh(psi.T @ psi / len(psi)).max() / 2
    group = np.repeat(np.arange(len(weights)), np.diff(starts))
    now, ahead, momentum, best = np.zeros(len(mean)), np.zeros(len(mean)), 1.0, np.inf
    for k in range(n_steps):
        exponents = psi @ ahead
        p = np.exp(exponents - logsumexp(exponents))
        moved = ahead - step * (p @ psi - mean)
        norms = np.sqrt(np.bincount(group, moved**2))
        after = moved * np.maximum(0.0, 1 - step * weights / np.maximum(norms, 1e-300))[group]
        if (ahead - after) @ (after - now) > 0:  # start the momentum anew where it leads up
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, momentum = after + (momentum - 1) / following * (after - now), following
        is_done = k > 10 and np.abs(after - now).max() < 1e-13
        now = after
        if is_done:
            break
    norms = np.sqrt(np.bincount(group, now**2))
    best = logsumexp(psi @ now) - now @ mean + weights @ norms
    return best
