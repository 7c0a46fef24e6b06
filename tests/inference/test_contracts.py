"""What every way of inference promises, and what chains add to it."""

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Exact, Gibbs, Scan
from support import naive
from support.statistics_ import assert_counts_agree, assert_moments_agree
from support.zoo import BINARY, LEVELS, ZOO, parts, random_field

STORAGES = ["packed", "bytes"] if HAS_AVX2 else ["bytes"]
FORMS = ["product", "sum", "dense"]

WAYS = {"exact": Exact(), "gibbs": Gibbs(n_chains=100_000, n_sweeps=60, seed=1)}


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
def test_fields_of_the_zoo_forget_their_start_in_60_sweeps(model):
    # What lets the tests below compare chains with the field: the bias is far below what they can see.
    after = np.linalg.matrix_power(np.array(naive.sweep_matrix(*parts(model))), 60)
    _, probabilities, _ = naive.distribution(*parts(model))
    assert np.abs(after - probabilities).sum(axis=1).max() < 1e-6


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_moments_are_those_of_the_field(way, model):
    found = way.moments(model)
    size = model.domain.n_slots
    expected = np.array(naive.moments(*parts(model))).reshape(size, size)
    assert found.main.shape == (size,)
    np.testing.assert_array_equal(found.pair, found.pair.T)
    np.testing.assert_array_equal(found.main, np.diagonal(found.pair))
    if found.n is None:
        np.testing.assert_allclose(found.pair, expected, rtol=1e-10, atol=1e-13)
    else:
        assert_moments_agree(found.pair, expected, found.n)


def forbid_a_level(model):
    """Make the last level of the first variable impossible."""
    main = model.main.copy()
    main[model.domain.n_levels[0] - 2] = -200.0
    return PairwiseMRF(model.domain, main, model.interactions)


def test_states_have_the_probabilities_of_the_field():
    # Chi-square over all 1024 states of 10 variables, for every form and storage.
    model = make_field(10, edge_probability=0.6, strength=(0.2, 0.6), seed=4)
    states = np.array(list(np.ndindex(*[2] * 10)))
    probabilities = np.exp(model.log_prob(states))
    for storage in STORAGES:
        for form in FORMS:
            chains = Chains(model.domain, 102_400, seed=7, storage=storage)
            chains.sweep(Scan(model, storage=storage, form=form), 60)
            numbers = chains.codes() @ (1 << np.arange(9, -1, -1))
            assert_counts_agree(np.bincount(numbers, minlength=1024), probabilities)


# Fields of several levels: of one kind, of all kinds, and with a level so rare that exponents must be added up.
SEVERAL = {
    "three levels": random_field([3] * 6, seed=12, scale=0.3),
    "four levels": random_field([4] * 5, seed=13, scale=0.3),
    "five levels": random_field([5] * 4, seed=14, scale=0.4),
    "mixed levels": random_field([2, 3, 1, 5, 2, 4], seed=15, scale=0.4, reference=None),
    "a level that never happens": forbid_a_level(random_field([3, 4, 2, 3], seed=16, scale=0.5)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_states_of_several_levels_have_the_probabilities_of_the_field(name):
    model = SEVERAL[name]
    n_levels = model.domain.n_levels
    probabilities = np.exp(model.log_prob(np.array(list(np.ndindex(*n_levels)))))
    forms = ("sum",) if name == "a level that never happens" else ("product", "sum")
    assert Scan(model).form == forms[0]
    for form in forms:
        chains = Chains(model.domain, 100_000, seed=3)
        chains.sweep(Scan(model, form=form), 60)
        numbers = np.ravel_multi_index(chains.codes().T, n_levels)
        assert_counts_agree(np.bincount(numbers, minlength=len(probabilities)), probabilities)


def conditional_share(model, state, variable, n=200_000, **options):
    """Draw one variable given the others many times: the first update of a sweep."""
    p = model.domain.n_variables
    order = [variable, *(i for i in range(p) if i != variable)]
    storage = options.pop("storage", None)
    chains = Chains(model.domain, n, seed=variable, start=np.tile(state, (n, 1)), storage=storage)
    chains.sweep(Scan(model, order=order, storage=storage, **options), 1)
    return np.bincount(chains.codes()[:, variable], minlength=model.domain.n_levels[variable]) / n


EXTREME = {
    "opposite hundreds": ([0.0, 100.0, 100.0], {(0, 1): 100.0, (0, 2): -100.0}),
    "cancelled by the main effect": ([-100.0, 0.0, 0.0], {(0, 1): 100.5, (0, 2): 50.0}),
    "all hundreds": ([100.0, 100.0, 100.0], {(0, 1): 100.0, (1, 2): 100.0}),
    "all minus hundreds": ([-100.0, -100.0, -100.0], {(0, 1): -100.0, (1, 2): -100.0}),
    "zero": ([0.0, 0.0, 0.0], {}),
    "moderate and huge": ([1.0, -1000.0, 0.5], {(0, 1): 1000.0, (0, 2): -0.7}),
}


@pytest.mark.parametrize(("main", "edges"), EXTREME.values(), ids=EXTREME.keys())
@pytest.mark.parametrize("storage", STORAGES)
def test_conditionals_are_right_with_extreme_parameters(main, edges, storage):
    interactions = np.zeros((3, 3))
    for (i, j), value in edges.items():
        interactions[i, j] = interactions[j, i] = value
    model = PairwiseMRF.binary(main, interactions)
    for state in ([0, 0, 0], [1, 1, 1], [0, 1, 0]):
        for i in range(3):
            expected = model.conditional(i, [state])[0]
            found = conditional_share(model, state, i, storage=storage, form="sum")
            assert_moments_agree(found, expected, 200_000)


@pytest.mark.parametrize("model", LEVELS.values(), ids=LEVELS.keys())
def test_conditionals_of_many_levels_are_right(model):
    rng = np.random.default_rng(5)
    state = rng.integers(0, model.domain.n_levels)
    for i in range(model.domain.n_variables):
        found = conditional_share(model, state, i)
        assert_moments_agree(found, model.conditional(i, [state])[0], 200_000)


def test_levels_with_extreme_parameters_are_right():
    model = random_field([3, 3, 4], seed=1, scale=100.0)
    for state in ([0, 0, 0], [2, 1, 3], [1, 2, 0]):
        for i in range(3):
            expected = model.conditional(i, [state])[0]
            assert_moments_agree(conditional_share(model, state, i), expected, 200_000)


def test_a_scan_follows_its_order():
    # x0 is copied to x1 and x1 to x2: a sweep carries a value as far as its order allows.
    strong = 60.0
    chain = np.array([[0, strong, 0], [strong, 0, strong], [0, strong, 0]])
    model = PairwiseMRF.binary([-strong / 2, -strong, -strong / 2], chain)
    start = np.tile(np.array([1, 0, 0], dtype=np.uint8), (600, 1))
    forward = Chains(model.domain, 600, seed=1, start=start)
    forward.sweep(Scan(model, order=[2, 1, 0]), 1)
    # x2 first: it sees x1 = 0 and stays 0; x1 then sees one of two neighbours on, a fair coin; x0 copies x1.
    codes = forward.codes()
    assert not codes[:, 2].any()
    assert 0 < codes[:, 1].mean() < 1
    np.testing.assert_array_equal(codes[:, 0], codes[:, 1])
    for order in ([0, 1], [0, 1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="each of the variables 0 to 2 once"):
            Scan(model, order=order)


@pytest.mark.parametrize("model", [make_field(30, degree=4, seed=1), random_field([3] * 8, seed=2)])
def test_same_seed_same_states_whatever_the_threads(model, cut_work):
    cut_work()
    one, many = (model.sample(5000, n_sweeps=20, seed=9, n_threads=n).codes for n in (1, 5))
    np.testing.assert_array_equal(one, many)
    assert not np.array_equal(one, model.sample(5000, n_sweeps=20, seed=10).codes)


def test_enumeration_does_not_depend_on_the_threads(cut_work):
    cut_work()
    model = make_field(16, seed=2)
    one, many = (Exact(n_threads=n).moments(model).pair for n in (1, 5))
    np.testing.assert_array_equal(one, many)


def test_an_interrupted_sweep_counts_what_was_done(monkeypatch, cut_work):
    model = make_field(5, seed=1)
    scan = Scan(model)
    chains = Chains(model.domain, 600, seed=1, n_threads=1)
    cut_work(0.0)  # one sweep a call
    calls = []

    def sweep_or_interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return Scan.sweep(scan, *arguments)

    monkeypatch.setattr(scan, "sweep", sweep_or_interrupt)
    with pytest.raises(KeyboardInterrupt):
        chains.sweep(scan, 10)
    assert chains.n_sweeps == 3
    again = Chains(model.domain, 600, seed=1)
    again.sweep(Scan(model), 3)
    np.testing.assert_array_equal(chains.codes(), again.codes())


@pytest.mark.skipif(not HAS_AVX2, reason="there is only one storage without AVX2")
def test_the_form_depends_on_the_field_alone():
    for model in (make_field(60, edge_probability=1.0, strength=(0.01, 0.1), seed=1), make_field(60, degree=5, seed=1)):
        forms = {Scan(model, storage=storage).form for storage in STORAGES}
        assert len(forms) == 1


@pytest.mark.parametrize("model", [make_field(12, seed=1), random_field([3, 21, 2, 5], seed=2, scale=0.5)])
def test_a_chain_does_not_depend_on_how_many_run_beside_it(model):
    few, more = (model.sample(n, n_sweeps=20, seed=4).codes for n in (100, 3000))
    np.testing.assert_array_equal(few, more[:100])


@pytest.mark.parametrize("storage", STORAGES)
def test_chains_can_be_continued(storage):
    model = make_field(12, seed=1)
    scan = Scan(model, storage=storage)
    whole, parted = (Chains(model.domain, 900, seed=2, storage=storage) for _ in range(2))
    whole.sweep(scan, 7)
    parted.sweep(scan, 3)
    kept = parted.copy()
    parted.sweep(scan, 4)
    np.testing.assert_array_equal(whole.codes(), parted.codes())
    assert parted.n_sweeps == 7
    assert kept.n_sweeps == 3
    kept.sweep(scan, 4)
    np.testing.assert_array_equal(whole.codes(), kept.codes())


def test_chains_start_uniformly():
    for model in (BINARY["dense"], LEVELS["mixed levels"]):
        codes = Chains(model.domain, 50_000, seed=3).codes()
        for i, n in enumerate(model.domain.n_levels):
            share = np.bincount(codes[:, i], minlength=n) / 50_000
            assert_moments_agree(share, np.full(n, 1 / n), 50_000)


def test_bad_requests_are_refused():
    model = make_field(3, seed=1)
    with pytest.raises(ValueError, match="n_chains is 0"):
        model.sample(0, seed=1)
    with pytest.raises(ValueError, match="n_sweeps is -1"):
        model.sample(1, n_sweeps=-1, seed=1)
    with pytest.raises(ValueError, match="seed is -1"):
        model.sample(1, seed=-1)
    with pytest.raises(ValueError, match="n_threads is 0"):
        model.sample(1, seed=1, n_threads=0)
    with pytest.raises(ValueError, match="2 states for 3 chains"):
        Chains(model.domain, 3, seed=1, start=[[0, 0, 0], [1, 1, 1]])
    with pytest.raises(ValueError, match="another domain, storage"):
        Chains(make_field(4, seed=1).domain, 3, seed=1).sweep(Scan(model))


def test_forms_that_do_not_fit_are_refused():
    strong = PairwiseMRF.binary([90.0, 0.0], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="form is 'product': it does not fit this field"):
        Scan(strong, form="product")
    with pytest.raises(ValueError, match="form is 'levels'"):
        Scan(strong, form="levels")
    with pytest.raises(ValueError, match="form is 'dense': it does not fit this field"):
        Scan(LEVELS["three levels"], form="dense")
    with pytest.raises(ValueError, match="form is 'product': it does not fit this field"):
        Scan(random_field([3, 3], seed=1, scale=100.0), form="product")
    huge = np.zeros((3, 3))
    huge[0, 1] = huge[1, 0] = 1e6
    huge[0, 2] = huge[2, 0] = 0.3
    with pytest.raises(ValueError, match="form is 'dense'"):
        Scan(PairwiseMRF.binary(np.zeros(3), huge), form="dense")
    with pytest.raises(ValueError, match="storage is 'packed'"):
        Chains(LEVELS["three levels"].domain, 1, seed=1, storage="packed")


def test_a_field_without_parameters_works():
    domain = Domain(("only",), ((7,),), (0,))
    model = PairwiseMRF(domain, [], np.zeros((0, 0)))
    assert float(model.log_partition()) == 0
    assert model.sample(600, n_sweeps=2, seed=1).to_frame()["only"].to_list() == [7] * 600
    for way in WAYS.values():
        assert way.moments(model).pair.shape == (0, 0)


def test_unseeded_samples_differ():
    model = make_field(10, edge_probability=0.0, seed=1)
    first, second = (model.sample(100, n_sweeps=1).codes for _ in range(2))
    assert not np.array_equal(first, second)
