"""The log-partition function: by enumeration, by bridges between exact draws, by annealing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sparsefield import Domain, PairwiseMRF
from sparsefield.datasets import make_field
from sparsefield.inference import OutOfReachError
from sparsefield.model import LogPartition
from support import naive
from support.plain_backend import Plain
from support.statistics_ import FALSE_ALARM
from support.zoo import BINARY, ZOO, parts, random_field

everyone = pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
each_method = pytest.mark.parametrize("method", ["draws", "annealed"])
FAR = stats.norm.isf(FALSE_ALARM / 2 / len(ZOO))


def alone(model):
    return replace(model, interactions=np.zeros_like(model.interactions))


@everyone
def test_independent_variables_have_a_formula_whatever_the_method(model):
    model = alone(model)
    _, _, expected = naive.distribution(*parts(model))
    for method in ("auto", "exact", "draws", "annealed"):
        found = model.log_partition(method)
        assert (found.error, found.method, found.n_draws) == (0, "exact", 0)
        assert found.value == pytest.approx(expected, rel=1e-14)


def test_independent_variables_have_a_formula_whatever_their_number():
    model = PairwiseMRF.binary(np.full(3000, 0.5), np.zeros((3000, 3000)))
    assert float(model.log_partition()) == pytest.approx(3000 * np.log1p(np.exp(0.5)), rel=1e-12)


@pytest.mark.parametrize("name", [name for name, model in BINARY.items() if model.interactions.any()])
def test_bridges_agree_with_enumeration(name):
    agrees(BINARY[name], BINARY[name].log_partition("draws", n_draws=20_000), "draws")


@pytest.mark.parametrize("name", [name for name, model in ZOO.items() if model.interactions.any()])
def test_annealing_agrees_with_enumeration(name):
    agrees(ZOO[name], ZOO[name].log_partition("annealed"), "annealed")


@pytest.mark.parametrize("name", ["one edge", "dense", "mixed levels"])
@each_method
def test_any_backend_will_do(name, method):
    agrees(ZOO[name], ZOO[name].log_partition(method, n_draws=4096, device=Plain()), method)


def agrees(model, found, method):
    assert found.method == method
    exact = naive.distribution(*parts(model))[2]
    # Where an error is that of the rounding of sums, it is below 1e-12.
    assert abs(found.value - exact) < FAR * found.error + 1e-12, (found, exact)


@each_method
@pytest.mark.parametrize("strength", [0.5, 1.5])
def test_standard_errors_are_those_of_the_spread_over_seeds(method, strength):
    model, n_runs = make_field(12, 0.3, (strength / 2, strength), seed=3), 60
    exact = float(model.log_partition())
    # Few draws, so that their noise counts: a chain of bridges has several models with 512 draws each.
    found = [model.log_partition(method, n_draws=2048, seed=seed) for seed in range(n_runs)]
    squares = sum(((own.value - exact) / own.error) ** 2 for own in found)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_runs)
    assert low < squares < high, (squares, low, high)
    assert len({own.value for own in found}) == n_runs


@each_method
def test_a_constant_on_all_levels_of_a_variable_shifts_the_value(method):
    model = ZOO["no reference"]
    own = model.domain.slot_variables == 1
    shifted = replace(model, main=model.main + 3.5 * own)
    before, after = (field.log_partition(method, n_draws=4096) for field in (model, shifted))
    assert abs(after.value - before.value - 3.5) < FAR * (before.error + after.error)


@each_method
def test_results_do_not_depend_on_threads(method, cut_work):
    cut_work()
    model = make_field(20, seed=1)
    one, two = (model.log_partition(method, n_draws=5000, seed=4, n_threads=n) for n in (1, 2))
    assert one == two


def test_auto_takes_the_first_method_that_can_be_had(monkeypatch, limit_sums):
    assert make_field(20, seed=1).log_partition().method == "exact"
    large = make_field(40, degree=2, strength=(0.5, 1.0), seed=1)
    drawn, exact = large.log_partition("draws"), large.log_partition()
    assert (exact.method, exact.error, exact) == ("exact", 0, large.log_partition("exact"))
    assert abs(float(drawn) - float(exact)) < stats.norm.isf(FALSE_ALARM / 2) * drawn.error
    limit_sums()
    drawn = large.log_partition()
    assert (drawn.method, drawn) == ("draws", large.log_partition("draws"))
    levels = random_field([3] * 20, seed=1, scale=0.2, density=0.2)
    found, annealed = levels.log_partition(), levels.log_partition("annealed")
    assert (found.method, annealed.method) == ("draws", "annealed")
    assert abs(found.value - annealed.value) < FAR * np.hypot(found.error, annealed.error)
    many = random_field([65] * 5, seed=1, scale=0.1, density=0.05)  # too many levels to be drawn, or states
    assert many.log_partition().method == "annealed"
    monkeypatch.setattr("sparsefield.model._partition._BLOCKS_EACH", 100_000)
    again = large.log_partition()
    assert again.method == "annealed"
    assert abs(again.value - drawn.value) < FAR * np.hypot(again.error, drawn.error)
    with pytest.raises(OutOfReachError, match=r"Exact draws are slow: .* Give n_draws to wait for them"):
        large.log_partition("draws")
    assert large.log_partition("draws", n_draws=2048).method == "draws"


def test_what_cannot_be_had_is_refused_in_a_sentence(monkeypatch):
    levels = random_field([65, 2], seed=1)
    with pytest.raises(OutOfReachError, match="'v0' has 65 levels"):
        levels.log_partition("draws")
    with pytest.raises(ValueError, match="method is 'best': use 'auto', 'exact', 'draws' or 'annealed'"):
        levels.log_partition("best")
    with pytest.raises(ValueError, match="n_draws is 100: use a whole number from 512 on"):
        levels.log_partition("annealed", n_draws=100)
    with pytest.raises(ValueError, match="seed is -1: use a whole number from zero on"):
        levels.log_partition("annealed", seed=-1)
    monkeypatch.setattr("sparsefield.model._annealing._MOST_TIMES", 2)
    with pytest.raises(OutOfReachError, match=r"out of reach of annealing: with 20 sweeps .* too strong"):
        make_field(16, seed=1).log_partition("annealed")


def test_few_weights_that_decide_are_not_trusted(monkeypatch):
    # Importance sampling in one step, from independent variables to strong interactions.
    monkeypatch.setattr("sparsefield.model._annealing.choose_times", lambda *_: [0.0, 1.0])
    with pytest.raises(OutOfReachError, match=r"no error that can be trusted: 4096 chains .* Raise n_draws"):
        make_field(16, seed=1).log_partition("annealed")


def test_the_value_says_how_well_it_is_known():
    found = LogPartition(12.3456, 0.02, "draws", 5000)
    assert float(found) == 12.3456
    low, high = found.interval(0.95)
    assert (low, high) == pytest.approx((12.3456 - 0.02 * 1.959964, 12.3456 + 0.02 * 1.959964), abs=1e-7)
    assert str(found) == (
        "The log-partition function is 12.3456 with a standard error of 0.02, by 5000 exact draws: between 12.2941 and "
        "12.3971 with confidence 0.99, by the central limit theorem."
    )
    assert str(LogPartition(2.5)) == "The log-partition function is 2.5."
    assert LogPartition(2.5).interval() == (2.5, 2.5)
    with pytest.raises(ValueError, match="confidence is 1: use a number between 0 and 1"):
        found.interval(1)


def test_log_probabilities_take_a_value_that_is_known():
    model = PairwiseMRF(Domain.binary(2), np.array([0.5, -1.0]), np.array([[0, 2.0], [2.0, 0]]))
    states = [[0, 0], [1, 1]]
    known = model.log_partition()
    np.testing.assert_array_equal(model.log_prob(states, log_partition=known), model.log_prob(states))
    np.testing.assert_allclose(model.log_prob(states, log_partition=1.5), -model.energy(states) - 1.5)


def make_settled(rng):
    """Return a field of a few variables that nearly always are in one state."""
    p = rng.integers(2, 5)
    pair = np.triu(rng.normal(size=(p, p)) * rng.choice([1, 4]), 1)
    return PairwiseMRF.binary(-rng.uniform(3, 14, p), pair + pair.T)


@pytest.mark.parametrize(("method", "n_draws"), [("draws", 1000), ("annealed", 1024), ("annealed", None)])
def test_intervals_of_nearly_settled_fields_hold_or_there_is_none(method, n_draws):
    rng, n_told, n_outside = np.random.default_rng(7), 0, 0
    for seed in range(300):
        model = make_settled(rng)
        try:
            found = model.log_partition(method, n_draws=n_draws, seed=seed)
        except OutOfReachError:
            continue
        low, high = found.interval(0.99)
        assert low < high
        n_told += 1
        n_outside += not low <= float(model.log_partition()) <= high
    assert n_told > 0
    assert n_outside <= stats.binom.isf(FALSE_ALARM, n_told, 0.01)


@each_method
def test_draws_that_are_all_in_one_state_have_no_interval(method):
    pair = np.array([[0, 5.113834152760445, -5.984671292233646], [0, 0, 7.852795035315672], [0, 0, 0]])
    model = PairwiseMRF.binary([-20.92442061597117, 0.9316904661757734, 0.24563670359921919], pair + pair.T)
    exact, told = float(model.log_partition()), 0
    for seed in range(40):
        try:
            found = model.log_partition(method, n_draws=1024, seed=seed)
        except OutOfReachError as error:
            assert "n_draws" in str(error) or "too strong" in str(error)  # noqa: PT017
            continue
        told += not found.interval(0.99)[0] <= exact <= found.interval(0.99)[1]
    assert told <= stats.binom.isf(FALSE_ALARM, 40, 0.01)
