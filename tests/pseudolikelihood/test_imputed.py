"""The pseudo-likelihood of tables with missing values."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from sparsefield import PseudoLikelihood
from sparsefield.pseudolikelihood import FILLING, solve_filled_pseudo_likelihood, solve_pseudo_likelihood
from support import naive
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM
from support.zoo import parts, random_field

MISSING = 255
ALPHA = 0.02
TRUTHS = {
    "two levels": random_field([2] * 4, seed=1, scale=0.8),
    "two and three levels": random_field([2, 3, 2], seed=2, scale=0.8),
}


def make_incomplete(truth, n=400, share=0.3, seed=1):
    table = truth.sample(n, method="perfect", seed=seed)
    codes = table.codes.copy()
    codes[np.random.default_rng(seed).random(codes.shape) < share] = MISSING
    return sf.Table(table.domain, codes)


def solve_filled(table, filling=FILLING):
    return solve_filled_pseudo_likelihood(table, ALPHA, weights=None, seed=1, filling=filling)


def find_fixed_point(table, n_rounds=25):
    """Fit all states, each as often as it is expected given the observed cells, by the last fit; again and again."""
    rows = [tuple(None if x == MISSING else int(x) for x in row) for row in table.codes]
    every = np.indices(tuple(table.domain.n_levels), dtype=np.uint8).reshape(table.domain.n_variables, -1).T
    states = sf.Table(table.domain, np.asfortranarray(every))
    model = sf.PairwiseMRF(table.domain, np.zeros(table.domain.n_slots), np.zeros((table.domain.n_slots,) * 2))
    for _ in range(n_rounds):
        known, probabilities, _ = naive.distribution(*parts(model))
        law = {row: np.array(naive.given(row, known, probabilities)) for row in set(rows)}
        counts = sum(law[row] for row in rows)
        assert [tuple(own) for own in every.tolist()] == known
        model = PseudoLikelihood(0.0, tol=1e-9).fit(states, sample_weight=counts).model_
    return theta_of(model)


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_fits_lie_about_where_expectations_of_missing_values_lead(truth):
    # (Without a penalty: where it cuts off noise, the mean of fits is elsewhere.)
    table, n = make_incomplete(truth), 10
    exact = find_fixed_point(table)
    fits = [PseudoLikelihood(0.0, tol=1e-7, random_state=seed).fit(table) for seed in range(n)]
    own = np.array([theta_of(mrf)[np.triu_indices(len(exact))] for mrf in fits])
    exact = exact[np.triu_indices(len(exact))]
    # Seeds are independent, and their mean has the law of Student.
    far = stats.t.isf(FALSE_ALARM / 2 / len(exact), n - 1)
    error = own.std(axis=0, ddof=1) / np.sqrt(n)
    assert np.all(np.abs(own.mean(axis=0) - exact) <= far * error)
    # Other ways lead elsewhere.
    for way in ("zero", "drop"):
        other = theta_of(PseudoLikelihood(0.0, missing=way).fit(table))[np.triu_indices(len(truth.main))]
        assert np.any(np.abs(other - exact) > far * error)


def test_the_status_says_how_missing_values_were_filled():
    table = make_incomplete(TRUTHS["two levels"])
    mrf = PseudoLikelihood(ALPHA, random_state=1).fit(table)
    n_open = table.mask.any(axis=1).sum()
    assert f"drawn {2**14 // n_open} times from the fit itself, in" in mrf.status_.sentence
    assert mrf.fit_.settings["missing"] == "model"
    again = PseudoLikelihood(ALPHA, random_state=1).fit(table)
    np.testing.assert_array_equal(theta_of(mrf), theta_of(again))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_more_is_missing_the_more_often_it_is_drawn(share):
    table = make_incomplete(TRUTHS["two levels"], share=share)
    fit = solve_filled(table, replace(FILLING, filled_rows=1))
    seen = ~table.mask
    both = np.mean([(seen[:, i] & seen[:, j]).mean() for i in range(4) for j in range(i)])
    n = int(np.clip(np.ceil(10 * (1 - both) / both), 5, 30))
    assert f"drawn {n} times from the fit itself" in fit.status.sentence


def test_nothing_missing_is_the_same_fit_bit_for_bit():
    observed = make_table()
    fits = [theta_of(PseudoLikelihood(0.02, missing=m).fit(observed)) for m in ("model", "zero", "drop", "error")]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0], other)


def test_rows_without_weight_do_not_count():
    table = make_incomplete(TRUTHS["two levels"])
    weights = np.repeat([1.0, 0.0], 200)
    weighted = PseudoLikelihood(ALPHA, random_state=1).fit(table, sample_weight=weights)
    alone = PseudoLikelihood(ALPHA, random_state=1).fit(table[:200])
    np.testing.assert_allclose(theta_of(weighted), theta_of(alone), atol=1e-9)


def test_the_penalty_is_chosen_with_missing_values_too():
    table = make_incomplete(TRUTHS["two levels"])
    mrf = PseudoLikelihood(random_state=1).fit(table)
    assert mrf.choice_ is not None
    assert mrf.alpha_ == sf.selection.select(table, objective="pseudolikelihood").alpha


def test_a_fit_whose_time_is_up_ends_there(monkeypatch):
    rounds = []

    def interrupt(*arguments, **options):
        rounds.append(1)
        return solve_pseudo_likelihood(*arguments, **(options | {"max_seconds": 0.0}))

    monkeypatch.setattr("sparsefield.pseudolikelihood._imputed.solve_pseudo_likelihood", interrupt)
    with pytest.warns(ConvergenceWarning, match="Stopped after"):
        mrf = PseudoLikelihood(ALPHA, random_state=1).fit(make_incomplete(TRUTHS["two levels"]))
    assert len(rounds) == 1
    assert mrf.status_.code == "max_seconds"
    assert "drawn from independent variables" in mrf.status_.sentence


def test_what_was_reached_before_an_interrupt_is_kept(monkeypatch):
    calls, impute = [], sf.PairwiseMRF.impute

    def interrupt(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return impute(*arguments, **options)

    monkeypatch.setattr(sf.PairwiseMRF, "impute", interrupt)
    table = make_incomplete(TRUTHS["two levels"])
    fit = solve_filled(table)
    assert fit.status.code == "interrupted"
    assert "in 2 rounds" in fit.status.sentence
    calls.clear()
    np.testing.assert_array_equal(theta_of(solve_filled(table, replace(FILLING, most_rounds=2))), theta_of(fit))


def test_rounds_end_where_draws_do_not_change():
    table = make_incomplete(TRUTHS["two levels"], share=0.02)
    fit = solve_filled(table)
    assert "after which they would not change" in fit.status.sentence
    again = solve_filled(table, replace(FILLING, most_rounds=1000))
    np.testing.assert_array_equal(theta_of(fit), theta_of(again))


def test_a_single_round_is_told_from_a_lack_of_time():
    codes = np.tile(np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=np.uint8), (200, 1))
    codes[3, 0] = MISSING  # which the independent variables of the fit fill as those of the first round do
    mrf = PseudoLikelihood(0.5, random_state=1).fit(sf.Table(sf.Domain.binary(2), codes))
    assert mrf.status_.sentence.endswith("in 1 round of draws and fits, after which they would not change.")
