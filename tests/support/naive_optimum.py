"""The optimum of penalised likelihoods over features of levels, slow and obvious: imports nothing of the package."""

import itertools

import numpy as np
from scipy.linalg import helmert


def contrasts(n, scores=None):
    """Return features of n levels, (n, d): those of Helmert, or centred scores, with squared norms of n / 4."""
    if scores is None:
        return helmert(n).T * np.sqrt(n) / 2
    centred = np.array(scores, dtype=float) - np.mean(scores)
    return (centred / np.linalg.norm(centred) * np.sqrt(n) / 2)[:, None]


def indicators(n, reference=0):
    """Return the indicators of all levels but the reference, (n, n - 1)."""
    return np.delete(np.eye(n), reference, axis=1)


def minimise(codes, features, alpha, *, groups, weights=None, n_steps=20_000):
    """Minimise minus the mean log-likelihood plus alpha times norms of blocks, or the absolute entries of them.

    The norm of a block of m entries counts sqrt(m) times.

    Returns the objective, and the interactions of levels of each pair of variables (i, j), i < j. Main effects are
    free. Accelerated proximal gradient steps, until no parameter moves.
    """
    p, n_levels = codes.shape[1], [len(own) for own in features]
    w = np.full(len(codes), 1 / len(codes)) if weights is None else weights / weights.sum()
    states = np.array(list(itertools.product(*map(range, n_levels))))
    pairs = list(itertools.combinations(range(p), 2))
    eyes = [np.eye(n) for n in n_levels]

    def statistics(rows, law):
        s = [eyes[i][rows[:, i]] for i in range(p)]
        f = [features[i][rows[:, i]] for i in range(p)]
        return [own.T @ law for own in s], {(i, j): (f[i].T * law) @ f[j] for i, j in pairs}

    data_main, data_pair = statistics(codes, w)

    def evaluate(main, block):
        exponents = sum(main[i][states[:, i]] for i in range(p)) + sum(
            np.einsum("sa,ab,sb->s", features[i][states[:, i]], block[i, j], features[j][states[:, j]])
            for i, j in pairs
        )
        top = exponents.max()
        log_normaliser = top + np.log(np.exp(exponents - top).sum())
        model_main, model_pair = statistics(states, np.exp(exponents - log_normaliser))
        value = log_normaliser - sum(main[i] @ data_main[i] for i in range(p))
        value -= sum((block[pair] * data_pair[pair]).sum() for pair in pairs)
        slopes = [model_main[i] - data_main[i] for i in range(p)]
        return value, slopes, {pair: model_pair[pair] - data_pair[pair] for pair in pairs}

    def shrink(z, amount):
        if not groups:
            return np.sign(z) * np.maximum(np.abs(z) - amount, 0)
        size, amount = np.linalg.norm(z), amount * np.sqrt(z.size)
        return z * max(0.0, 1 - amount / size) if size > 0 else z

    # One over a bound on the sum of all variances: of a variable the squares of indicators add up to 1, of a pair those
    # of products to the squared norms.
    largest = [(own**2).sum(axis=1).max() for own in features]
    step, momentum = 1 / (p + sum(largest[i] * largest[j] for i, j in pairs)), 1.0
    main = [np.zeros(n) for n in n_levels]
    block = {(i, j): np.zeros((features[i].shape[1], features[j].shape[1])) for i, j in pairs}
    ahead = main, block
    for _ in range(n_steps):
        _, slopes, bends = evaluate(*ahead)
        new_main = [own - step * slope for own, slope in zip(ahead[0], slopes, strict=True)]
        new_block = {pair: shrink(ahead[1][pair] - step * bends[pair], step * alpha) for pair in pairs}
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / following
        moved = max(
            *(np.abs(a - b).max() for a, b in zip(new_main, main, strict=True)),
            *(np.abs(new_block[pair] - block[pair]).max(initial=0) for pair in pairs),
        )
        ahead = (
            [a + share * (a - b) for a, b in zip(new_main, main, strict=True)],
            {pair: new_block[pair] + share * (new_block[pair] - block[pair]) for pair in pairs},
        )
        main, block, momentum = new_main, new_block, following
        if moved < 1e-12:
            break
    penalty = sum(np.sqrt(z.size) * np.linalg.norm(z) if groups else np.abs(z).sum() for z in block.values())
    levels = {(i, j): features[i] @ block[i, j] @ features[j].T for i, j in pairs}
    return evaluate(main, block)[0] + alpha * penalty, levels
