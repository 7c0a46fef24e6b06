"""Every certificate against the exact law of the chains it is about."""

import itertools

import numpy as np
import pytest
from scipy import stats

import exact_chains
import naive
from sparsefield import PairwiseMRF
from sparsefield.certificates import (
    Certificate,
    Disagreement,
    chains_needed,
    coalescence,
    concentration,
    dobrushin,
    fischer,
    influence_matrix,
)
from sparsefield.certificates._coalescence import certify_bounds, upper_limits
from sparsefield.certificates._influence import field_changes, spectral_radius
from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Chains, Gibbs, Perfect, Scan
from statistics_ import FALSE_ALARM
from zoo import BINARY, LEVELS, ZOO, parts, random_field

# Sums of at most 256 probabilities, carried through at most 20 sweeps of 8 updates, each rounded to 2^-53 of itself:
# 160 x 3 + 256 roundings of values up to 1.
ROUNDING = 1000 * 2.0**-53


def random_binary(seed):
    """Make a field of up to 8 variables, of any strength, density and sign."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 9))
    strength = rng.choice([0.05, 0.2, 0.5, 1.0, 2.0, 4.0])
    density = rng.choice([0.0, 0.2, 0.5, 1.0])
    signs = rng.choice([-1, 1], (p, p)) if seed % 3 == 0 else np.full((p, p), 1 if seed % 3 == 1 else -1)
    values = np.triu(signs * rng.uniform(0, strength, (p, p)) * (rng.random((p, p)) < density), 1)
    main = rng.uniform(-1, 1, p) * rng.choice([0.0, strength])
    return PairwiseMRF.binary(main, values + values.T)


def worst_errors(model, n_sweeps, order=None):
    """Yield, after each sweep, the largest error of each statistic and of their norm over all starts."""
    p = model.domain.n_variables
    exact = exact_chains.pair_moments(exact_chains.probabilities(model.main, model.interactions)[None], p)[0]
    laws = np.eye(2**p)
    for _ in range(n_sweeps):
        laws = exact_chains.sweep(laws, model.main, model.interactions, order)
        errors = np.abs(exact_chains.pair_moments(laws, p) - exact)
        yield errors.max(axis=0), exact_chains.norm(errors).max()


def assert_holds(certificate, errors, bias):
    assert bias <= certificate.bias + ROUNDING, (bias, certificate.bias)
    assert np.all(errors <= certificate.pair + ROUNDING)


@pytest.mark.parametrize("name", [name for name, model in BINARY.items() if model.domain.is_binary])
def test_the_exact_law_is_that_of_the_naive_chain(name):
    model = BINARY[name]
    found = exact_chains.sweep(np.eye(2**model.domain.n_variables), model.main, model.interactions)
    np.testing.assert_allclose(found, naive.sweep_matrix(*parts(model)), rtol=1e-12, atol=1e-15)
    states, expected, _ = naive.distribution(*parts(model))
    np.testing.assert_array_equal(exact_chains.states(model.domain.n_variables), states)
    np.testing.assert_allclose(exact_chains.probabilities(model.main, model.interactions), expected, rtol=1e-12)


@pytest.mark.parametrize("group", range(26))
def test_bounds_exceed_the_exact_bias_of_random_fields(group):
    # 520 fields, from the worst of all starts, every third in an order of its own.
    for seed in range(20 * group, 20 * group + 20):
        model = random_binary(seed)
        p = model.domain.n_variables
        order = np.random.default_rng(seed).permutation(p) if seed % 3 == 0 else None
        influences = exact_chains.influence(model.main, model.interactions)
        assert np.all(influences <= influence_matrix(model).toarray() + ROUNDING)
        followed = {kind: Disagreement(model, kind=kind, order=order) for kind in ("paper", "sharp")}
        for t, (errors, bias) in enumerate(worst_errors(model, 20, order), start=1):
            certificates = [fischer(model, t)]
            for disagreement in followed.values():
                disagreement.sweep()
                certificates.append(disagreement.certificate())
            for certificate in certificates:
                assert_holds(certificate, errors, bias)
            paper, sharp = certificates[1:]
            assert sharp.bias <= paper.bias / 2 * (1 + 1e-12)
            assert np.all(sharp.pair <= paper.pair)


@pytest.mark.parametrize("name", ZOO)
def test_bounds_hold_whatever_the_levels(name):
    # Statistics for other levels, for all levels, with variables that are constant, and with more than two levels.
    model = ZOO[name]
    _, probabilities, _ = naive.distribution(*parts(model))
    laws = np.eye(len(probabilities))
    matrix = np.array(naive.sweep_matrix(*parts(model)))
    states = np.array(list(np.ndindex(*model.domain.n_levels)))
    indicators = model.domain.indicators(states.astype(np.uint8))
    exact = np.einsum("s,sa,sb->ab", probabilities, indicators, indicators)
    counted = np.triu(np.ones(exact.shape, dtype=bool))
    for t in range(1, 9):
        laws = laws @ matrix
        errors = np.abs(np.einsum("ns,sa,sb->nab", laws, indicators, indicators) - exact)
        bias = np.sqrt((errors**2 * counted).sum(axis=(1, 2))).max()
        certificates = [dobrushin(model, t), dobrushin(model, t, kind="paper")]
        if name in BINARY:
            certificates += [fischer(model, t), coalescence(model, t, 3000, seed=t, confidence=1 - FALSE_ALARM)]
        for certificate in certificates:
            assert_holds(certificate, errors.max(axis=0), bias)


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


@pytest.mark.parametrize("seed", range(12))
def test_persistent_bounds_of_many_levels_hold(seed):
    rng = np.random.default_rng(seed)
    n_levels = [[3, 3, 2], [2, 4, 1, 2], [3, 3, 3]][seed % 3]
    goal = random_field(n_levels, seed=seed, scale=0.5, reference=["first", None][seed % 2])
    states = np.array(list(np.ndindex(*n_levels))).astype(np.uint8)
    indicators = goal.domain.indicators(states)
    far, share, n_held = None, 0.0, 0
    for _ in range(8):
        model = PairwiseMRF(goal.domain, share * goal.main, share * goal.interactions)
        target = np.exp(model.log_prob(states))
        if far is None:
            far, laws = Disagreement(model, start="exact"), target[None]
        elif spectral_radius(influence_matrix(model))[0] >= 1:
            break
        else:
            far.move(model)
        laws = laws @ np.array(naive.sweep_matrix(*parts(model)))
        far.sweep()
        error = np.abs(np.einsum("s,sa,sb->ab", (laws - target)[0], indicators, indicators))
        assert_holds(far.certificate(), error, exact_chains.norm(error))
        n_held += 1
        share += rng.choice([0.05, 0.2])
    assert n_held >= 3


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


def pair_field(main, value):
    return PairwiseMRF.binary(main, [[0.0, value], [value, 0.0]])


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


@pytest.mark.parametrize("seed", range(40))
def test_gauss_seidel_sweeps_are_the_papers_matrix_power(seed):
    model = random_binary(seed)
    p = model.domain.n_variables
    influences = influence_matrix(model).toarray()
    order = np.random.default_rng(seed).permutation(p)
    whole = np.eye(p)
    for i in order:
        whole = np.array(naive.update_matrix(influences.tolist(), i)) @ whole
    far = Disagreement(model, kind="paper", order=order)
    for n_sweeps in range(1, 16):
        far.sweep()
        power = np.linalg.matrix_power(whole, n_sweeps)
        np.testing.assert_allclose(far.values, power.sum(axis=1), rtol=1e-12)
        m = p * (p + 1) / 2
        np.testing.assert_allclose(far.bias, 2 * np.sqrt(m) * min(1, power.sum()), rtol=1e-12)
        np.testing.assert_allclose(dobrushin(model, n_sweeps, kind="paper", order=order).bias, far.bias, rtol=1e-12)


def test_a_scan_in_another_order_has_the_bound_of_that_order():
    # Here the chains that update x0 first are further off than the bound for those that update x1 first allows.
    model = pair_field([-0.25, 0.97], 1.0)
    for n_sweeps in (1, 2, 3):
        biases, bounds = [], []
        for order in ([0, 1], [1, 0]):
            biases.append(list(worst_errors(model, n_sweeps, order))[-1][1])
            bounds.append(dobrushin(model, n_sweeps, order=order).bias)
            bounding = coalescence(model, n_sweeps, 200_000, seed=1, confidence=1 - FALSE_ALARM, order=order)
            assert biases[-1] <= min(bounds[-1], bounding.bias)
        assert biases[0] > bounds[1]


@pytest.mark.parametrize("name", BINARY)
def test_the_bias_of_a_disagreement_is_that_of_its_certificate(name):
    for kind in ("sharp", "paper"):
        far = Disagreement(BINARY[name], kind=kind)
        for _ in range(5):
            np.testing.assert_allclose(far.bias, far.certificate().bias, rtol=1e-12, atol=1e-300)
            far.sweep()


def test_the_bias_of_mixed_disagreements_is_right():
    far = Disagreement(make_field(40, edge_probability=0.0, seed=1))
    rng = np.random.default_rng(3)
    for _ in range(20):
        far._w = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], 40) * rng.choice([1.0, rng.random()], 40)
        np.testing.assert_allclose(far.bias, far.certificate().bias, rtol=1e-12)


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
    for i, bound in enumerate(field_changes(old, new)):
        true = np.abs(old.conditional(i, states) - new.conditional(i, states)).max()
        change = new.main[i] - old.main[i] + states @ (new.interactions - old.interactions)[i]
        # Fields are sums of 8 parameters below 5, rounded 8 times; so are their changes.
        assert (
            true - 8 * 40 / 4 * 2.0**-53
            <= bound
            <= np.tanh(np.abs(change).max() / 4) * (1 + 2.0**-39) + 8 * 40 * 2.0**-53
        )


def path_of_models(seed, n):
    """Yield models along a path like that of a fit: from no interactions, in steps that shrink."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    strength = rng.choice([0.3, 0.8, 1.5])
    target = np.triu(rng.normal(0, strength, (p, p)) * (rng.random((p, p)) < 0.6), 1)
    goal_main, goal = rng.normal(0, strength, p), target + target.T
    main, interactions = np.zeros(p), np.zeros((p, p))
    for _ in range(n):
        yield PairwiseMRF.binary(main, interactions)
        step = rng.choice([0.02, 0.1, 0.3])
        main, interactions = main + step * (goal_main - main), interactions + step * (goal - interactions)


@pytest.mark.parametrize("start", ["exact", "any"])
@pytest.mark.parametrize("group", range(10))
def test_persistent_bounds_exceed_the_exact_bias_along_a_path(group, start):
    n_held = 0
    for seed in range(26 * group, 26 * group + 26):
        n_sweeps = 1 + seed % 2
        for k, model in enumerate(path_of_models(seed, 20)):
            p = model.domain.n_variables
            target = exact_chains.probabilities(model.main, model.interactions)
            if k == 0:
                far = Disagreement(model, start=start)
                laws = np.eye(2**p) if start == "any" else target[None]
            else:
                # Refused where it must be, as eigenvalues say, up to the hundredth to which the radius is bounded.
                radius = np.abs(np.linalg.eigvals(influence_matrix(model).toarray())).max()
                if radius >= 0.99:
                    if radius >= 1:
                        with pytest.raises(ValueError, match="radius"):
                            far.move(model)
                    break
                far.move(model)
            for _ in range(n_sweeps):
                laws = exact_chains.sweep(laws, model.main, model.interactions)
            far.sweep(n_sweeps)
            errors = np.abs(exact_chains.pair_moments(laws, p) - exact_chains.pair_moments(target[None], p))
            certificate = far.certificate()
            assert_holds(certificate, errors.max(axis=0), exact_chains.norm(errors).max())
            n_held += not certificate.is_vacuous
            assert certificate.n_sweeps == n_sweeps
            assert certificate.kind == ("persistent" if k else "sharp")
    assert n_held > 200  # most of the paths stay where the bound says something


def test_persistent_bounds_hold_where_small_changes_have_large_effects():
    # A ferromagnet near its critical point, balanced: a small field on every variable moves all of them together, nine
    # times as far as it moves each conditional.
    p = 6
    coupling = 4 * np.arctanh(0.9 / (p - 1))  # the influence is tanh(coupling / 4) in balance
    interactions = coupling * (1 - np.eye(p))
    models = [
        PairwiseMRF.binary(np.full(p, -coupling * (p - 1) / 2 + h), interactions) for h in np.linspace(0, 0.1, 11)
    ]
    far = Disagreement(models[0], start="exact")
    law = exact_chains.probabilities(models[0].main, interactions)[None]
    ratios = []
    for old, model in itertools.pairwise(models):
        target = exact_chains.probabilities(model.main, interactions)
        far.move(model)
        errors = np.abs(exact_chains.pair_moments(law, p) - exact_chains.pair_moments(target[None], p))
        assert_holds(far.certificate(), errors[0], exact_chains.norm(errors)[0])
        ratios.append((errors[0].diagonal() / field_changes(old, model)).max())
        law = exact_chains.sweep(law, model.main, interactions)
        far.sweep()
    assert max(ratios) > 3  # so that the changes of the conditionals alone would be no bound


@pytest.mark.parametrize("seed", range(40))
def test_old_and_new_targets_are_as_far_apart_as_the_equation_says(seed):
    *_, old, new = path_of_models(seed, 5)
    far = Disagreement(old, start="exact")
    far.move(new)
    influences = influence_matrix(new).toarray()
    solution = np.linalg.solve(np.eye(len(influences)) - influences, field_changes(old, new))
    assert np.all(far.values >= np.minimum(solution, 1) * (1 - 1e-12))
    np.testing.assert_allclose(far.values, np.minimum(solution, 1), rtol=0.05)


def test_an_isolated_variable_does_not_spoil_the_persistent_bound():
    # A balanced path of variables near radius 1; weak parts of the graph fade from the vector that proves the radius.
    p = 20
    coupling = 4 * np.arctanh(0.99 / (2 * np.cos(np.pi / (p + 1))))
    values = np.diag(np.full(p - 1, coupling), 1)
    values = values + values.T
    found = []
    for n_alone in (0, 1):
        interactions = np.zeros((p + n_alone,) * 2)
        interactions[:p, :p] = values
        main = -interactions.sum(axis=1) / 2
        models = [PairwiseMRF.binary(main + shift, interactions) for shift in (0.0, 1e-4)]
        far = Disagreement(models[0], start="exact")
        far.move(models[1])
        found.append(far.values[:p])
    np.testing.assert_allclose(found[1], found[0], rtol=0.02)
    influences = influence_matrix(models[1]).toarray()
    solution = np.linalg.solve(np.eye(p + 1) - influences, field_changes(*models))
    assert np.all(found[1] >= solution[:p])
    np.testing.assert_allclose(found[1], solution[:p], rtol=0.1)


def test_persistent_chains_need_fewer_sweeps_than_new_ones():
    old = make_field(10, strength=(0.5, 1.0), seed=1)
    new = PairwiseMRF(old.domain, old.main * 1.001, old.interactions * 1.001)
    far = Disagreement(old, start="exact")
    far.move(new)
    far.sweep()
    assert far.bias < dobrushin(new, 1).bias / 25


def test_a_refused_move_changes_nothing():
    far = Disagreement(make_field(8, strength=(0.2, 0.3), seed=1))
    far.sweep(3)
    before = far.values, far.bias, far.radius, far.n_sweeps, far.kind
    with pytest.raises(ValueError, match=r"radius 3\.\d+, not below 1.*Start the chains anew"):
        far.move(make_field(8, edge_probability=1.0, strength=(2.0, 3.0), main=False, seed=1))
    after = far.values, far.bias, far.radius, far.n_sweeps, far.kind
    np.testing.assert_array_equal(before[0], after[0])
    assert before[1:] == after[1:]
    with pytest.raises(ValueError, match="other variables"):
        far.move(make_field(9, seed=1))
    with pytest.raises(ValueError, match="use kind='sharp'"):
        Disagreement(make_field(8, seed=1), kind="paper").move(make_field(8, seed=2))


STRONG = [make_field(4, edge_probability=1.0, strength=(2.0, 4.0), main=False, seed=seed) for seed in (0, 2)]


def open_probabilities(model, n_sweeps):
    """Return the probability that bounding chains leave each statistic open, and that they leave any open."""
    p = model.domain.n_variables
    law = naive.bounding_law(model.main.tolist(), model.interactions.tolist(), n_sweeps)
    share = np.zeros((p, p))
    for state, mass in law.items():
        low, high = np.array(state).T
        share += mass * (np.outer(high, high) - np.outer(low, low))
    return share, sum(mass for state, mass in law.items() if any(low != high for low, high in state))


@pytest.mark.parametrize("model", STRONG)
@pytest.mark.parametrize("n_sweeps", [1, 3, 8])
def test_bounding_chains_are_open_as_often_as_they_should(model, n_sweeps):
    n = 200_000
    bounds = BoundingChains(model.domain, n, seed=5)
    bounds.sweep(Scan(model, n_planes=2), n_sweeps)
    share, any_open = open_probabilities(model, n_sweeps)
    found = np.append(bounds.open_counts().ravel(), bounds.n_open)
    expected = np.append(share.ravel(), any_open)
    t = np.log(2 * expected.size / FALSE_ALARM)
    allowed = np.sqrt(2 * expected * (1 - expected) * t / n) + 2 * t / (3 * n)
    assert np.all(np.abs(found / n - expected) <= allowed)


@pytest.mark.parametrize("model", STRONG)
@pytest.mark.parametrize("n_sweeps", [1, 4])
def test_coalescence_fails_no_more_often_than_it_says(model, n_sweeps):
    # 1000 seeds, since 200 do not tell limits without the union over statistics apart from limits with it.
    assert spectral_radius(influence_matrix(model))[0] > 1.5
    n_seeds, confidence = 1000, 0.8
    share, _ = open_probabilities(model, n_sweeps)
    errors, bias = list(worst_errors(model, n_sweeps))[-1]
    together, one, biased = 0, 0, 0
    for seed in range(n_seeds):
        bounds = BoundingChains(model.domain, 300, seed=seed)
        bounds.sweep(Scan(model, n_planes=2), n_sweeps)
        certificate = certify_bounds(model, bounds, confidence=confidence)
        assert np.all((certificate.pair >= 0) & (certificate.pair <= 1))
        together += bool(np.any(share > certificate.pair))
        # One statistic alone, at its own level.
        one += upper_limits(bounds.open_counts()[:1, 0], 300, 1 - confidence)[0] < share[0, 0]
        biased += bool(bias > certificate.bias or np.any(errors > certificate.pair))
    most = stats.binom.isf(FALSE_ALARM, n_seeds, 1 - confidence)
    assert together <= most
    assert biased <= most
    # The limits are no wider than they must be: one of them alone does fail now and then.
    assert 0 < one <= most


@pytest.mark.parametrize("seed", range(8))
def test_coalescence_exceeds_the_exact_bias(seed):
    model = make_field(7, edge_probability=0.6, strength=(1.0, 2.0), seed=seed)
    for t, (errors, bias) in enumerate(worst_errors(model, 20), start=1):
        certificate = coalescence(model, t, 2000, seed=seed, confidence=1 - FALSE_ALARM)
        assert_holds(certificate, errors, bias)
    assert certificate.confidence == 1 - FALSE_ALARM


def test_coalescence_certifies_where_the_papers_bound_diverges():
    model = make_field(20, seed=1)
    assert spectral_radius(influence_matrix(model))[0] > 2
    assert dobrushin(model, 100, kind="paper").is_vacuous
    certificate = coalescence(model, 100, 20_000, seed=1)
    assert certificate.bias < 0.01
    assert not certificate.is_vacuous


def test_limits_are_those_of_clopper_and_pearson():
    n, failure = 50, 0.03
    counts = np.array([[0, 1, 49], [50, 7, 7]])
    found = upper_limits(counts, n, failure)
    for k, limit in zip(counts.ravel(), found.ravel(), strict=True):
        # The largest probability at which as few as k out of n are not yet rarer than `failure`.
        assert limit == 1 if k == n else stats.binom.cdf(k, n, limit) == pytest.approx(failure, rel=1e-9)


def test_fischers_bound_is_the_formula():
    for seed in range(10):
        model = make_field(5, strength=(0.05, 0.2), seed=seed)
        fields = [model.main + sign * np.maximum(sign * model.interactions, 0).sum(axis=1) for sign in (-1, 1)]
        for n_sweeps in (0, 1, 7):
            expected = 2 * np.sqrt(15) * (1 - np.exp(-5 * np.abs(fields).max())) ** n_sweeps
            np.testing.assert_allclose(fischer(model, n_sweeps).bias, expected, rtol=1e-12)


def test_coalescence_takes_the_smaller_of_two_limits():
    model = make_field(6, strength=(1.0, 2.0), seed=1)
    for n_sweeps in (1, 30):
        bounds = BoundingChains(model.domain, 900, seed=3)
        bounds.sweep(Scan(model, n_planes=2), n_sweeps)
        own = upper_limits(bounds.open_counts(), 900, 0.1 / 2 / 21)
        everything = upper_limits(np.array([bounds.n_open]), 900, 0.1 / 2)
        found = certify_bounds(model, bounds, confidence=0.9)
        np.testing.assert_allclose(found.pair, np.minimum(own, everything), rtol=1e-12)
    with pytest.raises(ValueError, match="of other variables"):
        certify_bounds(make_field(5, seed=1), bounds)


def test_sharp_concentration_is_that_of_the_binomial():
    model = make_field(4, seed=1)
    moments = Gibbs(70, 5, seed=1).moments(model)
    found = concentration(model, moments, confidence=0.9, kind="sharp")
    beta = 0.1 / (2 * 10)
    for i in range(4):
        for j in range(4):
            k = round(moments.pair[i, j] * 70)
            interval = stats.binomtest(k, 70).proportion_ci(1 - 2 * beta, method="exact")
            expected = max(interval.high - k / 70, k / 70 - interval.low)
            assert found.pair[i, j] == pytest.approx(expected, rel=1e-6)


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


def test_concentration_is_the_papers_formula():
    model = make_field(6, strength=(0.2, 0.4), seed=1)
    chains = Gibbs(2000, 10, seed=1).run(model)
    bias = dobrushin(model, 10, kind="paper")
    found = concentration(model, chains.moments(), bias, confidence=0.9)
    q, m = 2000, 21
    beta = 0.1 / (2 * m)
    x = chains.codes().astype(float)
    total = 0.0
    for i in range(6):
        for j in range(i, 6):
            v = (x[:, i] * x[:, j]).var(ddof=1)
            eps = 2 * (np.sqrt(v * np.log(2 / beta) / (2 * q)) + 7 * np.log(2 / beta) / (3 * (q - 1)))
            np.testing.assert_allclose(found.pair[i, j], eps, rtol=1e-9)
            total += eps**2
    np.testing.assert_allclose(found.total, bias.bias + np.sqrt(total), rtol=1e-9)
    np.testing.assert_allclose(found.main, np.diagonal(found.pair))
    assert found.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_concentration_holds_as_often_as_it_says(kind):
    model = make_field(4, edge_probability=0.7, strength=(0.5, 1.0), seed=2)
    exact = model.moments().pair
    failures = 0
    for seed in range(200):
        moments = Perfect(300, seed=seed).moments(model)
        found = concentration(model, moments, confidence=0.8, kind=kind)
        error = moments.pair - exact
        failures += bool(np.any(np.abs(error) > found.pair) or exact_chains.norm(error) > found.total)
    assert failures <= stats.binom.isf(FALSE_ALARM, 200, 0.2)
    sharp = concentration(model, moments, confidence=0.8, kind="sharp")
    assert sharp.total < concentration(model, moments, confidence=0.8, kind="paper").total


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_chains_needed_are_enough_and_no_more(kind):
    model = make_field(8, strength=(0.5, 1.0), seed=1)
    bias = dobrushin(model, 10)
    n = chains_needed(model, model.moments(), 0.2, bias, kind=kind)
    exact = model.moments()

    def total(q):
        rounded = exact.pair if kind == "paper" else np.rint(exact.pair * q) / q
        return concentration(model, type(exact)(np.diagonal(rounded), rounded, q), bias, kind=kind).total

    assert total(n) <= 0.2
    assert total(int(0.99 * n)) > 0.2
    with pytest.raises(ValueError, match=r"bias alone is .* sweep more"):
        chains_needed(model, exact, 0.2, dobrushin(model, 1))
    with pytest.raises(ValueError, match="chains would be needed"):
        chains_needed(model, exact, 1e-7)


def test_confidences_add_up():
    model = make_field(5, seed=1)
    bias = coalescence(model, 20, 1000, seed=1, confidence=0.97)
    moments = Gibbs(500, 20, seed=2).moments(model)
    assert concentration(model, moments, bias, confidence=0.98).confidence == pytest.approx(0.95)
    run = bias.for_run(10)
    assert run.confidence == pytest.approx(0.7)
    assert run.scope == "run"
    assert bias.scope == "iteration"
    assert "with confidence 0.7 for the whole run" in str(run)
    assert dobrushin(model, 3).for_run(1000).confidence == 1
    with pytest.raises(ValueError, match="n_certificates is 0"):
        bias.for_run(0)


def test_certificates_say_what_they_certify():
    weak, strong = make_field(10, strength=(0.5, 1.0), seed=1), make_field(10, strength=(3.0, 4.0), seed=1)
    good = dobrushin(weak, 5)
    about = "(L2 norm over 55 statistics, sharp bound)"
    assert str(good) == f"After 5 sweeps the bias of the gradient is at most {good.bias:.3g} {about}."
    early = dobrushin(weak, 0)
    assert early.is_vacuous
    assert "nothing is certified" in str(early)
    assert "Use more sweeps" in str(early)
    hopeless = dobrushin(strong, 30, kind="paper")
    assert hopeless.is_vacuous
    assert f"radius {hopeless.radius:.3g}, not below 1" in str(hopeless)
    assert "coalescence()" in str(hopeless)
    assert "for comparison" in str(fischer(strong, 3))
    assert "with confidence 0.95 at most" in str(coalescence(weak, 20, 1000, seed=1))
    assert "more chains" in str(coalescence(strong, 0, 1000, seed=1))


def test_certificates_do_not_change():
    certificate = dobrushin(make_field(5, seed=1), 3)
    assert isinstance(certificate, Certificate)
    with pytest.raises(AttributeError):
        certificate.bias = 0.0
    for array in (certificate.main, certificate.pair):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert certificate.bias == pytest.approx(exact_chains.norm(certificate.pair))
    np.testing.assert_array_equal(certificate.main, np.diagonal(certificate.pair))


def test_bad_requests_are_refused():
    model = make_field(5, seed=1)
    for function in (dobrushin, fischer, lambda m, n: coalescence(m, n, seed=1)):
        with pytest.raises(ValueError, match="n_sweeps is -1"):
            function(model, -1)
    for function in (fischer, lambda m, n: coalescence(m, n, seed=1)):
        with pytest.raises(ValueError, match=r"Variable 'v0' has 3 levels.*two levels so far"):
            function(LEVELS["three levels"], 1)
    with pytest.raises(ValueError, match="kind is 'best'"):
        dobrushin(model, 1, kind="best")
    with pytest.raises(ValueError, match="start is 'cold'"):
        Disagreement(model, start="cold")
    with pytest.raises(ValueError, match="each of the variables 0 to 4 once"):
        dobrushin(model, 1, order=[0, 1])
    for confidence in (0, 1, 95):
        with pytest.raises(ValueError, match=f"confidence is {confidence}"):
            coalescence(model, 1, seed=1, confidence=confidence)
    moments = Chains(model.domain, 100, seed=1).moments()
    with pytest.raises(ValueError, match="about another model"):
        concentration(model, moments, dobrushin(make_field(5, seed=2), 3))
    with pytest.raises(ValueError, match="for a whole run already"):
        dobrushin(model, 3).for_run(2).for_run(2)
    for function in (dobrushin, fischer, lambda m, n: coalescence(m, n, seed=1)):
        with pytest.raises(ValueError, match=r"n_sweeps is 2\.5"):
            function(model, 2.5)
    with pytest.raises(ValueError, match=r"n_chains is 1000\.0"):
        coalescence(model, 1, 1e3, seed=1)
    assert dobrushin(BINARY["a constant, no reference"], 0).is_vacuous
    with pytest.raises(ValueError, match="two or more chains"):
        concentration(model, model.moments())
    with pytest.raises(ValueError, match="of 5 main statistics, but the model has 6"):
        concentration(make_field(6, seed=1), moments)
    with pytest.raises(ValueError, match="kind is 'best'"):
        concentration(model, moments, kind="best")


def test_followed_sweeps_are_those_made_at_once():
    model = make_field(12, seed=3)
    for kind in ("paper", "sharp"):
        parted = Disagreement(model, kind=kind)
        ahead = parted.next_biases(7)
        for n in (1, 4, 0, 2):
            parted.sweep(n)
        assert parted.n_sweeps == 7
        np.testing.assert_allclose(
            ahead[[0, 4, 6]], [dobrushin(model, n, kind=kind).bias for n in (1, 5, 7)], rtol=1e-12
        )
        np.testing.assert_array_equal(parted.certificate().pair, dobrushin(model, 7, kind=kind).pair)
    whole, bounds = coalescence(model, 7, 900, seed=2), BoundingChains(model.domain, 900, seed=2)
    for n in (3, 4):
        bounds.sweep(Scan(model, n_planes=2), n)
    np.testing.assert_array_equal(certify_bounds(model, bounds).pair, whole.pair)
