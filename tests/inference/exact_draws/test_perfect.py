"""Coupling from the past draws from the field itself."""

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield._kernels._target import HAS_AVX2
from sparsefield.certificates import dobrushin, influence_matrix
from sparsefield.certificates._influence import spectral_radius
from sparsefield.datasets import make_field
from sparsefield.inference import BoundingChains, Perfect, Scan
from sparsefield.inference.chains._blocks import PILOT, SWEEPS, make_streams
from support import naive
from support.random_fields import pair_field
from support.statistics_ import assert_counts_agree, assert_moments_agree
from support.zoo import BINARY, parts

needs_packed = pytest.mark.skipif(not HAS_AVX2, reason="packed kernels are compiled for AVX2 and later")


def test_streams_are_independent_of_each_other():
    words = np.stack([make_streams(seed, 3, use) for seed in range(3) for use in range(4)])
    assert len(np.unique(words)) == words.size
    np.testing.assert_array_equal(make_streams(5, 3, SWEEPS)[:2], make_streams(5, 2, SWEEPS))
    model = make_field(6, seed=1)
    draws = Perfect(600, seed=1).run(model)
    pilot = BoundingChains(model.domain, 512, seed=1, use=PILOT)
    used = make_streams(1, 2, SWEEPS)
    for streams in (draws._streams, pilot._streams):
        assert not np.isin(streams, used).any()


def paper_fields():
    """Ten fields of 10 to 12 variables with the paper's strength and density where its bound diverges."""
    found = []
    seed = 0
    while len(found) < 10:
        model = make_field(10 + len(found) % 3, seed=seed)
        seed += 1
        if spectral_radius(influence_matrix(model))[0] > 1:
            found.append(model)
    return found


@pytest.mark.parametrize("model", paper_fields(), ids=range(10))
def test_exact_draws_have_the_probabilities_of_the_field(model):
    assert dobrushin(model, 1000, kind="paper").is_vacuous
    p = model.domain.n_variables
    states = np.array(list(np.ndindex(*[2] * p)))
    draws = model.sample(500_000, method="perfect", seed=p).codes
    counts = np.bincount(draws @ (1 << np.arange(p - 1, -1, -1)), minlength=2**p)
    assert_counts_agree(counts, np.exp(model.log_prob(states)))


def test_exact_moments_of_20_variables():
    for seed in (1, 2):
        model = make_field(20, seed=seed)
        assert spectral_radius(influence_matrix(model))[0] > 2
        found = Perfect(200_000, seed=seed).moments(model)
        assert_moments_agree(found.pair, model.moments().pair, found.n)


@pytest.mark.parametrize("name", BINARY)
def test_exact_draws_of_the_zoo(name):
    model = BINARY[name]
    found = Perfect(50_000, seed=2).moments(model)
    size = model.domain.n_slots
    assert_moments_agree(found.pair, np.array(naive.moments(*parts(model))).reshape(size, size), found.n)


def test_exact_draws_of_a_chain_are_independent():
    # Draws come 512 at a time; draw k and k + 512 of a block are two of one chain. All pairs of states of a field whose
    # chains meet in half of the blocks at best.
    model = make_field(3, edge_probability=1.0, strength=(2.0, 3.0), main=False, seed=1)
    draws, run = model.sample(16 * 512, method="perfect", seed=3, return_run=True)
    assert run.n_met / run.n_blocks < 0.98
    pairs = []
    for seed in range(20):
        numbers = model.sample(16 * 512, method="perfect", seed=seed).codes @ [4, 2, 1]
        rounds = numbers.reshape(2, 8, 512)  # two blocks of chains, eight draws of each chain
        pairs.append((rounds[:, ::2] * 8 + rounds[:, 1::2]).ravel())
    one = np.exp(model.log_prob(np.array(list(np.ndindex(2, 2, 2)))))
    assert_counts_agree(np.bincount(np.concatenate(pairs), minlength=64), np.outer(one, one).ravel())
    assert draws.codes.shape == (16 * 512, 3)


@needs_packed
@pytest.mark.parametrize("n", [1, 511, 513, 5000])
def test_packed_draws_equal_byte_draws(monkeypatch, n):
    model = make_field(13, seed=1)
    packed = Perfect(n, seed=6).run(model)
    assert packed.storage == "packed"
    monkeypatch.setattr("sparsefield.inference._checks.HAS_AVX2", False)
    plain = Perfect(n, seed=6).run(model)
    assert plain.storage == "bytes"
    np.testing.assert_array_equal(packed.codes(), plain.codes())


def test_exact_draws_do_not_depend_on_the_threads(cut_work):
    model = make_field(14, seed=2)
    one = model.sample(40_000, method="perfect", seed=9, n_threads=1).codes
    cut_work(0.0)  # one block of sweeps a call
    np.testing.assert_array_equal(one, model.sample(40_000, method="perfect", seed=9, n_threads=3).codes)
    assert not np.array_equal(one, model.sample(40_000, method="perfect", seed=10).codes)


def test_exact_draws_in_another_order_are_exact_too():
    model = make_field(8, edge_probability=0.5, seed=4)
    order = [7, 2, 5, 0, 1, 6, 3, 4]
    found = Perfect(100_000, seed=1, order=tuple(order)).moments(model)
    assert_moments_agree(found.pair, model.moments().pair, found.n)
    assert not np.array_equal(
        model.sample(100, method="perfect", seed=1, order=order).codes, Perfect(100, 1).run(model).codes()
    )


def test_exact_draws_can_be_continued_as_chains():
    model = make_field(8, edge_probability=0.5, seed=4)
    chains = Perfect(100_000, seed=1).run(model)
    before = chains.codes()
    assert chains.n_sweeps == 0
    chains.sweep(Scan(model), 1)
    assert not np.array_equal(before, chains.codes())
    assert_moments_agree(chains.moments().pair, model.moments().pair, 100_000)


def test_a_run_says_what_it_took():
    model = make_field(20, seed=1)
    _, run = model.sample(5000, method="perfect", seed=1, return_run=True)
    # Half of 512 were wanted in the pilot run, and the share of some thousand blocks is noisy too: 5 standard errors.
    assert run.n_met / run.n_blocks >= 0.5 - 5 * 0.5 * np.sqrt(1 / 512 + 1 / run.n_blocks)
    assert run.sweeps_per_draw == run.block_length * run.n_blocks / 5000
    assert 5 < run.block_length < run.sweeps_per_draw
    # Every chain meets once for each of its draws, and once before.
    assert run.n_met >= 5000 + 512


def test_fields_that_do_not_forget_are_refused():
    both = PairwiseMRF.binary([-20.0, -20.0], [[0.0, 40.0], [40.0, 0.0]])  # both on or both off, hardly ever a change
    with pytest.raises(
        ValueError, match=r"out of reach.*within 50 sweeps in only 0% .*Raise max_sweeps, or draw with method='gibbs'"
    ):
        both.sample(10, method="perfect", seed=1, max_sweeps=50)
    slow = make_field(20, seed=1)
    with pytest.raises(ValueError, match="within 5 sweeps in only"):
        slow.sample(10, method="perfect", seed=1, max_sweeps=5)
    assert slow.sample(10, method="perfect", seed=1, max_sweeps=200).codes.shape == (10, 20)


def test_rare_events_are_drawn_as_often_as_they_should():
    # Both variables are nearly always one, and the state 00 is reached by events of probability 1e-7 only: chains need
    # thousands of sweeps to forget, so that any such event that is never drawn would be missed in the draws.
    q1, q0 = 3e-4, 1e-7
    a = np.log(q1)
    model = pair_field([a, a], -np.log(q0) - a)
    draws, run = model.sample(200_000, method="perfect", seed=1, return_run=True)
    assert run.block_length > 500
    counts = np.bincount(draws.codes @ [2, 1], minlength=4)
    exact = np.exp(model.log_prob(np.array(list(np.ndindex(2, 2)))))
    assert exact[0] * 200_000 > 50
    assert_counts_agree(counts, exact)


def test_fixed_variables_with_huge_parameters_are_drawn():
    model = PairwiseMRF.binary([500.0, -500.0, 0.0], np.zeros((3, 3)))
    codes = model.sample(2000, method="perfect", seed=1).codes
    assert np.all(codes[:, 0] == 1)
    assert not codes[:, 1].any()
    assert_moments_agree(codes[:, 2:].mean(axis=0), np.array([0.5]), 2000)


def test_bad_requests_are_refused():
    model = make_field(3, seed=1)
    with pytest.raises(ValueError, match="n_planes is 5"):
        Scan(model, n_planes=5)
    with pytest.raises(ValueError, match="form is 'dense'"):
        Scan(model, n_planes=2, form="dense")
    with pytest.raises(ValueError, match="method is 'exact': use 'gibbs' or 'perfect'"):
        model.sample(10, method="exact")
    with pytest.raises(ValueError, match="n_sweeps is for method='gibbs'"):
        model.sample(10, method="perfect", n_sweeps=10)
    with pytest.raises(ValueError, match="max_sweeps and return_run are for method='perfect'"):
        model.sample(10, max_sweeps=10)
    with pytest.raises(ValueError, match="max_sweeps is 0"):
        model.sample(10, method="perfect", max_sweeps=0)
    with pytest.raises(ValueError, match="n_chains is 0"):
        model.sample(0, method="perfect", seed=1)
    with pytest.raises(ValueError, match="seed is -1"):
        model.sample(10, method="perfect", seed=-1)
    with pytest.raises(ValueError, match="number of planes"):
        BoundingChains(model.domain, 3, seed=1).sweep(Scan(model))
