"""Bounds for chains that go on while the model moves, against the exact law of these chains."""

import itertools

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield.certificates import Disagreement, dobrushin, influence_matrix
from sparsefield.certificates._influence import conditional_changes, spectral_radius
from sparsefield.datasets import make_field
from support import exact_chains, naive
from support.random_fields import assert_holds
from support.zoo import parts, random_field


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
        ratios.append((errors[0].diagonal() / conditional_changes(old, model)).max())
        law = exact_chains.sweep(law, model.main, interactions)
        far.sweep()
    assert max(ratios) > 3  # so that the changes of the conditionals alone would be no bound


@pytest.mark.parametrize("seed", range(40))
def test_old_and_new_targets_are_as_far_apart_as_the_equation_says(seed):
    *_, old, new = path_of_models(seed, 5)
    far = Disagreement(old, start="exact")
    far.move(new)
    influences = influence_matrix(new).toarray()
    solution = np.linalg.solve(np.eye(len(influences)) - influences, conditional_changes(old, new))
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
    solution = np.linalg.solve(np.eye(p + 1) - influences, conditional_changes(*models))
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
