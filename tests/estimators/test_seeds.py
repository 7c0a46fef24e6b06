"""The promise of the default: whatever the seed, the labels and the order of columns, the answer is the same.

Where simulation error makes it another one, that is marked: edges by `Fit.undecided`, weights by `Fit.spread`.
"""

import warnings

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.network import Network
from support.statistics_ import FALSE_ALARM

SEEDS = range(1, 13)


def make_scales(p, n_levels, n_rows, seed):
    """Return answers on scales, driven by two traits."""
    rng = np.random.default_rng(seed)
    loadings = 0.8 * rng.normal(size=(p, 2)) * (rng.random((p, 2)) < 0.7)
    values = rng.normal(size=(n_rows, 2)) @ loadings.T + rng.normal(size=(n_rows, p))
    values /= values.std(axis=0)
    cuts = stats.norm.ppf(np.arange(1, n_levels) / n_levels) + 0.4 * rng.normal(size=(p, 1))
    return np.array([np.searchsorted(own, column) for own, column in zip(cuts, values.T, strict=True)]).T + 1


def make_binary(p, n_rows=1000):
    return sf.datasets.make_field(p, edge_probability=2.5 / p, seed=1).sample(n_rows, n_sweeps=50, seed=1).codes + 1


def drop_cells(rows, share):
    """Return rows without a share of their cells, or without one where it is zero."""
    found, rng = rows.astype(float), np.random.default_rng(2)
    found[rng.random(rows.shape) < share] = np.nan
    found[5, 3] = np.nan
    return found


CASES = {
    "binary": (make_binary(50), 0.018759849758451914, False),
    "few": (make_binary(10), 0.03, False),
    "many": (make_binary(60), 0.03, False),
    "no step": (make_binary(50), 0.03, False),
    "ordinal": (make_scales(20, 5, 221, 3), 0.12, True),
    "long scales": (make_scales(8, 7, 986, 3), 0.05, True),
    "nominal": (make_scales(10, 3, 500, 4), 0.05, False),
    "one cell missing": (drop_cells(make_binary(50), 0.0), 0.02, False),
    "missing": (drop_cells(make_binary(30), 0.1), 0.02, False),
}


def fit_otherwise(rows, alpha, is_ordinal, seed):
    """Fit with columns in another order and levels turned round; return the network as if neither were so."""
    rng = np.random.default_rng(seed)
    order, turned = rng.permutation(rows.shape[1]), rng.random(rows.shape[1]) < 0.5
    most = np.nanmax(rows, axis=0)
    other = np.where(turned, most + 1 - rows, rows)[:, order]
    table = sf.encode(other, ordinal=is_ordinal or None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing here is for a user to mend
        fit = sf.SparseMRF(alpha, random_state=seed, progress=False).fit(table).fit_
    back, network = np.argsort(order), Network.of(fit)
    signs = np.where(turned, -1, 1)
    signs = np.where(network.is_signed[np.ix_(back, back)], np.outer(signs, signs), 1)
    marks = np.zeros_like(network.strengths, dtype=bool) if network.undecided is None else network.undecided
    return fit, signs * network.strengths[np.ix_(back, back)], marks[np.ix_(back, back)]


@pytest.mark.parametrize("case", CASES)
def test_twelve_seeds_labels_and_orders_have_one_answer(case):
    rows, alpha, is_ordinal = CASES[case]
    found = [fit_otherwise(rows, alpha, is_ordinal, seed) for seed in SEEDS]
    n_differ, n_edges, beyond = 0, 0, []
    for i, (fit, own, marked) in enumerate(found):
        assert fit.status.code in ("converged", "simulation_error")
        assert fit.spread is not None
        n_edges += np.count_nonzero(np.triu(own, 1))
        for later, weights, also in found[i + 1 :]:
            differs = ((own != 0) != (weights != 0)) & ~marked & ~also
            n_differ = max(n_differ, np.count_nonzero(np.triu(differs, 1)))
            both = np.triu((own != 0) & (weights != 0), 1)
            # Three digits are printed: half of the last one is rounded away on either side.
            beyond += list((np.abs(own - weights) > max(fit.spread, later.spread) + 1e-3)[both])
        # Marks on everything would say nothing.
        assert np.count_nonzero(np.triu(marked & (own != 0), 1)) <= max(2, np.count_nonzero(np.triu(own, 1)) / 4)
    assert n_edges >= 3 * len(found)
    assert n_differ <= 0.01 * n_edges / len(found)
    # One in a hundred may be beyond the spread; pairs of fits share seeds, so that twelve fits count, not 66 pairs.
    n_each = len(beyond) / len(found) / (len(found) - 1) * 2
    assert np.mean(beyond) <= stats.binom.isf(FALSE_ALARM, len(found) * max(1, int(n_each)), 0.01) / len(found) / n_each


def test_a_fit_that_is_its_start_says_so():
    table = sf.encode(make_binary(50))
    start = sf.PseudoLikelihood(0.05).fit(table)
    found = [sf.learn(table, 0.05, gap=gap, seed=1) for gap in (0.5, 0.01)]
    said = "The fit is its start, the estimate that maximises the pseudo-likelihood instead."
    for fit in found:
        is_start = np.array_equal(fit.model.interactions, start.interactions_)
        assert (said in fit.status.sentence) == is_start
    assert said in found[0].status.sentence


@pytest.mark.parametrize("certify", [True, False])
def test_a_promise_that_cannot_be_kept_costs_no_draws(certify):
    rows, alpha, _ = CASES["one cell missing"]
    fit = sf.learn(sf.encode(rows), alpha, certify=certify, seed=1)
    other = sf.learn(sf.encode(rows), alpha, certify=not certify, seed=1)
    assert [step.n_chains for step in fit.steps] == [step.n_chains for step in other.steps]
    np.testing.assert_array_equal(fit.model.interactions, other.model.interactions)


DEFAULTS = {
    "binary": (make_binary(30), False),
    "ordinal": (make_scales(6, 5, 400, 3), True),
    "nominal": (make_scales(8, 3, 500, 4), False),
    "missing": (drop_cells(make_binary(14), 0.1), False),
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_the_default_has_the_same_edges_whatever_the_seed_and_how_a_table_is_written(case):
    rows, is_ordinal = DEFAULTS[case]
    first, own, _ = fit_otherwise(rows, "auto", is_ordinal, 0)
    assert np.count_nonzero(np.triu(own, 1)) >= 3
    n_beyond = n_compared = 0
    for seed in SEEDS:
        fit, weights, marked = fit_otherwise(rows, "auto", is_ordinal, seed)
        np.testing.assert_array_equal(weights != 0, own != 0)
        assert not marked.any()
        assert fit.penalty == "Ridge"
        # What is printed has three digits: fits that are enumerated have them all.
        allowed = max(fit.spread, first.spread) + 1e-3
        n_beyond += np.count_nonzero(np.triu(np.abs(weights - own), 1) > allowed)
        n_compared += np.count_nonzero(np.triu(own, 1))
    assert n_beyond <= stats.binom.isf(FALSE_ALARM, n_compared, 0.01) if first.spread else n_beyond == 0
