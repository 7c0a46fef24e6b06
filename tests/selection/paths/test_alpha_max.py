"""The smallest penalty without an edge, against fits by enumeration."""

from itertools import product

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import Domain, Table
from sparsefield.data import MISSING
from support.problems import theta_of


def count_edges(table, alpha, **options):
    """Count the edges of the optimum, to a smallest subgradient of 1e-9."""
    fit = sf.learn(table, alpha, solver=sf.Newton(schedule="exact", tol=1e-9, max_iter=500), **options)
    assert fit.status.code == "converged", fit.status.sentence
    return np.count_nonzero(np.triu(theta_of(fit), 1))


def make_tables():
    """Yield tables of two and of more levels, with unseen levels, weights and missing cells."""
    for seed in range(3):
        table = sf.datasets.make_field(6, strength=(0.5, 1.5), seed=seed).sample(300, method="perfect", seed=seed)
        yield f"two levels, {seed}", table, {}
        weights = np.random.default_rng(seed).integers(0, 4, 300)
        yield f"weights, {seed}", table, {"sample_weight": weights.astype(float)}
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (200, 4)).astype(np.uint8)
    codes[:, 1] = np.where(rng.random(200) < 0.5, codes[:, 0], codes[:, 1])
    yield "three levels", sf.encode(codes), {}
    yield "three levels, one by one", sf.encode(codes), {"penalty": "l1"}
    scores = ((0.0, 1.0, 2.0), (0.0, 1.0, 3.0), None, None)
    for penalty in ("group", "l1"):
        for reference in ((0, 1, 2, 0), None):
            ordered = Domain(tuple("abcd"), ((0, 1, 2),) * 4, reference, scores)
            name = f"ordered levels, {penalty}, {reference}"
            yield name, Table(ordered, np.asfortranarray(codes)), {"penalty": penalty}
    lacking = codes.copy()
    lacking[rng.random(codes.shape) < 0.1] = MISSING
    yield "missing cells of three levels", Table(ordered, np.asfortranarray(lacking)), {}
    domain = Domain(names=("a", "b", "c", "d"), levels=((0, 1, 2, 3),) * 4, reference=(0,) * 4)
    yield "a level that is never seen", Table(domain, np.asfortranarray(codes)), {}
    constant = codes.copy()
    constant[:, 2] = 0
    yield "a constant column", Table(domain, np.asfortranarray(constant)), {}
    missing = np.array(
        sf.datasets.make_field(6, strength=(0.5, 1.5), seed=1).sample(300, method="perfect", seed=1).codes
    )
    missing[rng.random(missing.shape) < 0.1] = MISSING
    yield "missing cells", Table(Domain.binary(6), np.asfortranarray(missing)), {}


TABLES = list(make_tables())


@pytest.mark.parametrize("penalize_main", [False, True])
@pytest.mark.parametrize(("table", "options"), [own[1:] for own in TABLES], ids=[own[0] for own in TABLES])
def test_there_is_no_edge_from_the_largest_alpha_on_and_one_just_below(table, options, penalize_main):
    most = sf.selection.alpha_max(table, penalize_main=penalize_main, **options)
    options = {**options, "penalize_main": penalize_main, "init": "zero"}
    assert count_edges(table, most * (1 + 1e-9), **options) == 0
    assert count_edges(table, 1.5 * most, **options) == 0
    assert count_edges(table, 0.99 * most, **options) > 0


def test_independent_columns_have_none():
    x = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [81, 9, 9, 1], axis=0)
    assert sf.selection.alpha_max(x) == 0
    # 1/9 is not the square of 1/3, as doubles have them.
    assert sf.selection.alpha_max(np.array(list(product(range(3), repeat=2)) * 20)) == 0
    # Penalised main effects are short of 0.9 by alpha, and the pair of both by more: up to 0.81 - 0.25.
    assert sf.selection.alpha_max(x, penalize_main=True) == pytest.approx(0.56)
    assert sf.selection.alpha_max(1 - x, penalize_main=True) == 0


def test_two_equal_columns():
    x = np.repeat([[0, 0], [1, 1]], [3, 1], axis=0)
    assert sf.selection.alpha_max(x) == pytest.approx(0.25 - 0.25**2)


@pytest.mark.filterwarnings("ignore::sparsefield.data.ConstantColumnWarning")
def test_one_column_or_constant_ones_have_none():
    assert sf.selection.alpha_max(np.array([[0], [1]])) == 0
    assert sf.selection.alpha_max(np.zeros((5, 3), dtype=int)) == 0
    assert sf.selection.alpha_max(np.zeros((5, 3), dtype=int), penalize_main=True) == 0
