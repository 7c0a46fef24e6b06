"""The pseudo-likelihood of binary tables in some of their pairs: against that of all pairs, and row by row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import sparsefield as sf
from sparsefield.data import find_unseen
from sparsefield.pseudolikelihood import PSEUDO, BinaryPairLoss, PairNeighbours, PseudoLikelihoodLoss
from sparsefield.pseudolikelihood._binary_loss import gather_distinct

UNIT = float(np.finfo(np.float32).eps) / 2  # what rounding makes of a number in single precision


def make_case(p, n, seed, share=0.4):
    """Return a table, weights, and a field of which a share of the pairs interact."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((n, p)) < rng.uniform(0.1, 0.9, p)).astype(np.uint8)
    codes[:, 0] = 0  # a level that no row shows
    theta = np.triu(np.where(rng.random((p, p)) < share, rng.normal(0, 1, (p, p)), 0.0), 1)
    return sf.Table(sf.Domain.binary(p), codes), rng.random(n), theta + theta.T, rng.normal(0, 1, p)


def lay_out(theta):
    first, second = np.nonzero(np.triu(theta, 1))
    return PairNeighbours.of_pairs(len(theta), first, second), theta[first, second]


# 2500 rows are two pieces and a half; 9 and 70 variables are no multiple of four, and 70 are too many for one key.
@pytest.mark.parametrize(("p", "n"), [(9, 2500), (70, 300), (2, 1), (4, 1024)])
def test_value_slopes_and_curvatures_are_those_of_all_pairs(p, n):
    table, weights, theta, main = make_case(p, n, seed=p)
    unseen = find_unseen(table, weights)
    whole = PseudoLikelihoodLoss(table, weights, unseen)
    whole_value, gradient = whole.evaluate(theta + np.diag(main))
    near, values = lay_out(theta)
    own = BinaryPairLoss(table, weights, unseen)
    assert own.dtype == np.float64
    value, mains, slopes = own.evaluate(near, main, values)
    assert value == pytest.approx(whole_value, rel=1e-12)
    np.testing.assert_allclose(mains, np.diagonal(gradient), atol=1e-13)
    is_alone = unseen.is_alone[near.first] | unseen.is_alone[near.second]  # which the loss of all pairs leaves out
    np.testing.assert_allclose(slopes[~is_alone], gradient[near.first, near.second][~is_alone], atol=1e-13)
    everywhere = own.all_slopes(near, main, values)
    both = np.where(unseen.is_alone[:, None] | unseen.is_alone, 0.0, (everywhere + everywhere.T) / 2)
    np.fill_diagonal(both, np.diagonal(gradient))
    np.testing.assert_allclose(both, gradient, atol=1e-13)

    x, w = table.codes.astype(float), weights / weights.sum()
    q = expit(x @ theta + main)
    np.testing.assert_allclose(own.norms, np.sqrt(w @ x), atol=1e-13)
    other, less = lay_out(np.where(np.abs(theta) < 0.5, 0.0, theta))
    difference = expit(x @ theta + main) - expit(x @ np.where(np.abs(theta) < 0.5, 0.0, theta) + 2 * main)
    changes = own.changes((near, main, values), (other, 2 * main, less))
    np.testing.assert_allclose(changes, np.sqrt(w @ difference**2), atol=1e-13)

    is_active = np.random.default_rng(1).random(len(values)) < 0.7
    blocks, starts = own.curvatures(near, main, values, is_active)
    for i in range(p):
        inside = is_active[near.pairs[near.starts[i] : near.starts[i + 1]]]
        features = np.column_stack([np.ones(n), x[:, near.others[near.starts[i] : near.starts[i + 1]][inside]]])
        hessian = (features.T * (w * q[:, i] * (1 - q[:, i]))) @ features
        np.testing.assert_allclose(blocks[starts[i] : starts[i + 1]], hessian.ravel(), atol=1e-13)


def test_single_precision_is_right_to_its_rounding():
    table, weights, theta, main = make_case(30, 5000, seed=1)
    unseen = find_unseen(table, weights)
    near, values = lay_out(theta)
    single, double = (BinaryPairLoss(table, weights, unseen, tol) for tol in (1e-4, 0.0))
    assert single.dtype == np.float32
    # An exponent is the sum of up to d terms, each rounded, and so is that of its terms: at most (d + 1) units of the
    # sum of their sizes. A residual moves by at most a quarter of that and 4 units of its own; sums over a piece of
    # 1024 rows are made in lanes of at most 1024 terms, and their weights add up to one.
    largest = np.max(np.abs(theta).sum(axis=0) + np.abs(main))
    allowed = UNIT * ((near.degrees.max() + 1) * largest / 4 + 4 + 1024)
    field = near, main, values
    for own, other in zip(single.evaluate(*field)[1:], double.evaluate(*field)[1:], strict=True):
        assert np.abs(own - other).max() <= allowed
    assert np.abs(single.all_slopes(*field) - double.all_slopes(*field))[~np.eye(30, dtype=bool)].max() <= allowed
    value = double.evaluate(*field)[0]
    assert single.evaluate(*field)[0] == pytest.approx(value, abs=30 * allowed * 4 + 1030 * UNIT * value)


def test_probabilities_and_losses_of_single_precision_are_right_for_all_exponents():
    # The first of two variables has the exponent e in both rows, whatever the second, whose own is zero.
    table = sf.Table(sf.Domain.binary(2), np.array([[1, 1], [0, 0]], dtype=np.uint8))
    near, values = lay_out(np.zeros((2, 2)))
    unseen = find_unseen(table)
    single, double = (BinaryPairLoss(table, np.array([1.0, 3.0]), unseen, tol) for tol in (1e-4, 0.0))
    for e in np.concatenate([np.linspace(-100, 100, 2001), [-1e4, 1e4, 1e-3, -1e-3]]).astype(np.float32):
        main = np.array([e, 0.0])
        (own, own_slope, _), (other, slope, _) = (loss.evaluate(near, main, values) for loss in (single, double))
        # Polynomial, product, sum, quotient and difference: eight roundings.
        assert own_slope[0] == pytest.approx(slope[0], abs=8 * UNIT)
        assert own == pytest.approx(other, rel=16 * UNIT)


@pytest.mark.parametrize("has_weights", [False, True])
def test_distinct_rows_are_counted_once_and_lose_nothing(has_weights):
    rng = np.random.default_rng(1)
    codes = (rng.random((64, 3000)) < 0.5).astype(np.uint8)
    codes[:, 1000:] = codes[:, :1000][:, rng.integers(0, 1000, 2000)]
    weights = rng.random(3000) if has_weights else None
    rows, counts = gather_distinct(codes, weights)
    assert rows.shape == (64, 1000)
    weight_of = {}
    for row, weight in zip(codes.T, np.ones(3000) if weights is None else weights, strict=True):
        weight_of[row.tobytes()] = weight_of.get(row.tobytes(), 0.0) + weight
    for row, weight in zip(np.ascontiguousarray(rows.T), counts, strict=True):
        assert weight_of.pop(row.tobytes()) == pytest.approx(weight, rel=1e-12)
    assert not weight_of
    # Where few rows repeat, or rows have more bits than a key, they stay as they are.
    for few in (codes[:, :1000], np.concatenate([codes, codes])):
        same, ones = gather_distinct(few, None)
        assert same is few
        assert np.array_equal(ones, np.ones(few.shape[1]))


def test_threads_give_the_same_bits(cut_work):
    cut_work()
    table, weights, theta, main = make_case(23, 3000, seed=2)
    near, values = lay_out(theta)
    found = []
    for n_threads in (1, 2, 5):
        loss = BinaryPairLoss(table, weights, find_unseen(table), 1e-4, n_threads)
        everything = np.ones(len(values), dtype=bool)
        blocks, _ = loss.curvatures(near, main, values, everything)
        found.append([*loss.evaluate(near, main, values), blocks, loss.all_slopes(near, main, values)])
    for other in found[1:]:
        for own, same in zip(found[0], other, strict=True):
            assert np.array_equal(own, same)


def test_long_looks_are_cut_into_pieces(monkeypatch):
    table, weights, theta, main = make_case(70, 5000, seed=3)  # too many variables for rows to be counted once
    near, values = lay_out(theta)
    given = table, weights, find_unseen(table), 1e-4
    everything = np.ones(len(values), dtype=bool)

    def look(loss):
        blocks, _ = loss.curvatures(near, main, values, everything)
        return [*loss.evaluate(near, main, values), blocks, loss.all_slopes(near, main, values)]

    calls, run = [], sf._threads.run
    monkeypatch.setattr("sparsefield._threads.run", lambda *given: (calls.append(given), run(*given))[1])
    whole, n_calls = look(BinaryPairLoss(*given)), len(calls)
    cut = BinaryPairLoss(*given, policy=replace(PSEUDO, wait=1e-6))
    for own, other in zip(whole, look(cut), strict=True):
        assert np.array_equal(own, other)
    assert len(calls) - n_calls > 3 * n_calls
