"""The data term of tables with missing values: unbiased, with errors that are known."""

from dataclasses import replace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import Moments
from sparsefield.datasets import make_field
from sparsefield.inference import Cpu, EnumerationPolicy
from sparsefield.objective import COMPLETED, Completed, Observed, expected_moments
from support.noise import covariance, enumerate_statistics
from support.plain_backend import Plain
from support.problems import make_table
from support.statistics_ import FALSE_ALARM
from support.zoo import LEVELS

MODEL = make_field(6, strength=(0.5, 1.2), seed=5)


def make_incomplete(model=MODEL, n=60, share=0.3, seed=1):
    codes = np.array(model.sample(n, n_sweeps=50, seed=seed).codes)
    codes[np.random.default_rng(seed).random(codes.shape) < share] = 255
    return sf.Table(model.domain, codes)


def laws_of(model, table):
    """Return the statistics of all states (s, m), their slots, and their probabilities given each row (n, s)."""
    probabilities, values, slots = enumerate_statistics(model)
    states = np.indices(tuple(model.domain.n_levels), dtype=np.uint8).reshape(model.domain.n_variables, -1).T
    agrees = ((table.codes[:, None] == 255) | (table.codes[:, None] == states)).all(axis=2) * probabilities
    return values, slots, agrees / agrees.sum(axis=1, keepdims=True)


def share_out(weights):
    weights = np.ones(60) if weights is None else weights
    return weights / weights.sum()


def draw_where(least):
    """Return the policy that lets the values of rows be drawn that can be filled in at least so many ways."""
    return replace(COMPLETED, enumeration=EnumerationPolicy(always_cheap=least - 1, states_per_cell=0))


WEIGHTS = {"equal": None, "weights": np.random.default_rng(9).exponential(1.0, 60)}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("least", [2, 8])
def test_drawn_moments_are_unbiased_and_their_errors_known(name, least):
    # 400 seeds, each with some hundred draws. Means are compared with exact expectations: Bernstein's inequality for
    # sums of independent terms, with their exact variance and largest size.
    table, weights, n_seeds = make_incomplete(), WEIGHTS[name], 400
    values, (a, b), laws = laws_of(MODEL, table)
    shares = share_out(weights)
    exact = expected_moments(MODEL, table, np.ones(60) if weights is None else weights).pair
    np.testing.assert_allclose(exact[a, b], shares @ laws @ values, atol=1e-12)
    policy = draw_where(least)
    found = [Completed(table, 100, seed, weights, Cpu(1), policy=policy).given(MODEL, 100) for seed in range(n_seeds)]
    assert {term.caveat for term in found} == {""}
    assert not found[0].is_fixed
    mean = np.mean([term.moments.pair for term in found], axis=0)
    # Rows that show the same are drawn together, and the variance of their draws is what one draw has, over their
    # number: shares are added up first.
    _, of = np.unique(table.codes, axis=0, return_inverse=True)
    together = np.bincount(of.reshape(-1), shares)
    first = np.unique(of.reshape(-1), return_index=True)[1]
    is_drawn = np.where(table.mask, 2.0, 1.0).prod(axis=1)[first] >= least
    n_copies = 2 * np.maximum(1, np.ceil(50 * together - 1e-9))
    errors = (together**2 / n_copies * is_drawn) @ (laws[first] @ values**2 - (laws[first] @ values) ** 2)
    size = (together / n_copies * is_drawn).max()
    t = np.log(2 * len(a) / FALSE_ALARM)
    allowed = np.sqrt(2 * errors * t / n_seeds) + 2 * size * t / (3 * n_seeds)
    assert np.all(np.abs(mean[a, b] - exact[a, b]) <= allowed + 1e-12)
    assert [term.n_effective for term in found] == pytest.approx([1 / size] * n_seeds)
    assert 1 / size >= 100 - 1e-9
    # The squared noise is a sum, over pairs of draws, of squared shares for each statistic in which they differ.
    # Hoeffding's inequality, as many times as there are pairs.
    everything = np.ones_like(mean, dtype=bool)
    errors_told = np.array([term.simulation_error(everything) ** 2 for term in found])
    spread = len(a) * np.sqrt(
        ((together / n_copies * is_drawn) ** 4 * n_copies / 2).sum() * np.log(2 / FALSE_ALARM) / 2
    )
    assert abs(errors_told.mean() - errors.sum()) <= spread / np.sqrt(n_seeds)
    counted = np.zeros_like(everything)
    counted[0, 0] = True
    assert 0 < np.mean([term.simulation_error(counted) ** 2 for term in found]) < errors.sum()


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("least", [2, 8, np.inf])
def test_missing_information_along_a_move(name, least):
    table, weights = make_incomplete(), WEIGHTS[name]
    values, (a, b), laws = laws_of(MODEL, table)
    rng = np.random.default_rng(1)
    move = np.zeros((6, 6))
    move[a, b] = move[b, a] = rng.normal(size=len(a))
    along = values @ move[a, b]
    missing = sum(share * covariance(law, values) for share, law in zip(share_out(weights), laws, strict=True))
    exact = move[a, b] @ missing @ move[a, b]
    n_draws = 20_000
    term = Completed(table, 100, 1, weights, Cpu(1), policy=draw_where(least)).given(MODEL, n_draws)
    # A sum over pairs of draws of squared differences, none of which counts more than 1 / n: those of a row have the
    # variance 2 fourth moments + 2 squared variances. Bernstein's inequality.
    centred = along - (laws @ along)[:, None]
    second, fourth = ((laws * centred**k).sum(axis=1) for k in (2, 4))
    variance = share_out(weights) @ (fourth + second**2) / n_draws
    t = np.log(2 / FALSE_ALARM)
    allowed = 0.0 if least == np.inf else np.sqrt(2 * variance * t) + 2 * np.ptp(along) ** 2 * t / (3 * n_draws)
    assert abs(term.variance_along(move) - exact) <= allowed + 1e-12
    assert (term.n_effective == np.inf) == (least == np.inf)
    if least == np.inf:
        assert term.simulation_error(np.ones((6, 6), dtype=bool)) == 0
        np.testing.assert_allclose(term.moments.pair[a, b], share_out(weights) @ laws @ values, atol=1e-12)


def test_nothing_is_missing_in_observed_data():
    term = Observed(Moments.of_pairs(np.eye(3) / 2, 10))
    assert term.variance_along(np.ones((3, 3))) == 0
    assert term.n_effective == np.inf


def test_levels_are_expected_and_drawn():
    model = LEVELS["mixed levels"]
    table = make_incomplete(model, 40, 0.4)
    exact = expected_moments(model, table, np.ones(40)).pair
    np.testing.assert_allclose(Completed(table, 10, 1, None, Cpu()).given(model, 10).moments.pair, exact, atol=1e-12)
    n = 40_000
    found = Completed(table, 10, 1, None, Cpu(), policy=draw_where(2)).given(model, n)
    t = np.log(2 * exact.size / FALSE_ALARM)
    allowed = np.sqrt(2 * exact * (1 - exact) * t / n) + 2 * t / (3 * n)
    assert np.all(np.abs(found.moments.pair - exact) <= allowed)
    within = model.domain.slot_variables[:, None] == model.domain.slot_variables
    assert not found.moments.pair[within & ~np.eye(len(within), dtype=bool)].any()


def test_every_model_has_random_numbers_of_its_own():
    term = Completed(make_incomplete(), 100, 1, None, Cpu(), policy=draw_where(2))
    first, again = term.given(MODEL, 200), term.given(MODEL, 200)
    np.testing.assert_array_equal(first.moments.pair, again.moments.pair)
    assert not np.array_equal(first.moments.pair, first.given(MODEL, 200).moments.pair)
    other = Completed(make_incomplete(), 100, 2, None, Cpu(), policy=draw_where(2)).given(MODEL, 200)
    assert not np.array_equal(first.moments.pair, other.moments.pair)


def test_missing_values_are_uniform_before_there_is_a_model():
    for model in (MODEL, LEVELS["mixed, no reference"]):
        table = make_incomplete(model)
        term = Completed(table, 100, 1, None, Cpu())
        size = model.domain.n_slots
        flat = sf.PairwiseMRF(model.domain, np.zeros(size), np.zeros((size, size)))
        np.testing.assert_allclose(term.moments.pair, expected_moments(flat, table, np.ones(60)).pair, atol=1e-12)
        assert term.n_effective == np.inf
        with pytest.raises(ValueError, match="depends on the model"):
            term.variance_along(np.zeros((size, size)))


def test_draws_take_no_more_memory_than_they_may():
    asked = []

    class Counting(Cpu):
        def clamped_draw(self, field, codes, **options):
            asked.append(codes.size)
            return super().clamped_draw(field, codes, **options)

    def draw(**limit):
        term = Completed(make_incomplete(), 100, 1, None, Counting(), policy=replace(draw_where(2), **limit))
        return term.given(MODEL, 50_000)

    n_rows = len(draw()._rows)
    assert draw().n_effective >= 50_000 - 1e-6
    # Each row is rounded up to an even number of draws.
    assert 30_000 / len(MODEL.domain.names) < draw(most_cells=30_000).n_effective < 50_000
    assert asked[-1] <= 30_000 + 2 * n_rows * 6 < asked[0]
    draw(most_cells=1)
    assert asked[-1] == 2 * n_rows * 6


def test_rows_out_of_reach_are_filled_by_chains_with_a_caveat():
    # Exact draws of this backend are out of reach within one sweep; what can be enumerated still is.
    table = make_incomplete(share=0.4)
    term = Completed(table, 2000, 1, None, Plain(), max_sweeps=1, policy=draw_where(8))
    assert term.caveat == ""
    values, (a, b), laws = laws_of(MODEL, table)
    for _ in range(30):
        term = term.given(MODEL, 100_000)
    assert term.caveat == "one sweep: they are filled by Gibbs chains without a certificate"
    assert 2000 <= term.n_effective < 100_000
    # Chains go on: 150 sweeps forget where they began, and what is left is noise. No chain counts more than one of
    # n_effective, and there is no more variance than that of the rows (Bernstein's inequality).
    within = (laws @ values**2 - (laws @ values) ** 2).mean(axis=0)
    t = np.log(2 * len(a) / FALSE_ALARM)
    allowed = np.sqrt(2 * within * t / term.n_effective) + 2 * t / (3 * term.n_effective)
    assert np.all(np.abs(term.moments.pair[a, b] - laws.mean(axis=0) @ values) <= allowed)
    assert 0 < term.variance_along(np.eye(6)) < 6 / 4
    within_reach = Completed(table, 100, 1, None, Plain(), max_sweeps=2, policy=draw_where(8)).given(MODEL, 200)
    assert within_reach.caveat == ""


def test_rows_that_show_the_same_count_as_one():
    table = make_table(4, 500)
    codes = np.array(table.codes)
    codes[:, 0] = 255
    term = Completed(sf.Table(table.domain, codes), 10, 1, None, Cpu())
    assert len(term._rows) <= 8
    assert term._shares.sum() == pytest.approx(1.0)
