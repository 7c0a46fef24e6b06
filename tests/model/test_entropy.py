"""The entropy: exactly, and by draws."""

import numpy as np
import pytest
from scipy import stats

from sparsefield import PairwiseMRF
from sparsefield.inference import OutOfReachError
from support import naive
from support.problems import Undrawn
from support.statistics_ import FALSE_ALARM
from support.zoo import ZOO, parts, random_field

FIELDS = ZOO | {"sparse, no reference": random_field([2, 4, 3, 2, 2], seed=12, density=0.1, reference=None)}
everyone = pytest.mark.parametrize("model", FIELDS.values(), ids=FIELDS.keys())
DRAWN = {name: model for name, model in FIELDS.items() if model.interactions.any()}
FAR = stats.norm.isf(FALSE_ALARM / 2 / len(DRAWN))


def enumerate_entropy(model):
    return naive.entropy(naive.distribution(*parts(model))[1])


@everyone
def test_the_entropy_is_that_of_all_states(model):
    found = model.entropy()
    assert (found.error, found.method, found.n_draws) == (0, "exact", 0)
    assert float(found) == pytest.approx(enumerate_entropy(model), rel=1e-12, abs=1e-12)
    assert model.entropy("exact") == found


@everyone
def test_what_sums_do_not_reach_is_enumerated(model, limit_sums):
    limit_sums()
    found = model.entropy()
    assert found.method == "exact"
    assert float(found) == pytest.approx(enumerate_entropy(model), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", DRAWN)
def test_draws_agree_with_enumeration(name):
    model, n = DRAWN[name], 10_000
    found = model.entropy("draws", n_draws=n, seed=1)
    assert found.method == "draws"
    assert abs(float(found) - enumerate_entropy(model)) < FAR * found.error
    # Its error is that of the log-partition function and that of the mean energy, whose standard deviation n draws tell
    # to sqrt((kurtosis - 1) / (4 n)), 1.5% for a kurtosis of 10.
    states, probabilities, _ = naive.distribution(*parts(model))
    exponents = np.array([naive.exponent(state, *parts(model)) for state in states])
    deviation = np.sqrt(probabilities @ (exponents - probabilities @ exponents) ** 2)
    partition = model.log_partition("draws", n_draws=n, seed=1)
    assert found.error == pytest.approx(np.hypot(partition.error, deviation / np.sqrt(n)), rel=0.1)
    assert found.n_draws == partition.n_draws + n
    assert "nats with a standard error of" in str(found)


def test_only_what_interacts_too_much_is_drawn(limit_sums):
    # A clique of four and an edge: with tables of four entries the clique is out of reach, the edge is not.
    interactions = np.zeros((6, 6))
    interactions[:4, :4] = 0.5 * (1 - np.eye(4))
    interactions[4, 5] = interactions[5, 4] = 2.0
    model = PairwiseMRF.binary([-0.5, 0.2, 0.1, 0.3, -1.0, 0.4], interactions)
    limit_sums(4, n_states=8)
    found = model.entropy(n_draws=10_000)
    assert found.method == "draws"
    assert abs(float(found) - enumerate_entropy(model)) < FAR * found.error
    assert found.error < model.entropy("draws", n_draws=10_000).error
    with pytest.raises(OutOfReachError, match=r"4 of 6 variables.*method='draws'"):
        model.entropy("exact")
    with pytest.raises(OutOfReachError, match="no exact draws here"):
        model.entropy(device=Undrawn())


def test_many_draws_come_a_part_at_a_time(monkeypatch):
    model = FIELDS["dense"]
    monkeypatch.setattr("sparsefield.model._entropy.DRAWS_AT_ONCE", 3000)
    found = model.entropy("draws", n_draws=10_000, seed=2)
    assert abs(float(found) - enumerate_entropy(model)) < FAR * found.error
    # Unless a number is given, as many as can be had without waiting for them: here all.
    assert model.entropy("draws").n_draws > 150_000


def test_odd_requests_are_refused():
    with pytest.raises(ValueError, match="method is 'annealed'"):
        FIELDS["dense"].entropy("annealed")
    with pytest.raises(ValueError, match="n_draws is 3"):
        FIELDS["dense"].entropy("draws", n_draws=3)


def test_chains_have_the_entropy_of_their_transitions():
    # A symmetric chain of spins: one bit for the first, and the same entropy for each that follows.
    p, coupling = 500, 0.7
    couplings = np.zeros((p, p))
    couplings[np.arange(p - 1), np.arange(1, p)] = coupling
    model = PairwiseMRF.from_spins(np.zeros(p), couplings + couplings.T)
    stay = 1 / (1 + np.exp(-2 * coupling))
    each = -stay * np.log(stay) - (1 - stay) * np.log1p(-stay)
    assert float(model.entropy()) == pytest.approx(np.log(2) + (p - 1) * each, rel=1e-12)


def test_variables_with_one_level_have_no_entropy():
    assert float(random_field([1, 1], seed=1, reference=None).entropy()) == 0.0


def test_intervals_of_nearly_settled_fields_hold_or_there_is_none():
    rng, n_told, n_outside = np.random.default_rng(7), 0, 0
    for seed in range(300):
        p = rng.integers(2, 4)
        pair = np.triu(rng.normal(size=(p, p)), 1)
        model = PairwiseMRF.binary(-rng.uniform(3, 8, p), pair + pair.T)
        try:
            low, high = model.entropy("draws", n_draws=1000, seed=seed).interval(0.99)
        except OutOfReachError:
            continue
        n_told += 1
        n_outside += not low <= float(model.entropy()) <= high
    assert n_told > 0
    assert n_outside <= stats.binom.isf(FALSE_ALARM, n_told, 0.01)
