"""Log-probabilities of observed cells where what is missing cannot be summed out."""

import re

import numpy as np
import pytest
from scipy import stats

from sparsefield.inference import OutOfReachError
from support import naive
from support.problems import Undrawn
from support.statistics_ import FALSE_ALARM
from support.zoo import ZOO, parts

MISSING = 255
FIELDS = {name: ZOO[name] for name in ("dense", "no reference", "mixed levels", "mixed, reference last")}
everyone = pytest.mark.parametrize("model", FIELDS.values(), ids=FIELDS.keys())


def make_rows(model):
    """Make rows, some of which are the same, that miss nothing, some values, and all."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, model.domain.n_levels, (6, model.domain.n_variables)).astype(np.uint8)
    codes[1, 0], codes[2, 1:], codes[3, :-1], codes[4] = MISSING, MISSING, MISSING, MISSING
    return codes[[5, 0, 3, 1, 2, 3, 4, 4]]


def enumerate_rows(model, codes):
    states, probabilities, _ = naive.distribution(*parts(model))
    rows = [tuple(None if x == MISSING else int(x) for x in row) for row in codes]
    return np.log([sum(naive.those_that_agree(probabilities, states, row)) for row in rows])


@everyone
def test_what_sums_do_not_reach_is_enumerated_and_exact(model, limit_sums):
    codes = make_rows(model)
    limit_sums(3)  # one value of a row at most
    found = model.log_prob_observed(codes)
    np.testing.assert_allclose(found, enumerate_rows(model, codes), rtol=1e-10, atol=1e-10)


@everyone
def test_estimates_come_with_the_error_that_they_have(model, limit_sums):
    codes, known = make_rows(model), model.log_partition()
    limit_sums(3, n_states=3)
    with pytest.warns(UserWarning, match=r"row 2 among them") as caught:
        found = model.log_prob_observed(codes, log_partition=known)
    error = float(re.search(r"errors of up to ([0-9.e-]+): too many missing", str(caught[0].message))[1])
    expected = enumerate_rows(model, codes)
    # The largest error is told to two digits, at most 5% less than it is.
    assert np.all(np.abs(found - expected) < 1.05 * stats.norm.isf(FALSE_ALARM / 2 / len(codes)) * error)
    np.testing.assert_allclose(found[[0, 1]], expected[[0, 1]], rtol=1e-10)
    assert 0 < error < 0.05
    again = model.log_prob_observed
    with pytest.warns(UserWarning, match="by draws"):
        np.testing.assert_array_equal(again(codes, log_partition=known), found)


def test_what_cannot_be_drawn_either_is_refused(monkeypatch, limit_sums):
    model = FIELDS["dense"]
    limit_sums(3, n_states=3)
    monkeypatch.setattr("sparsefield.model._annealing._MOST_TIMES", 1)
    with pytest.raises(OutOfReachError, match="out of reach of annealing"):
        model.log_prob_observed(make_rows(model), log_partition=0.0, device=Undrawn())


def test_probabilities_of_whole_states_need_whole_states():
    for ask in (FIELDS["dense"].log_prob, FIELDS["dense"].energy):
        with pytest.raises(ValueError, match=r"State 2 misses the value of variable 'v0' \(code 255\): fill it"):
            ask(make_rows(FIELDS["dense"]))
