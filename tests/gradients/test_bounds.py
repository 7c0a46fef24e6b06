"""Bounding chains that TAY watches: as many as are needed, dropped as they meet, checked at growing intervals."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import naive
from random_fields import worst_errors
from sparsefield.datasets import make_field
from sparsefield.gradients._bounds import Watched
from sparsefield.inference import BoundingChains, Cpu, Scan
from statistics_ import FALSE_ALARM

STRONG = make_field(4, edge_probability=1.0, strength=(2.0, 4.0), main=False, seed=0)


@pytest.mark.parametrize("n_sweeps", [6, 12])
def test_chains_that_go_on_alone_are_open_as_often_as_they_should(n_sweeps):
    # The exact law of bounding chains, where those that had met were dropped on the way, and the others moved together.
    n, p = 100_000, 4
    bounds, scan = BoundingChains(STRONG.domain, n, seed=5), Scan(STRONG, n_planes=2)
    for _ in range(n_sweeps):
        bounds.sweep(scan)
        before = bounds.n_open
        bounds.drop_met()
        assert bounds.n_open == before
    if bounds.storage == "packed":
        assert bounds.n_blocks < n / 512 / 2
    share, any_open = np.zeros((p, p)), 0.0
    for state, mass in naive.bounding_law(STRONG.main.tolist(), STRONG.interactions.tolist(), n_sweeps).items():
        low, high = np.array(state).T
        share += mass * (np.outer(high, high) - np.outer(low, low))
        any_open += mass * bool((low != high).any())
    found = np.append(bounds.open_counts().ravel(), bounds.n_open)
    expected = np.append(share.ravel(), any_open)
    t = np.log(2 * expected.size / FALSE_ALARM)
    allowed = np.sqrt(2 * expected * (1 - expected) * t / n) + 2 * t / (3 * n)
    assert np.all(np.abs(found / n - expected) <= allowed)


@pytest.mark.parametrize("needed", [None, 0.3])
def test_all_checks_of_an_iteration_hold_as_often_as_they_say(needed):
    # From the worst start, against the exact law of the chains. A run fails if any of its checks does.
    n_seeds, confidence, last = 400, 0.8, 30
    biases = [bias for _, bias in worst_errors(STRONG, last)]
    n_failed = n_seen = 0
    for seed in range(n_seeds):
        made, is_wrong = 0, False
        for bounds in Watched(STRONG, seed, confidence, Cpu(1), needed).ahead(last):
            made += len(bounds)
            is_wrong |= bool(bounds[-1] < biases[made - 1])
            n_seen += 1
        assert made == last
        n_failed += is_wrong
    assert n_seen > 2 * n_seeds
    assert n_failed <= stats.binom.isf(FALSE_ALARM, n_seeds, 1 - confidence)


def test_more_chains_are_taken_where_all_have_met_and_that_is_not_enough():
    weak = make_field(6, strength=(0.2, 0.4), seed=1)
    watched = Watched(weak, 3, 0.95, Cpu(1))
    found = [(float(bounds[-1]), watched._bounds.n_chains) for bounds in watched.ahead(100)]
    numbers = [n for _, n in found]
    assert numbers[0] == 512
    assert numbers[-1] == 2**16
    assert all(after in (before, 2 * before) for before, after in pairwise(numbers))
    # The risk of the last check is a small part of the whole, and the bound is lower all the same.
    assert found[-1][0] < found[0][0] / 20
