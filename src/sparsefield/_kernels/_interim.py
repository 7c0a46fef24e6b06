"""Sweeps with interim checks between them, in one call: of the paper's criterion, and of bounding chains.

Five sweeps of 2000 chains of 10 variables take 30 microseconds; leaving them for each check takes 70 more.
"""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled
from sparsefield._kernels._coupling import count_open, gather_open
from sparsefield._kernels._packed import sweep_product
from sparsefield._kernels._popcounts import add_few, count_ones
from sparsefield._kernels._proximal import largest_step_norm, step_norm

ROUNDED_UP = 1 + 1e-9  # sums of rounded means are not the means of sums


@compiled
def sweep_until(states, streams, field, biases, limit, rule, n_chains, masks, scratch, pair):
    """Sweep until a bias is below half the norm of the step map; return the sweeps made, and whether that is so.

    field is (order, starts, neighbours, tables, kept) as `sweep_product` has them. biases (n,) bound the bias after
    each sweep; nothing is counted where one is not below `limit`. rule is (theta, data, penalty, variables, step_size)
    of the step map; masks (B, 8) uint64 have ones for the chains that exist; scratch is (lines, weights) of the sweep
    and (rows, counts, total) of the counting. pair (d, d) gets the moments where these are counted.
    """
    order, starts, neighbours, tables, kept = field
    theta, data, penalty, variables, step_size = rule
    lines, weights, rows, counts, total = scratch
    words, waited = states.view(np.uint64), 0
    for t in range(biases.shape[0]):
        waited += 1
        bias = biases[t]
        if not (bias < limit or bias == 0.0):
            continue
        sweep_product(states, streams, order, starts, neighbours, tables, kept, lines, weights, waited)
        waited = 0
        means = count_ones(words, masks, theta.shape[0]) / n_chains
        largest = largest_step_norm(theta, means, means, data, penalty, variables, step_size)
        if bias > 0.0 and bias >= ROUNDED_UP * largest / 2:
            continue
        total[:] = 0
        add_few(words, masks, rows, counts, total)
        for a in range(theta.shape[0]):
            for b in range(theta.shape[0]):
                pair[a, b] = total[a, b] / n_chains
        if bias < step_norm(theta, pair, data, penalty, step_size) / 2 or bias == 0.0:
            return t + 1, True
    sweep_product(states, streams, order, starts, neighbours, tables, kept, lines, weights, waited)
    return biases.shape[0], False


@compiled
def _limit(count, log_risk):
    """Return about the upper limit of Clopper and Pearson for a count out of many, times their number.

    Of Poisson counts, by Chernoff's bound to second order: within a tenth for risks of 1e-2 to 1e-8.
    """
    return count + log_risk / 2 + np.sqrt(2 * count * log_risk + log_risk * log_risk / 4)


@compiled
def sweep_below(states, streams, field, checks, risks, target, n_chains, masks, scratch):
    """Sweep bounding chains until a bound is about as low as a target.

    Returns how many of the checks were passed, and how many blocks are left of those that had open chains: wherever
    three quarters of the chains have met, the others are moved together, and go on alone.

    field and masks are as in `sweep_until`, scratch too but for two (total, total) at its end. checks (n,) are the
    sweeps to make before each check, and risks (n, 2) minus the logarithms of what it may fail with: for a statistic,
    and for whether any is open.
    """
    order, starts, neighbours, tables, kept = field
    lines, weights, rows, counts, least, largest = scratch
    n_lines, size = states.shape[1] // 2, least.shape[0]
    most, n_blocks = (n_chains * target) ** 2, states.shape[0]
    for t in range(checks.shape[0]):
        states = states[:n_blocks]
        words = states.view(np.uint64)
        sweep_product(states, streams, order, starts, neighbours, tables, kept, lines, weights, checks[t])
        n_open = count_open(words, masks)
        if n_blocks > 1 and 4 * n_open <= 512 * n_blocks:
            n_blocks = max(1, -(-gather_open(states, masks.view(np.uint32)) // 512))
            words = words[:n_blocks]
        highest = _limit(n_open, risks[t, 1])
        # Main statistics first: they alone are above the target most of the time, and are counted in no time.
        low, high = words[:, :n_lines], words[:, n_lines:]
        is_open = count_ones(high, masks, size) - count_ones(low, masks, size)
        squares = 0.0
        for a in range(size):
            squares += min(highest, _limit(is_open[a], risks[t, 0])) ** 2
        if squares >= most:
            continue
        least[:], largest[:] = 0, 0
        add_few(low, masks, rows, counts, least)
        add_few(high, masks, rows, counts, largest)
        for a in range(size):
            for b in range(a + 1, size):
                squares += min(highest, _limit(largest[a, b] - least[a, b], risks[t, 0])) ** 2
        if squares < most:
            return t + 1, n_blocks
    return checks.shape[0], n_blocks
