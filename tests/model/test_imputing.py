"""Missing values filled by draws, or with what is most probable."""

import numpy as np
import pytest

from sparsefield import PairwiseMRF
from sparsefield.inference import Cpu, OutOfReachError
from support import naive
from support.statistics_ import assert_counts_agree
from support.zoo import ZOO, parts, random_field

MISSING = 255
WAYS = ("sums", "coupled chains", "Gibbs chains")


class Refusing(Cpu):
    """The processors of this machine, where exact draws of missing values are always out of reach."""

    def clamped_draw(self, field, codes, *, seed, max_sweeps):  # noqa: ARG002
        raise OutOfReachError("They do not meet.", reason="they do not meet")


@pytest.fixture
def take(limit_sums):
    """Choose what draws; return the backend that does."""

    def choose(way):
        if way != "sums":
            limit_sums()
        return Refusing() if way == "Gibbs chains" else Cpu()

    return choose


def as_plain(row):
    return tuple(None if x == MISSING else int(x) for x in row)


@pytest.mark.filterwarnings("ignore:.*Gibbs chains of 1000 sweeps")
@pytest.mark.parametrize("name", ["dense", "no reference", "mixed levels", "mixed, reference last", "sparse levels"])
@pytest.mark.parametrize("way", WAYS)
def test_draws_have_the_joint_law_given_the_observed_cells(way, name, take):
    model, n = ZOO[name], 3000
    states, probabilities, _ = naive.distribution(*parts(model))
    numbers = {state: k for k, state in enumerate(states)}
    rng = np.random.default_rng(1)
    backend = take(way)
    rows = rng.integers(0, model.domain.n_levels, (3, model.domain.n_variables)).astype(np.uint8)
    rows[0], rows[1, ::2], rows[2, :2] = MISSING, MISSING, MISSING
    for seed, row in enumerate(rows):
        drawn = model.impute(np.tile(row, (n, 1)), seed=seed, device=backend)
        counts = np.bincount([numbers[tuple(own)] for own in drawn.codes.tolist()], minlength=len(states))
        law = np.array(naive.given(as_plain(row), states, probabilities))
        assert counts[law == 0].sum() == 0
        assert_counts_agree(counts[law > 0], law[law > 0])


def make_rows(model, n=60):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, model.domain.n_levels, (n, model.domain.n_variables)).astype(np.uint8)
    codes[rng.random(codes.shape) < np.linspace(0, 1, n)[:, None]] = MISSING
    return codes


@pytest.mark.parametrize("name", ZOO)
def test_the_most_probable_values_are_so_together(name):
    model = ZOO[name]
    codes = make_rows(model)
    states, probabilities, _ = naive.distribution(*parts(model))
    chance = dict(zip(states, probabilities, strict=True))
    filled = model.impute(codes, "most probable").codes
    for row, own in zip(codes, filled.tolist(), strict=True):
        most = max(naive.those_that_agree(probabilities, states, as_plain(row)))
        assert chance[tuple(own)] == pytest.approx(most, rel=1e-12)
    assert np.all((codes == MISSING) | (filled == codes))


def test_together_is_not_one_by_one():
    # P(0, 0) = 0.4 and P(1, 0) = P(1, 1) = 0.3, but for e^-5: the first is 1 more often than 0.
    model = PairwiseMRF.binary([np.log(0.75), -5.0], [[0.0, 5.0], [5.0, 0.0]])
    assert model.impute([[MISSING, MISSING]], "most probable").codes.tolist() == [[0, 0]]
    assert [int(model.conditional(i, [[MISSING, MISSING]]).argmax()) for i in range(2)] == [1, 0]


@pytest.mark.parametrize("method", ["draws", "most probable"])
def test_observed_cells_stay_and_seeds_repeat(method, monkeypatch):
    model = random_field([2, 3, 2, 4, 2], seed=3, density=0.5)
    codes = make_rows(model, 200)
    first = model.impute(codes, method, seed=1)
    assert first.domain == model.domain
    assert not first.mask.any()
    assert np.all((codes == MISSING) | (first.codes == codes))
    monkeypatch.setattr("sparsefield.model._imputing._CELLS_AT_ONCE", 50)
    np.testing.assert_array_equal(model.impute(codes, method, seed=1).codes, first.codes)
    is_random = method == "draws"
    assert np.any(model.impute(codes, method, seed=2).codes != first.codes) == is_random
    assert np.any(model.impute(codes, method).codes != first.codes) == is_random


def test_what_is_not_exact_is_said(take):
    backend = take("Gibbs chains")
    model = ZOO["dense"]
    codes = make_rows(model, 20)
    with pytest.warns(
        UserWarning, match=r"missing values of .* rows? are out of reach.*they do not meet.*Gibbs chains of 1000 sweeps"
    ):
        filled = model.impute(codes, seed=1, device=backend)
    assert not filled.mask.any()
    with pytest.raises(OutOfReachError, match="Finding the most probable values is out of reach: row"):
        model.impute(codes, "most probable")
    with pytest.raises(ValueError, match="method is 'mean'"):
        model.impute(codes, "mean")
