"""Certificates of variables with several levels against the exact law of their chains."""

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield.certificates import (
    Disagreement,
    certify_bounds,
    coalescence,
    concentration,
    dobrushin,
    influence_matrix,
    trivial_bias,
)
from sparsefield.certificates._coalescence import upper_limits
from sparsefield.certificates._influence import conditional_changes, spectral_radius
from sparsefield.inference import BoundingChains, Perfect, Scan
from support.level_fields import Law, from_blocks, ordered_field, random_levels
from support.random_fields import ROUNDING, assert_holds
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS


@pytest.mark.parametrize("group", range(10))
def test_bounds_exceed_the_exact_bias_of_random_fields(group):
    # 520 fields of 2 to 4 variables with up to 4 levels, from the worst of all starts.
    for seed in range(52 * group, 52 * group + 52):
        model = random_levels(seed)
        order = np.random.default_rng(seed).permutation(model.domain.n_variables) if seed % 3 == 0 else None
        followed = {kind: Disagreement(model, kind=kind, order=order) for kind in ("paper", "sharp")}
        for t, (errors, bias) in enumerate(Law(model).worst_errors(6, order), start=1):
            certificates = []
            for disagreement in followed.values():
                disagreement.sweep()
                certificates.append(disagreement.certificate())
            if t == 1 + seed % 4:
                certificates.append(
                    coalescence(model, t, 1500, seed=seed, confidence=1 - FALSE_ALARM, order=order, n_threads=1)
                )
            for certificate in certificates:
                assert_holds(certificate, errors, bias)
            assert certificates[1].bias <= certificates[0].bias


@pytest.mark.parametrize("group", range(4))
def test_persistent_bounds_exceed_the_exact_bias_along_a_path(group):
    n_held = 0
    for seed in range(40 * group, 40 * group + 40):
        goal = random_levels(seed)
        share, far = 0.0, None
        for step in (0.02, 0.1, 0.1, 0.3, 0.3):
            model = PairwiseMRF(goal.domain, share * goal.main, share * goal.interactions)
            law = Law(model)
            if far is None:
                far, laws = Disagreement(model, start="exact"), law.probabilities[None]
            elif spectral_radius(influence_matrix(model))[0] >= 1:
                break
            else:
                far.move(model)
            laws = law.sweep(laws)
            far.sweep()
            errors = np.abs(law.moments(laws - law.probabilities))[0]
            certificate = far.certificate()
            assert_holds(certificate, errors, np.sqrt((np.triu(errors) ** 2).sum()))
            n_held += not certificate.is_vacuous
            share += step
    assert n_held > 100


@pytest.mark.parametrize("group", range(4))
def test_influences_exceed_dobrushins_and_are_close_to_them(group):
    ratios = []
    for seed in range(50 * group, 50 * group + 50):
        model = random_levels(seed)
        law, found = Law(model), influence_matrix(model).toarray()
        p = len(law.n_levels)
        true = np.array([[0.0 if i == j else law.influence(i, j) for j in range(p)] for i in range(p)])
        assert np.all(true <= found + ROUNDING)
        assert np.all(found[true == 0] == 0)
        ratios.extend((found / np.maximum(true, 1e-300))[true > 1e-3])
        # Never above what the exponents alone allow.
        for i in range(p):
            for j in range(p):
                assert found[i, j] <= np.tanh(largest_oscillation(model, i, j) / 4) * (1 + 2.0**-38) + 1e-300
    # Over all log-odds in their range, whether or not a state has them: 0.2% too much at the median, 4% on average.
    assert np.median(ratios) < 1.02
    assert np.mean(ratios) < 1.1


def largest_oscillation(model, i, j):
    """Return the largest difference that two levels of j make to the exponents of two levels of i."""
    n_i, n_j = model.domain.n_levels[[i, j]]
    block = np.zeros((n_i, n_j))
    slots, levels = model.domain.slot_variables, model.domain.slot_levels
    for a in np.flatnonzero(slots == i):
        for b in np.flatnonzero(slots == j):
            block[levels[a], levels[b]] = model.interactions[a, b]
    d = block[:, :, None] - block[:, None, :]
    return float((d.max(axis=0) - d.min(axis=0)).max())


def test_influences_are_right_at_any_parameters():
    with np.errstate(all="raise", under="ignore"):
        for size in (1e-320, 1e-12, 1e-3, 1.0, 50.0, 800.0, 1e20):
            for main in (np.zeros(3), np.array([0.0, 900.0, -900.0]), np.array([0.0, -5 * size, -5 * size])):
                block = size * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -0.5], [0.0, 0.2, 0.7]])
                model = from_blocks([3, 3], [main, np.zeros(3)], {(0, 1): block})
                found = influence_matrix(model).toarray()
                # In long doubles; differences of probabilities beside which 1 is written would be lost.
                weights = np.exp((main[:, None] + block - (main[:, None] + block).max(axis=0)).astype(np.longdouble))
                law = weights / weights.sum(axis=0)
                true = max(np.abs(law[:, a] - law[:, b]).sum() / 2 for a in range(3) for b in range(a))
                assert 0 < found[0, 1] <= 1
                assert found[0, 1] >= true - 3 * 2.0**-62


# Where exponentials overflow: one exponent from 709 on, sums of several before.
HUGE = (150.0, 180.0, 240.0, 300.0, 359.0, 360.0, 690.0, 705.0, 711.0, 745.0, 1000.0, 5000.0)


@pytest.mark.parametrize("size", HUGE)
def test_bounds_hold_where_exponentials_overflow(size):
    # 60 fields of two or three variables for each size, with a few interactions that large among ordinary ones.
    for seed in range(60):
        model = huge_levels(seed, size)
        law, found = Law(model), influence_matrix(model).toarray()
        p = len(law.n_levels)
        true = np.array([[0.0 if i == j else law.influence(i, j) for j in range(p)] for i in range(p)])
        assert np.all(true <= found + ROUNDING)
        for t, (errors, bias) in enumerate(law.worst_errors(3), start=1):
            assert_holds(dobrushin(model, t), errors, bias)


def huge_levels(seed, size):
    """Make a field of two or three variables with three or four levels, some of whose parameters are huge."""
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(3, 5, 2 + seed % 2).tolist()

    def values(shape):
        return rng.normal(0, 1, shape) + size * rng.choice([-1, 0, 1], shape, p=[0.15, 0.7, 0.15])

    blocks = {(i, j): values((n_levels[i], n_levels[j])) for j in range(len(n_levels)) for i in range(j)}
    mains = [values(n) if seed % 4 == 0 else rng.normal(0, 1, n) for n in n_levels]
    return from_blocks(n_levels, mains, blocks, [None, "first"][seed % 3 == 0])


def test_a_bound_that_was_below_the_exact_bias_holds():
    block = np.array([[360.0, -361, 362, 3], [-1, 0, 359, 0], [1, 1, 360, 0]])
    model = from_blocks([3, 4], [np.array([0, -1.5, 0]), np.array([1, 0, 0, 0.5])], {(0, 1): block}, None)
    (_, first), (_, second), (_, third) = Law(model).worst_errors(3)
    assert (first, second) == pytest.approx((1.683, 0.0578), rel=1e-3)  # 3.47e-150 was certified after two sweeps
    for t, bias in enumerate((first, second, third), start=1):
        assert dobrushin(model, t).bias >= bias


@pytest.mark.parametrize("seed", range(40))
def test_changes_of_conditionals_are_bounded(seed):
    old = random_levels(seed)
    rng = np.random.default_rng(seed)
    noise = np.triu(rng.normal(0, 0.2, old.interactions.shape), 1)
    noise[old.domain.slot_variables[:, None] == old.domain.slot_variables] = 0
    new = PairwiseMRF(old.domain, old.main + rng.normal(0, 0.2, len(old.main)), old.interactions + noise + noise.T)
    laws = Law(old), Law(new)
    shape = tuple(old.domain.n_levels)
    for i, bound in enumerate(conditional_changes(old, new)):
        first, second = (law.conditional(i).reshape(shape) for law in laws)
        assert np.abs(first - second).sum(axis=i).max() / 2 <= bound + ROUNDING


def test_the_bound_before_any_sweep_is_reached():
    # The target is one state, and the worst start another: levels fall by as much as others rise, which is why squares
    # count twice.
    for reference in ("first", None):
        n_levels = [3, 4, 3]
        model = from_blocks(n_levels, [np.array([0.0] * (n - 1) + [60.0]) for n in n_levels], {}, reference)
        law = Law(model)
        exact = law.moments(law.probabilities[None])
        errors = law.moments(np.eye(len(law.states))) - exact
        worst = np.sqrt((np.triu(errors) ** 2).sum(axis=(1, 2))).max()
        certificate = dobrushin(model, 0)
        np.testing.assert_allclose(certificate.bias, worst, rtol=1e-9)
        assert certificate.bias == trivial_bias(model.domain) == np.sqrt(2 * 3 + 2 * 3)
        assert certificate.is_vacuous


def test_the_sharp_norm_counts_several_statistics_twice():
    rng = np.random.default_rng(1)
    few: list[tuple[str | None, list[int]]] = [("first", [2, 3, 4, 1, 2]), (None, [2, 3, 1, 4]), ("last", [2, 2, 2])]
    # Many variables are sorted by their disagreement, few are not.
    for reference, n_levels in few + [(reference, 12 * own) for reference, own in few]:
        model = from_blocks(n_levels, [np.zeros(n) for n in n_levels], {}, reference)
        far = Disagreement(model)
        n_slots = np.bincount(model.domain.slot_variables, minlength=len(n_levels))
        for _ in range(20):
            w = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], len(n_levels)) * rng.random(len(n_levels))
            far._w = w
            total = sum(min(2, n_slots[i]) * w[i] ** 2 for i in range(len(w)))
            for i in range(len(w)):
                for j in range(i):
                    total += min(2, n_slots[i] * n_slots[j]) * min(1, w[i] + w[j]) ** 2
            np.testing.assert_allclose(far.bias, np.sqrt(total), rtol=1e-12)
            np.testing.assert_allclose(far.certificate().pair.max(), min(1, np.sort(w)[-2:].sum()), atol=1)


@pytest.mark.parametrize("model", [LEVELS["mixed levels"], ordered_field([4, 3, 2], seed=1, scale=0.4, reference=None)])
def test_coalescence_adds_up_what_its_limits_say(model):
    domain = model.domain
    for n_sweeps in (1, 30):
        bounds = BoundingChains(domain, 900, seed=3)
        bounds.sweep(Scan(model, n_planes=2), n_sweeps)
        found = certify_bounds(model, bounds, confidence=0.9)
        every = upper_limits(np.array([bounds.n_open]), 900, (1 - 0.9) / 2)[0]
        assert np.all(found.pair <= every)
        total = 0.0
        for i in range(domain.n_variables):
            for j in range(i + 1):
                own = found.pair[np.ix_(domain.slot_variables == i, domain.slot_variables == j)]
                total += min((own**2).sum(), 2 * every**2)
        np.testing.assert_allclose(found.bias, np.sqrt(total), rtol=1e-12)


def test_coalescence_certifies_where_influences_do_not():
    rng = np.random.default_rng(3)
    blocks = {(i, (i + d) % 12): rng.normal(0, 0.6, (3, 3)) for i in range(12) for d in (1, 2)}
    blocks = {(min(k), max(k)): v for k, v in blocks.items()}
    model = from_blocks([3] * 12, [rng.normal(0, 0.3, 3) for _ in range(12)], blocks)
    assert spectral_radius(influence_matrix(model))[0] > 1.2
    assert dobrushin(model, 100).is_vacuous
    assert coalescence(model, 60, 20_000, seed=1).bias < 0.01


def test_concentration_holds_as_often_as_it_says():
    model = LEVELS["three levels"]
    law = Law(model)
    exact = law.moments(law.probabilities[None])[0]
    for kind in ("paper", "sharp"):
        for seed in range(20):
            moments = Perfect(700, seed=seed, n_threads=1).moments(model)
            found = concentration(model, moments, kind=kind, confidence=1 - FALSE_ALARM)
            error = np.abs(moments.pair - exact)
            assert np.all(error <= found.pair)
            assert np.sqrt((np.triu(error) ** 2).sum()) <= found.total
