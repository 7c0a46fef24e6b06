"""Bounds by Dobrushin's influences against the exact law of the chains they are about."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.certificates import Disagreement, certify_bounds, coalescence, dobrushin, fischer, influence_matrix
from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Scan
from support import exact_chains, naive
from support.random_fields import ROUNDING, assert_holds, pair_field, random_binary, worst_errors
from support.statistics_ import FALSE_ALARM
from support.zoo import BINARY, ZOO, parts


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


@pytest.mark.parametrize("strength", [1e-3, 1e-18, 1e-170, 1e-310])
def test_a_bias_that_is_not_zero_is_never_said_to_be(strength):
    # Products and squares of small numbers are rounded to zero: a bound must not be.
    model = make_field(6, edge_probability=0.6, strength=(strength, 1.5 * strength), seed=1)
    for n_sweeps in (1, 3, 400):
        for certificate in (dobrushin(model, n_sweeps), dobrushin(model, n_sweeps, kind="paper")):
            assert certificate.bias > 0
            assert "at most 0 " not in str(certificate)
        far = Disagreement(model)
        assert far.next_biases(n_sweeps)[-1] > 0
        assert fischer(model, n_sweeps).bias > 0
    far.move(make_field(6, edge_probability=0.6, strength=(strength, 1.6 * strength), seed=1))
    far.sweep(400)
    assert far.bias > 0
    # Where there is no interaction a sweep does leave none.
    alone = sf.PairwiseMRF(model.domain, model.main, np.zeros((6, 6)))
    assert dobrushin(alone, 1).bias == 0
