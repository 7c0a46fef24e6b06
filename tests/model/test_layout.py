"""What is made of large matrices is made some rows at a time, and is the same."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import Moments
from sparsefield.fitting import Learner, Options
from sparsefield.model import _layout, count_once, inner_once, is_symmetric, norm, row_parts, sum_once
from sparsefield.objective import L1, Problem, _penalty
from sparsefield.objective._residual_variances import rest_of_some, rest_variances
from sparsefield.selection.choices import _null_edges
from sparsefield.solvers import _draw_budget
from sparsefield.tables import read_rows


@pytest.fixture
def few_rows(monkeypatch):
    """Take a few rows at a time of matrices that are small."""
    for module in (_layout, _penalty, _draw_budget, _null_edges):
        monkeypatch.setattr(module, "MOST_AT_ONCE", 100)
    monkeypatch.setattr(_layout, "_PART", 100)


def make_symmetric(size, seed=1):
    values = np.random.default_rng(seed).normal(size=(size, size))
    return np.triu(values) + np.triu(values, 1).T


@pytest.mark.usefixtures("few_rows")
def test_parts_cover_all_rows_once():
    parts = list(row_parts(37))
    assert len(parts) > 10
    assert np.array_equal(np.concatenate([np.arange(37)[rows] for rows in parts]), np.arange(37))


@pytest.mark.usefixtures("few_rows")
def test_sums_and_norms_by_rows_count_every_parameter_once():
    first, second = make_symmetric(37), make_symmetric(37, seed=2)
    upper = np.triu_indices(37)
    assert inner_once(first, second) == pytest.approx((first * second)[upper].sum(), rel=1e-12)
    assert norm(first) == pytest.approx(np.sqrt((first**2)[upper].sum()), rel=1e-12)
    assert sum_once(first) == pytest.approx(first[upper].sum(), rel=1e-12)


@pytest.mark.parametrize("size", [3, 256, 300, 700])
def test_marks_are_counted_once(size):
    marked = make_symmetric(size) > 1
    assert count_once(marked) == np.count_nonzero(np.triu(marked))


def test_matrices_that_differ_from_their_transposes_in_one_entry_are_not_symmetric():
    values = make_symmetric(600)
    assert is_symmetric(values)
    values[599, 3] += 1e-12
    assert not is_symmetric(values)


@pytest.mark.usefixtures("few_rows")
def test_weights_of_many_variables_are_a_view_of_a_vector():
    domain = sf.Domain.binary(20)
    penalty = L1(domain, 0.3, main=0.5)
    expected = np.full((20, 20), 0.3)
    np.fill_diagonal(expected, 0.15)
    assert penalty.weights.base is not None  # they take no memory of their own
    assert np.array_equal(penalty.weights, expected)
    theta, gradient = make_symmetric(20), make_symmetric(20, seed=2)
    theta[np.abs(theta) < 1] = 0
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - expected, 0)
    assert penalty.value(theta) == pytest.approx(sum_once(expected * np.abs(theta)), rel=1e-12)
    found = np.where(theta != 0, gradient + expected * np.sign(theta), at_zero)
    assert np.array_equal(penalty.subgradient(theta, gradient), found)
    assert np.array_equal(
        penalty.violation(theta, gradient + 1, np.ones((20, 20))), penalty.subgradient(theta, gradient + 1 - 1)
    )


def test_draws_for_a_penalty_are_no_fewer_where_ratios_are_rounded(request):
    model = sf.datasets.make_field(25, seed=3)
    table = model.sample(2000, method="perfect", seed=1)
    moments = sf.data.moments_of_table(table)
    problem = Problem.with_l1(moments, table.domain, 0.05, penalize_main=False)
    exact = _draw_budget.draws_for_penalty(problem)
    request.getfixturevalue("few_rows")
    rounded = _draw_budget.draws_for_penalty(problem)
    # Ratios fall by a thousandth at most, so that draws rise by two thousandths, and both are found to 2^0.01.
    assert exact * 2**-0.01 <= rounded <= exact * 1.002 * 2**0.01 + 1


def test_the_edge_of_noise_rises_by_a_thousandth_at_most_where_errors_are_rounded(request):
    codes = np.random.default_rng(1).random((400, 25)) < np.linspace(0.1, 0.9, 25)
    learner = Learner(read_rows(sf.Table(sf.Domain.binary(25), codes.astype(np.uint8))), Options())
    exact, expected = _null_edges.null_alpha(learner), _null_edges.count_null_edges(learner, 0.01)
    request.getfixturevalue("few_rows")
    assert exact < _null_edges.null_alpha(learner) <= 1.001 * exact
    assert expected < _null_edges.count_null_edges(learner, 0.01) <= 1.01 * expected


def test_what_a_regression_leaves_is_the_same_by_rows_and_of_some(request):
    table = sf.datasets.make_field(15, seed=3).sample(500, method="perfect", seed=1)
    moments = sf.data.moments_of_table(table)
    problem = Problem.with_l1(Moments.of_pairs(moments.pair, 500), table.domain, 0.05, penalize_main=False)
    is_free = np.arange(15) % 3 > 0
    whole = rest_variances(problem, moments, is_free)
    assert np.allclose(whole, whole.T, rtol=0, atol=1e-15)
    a, b = np.triu_indices(15)
    assert np.allclose(rest_of_some(moments, is_free, a, b), whole[a, b], rtol=0, atol=1e-15)
    request.getfixturevalue("few_rows")
    assert np.array_equal(rest_variances(problem, moments, is_free), whole)
