"""Bounding chains and exact draws of variables with more than two levels."""

import itertools

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels import _intervals, _lookups, _noise
from sparsefield._kernels._bytes import BLOCK
from sparsefield.inference import BoundingChains, OutOfReachError, Perfect, Scan
from sparsefield.inference.chains._blocks import SWEEPS, make_streams
from sparsefield.inference.exact_draws import _level_bounds
from sparsefield.inference.exact_draws._sets import make_sets
from support.level_fields import Law, from_blocks, ordered_field
from support.statistics_ import FALSE_ALARM, assert_counts_agree, assert_moments_agree
from support.zoo import LEVELS, random_field

ONE = np.uint64(1)
NOMINAL = {
    "four levels": random_field([4, 4, 4], seed=1, scale=0.6),
    "no reference": random_field([3, 4, 3], seed=2, scale=0.8, reference=None),
    "a constant, reference last": random_field([5, 1, 3, 2], seed=3, scale=0.7, reference="last"),
    "strong": random_field([3, 3, 3], seed=4, scale=2.5),
    "mixed": random_field([2, 3, 2, 5], seed=5, scale=0.6, density=0.7),
}
ORDERED = {
    "positive": ordered_field([3, 4, 3], seed=1, scale=0.3, signs="positive"),
    "of both signs": ordered_field([4, 2, 5], seed=2, scale=0.3),
    "no reference": ordered_field([3, 3, 1, 3], seed=3, scale=0.4, reference=None),
    "reference last, strong": ordered_field([5, 4, 3], seed=5, scale=0.7, reference="last"),
}
FIELDS = [
    (f"{kind}, {name}", form, model)
    for kind, form, fields in (
        ("nominal", "sets", NOMINAL),
        ("ordered", "intervals", ORDERED),
        ("ordered", "sets", ORDERED),
    )
    for name, model in fields.items()
]
named = pytest.mark.parametrize(("form", "model"), [row[1:] for row in FIELDS], ids=[f"{n}, {f}" for n, f, _ in FIELDS])


def levels_of(sets, n):
    """Return which levels are in sets, with an axis for levels at the end."""
    return (sets[..., None] >> np.arange(n, dtype=np.uint64)) & ONE == 1


@named
def test_sets_contain_chains_from_every_start(form, model):
    domain = model.domain
    p, n_blocks = domain.n_variables, 2
    starts = np.array(list(np.ndindex(*domain.n_levels)))
    order = np.random.default_rng(1).permutation(p)
    scan = Scan(model, order=order, n_planes=3, form=form)
    found = []
    for start in starts:
        states = np.concatenate([make_sets(domain, n_blocks)] * 2, axis=1)
        states[:, p:] = start[:, None]
        streams = make_streams(4, n_blocks, SWEEPS)
        own = []
        for _ in range(4):
            scan.sweep(states, streams, 1)
            own.append(states.copy())
            assert np.all((states[:, :p] >> states[:, p:]) & ONE)
        found.append(own)
    many = np.array(found)  # (starts, sweeps, blocks, lines, chains)
    # Sets are the same wherever the chain within them began, and those of bounding chains.
    assert np.all(many[:, :, :, :p] == many[:1, :, :, :p])
    bounds = BoundingChains(domain, n_blocks * BLOCK, seed=4)
    two = Scan(model, order=order, n_planes=2, form=form)
    for sweep in range(4):
        bounds.sweep(two, 1)
        np.testing.assert_array_equal(bounds.sets(), many[0, sweep, :, :p])
    # Where chains from two starts differ, a set is open; and some of them have closed.
    sets = many[0, :, :, :p]
    is_open = sets & (sets - ONE) != 0
    differ = (many[:, :, :, p:] != many[:1, :, :, p:]).any(axis=0)
    assert np.all(is_open[differ])
    assert 0 < is_open[-1].any(axis=1).mean() < 1 or not is_open[-1].any()
    assert bounds.n_open == int(is_open[-1].any(axis=1).sum())


@named
def test_exact_draws_have_the_probabilities_of_the_field(form, model, monkeypatch):
    choose = _level_bounds.bound_tables
    monkeypatch.setattr("sparsefield.inference.chains._scan.bound_tables", lambda field, _: choose(field, form))
    law = Law(model)
    draws, run = Perfect(200_000, seed=3).draw(model)
    numbers = np.ravel_multi_index(tuple(draws.codes().T.astype(np.int64)), tuple(model.domain.n_levels))
    assert_counts_agree(np.bincount(numbers, minlength=len(law.states)), law.probabilities)
    assert run.n_met >= 200_000 + BLOCK


@pytest.mark.parametrize("name", LEVELS)
def test_exact_draws_are_chains_that_can_be_counted_and_swept_on(name):
    model = LEVELS[name]
    law = Law(model)
    exact = law.moments(law.probabilities[None])[0]
    chains = Perfect(50_000, seed=2).run(model)
    assert chains.storage == "bytes"
    before = chains.codes()
    assert_moments_agree(chains.moments().pair, exact, 50_000)
    chains.sweep(Scan(model), 1)
    assert not np.array_equal(before, chains.codes())
    assert_moments_agree(chains.moments().pair, exact, 50_000)
    order = tuple(range(len(law.n_levels)))[::-1]
    assert_moments_agree(Perfect(50_000, seed=2, order=order).moments(model).pair, exact, 50_000)


@pytest.mark.parametrize("model", [NOMINAL["strong"], ORDERED["reference last, strong"]], ids=["sets", "intervals"])
def test_exact_draws_of_a_chain_are_independent(model):
    # Draws come 512 at a time; draw k and k + 512 of a block are two of one chain.
    law = Law(model)
    pairs, n_states = [], len(law.states)
    for seed in range(40):
        draws, run = Perfect(16 * BLOCK, seed=seed).draw(model)
        assert run.n_met / run.n_blocks < 0.98
        numbers = np.ravel_multi_index(tuple(draws.codes().T.astype(np.int64)), tuple(model.domain.n_levels))
        rounds = numbers.reshape(2, 8, BLOCK)
        pairs.append((rounds[:, ::2] * n_states + rounds[:, 1::2]).ravel())
    counts = np.bincount(np.concatenate(pairs), minlength=n_states**2)
    assert_counts_agree(counts, np.outer(law.probabilities, law.probabilities).ravel())


@pytest.mark.parametrize("model", [LEVELS["mixed levels"], ORDERED["of both signs"]], ids=["sets", "intervals"])
def test_draws_do_not_depend_on_the_threads(model, cut_work):
    one = Perfect(20_000, seed=9, n_threads=1).run(model).codes()
    cut_work(0.0)  # one sweep a call
    np.testing.assert_array_equal(one, Perfect(20_000, seed=9, n_threads=3).run(model).codes())
    assert not np.array_equal(one, Perfect(20_000, seed=10).run(model).codes())


@pytest.mark.parametrize("form", ["sets", "intervals"])
def test_rare_events_are_drawn_as_often_as_they_should(form):
    # Both variables are nearly always at level 2, and the other states are reached by events of probability 2e-6 only:
    # chains need hundreds of sweeps to forget, so that any such event that is never drawn would be missed in the draws.
    back, away = 4e-3, 2e-6
    block = np.diag([0.4, 0.4, 0.0]) if form == "sets" else np.zeros((3, 3))
    block[2, 2] = -np.log(away) - np.log(back)
    main = np.array([0.0, 0.0, np.log(2 * back)])
    model = from_blocks([3, 3], [main, main], {(0, 1): block})
    assert Scan(model, n_planes=3).form == form
    law = Law(model)
    draws, run = Perfect(30_000, seed=1).draw(model)
    assert run.block_length > 50
    assert 30_000 * law.probabilities.reshape(3, 3)[:2, :2].sum() > 10
    assert_counts_agree(np.bincount(draws.codes().astype(np.int64) @ [3, 1], minlength=9), law.probabilities)


@pytest.mark.parametrize("scale", [30.0, 1000.0])
def test_huge_parameters_are_drawn(scale):
    # Of which only ties and near ties leave anything to chance.
    main = [[0.0, scale, scale, -scale], [0.0, 0.1 * scale, 0.0]]
    model = from_blocks([4, 3, 3], [*main, [0.0, 0.3, -0.2]], {(0, 1): scale * np.ones((4, 3)), (1, 2): np.eye(3)})
    law = Law(model)
    draws, _ = Perfect(20_000, seed=1).draw(model)
    numbers = np.ravel_multi_index(tuple(draws.codes().T.astype(np.int64)), (4, 3, 3))
    assert_counts_agree(np.bincount(numbers, minlength=36), law.probabilities)


@pytest.mark.parametrize("n_levels", [2, 5, 8, 9, 64])
def test_tables_are_looked_up(n_levels):
    rng = np.random.default_rng(n_levels)
    line = rng.integers(0, n_levels, BLOCK).astype(np.uint8)
    for look_up, dtype, combine in ((_lookups.multiply, np.float32, np.multiply), (_lookups.add, np.int32, np.add)):
        table = rng.integers(-9, 9, (n_levels, 3)).astype(dtype)
        numbers = rng.integers(-9, 9, (3, BLOCK)).astype(dtype)
        expected = combine(numbers, table[line].T)
        look_up(table.ravel(), n_levels, line, numbers)
        np.testing.assert_array_equal(numbers, expected)


def test_noise_is_minus_the_logarithm_of_an_exponential_number():
    few = np.arange(4 * BLOCK, dtype=np.uint32)
    draws = np.concatenate([few, ~few, few + np.uint32(2**31 - 2 * BLOCK), np.arange(0, 2**32, 2**12 + 1)])
    draws = draws[: len(draws) // BLOCK * BLOCK].astype(np.uint32).reshape(-1, BLOCK)
    noise = np.empty(draws.shape, dtype=np.int32)
    for shift in (24, 10):
        for own, found in zip(draws, noise, strict=True):
            _noise.fill_noise(own, shift, found)
        v = (draws | 1) / 2.0**32
        # Three float32 roundings of numbers whose logarithm is taken, one unit of the last place of float32 each and
        # 1.44 of it in bits, and a fraction of half a bit that is rounded to half a unit.
        error = np.abs(np.ldexp(noise.astype(np.float64), -shift) + np.log2(-np.log1p(-v)))
        assert error.max() < 4 * 1.4427 * 2.0**-24 + 2.0**-25 + 2.0 ** -(shift + 1)


def test_sets_close_as_often_as_the_least_probabilities_say():
    # The first update of a variable whose neighbours can have any level: P(only a is left) = 1 / (1 + sum_c exp(max)).
    rng = np.random.default_rng(1)
    values, main, n = rng.normal(0, 0.5, (2, 4, 3)), rng.normal(0, 0.5, 4), 200_000
    model = from_blocks([4, 3, 3], [main, np.zeros(3), np.zeros(3)], {(0, 1): values[0], (0, 2): values[1]})
    bounds = BoundingChains(model.domain, n, seed=1)
    bounds.sweep(Scan(model, order=[0, 1, 2], n_planes=2, form="sets"), 1)
    sets = bounds.sets()[:, 0].reshape(-1)[:n]
    largest = main - main[:, None] + (values[:, None, :, :] - values[:, :, None, :]).max(axis=3).sum(axis=0)
    expected = 1 / np.exp(largest).sum(axis=1)
    found = np.array([np.mean(sets == ONE << np.uint64(a)) for a in range(4)])
    assert_moments_agree(found, expected, n)
    # A level is left unless another has the larger score from all states: no more than that is left open.
    noise = -np.log(rng.exponential(size=(20_000, 4)))
    wins = noise[:, :, None] - noise[:, None, :] > largest[None]  # (draws, winner, loser)
    possible = ~wins.any(axis=1)
    for size in range(1, 5):
        share = np.mean(levels_of(sets, 4).sum(axis=1) == size)
        t = np.log(8 / FALSE_ALARM)
        assert abs(share - np.mean(possible.sum(axis=1) == size)) <= np.sqrt(t / 2) * (n**-0.5 + 20_000**-0.5)


def test_minima_that_are_not_stored_are_found(monkeypatch):
    model = NOMINAL["mixed"]
    found = []
    for limit in (_level_bounds._MOST_MINIMA, 0):
        monkeypatch.setattr(_level_bounds, "_MOST_MINIMA", limit)
        scan = Scan(model, n_planes=2)
        assert (len(scan.arguments[6]) == 0) == (limit == 0)
        bounds = BoundingChains(model.domain, 1000, seed=2)
        bounds.sweep(scan, 3)
        found.append(bounds.sets().copy())
    np.testing.assert_array_equal(*found)


def test_levels_never_fall_where_ratios_rise():
    # To the last bit: ratios that differ by one unit of the last place, near the random numbers that decide.
    rng = np.random.default_rng(1)
    n_higher = 0
    for n in (1, 2, 4):
        for _ in range(300):
            ratios = np.exp(rng.normal(0, rng.choice([0.1, 3.0, 15.0]), (n, 1))).astype(np.float32)
            ratios = np.repeat(ratios, BLOCK, axis=1)
            draws = rng.integers(0, 2**32, BLOCK).astype(np.uint32)
            raised = ratios.copy()
            k = rng.integers(n)
            raised[k] = np.nextafter(ratios[k], np.float32(np.inf)) if rng.random() < 0.5 else 1.1 * ratios[k]
            # Random numbers around the one at which a level changes.
            above = np.cumprod(ratios[:, 0][::-1].astype(float))  # not the odds, but some of the same size
            centre = 2.0**32 / (1 + above[rng.integers(n)])
            draws[::2] = np.clip(centre + np.arange(-256, 256)[::2], 0, 2**32 - 1).astype(np.uint32)
            low, high = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
            for own, x in ((ratios, low), (raised, high)):
                _intervals.choose_levels(own, draws, np.empty((n, BLOCK), np.float32), x)
            assert np.all(low <= high)
            n_higher += np.count_nonzero(low < high)
    assert n_higher > 0


def test_ordered_interactions_are_recognised():
    rng = np.random.default_rng(1)
    for reference, seed in itertools.product(("first", "last", None), range(4)):
        model = ordered_field([3, 5, 2, 4], seed=seed, scale=0.4, reference=reference)
        assert Scan(model, n_planes=2).form == "intervals"
        # One block of them out of order: sets.
        blocks = {(0, 1): np.outer(range(3), rng.permutation(5) + 0.0), (1, 2): rng.normal(size=(5, 2))}
        blocks[0, 1][:, [1, 2]] = blocks[0, 1][:, [2, 1]] if rng.random() < 0.5 else 0.0
        mixed = from_blocks([3, 5, 2], [np.zeros(3), np.zeros(5), np.zeros(2)], blocks, reference)
        assert Scan(mixed, n_planes=2).form == "sets"
        with pytest.raises(ValueError, match="form is 'intervals': it does not fit"):
            Scan(mixed, n_planes=2, form="intervals")
    strong = ordered_field([4, 4], seed=1, scale=50.0)  # ratios that a float32 cannot hold
    assert Scan(strong, n_planes=2).form == "sets"
    with pytest.raises(ValueError, match="bounds of more than two levels have 'sets' and 'intervals'"):
        Scan(strong, n_planes=2, form="product")


def nearly_ordered():
    """Make a field whose ratios fall by rounding alone where they should not, from one float32 to the one below."""
    between = np.log1p(2.0**-24)  # the ratio is halfway from 1 to the next float32
    block = np.ones((3, 3))
    block[1:] += between + np.array([5e-15, -5e-15, 0.1])
    return from_blocks([3, 3], [np.zeros(3)] * 2, {(0, 1): block}, None)


def test_ratios_rise_with_the_levels_of_neighbours_to_the_last_bit():
    fields = [ordered_field([5, 6, 4], seed=seed, scale=10.0 ** -(seed % 9)) for seed in range(20)]
    for model in [*fields, nearly_ordered()]:
        scan = Scan(model, n_planes=2)
        assert scan.form == "intervals"
        n_levels, starts, neighbours, table_starts, tables, _, crosses = scan.arguments
        for i in range(len(n_levels)):
            for k in range(starts[i], starts[i + 1]):
                shape = n_levels[neighbours[k]], n_levels[i] - 1
                table = tables[table_starts[k] : table_starts[k] + shape[0] * shape[1]].reshape(shape)
                assert np.all(np.diff(table, axis=0) * (-1 if crosses[k] else 1) >= 0)


def count_open(sets, domain):
    """Count the chains that leave each statistic open, from the levels that each variable can still have."""
    counts = np.zeros((domain.n_slots, domain.n_slots), dtype=int)
    for own in sets.transpose(0, 2, 1).reshape(-1, domain.n_variables):
        levels = [np.flatnonzero(levels_of(own[i], n)) for i, n in enumerate(domain.n_levels)]
        s = domain.indicators(np.array(list(itertools.product(*levels)), dtype=np.uint8))
        products = s[:, :, None] * s[:, None, :]
        counts += (products.min(axis=0) != products.max(axis=0)).astype(int)
    return counts


@pytest.mark.parametrize("model", [LEVELS["mixed, no reference"], LEVELS["mixed levels"], ORDERED["of both signs"]])
def test_open_statistics_are_those_that_some_start_can_change(model):
    bounds = BoundingChains(model.domain, BLOCK, seed=1)
    for _ in range(3):
        np.testing.assert_array_equal(bounds.open_counts(), count_open(bounds.sets(), model.domain))
        bounds.sweep(Scan(model, n_planes=2), 1)


def test_64_levels_are_bounded_and_more_are_refused():
    rng = np.random.default_rng(1)
    model = from_blocks([64, 3], [rng.normal(size=64), np.zeros(3)], {(0, 1): rng.normal(0, 0.3, (64, 3))})
    law = Law(model)
    draws, _ = Perfect(100_000, seed=1).draw(model)
    numbers = draws.codes().astype(np.int64) @ [3, 1]
    assert_counts_agree(np.bincount(numbers, minlength=192), law.probabilities)
    domain = Domain(("a", "b"), (tuple(range(65)), (0, 1)), (0, 0))
    many = PairwiseMRF(domain, np.zeros(65), np.zeros((65, 65)))
    with pytest.raises(OutOfReachError, match=r"Variable 'a' has 65 levels: exact draws are for up to 64") as refused:
        Perfect(10, seed=1).draw(many)
    assert (refused.value.reason, refused.value.remedy) == ("a variable with too many levels", "")
    with pytest.raises(ValueError, match="bounds of chains are for up to 64 levels"):
        BoundingChains(domain, 10, seed=1)


def test_fields_that_do_not_forget_are_refused():
    strong = from_blocks([3, 3], [np.zeros(3)] * 2, {(0, 1): 40.0 * np.eye(3)})  # both alike, hardly ever a change
    with pytest.raises(OutOfReachError, match=r"within 50 sweeps in only 0% .*Raise max_sweeps"):
        Perfect(10, seed=1, max_sweeps=50).draw(strong)
