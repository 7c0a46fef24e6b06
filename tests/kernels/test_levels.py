"""Sweeps over several levels: the fast ones against the plain ones, and the law of what they draw."""

import numpy as np
import pytest

from sparsefield._kernels import _bytes, _levels, _permutes
from sparsefield._kernels._target import HAS_AVX512, make_aligned
from sparsefield.inference import Chains, Scan
from support.zoo import random_field

needs_permutes = pytest.mark.skipif(not HAS_AVX512, reason="these kernels are compiled for AVX-512")
KERNELS = [pytest.param(_levels, id="plain"), pytest.param(_permutes, id="permutes", marks=needs_permutes)]

# Numbers of levels at which tables have one, two, several or all of the neighbours, or a neighbour several tables.
DOMAINS = {
    "one in a table": [21] * 5,
    "two": [5] * 6,
    "three": [3] * 8,
    "all kinds": [2, 3, 1, 5, 2, 16, 2, 4],
    "many levels": [32, 33, 31, 62, 63, 2, 7],
    "the most": [254, 3, 100],
}
CHAINS = np.arange(_bytes.BLOCK)
PLACES = CHAINS // 64 * 64 + CHAINS % 4 * 16 + CHAINS % 64 // 4  # of the random number and the weights of each chain


def make_model(name, scale=0.3):
    return random_field(DOMAINS[name], seed=len(name), scale=scale / len(DOMAINS[name]), reference=None)


def make_scan(kernels, model, form):
    """Make a scan for some kernels."""
    return type("Prepared", (Scan,), {"level_kernels": kernels})(model, form=form)


def swept(kernels, model, form, *, n_chains=700, n_sweeps=3, kept=None):
    """Return the states of chains and of their random numbers after some sweeps."""
    chains = Chains(model.domain, n_chains, seed=5)
    chains._kept = kept
    chains.sweep(make_scan(kernels, model, form), n_sweeps)
    return chains._states, chains._streams


@needs_permutes
@pytest.mark.parametrize("form", ["product", "sum"])
@pytest.mark.parametrize("name", DOMAINS)
def test_fast_chains_equal_plain_chains(name, form):
    model = make_model(name)
    for fast, plain in zip(swept(_permutes, model, form), swept(_levels, model, form), strict=True):
        np.testing.assert_array_equal(fast, plain)


@needs_permutes
@pytest.mark.parametrize("n_chains", [1, 512, 513, 3000, 6000])
def test_fast_chains_equal_plain_chains_in_any_number(n_chains):
    model = make_model("all kinds", scale=3.0)
    for form in ("product", "sum"):
        fast, plain = (swept(kernels, model, form, n_chains=n_chains)[0] for kernels in (_permutes, _levels))
        np.testing.assert_array_equal(fast, plain)


@needs_permutes
def test_fast_chains_equal_plain_chains_with_extreme_parameters():
    model = random_field([3, 5, 2, 21, 4], seed=1, scale=100.0)
    assert Scan(model).form == "sum"
    np.testing.assert_array_equal(swept(_permutes, model, "sum")[0], swept(_levels, model, "sum")[0])


@pytest.mark.parametrize("form", ["product", "sum"])
@pytest.mark.parametrize("kernels", KERNELS)
def test_bits_that_are_kept_do_not_change(kernels, form):
    model = make_model("all kinds")
    start, _ = swept(kernels, model, form, n_sweeps=0)
    kept = np.where(np.random.default_rng(1).random(start.shape) < 0.5, 255, 0).astype(np.uint8)
    found, _ = swept(kernels, model, form, kept=kept)
    np.testing.assert_array_equal(found[kept == 255], start[kept == 255])
    free = (kept == 0) & (model.domain.n_levels > 1)[:, None]
    assert (found[free] != start[free]).any()
    np.testing.assert_array_equal(found, swept(_levels, model, form, kept=kept)[0])


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("kernels", KERNELS)
def test_weights_are_those_of_the_field_up_to_rounding(kernels, name):
    model = make_model(name)
    n_levels = model.domain.n_levels
    codes = Chains(model.domain, 512, seed=5).codes()
    for form in ("product", "sum"):
        scan = make_scan(kernels, model, form)
        index = make_aligned((scan._most_tables, _levels.STRIDE), np.uint8)
        weights = make_aligned((n_levels.max() + _levels.WIDEST, _bytes.BLOCK), np.float32)
        for i in np.flatnonzero(n_levels > 1):
            chains = Chains(model.domain, 512, seed=5)
            arguments = (np.array([i]), *scan.arguments, chains._states[:0], index, weights, 1)
            getattr(kernels, f"sweep_{form}")(chains._states, chains._streams, *arguments)
            own = weights[: n_levels[i], PLACES if kernels is _permutes else CHAINS].astype(np.float64)
            expected = model.conditional(i, codes).T
            # Table entries and the main effect are rounded by 2^-24 of themselves, and as many products. In whole
            # numbers each interaction is rounded to 2^-21 bits, and the exponential to 1.87 2^-24 (as tested for it).
            n = len(n_levels)
            off = 2 * n * 2.0**-24 if form == "product" else n * 2.0**-21 * np.log(2) + 1.87 * 2.0**-24
            np.testing.assert_allclose(own / own[0], expected / expected[0], rtol=2 * off)


def make_weights(n_levels):
    """Make weights of 512 variables: of one size, of very different ones, zeros, one that is nearly all, ties."""
    rng = np.random.default_rng(n_levels)
    weights = np.exp(rng.normal(size=(n_levels, 512)) * rng.choice([0.0, 0.1, 1.0, 10.0, 15.0], 512))
    weights[rng.random(weights.shape) < 0.2] = 0.0
    sure = rng.random(512) < 0.2
    weights[:, sure] *= 1e-9
    weights[rng.integers(n_levels, size=512), np.arange(512)] = np.exp(rng.normal(size=512))
    return weights.astype(np.float32)


def choose_plainly(weights, numbers):
    """Return the levels that are chosen for random numbers (512,) uint32."""
    draws, x = np.empty(512, np.uint32), np.empty(512, np.uint8)
    draws[PLACES] = numbers
    _levels.draw_levels(weights, len(weights), draws, np.empty(512), x)
    return x


def find_thresholds(weights):
    """Return how many of the 2^32 random numbers choose one of the first k + 1 levels, (K, 512), by bisection."""
    found = []
    for k in range(len(weights) - 1):
        low, high = np.zeros(512, np.int64), np.full(512, 2**32, np.int64)
        while (low < high).any():
            middle = (low + high) // 2
            above = choose_plainly(weights, np.minimum(middle, 2**32 - 1).astype(np.uint32)) > k
            low, high = np.where(above | (low == high), low, middle + 1), np.where(above, middle, high)
        found.append(low)
    return np.array([*found, np.full(512, 2**32)])


@pytest.mark.parametrize("n_levels", [2, 3, 5, 21, 254])
def test_levels_have_the_probabilities_of_their_weights(n_levels):
    weights = make_weights(n_levels)
    found = np.diff(find_thresholds(weights), axis=0, prepend=0) / 2**32
    expected = weights.astype(np.float64) / weights.astype(np.float64).sum(axis=0)
    # Each threshold lies where one of 2^32 numbers begins, half a number off at most, and sums of K float64 are
    # rounded by K 2^-53 of the total, twice; a level lies between two thresholds.
    assert np.abs(found - expected).max() <= 2 * (2.0**-33 + (2 * n_levels + 2) * 2.0**-53) < 2.0**-31
    assert not found[weights == 0].any()


@needs_permutes
@pytest.mark.parametrize("n_levels", [2, 3, 5, 21, 254])
def test_fast_draws_equal_plain_ones_near_thresholds(n_levels):
    weights = make_weights(n_levels)
    placed = make_aligned(weights.shape, np.float32)
    placed[:, PLACES] = weights
    thresholds = find_thresholds(weights)
    x = make_aligned((512,), np.uint8)
    raw = np.empty(256, np.uint64)
    rng = np.random.default_rng(1)
    for k in range(0, n_levels - 1, -(-n_levels // 20)):
        # One chain of 64 at a time: a single doubt makes all of them be drawn in float64.
        for lane in range(16):
            for off in (-500, -100, -1, 0, 100, 500):  # float32 resolves 256 of 2^32 numbers
                # The first 16 numbers of a stream (s, 0, 0, 0) are the words of s: those of chains 0, 4, 8, ..., 60.
                numbers = rng.integers(2**32, size=16, dtype=np.uint32)
                numbers[lane] = np.clip(thresholds[k, 4 * lane] + off, 0, 2**32 - 1)
                stream = np.zeros((4, 8), dtype=np.uint64)
                stream[0] = numbers.view(np.uint64)
                _bytes.draw_uniforms(stream.copy(), raw)
                np.testing.assert_array_equal(raw.view(np.uint32)[:16], numbers)
                plain = choose_plainly(weights, raw.view(np.uint32)[PLACES])
                _permutes.draw_levels(placed, n_levels, stream, x)
                np.testing.assert_array_equal(x, plain)
