"""Everything again, slow and obvious, sharing no code with the package: plain loops over all states."""

import itertools
import math


def slots(n_levels, reference):
    """List the (variable, level) pairs that have parameters."""
    return [(i, k) for i, n in enumerate(n_levels) for k in range(n) if reference is None or k != reference[i]]


def exponent(state, n_levels, reference, main, interactions):
    """Return main . s + s . interactions . s / 2 for one state, with s the indicators of its slots."""
    on = [a for a, (i, k) in enumerate(slots(n_levels, reference)) if state[i] == k]
    total = sum(main[a] for a in on)
    for a, b in itertools.combinations(on, 2):
        total += interactions[a][b]
    return total


def distribution(n_levels, reference, main, interactions):
    """Return all states, their probabilities, and the logarithm of the normalising constant."""
    states = list(itertools.product(*[range(n) for n in n_levels]))
    exponents = [exponent(s, n_levels, reference, main, interactions) for s in states]
    top = max(exponents)
    total = math.fsum(math.exp(e - top) for e in exponents)
    return states, [math.exp(e - top) / total for e in exponents], top + math.log(total)


def given(row, states, probabilities):
    """Return the probabilities of states given the observed cells of a row, which has None where a value is missing."""
    agrees = [all(x is None or x == y for x, y in zip(row, state, strict=True)) for state in states]
    total = math.fsum(q for q, own in zip(probabilities, agrees, strict=True) if own)
    return [q / total if own else 0.0 for q, own in zip(probabilities, agrees, strict=True)]


def moments(n_levels, reference, main, interactions):
    """Return the mean of every product of two slots' indicators."""
    states, probabilities, _ = distribution(n_levels, reference, main, interactions)
    known = slots(n_levels, reference)
    return [
        [
            math.fsum(q for s, q in zip(states, probabilities, strict=True) if s[i] == k and s[j] == m)
            for (j, m) in known
        ]
        for (i, k) in known
    ]


def conditional(variable, state, n_levels, reference, main, interactions):
    """Return the probabilities of the levels of one variable given the others, from joint probabilities."""
    changed = [(*state[:variable], k, *state[variable + 1 :]) for k in range(n_levels[variable])]
    exponents = [exponent(s, n_levels, reference, main, interactions) for s in changed]
    top = max(exponents)
    weights = [math.exp(e - top) for e in exponents]
    return [w / sum(weights) for w in weights]


def pair_counts(rows, known):
    """Count, for every pair of (variable, level), the rows that show both."""
    return [[sum(row[i] == k and row[j] == m for row in rows) for (j, m) in known] for (i, k) in known]


def spin_exponent(spins, fields, couplings):
    """Return sum_i h_i s_i + sum_{i<j} J_ij s_i s_j."""
    total = sum(h * s for h, s in zip(fields, spins, strict=True))
    for i, j in itertools.combinations(range(len(spins)), 2):
        total += couplings[i][j] * spins[i] * spins[j]
    return total


def influence(variable, other, main, interactions):
    """Return Dobrushin's influence of one binary variable on another: over all states, flip one, look at the other."""
    n_levels, reference = [2] * len(main), (0,) * len(main)
    most = 0.0
    for state in itertools.product(range(2), repeat=len(main)):
        flipped = (*state[:other], 1 - state[other], *state[other + 1 :])
        first, second = (conditional(variable, s, n_levels, reference, main, interactions)[1] for s in (state, flipped))
        most = max(most, abs(first - second))
    return most


def update_matrix(influences, variable):
    """Return the identity with one row replaced by that of the influence matrix: the paper's B_i."""
    p = len(influences)
    rows = [[float(i == j) for j in range(p)] for i in range(p)]
    rows[variable] = list(influences[variable])
    return rows


def bounding_law(main, interactions, n_sweeps):
    """Return the law of bounding chains of a binary field from complete ignorance: {((low, high), ...): mass}."""
    p = len(main)
    law = {((0, 1),) * p: 1.0}
    for _ in range(n_sweeps):
        for i in range(p):
            after = {}
            for state, mass in law.items():
                # Every state within the bounds, and the probabilities of a one that they give.
                inside = itertools.product(*[sorted(set(bounds)) for bounds in state])
                fields = [main[i] + sum(interactions[i][j] * x[j] for j in range(p) if j != i) for x in inside]
                least, largest = (1 / (1 + math.exp(-f)) for f in (min(fields), max(fields)))
                for bounds, q in (((1, 1), least), ((0, 1), largest - least), ((0, 0), 1 - largest)):
                    new = (*state[:i], bounds, *state[i + 1 :])
                    after[new] = after.get(new, 0.0) + mass * q
            law = after
    return law


def sweep_matrix(n_levels, reference, main, interactions):
    """Return the transition probabilities of one Gibbs sweep in the order 0, 1, 2, ..., state by state."""
    states = list(itertools.product(*[range(n) for n in n_levels]))
    number = {state: row for row, state in enumerate(states)}
    rows = []
    for start in states:
        law = {start: 1.0}
        for i in range(len(n_levels)):
            after = {}
            for state, mass in law.items():
                for k, q in enumerate(conditional(i, state, n_levels, reference, main, interactions)):
                    new = (*state[:i], k, *state[i + 1 :])
                    after[new] = after.get(new, 0.0) + mass * q
            law = after
        row = [0.0] * len(states)
        for state, mass in law.items():
            row[number[state]] = mass
        rows.append(row)
    return rows


def those_that_agree(values, states, row):
    """Return the values of the states that agree with a row, which has None where a value is missing."""
    agrees = [all(x is None or x == y for x, y in zip(row, state, strict=True)) for state in states]
    return [value for value, own in zip(values, agrees, strict=True) if own]


def level_probabilities(variable, row, states, probabilities, n_levels):
    """Return the probabilities of the levels of a variable given the other observed cells; its own does not matter."""
    law = given((*row[:variable], None, *row[variable + 1 :]), states, probabilities)
    return [math.fsum(q for s, q in zip(states, law, strict=True) if s[variable] == k) for k in range(n_levels)]


def entropy(probabilities):
    """Return the entropy of a distribution, in nats."""
    return -math.fsum(q * math.log(q) for q in probabilities if q > 0)
