"""Influences, their spectral radius, and changes of conditionals, against enumeration."""

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield.certificates import influence_matrix
from sparsefield.certificates._influence import conditional_changes, spectral_radius
from support import exact_chains, naive
from support.random_fields import pair_field, random_binary
from support.zoo import parts, random_field


@pytest.mark.parametrize("seed", range(0, 520, 13))
def test_the_influence_matrix_exceeds_dobrushins_influence(seed):
    model = random_binary(seed)
    p = model.domain.n_variables
    found = influence_matrix(model).toarray()
    everywhere = exact_chains.influence(model.main, model.interactions)
    for i in range(p):
        assert found[i, i] == 0
        for j in range(p):
            if i != j:
                true = naive.influence(i, j, model.main.tolist(), model.interactions.tolist())
                most = np.tanh(abs(model.interactions[i, j]) / 4)
                # The oracle adds up to 36 parameters below 4: sums below 144, rounded 36 times, moves of a quarter of
                # that. Entries are rounded up by 2^-40.
                assert true - 36 * 144 / 4 * 2.0**-53 <= found[i, j] <= most * (1 + 2.0**-39)
                assert (found[i, j] == 0) == (model.interactions[i, j] == 0)
                np.testing.assert_allclose(everywhere[i, j], true, rtol=0, atol=36 * 144 / 4 * 2.0**-53)


def naive_influence(model, i, j):
    """Return the largest total variation distance between conditionals of i at states that differ in j alone."""
    most = 0.0
    for state in np.ndindex(*model.domain.n_levels):
        first = naive.conditional(i, state, *parts(model))
        for k in range(model.domain.n_levels[j]):
            second = naive.conditional(i, (*state[:j], k, *state[j + 1 :]), *parts(model))
            most = max(most, np.abs(np.subtract(first, second)).sum() / 2)
    return most


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_influences_of_many_levels_exceed_dobrushins(seed, scale):
    n_levels = [[3, 3, 3], [2, 3, 4], [2, 1, 3, 2], [4, 2, 2], [3, 2, 1], [2, 2, 3]][seed]
    model = random_field(n_levels, seed=seed, scale=scale, density=0.8, reference=[None, "first", "last"][seed % 3])
    found = influence_matrix(model).toarray()
    for i in range(len(n_levels)):
        for j in range(len(n_levels)):
            true = 0.0 if i == j else naive_influence(model, i, j)
            # Sums of at most 10 parameters below 10, rounded.
            assert true - 10 * 100 / 4 * 2.0**-53 <= found[i, j] <= 1
    # Where it decides, between two variables of two levels, it is as sharp as the paper's.
    binary = random_field([2, 2, 2], seed=seed, scale=scale)
    wider = random_field([2, 2, 2, 3], seed=seed, scale=scale)
    main, interactions = np.zeros(5), np.zeros((5, 5))
    main[:3], interactions[:3, :3] = binary.main, binary.interactions
    both = influence_matrix(PairwiseMRF(wider.domain, main, interactions)).toarray()
    np.testing.assert_allclose(both[:3, :3], influence_matrix(binary).toarray(), rtol=1e-11)


@pytest.mark.parametrize("seed", range(60))
def test_the_influence_matrix_is_the_papers(seed):
    model = random_binary(seed)
    p = model.domain.n_variables
    xi, main = model.interactions, model.main
    expected = np.zeros((p, p))
    for i in range(p):
        for j in range(p):
            if i != j:
                others = [k for k in range(p) if k not in (i, j)]
                r = np.exp(-main[i] - sum(xi[i, k] * max(np.sign(xi[i, k]), 0) for k in others))
                s = np.exp(-main[i] - sum(xi[i, k] * max(-np.sign(xi[i, k]), 0) for k in others))
                b = max(r, min(s, np.exp(xi[i, j] / 2)))
                expected[i, j] = abs(np.exp(-xi[i, j]) - 1) * b / ((1 + b * np.exp(-xi[i, j])) * (1 + b))
    np.testing.assert_allclose(influence_matrix(model).toarray(), expected, rtol=1e-12, atol=1e-15)


def test_the_influence_matrix_is_right_at_any_parameters():
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(influence_matrix(pair_field([0, 0], 1e-12)).toarray()[0, 1], 2.5e-13, rtol=1e-12)
        assert 0 < influence_matrix(pair_field([0, 0], 1e-320)).toarray()[0, 1] < 1e-300
        np.testing.assert_allclose(influence_matrix(pair_field([-5e90, 0], 1e91)).toarray()[0, 1], 1.0)
        # A field that stays below -1e90 cannot be moved; beside -5e90, rounding must not hide that 1e91 can.
        assert influence_matrix(pair_field([-1e91, 0], 1e90)).toarray()[0, 1] < 1e-300
        huge = np.array([[0, 1.0, 1e20], [1.0, 0, 0], [1e20, 0, 0]])
        # Without x2 the field of x0 is 0 or 1, with it 1e20: the sum over neighbours holds no such difference.
        assert influence_matrix(PairwiseMRF.binary([0.0, 0.0, 0.0], huge)).toarray()[0, 1] >= np.tanh(0.25) - 1e-15


def test_influences_are_rounded_up():
    # In long doubles, without tolerance: 64 bits of mantissa against 53.
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = int(rng.integers(2, 7))
        values = np.triu(rng.normal(0, 10.0 ** rng.uniform(-6, 2), (p, p)), 1)
        main = rng.normal(0, 10.0 ** rng.uniform(-3, 2), p)
        model = PairwiseMRF.binary(main, values + values.T)
        x = exact_chains.states(p).astype(np.longdouble)
        fields = model.main.astype(np.longdouble) + x @ model.interactions.astype(np.longdouble)
        # s(f) - s(g) = s(f) s(-g) (1 - exp(g - f)), which keeps small differences.
        found = influence_matrix(model).toarray()
        numbers = np.arange(len(x))
        for j in range(p):
            flipped = fields[numbers ^ (1 << (p - 1 - j))]
            top, low = np.maximum(fields, flipped), np.minimum(fields, flipped)
            sizes = np.abs(model.interactions[:, j]).astype(np.longdouble)  # top - low, without cancellation
            true = -np.expm1(-sizes) / ((1 + np.exp(-top)) * (1 + np.exp(low)))
            others = np.arange(p) != j
            assert np.all(true[:, others] <= found[others, j])


def test_the_spectral_radius_is_bounded_closely():
    for seed in range(60):
        influences = influence_matrix(random_binary(seed))
        bound, v = spectral_radius(influences)
        true = np.abs(np.linalg.eigvals(influences.toarray())).max()
        assert true * (1 - 1e-12) <= bound <= true * 1.01 + 1e-15
        assert np.all(influences @ v <= bound * v * (1 + 1e-15))
    # Two parts that do not touch, one much weaker.
    halves = np.zeros((4, 4))
    halves[0, 1] = halves[1, 0] = 2.0
    halves[2, 3] = halves[3, 2] = 1e-3
    bound, _ = spectral_radius(influence_matrix(PairwiseMRF.binary(np.zeros(4), halves)))
    assert bound == pytest.approx(
        np.sqrt(influence_matrix(PairwiseMRF.binary(np.zeros(4), halves)).toarray()[0, 1] ** 2)
    )


@pytest.mark.parametrize("seed", range(60))
def test_field_changes_exceed_the_change_of_every_conditional(seed):
    old = random_binary(seed)
    p = old.domain.n_variables
    rng = np.random.default_rng(seed)
    shift = np.triu(rng.normal(0, 0.3, (p, p)), 1)
    new = PairwiseMRF.binary(old.main + rng.normal(0, 0.3, p), old.interactions + shift + shift.T)
    states = exact_chains.states(p).astype(np.uint8)
    for i, bound in enumerate(conditional_changes(old, new)):
        true = np.abs(old.conditional(i, states) - new.conditional(i, states)).max()
        change = new.main[i] - old.main[i] + states @ (new.interactions - old.interactions)[i]
        # Fields are sums of 8 parameters below 5, rounded 8 times; so are their changes.
        assert (
            true - 8 * 40 / 4 * 2.0**-53
            <= bound
            <= np.tanh(np.abs(change).max() / 4) * (1 + 2.0**-39) + 8 * 40 * 2.0**-53
        )
