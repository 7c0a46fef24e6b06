"""The log-likelihood of rows with missing cells: what enumeration says."""

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.inference import Cpu
from sparsefield.selection.paths._observed import ObservedRows
from support import naive
from support.statistics_ import FALSE_ALARM


def make_incomplete(n_levels, reference, share, n=200, seed=1):
    """Return a field and rows of it, of which a share of the cells is missing."""
    domain = sf.Domain(
        tuple(f"v{i}" for i in range(len(n_levels))),
        tuple(tuple(range(k)) for k in n_levels),
        None if reference is None else (0,) * len(n_levels),
    )
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n) for k in n_levels]).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(n) < 0.7, np.minimum(codes[:, 0], n_levels[1] - 1), codes[:, 1])
    codes[:, 2] = np.where(rng.random(n) < 0.6, np.minimum(codes[:, 1], n_levels[2] - 1), codes[:, 2])
    codes[rng.random(codes.shape) < share] = MISSING
    return sf.Table(domain, np.asfortranarray(codes))


def log_likelihood(model, table, weights=None):
    """Return the mean log-probability of the observed cells, by a sum over all states."""
    domain = model.domain
    states, law, _ = naive.distribution(list(domain.n_levels), domain.reference, model.main, model.interactions)
    logs = []
    for row in table.codes:
        agree = [all(a in (MISSING, b) for a, b in zip(row, state, strict=True)) for state in states]
        logs.append(np.log(np.asarray(law)[agree].sum()))
    return np.average(logs, weights=weights)


@pytest.mark.parametrize(
    ("n_levels", "reference"),
    [((2, 2, 2, 2, 2), 0), ((3, 2, 4), 0), ((3, 2, 3), None)],
    ids=["binary", "levels", "all"],
)
def test_paths_know_the_likelihood_of_observed_cells(n_levels, reference):
    table = make_incomplete(n_levels, reference, 0.2)
    found = sf.path(table, n_alphas=5, relax=True)
    for k, (fit, relaxed) in enumerate(zip(found.fits, found.relaxed, strict=True)):
        # What each step leaves of the criterion 2 n l is about 1 / 60.
        for own, known in ((fit, found.likelihoods[k]), (relaxed, found.relaxed_likelihoods[k])):
            assert 2 * 200 * abs(known.value - log_likelihood(own.model, table)) < (k + 2) / 60
            assert known.error == 0


def test_rows_that_are_drawn_have_errors_that_are_told():
    # With ten cells missing of eleven, rows have 1024 completions, too many to enumerate for few draws.
    rng = np.random.default_rng(1)
    truth = sf.datasets.make_chain(11, seed=1)
    codes = truth.sample(150, method="perfect", seed=1).codes.copy()
    codes[rng.random(codes.shape) < 0.9] = MISSING
    table = sf.Table(truth.domain, np.asfortranarray(codes))
    halfway = sf.PairwiseMRF(truth.domain, truth.main / 2, truth.interactions / 2)
    errors = []
    for seed in range(5):
        rows = ObservedRows(table, None, seed=seed, backend=Cpu())
        for model in (halfway, truth):
            value, error = rows.at(model)
            exact = log_likelihood(model, table) + model.log_partition().value
            errors.append((value - exact, error))
    differences, standard = np.array(errors).T
    assert (standard > 0).all()
    z = stats.norm.isf(FALSE_ALARM / (2 * len(errors)))
    assert (np.abs(differences) <= z * standard + 2 / 60 / 300).all()


def test_weights_and_unseen_levels_count():
    table = make_incomplete((2, 2, 2, 2), 0, 0.15)
    weights = np.random.default_rng(3).integers(0, 3, len(table)).astype(float)
    rows = sf.Table(table.domain, np.asfortranarray(np.repeat(table.codes, weights.astype(int), axis=0)))
    own, other = sf.path(table, [0.05, 0.02], sample_weight=weights), sf.path(rows, [0.05, 0.02])
    for fit, known, again in zip(own.fits, own.likelihoods, other.likelihoods, strict=True):
        assert known.value == pytest.approx(again.value, abs=1e-3)  # of fits that are 1e-4 from their optimum
        assert known.value == pytest.approx(log_likelihood(fit.model, table, weights), abs=2 / 60 / weights.sum())
    codes = table.codes.copy()
    codes[:, 3] = np.where(codes[:, 3] == MISSING, MISSING, 0)
    constant = sf.Table(table.domain, codes)
    found = sf.path(constant, [0.05])
    # Half a row of the level that no row shows: m / (2 n + m) of all rows, independent of the rest.
    model, q = found.fits[0].model, 1 / (2 * 200 + 1)
    rest = sf.PairwiseMRF(sf.Domain.binary(3), model.main[:3], model.interactions[:3, :3])
    share = (codes[:, 3] != MISSING).mean()
    kept = (1 - q) * share
    alone = kept * np.log(1 - 1 / (1 + np.exp(-model.main[3]))) + q * np.log(1 / (1 + np.exp(-model.main[3])))
    expected = log_likelihood(rest, sf.Table(rest.domain, np.asfortranarray(codes[:, :3]))) + alone
    assert found.likelihoods[0].value == pytest.approx(expected, abs=2 / 60 / 200)


def test_rows_that_gibbs_chains_fill_have_no_likelihood():
    # Strong interactions keep chains from meeting in a single sweep, and rows have 2^29 completions.
    p = 30
    field = sf.PairwiseMRF.binary(np.full(p, -1.5 * (p - 1)), 3.0 * (1 - np.eye(p)))
    codes = np.full((4, p), MISSING, dtype=np.uint8)
    codes[:, 0] = [0, 1, 0, 1]
    rows = ObservedRows(sf.Table(field.domain, np.asfortranarray(codes)), None, seed=1, backend=Cpu(), max_sweeps=1)
    assert rows.at(field) is None
