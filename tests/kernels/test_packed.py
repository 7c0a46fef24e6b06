"""The fast kernels against their plain twins, bit for bit, and the arithmetic they share."""

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from sparsefield._kernels import _bytes, _packed
from sparsefield._kernels._target import HAS_AVX2, make_aligned
from sparsefield.datasets import make_field
from sparsefield.inference import Chains, Scan
from support.statistics_ import assert_moments_agree
from support.zoo import BINARY, ZOO

needs_packed = pytest.mark.skipif(not HAS_AVX2, reason="packed kernels are compiled for AVX2 and later")


def swept(model, storage, form, n_chains=700, n_sweeps=4):
    chains = Chains(model.domain, n_chains, seed=5, storage=storage)
    chains.sweep(Scan(model, storage=storage, form=form), n_sweeps)
    return chains.codes()


@needs_packed
@pytest.mark.parametrize("form", ["product", "sum", "dense"])
@pytest.mark.parametrize("p", [1, 2, 3, 16, 17, 40])
def test_packed_chains_equal_byte_chains(form, p):
    model = make_field(p, edge_probability=0.5, strength=(0.1, 1.0), seed=p)
    np.testing.assert_array_equal(swept(model, "packed", form), swept(model, "bytes", form))


@needs_packed
@pytest.mark.parametrize("model", BINARY.values(), ids=BINARY.keys())
def test_packed_chains_equal_byte_chains_on_the_zoo(model):
    for form in ("product", "sum", "dense"):
        np.testing.assert_array_equal(swept(model, "packed", form), swept(model, "bytes", form))


@needs_packed
@pytest.mark.parametrize("n_chains", [1, 512, 513, 3000, 6000])
def test_packed_chains_equal_byte_chains_in_any_number(n_chains):
    model = make_field(21, edge_probability=0.5, strength=(0.1, 1.0), seed=3)
    for form in ("product", "sum", "dense"):
        packed, plain = (swept(model, storage, form, n_chains=n_chains) for storage in ("packed", "bytes"))
        np.testing.assert_array_equal(packed, plain)


@needs_packed
def test_packed_chains_equal_byte_chains_with_extreme_parameters():
    rng = np.random.default_rng(1)
    values = np.triu(rng.choice([-100.0, 0.0, 0.3, 100.0], size=(20, 20)), 1)
    model = PairwiseMRF.binary(rng.choice([-100.0, 0.0, 100.0], size=20), values + values.T)
    assert Scan(model).form == "sum"
    np.testing.assert_array_equal(swept(model, "packed", "sum"), swept(model, "bytes", "sum"))


def test_all_forms_draw_the_same_states_up_to_rounding():
    model = make_field(30, edge_probability=0.9, strength=(0.05, 0.2), seed=1)
    forms = [swept(model, "bytes", form, n_sweeps=3) for form in ("product", "sum", "dense")]
    # Fields differ by at most 30 roundings of 2^-20 bits, hence probabilities by less than 5e-6, and the 63,000 draws
    # of 700 chains in 0.3 on average: more than 7 chains that differ anywhere have probability 1e-9 (Poisson).
    for other in forms[1:]:
        assert np.count_nonzero((forms[0] != other).any(axis=1)) <= 7


def test_the_scan_guards_the_product_form():
    weak = PairwiseMRF.binary([1.0, 1.0], [[0, 78.0], [78.0, 0]])
    strong = PairwiseMRF.binary([3.0, 1.0], [[0, 78.0], [78.0, 0]])
    assert Scan(weak).form == "product"
    assert Scan(strong).form == "sum"
    with pytest.raises(ValueError, match="parameters of variable 0 add up to 1e"):
        Scan(PairwiseMRF.binary([1e9, 0.0], np.zeros((2, 2))))


@needs_packed
def test_the_scan_takes_the_dense_form_for_weak_dense_fields_only():
    weak, strong = (np.full((100, 100), value) for value in (0.05, 5.0))
    for values in (weak, strong):
        np.fill_diagonal(values, 0)
    assert Scan(PairwiseMRF.binary(np.zeros(100), weak)).form == "dense"
    assert Scan(PairwiseMRF.binary(np.zeros(100), strong)).form == "sum"
    assert Scan(make_field(100, degree=6, seed=1)).form == "product"


@pytest.mark.parametrize("shift", [1, 7, 20, 24])
def test_exponentiate_is_right_to_float_precision(shift):
    rng = np.random.default_rng(shift)
    limit = min(126 << shift, 2**30)
    for _ in range(40):
        z = rng.integers(-limit, limit + 1, _bytes.BLOCK, dtype=np.int32)
        weights = z.view(np.float32).copy()
        _bytes.exponentiate(weights, shift)
        expected = np.exp2(np.clip(z / 2.0**shift, -126, 126))
        # In units of 2^-24: the polynomial is right to 0.05 (2.6e-9). Each fused step rounds by 1 of its own result,
        # which carries through to the last one times x^k: at most 1 + 0.42 + 0.08 + 0.02 of it, |x| <= 1/2 (worst at
        # -1/2). Coefficients but the first are rounded by 1/2: 0.3. The product by a power of two is exact.
        np.testing.assert_allclose(weights, expected, rtol=(0.05 + 1.52 + 0.3) * 2.0**-24)


def test_exponentiate_cuts_exponents_that_a_float_cannot_hold():
    weights = np.full(_bytes.BLOCK, 2**30, dtype=np.int32).view(np.float32)
    weights.view(np.int32)[::2] *= -1
    _bytes.exponentiate(weights, 20)
    np.testing.assert_array_equal(weights[1::2], np.float32(2.0**126))
    np.testing.assert_array_equal(weights[::2], np.float32(2.0**-126))


@pytest.mark.parametrize("storage", ["bytes", pytest.param("packed", marks=needs_packed)])
def test_certain_bits_are_certain(storage):
    # exp(+-100) is far outside what 31 random bits resolve: not one draw in 512,000 may be wrong.
    model = PairwiseMRF.binary([100.0, -100.0, 40.0, -40.0], np.zeros((4, 4)))
    for form in ("sum", "dense"):
        codes = swept(model, storage, form, n_chains=51_200, n_sweeps=10)
        assert np.array_equal(codes.min(axis=0), codes.max(axis=0))
        assert codes[0].tolist() == [1, 0, 1, 0]


def test_draws_have_the_probability_of_their_weight():
    # A bit is one for odd v from some place on: those with u w <= v in float32, u = 2^31 - v, found by bisection.
    for weight in np.exp(np.linspace(-30, 30, 601)).astype(np.float32):
        low, high = 0, 2**30  # v = 2 k + 1
        while low < high:
            k = (low + high) // 2
            u, v = (np.float64(np.float32(n)) for n in (2**31 - 2 * k - 1, 2 * k + 1))
            if u * np.float64(weight) <= v:  # products of two float32 are exact in float64
                high = k
            else:
                low = k + 1
        found, expected = 1 - low / 2**30, 1 / (1 + np.float64(weight))
        # u and v are rounded by 2^-24 of themselves, as if the weight were by 2^-23; the grid of v adds half its step.
        assert abs(found - expected) <= 2.0**-23 * expected * (1 - expected) + 2.0**-31


def test_random_bits_are_fair_at_every_chain_and_step():
    # theta = 0: every bit of every lane must be a fair coin, and neighbouring draws independent.
    chains = Chains(Domain.binary(8), 512, seed=11)
    scan = Scan(PairwiseMRF.binary(np.zeros(8), np.zeros((8, 8))))
    ones = np.zeros((512, 8))
    together = np.zeros((512, 8))
    n = 4000
    last = None
    for _ in range(n):
        chains.sweep(scan, 1)
        codes = chains.codes()
        ones += codes
        together += codes == (np.roll(codes, 1, axis=1) if last is None else last)
        last = codes
    assert_moments_agree(ones / n, np.full(ones.shape, 0.5), n)
    assert_moments_agree(together / n, np.full(ones.shape, 0.5), n)


@needs_packed
@pytest.mark.parametrize("plane", range(3))
def test_dense_sums_do_not_overflow(plane):
    # All neighbours on, the most fours, the largest entry in one plane: the 16-bit sums are filled to the brim. (The
    # sums of the highest plane would leave 32 bits first, which the choice of the unit rules out.)
    tables = make_aligned((1, _packed.MOST_QUADS, _packed.PLANES, 16), np.uint8)
    tables[0, :, plane, :] = 63
    quads = make_aligned((1, _packed.GROUPS, _packed.MOST_QUADS, _packed.QUAD), np.uint8)
    quads[:] = 15
    bias = np.array([-63 * _packed.MOST_QUADS << 6 * plane], dtype=np.int32)
    weights = make_aligned((1, _bytes.BLOCK), np.float32)
    streams = np.arange(1, 33, dtype=np.uint64).reshape(1, 4, 8)
    states = make_aligned((1, 8, 16), np.uint32)
    _packed.sweep_dense(states, streams, np.array([0]), tables, bias, np.array([20]), states[:0], quads, weights, 1)
    np.testing.assert_array_equal(weights, 1.0)


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
def test_codes_survive_packing(model):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, model.domain.n_levels, size=(777, model.domain.n_variables)).astype(np.uint8)
    chains = Chains(model.domain, 777, seed=0, start=codes)
    np.testing.assert_array_equal(chains.codes(), codes)
    np.testing.assert_array_equal(chains.copy().codes(), codes)
    indicators = model.domain.indicators(codes)
    np.testing.assert_allclose(chains.moments().pair, indicators.T @ indicators / 777, rtol=1e-15)


def test_aligned_memory_starts_on_a_cache_line():
    for shape in ((1,), (3, 5), (7, 2, 9)):
        array = make_aligned(shape, np.uint16)
        assert array.shape == shape
        assert array.ctypes.data % 64 == 0
        assert not array.any()
