"""The choice of a penalty: criteria against hand computation, and sentences that say what it means."""

import re
from dataclasses import replace

import joblib
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.linear_model import LogisticRegression

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.fitting import Learner, Options
from sparsefield.gradients import BestDraws
from sparsefield.selection import make_rule, select
from sparsefield.selection.choices import _path_rule
from sparsefield.selection.choices._null_edges import count_null_edges, null_alpha
from sparsefield.selection.choices._row_subsets import make_folds, make_subsamples
from sparsefield.selection.paths._likelihoods import Likelihoods
from sparsefield.tables import read_rows
from support import naive
from support.noise import curvature
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM

TABLE = make_table(4, 100)
TOL = 1e-8
OFF = (
    1e-5  # in each parameter, where the gradients of two fits have norms of TOL at most and no curvature is below 2e-3
)
# On all states nothing is random but rows; these are drawn.
DRAWS = {"solver": sf.Newton(schedule=BestDraws(max_states=0)), "gap": 0.02}


def make_rare():
    """Return a table in which one row alone has the level 2 of a variable."""
    codes = TABLE.codes.copy()
    codes[17, 0] = 2
    domain = sf.Domain(TABLE.domain.names, ((0, 1, 2), *TABLE.domain.levels[1:]), (0, 0, 0, 0))
    return sf.Table(domain, codes)


def make_independent(p=5, n=300, seed=1):
    return sf.encode(np.random.default_rng(seed).integers(0, 2, (n, p)))


def regress(neighbours, own):
    """Return the largest log-likelihood of a logistic regression, and its weights."""
    if not neighbours.shape[1]:
        q = own.mean()
        return len(own) * (q * np.log(q) + (1 - q) * np.log(1 - q)), np.zeros(0)
    found = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(neighbours, own)
    return found.predict_log_proba(neighbours)[np.arange(len(own)), own].sum(), found.coef_[0]


def sum_agreeing(row, states, law):
    """Return the probability of the observed cells of a row."""
    return sum(
        q
        for state, q in zip(states, law, strict=True)
        if all(a in (MISSING, b) for a, b in zip(row, state, strict=True))
    )


def edges_of(fit):
    return int(np.count_nonzero(np.triu(fit.model.interactions)))


@pytest.mark.parametrize("gamma", [0.0, 0.25, 1.0])
def test_the_criterion_is_that_of_each_variable_given_its_neighbours(gamma):
    choice = select(TABLE, sf.EBIC(gamma=gamma, n_alphas=6), solver=sf.Newton(tol=TOL))
    n, p, is_clear = 100, 4, []
    columns = ("alpha", "ebic", "parameters", "null_edges")
    for alpha, value, n_parameters, null_edges in choice.table.select(columns).iter_rows():
        support, total, squares = sf.learn(TABLE, alpha, solver=sf.Newton(tol=TOL)).model.interactions != 0, 0.0, 0.0
        for i in range(p):
            log_likelihood, weights = regress(TABLE.codes[:, support[i]], TABLE.codes[:, i])
            total, squares = total + log_likelihood, squares + weights @ weights
        k = np.count_nonzero(np.triu(support))
        assert n_parameters == p + 2 * k
        is_clear.append(null_edges <= 0.1 * k or k == 0)
        cost = n_parameters * np.log(n) + 8 * gamma * k * np.log(p)
        # The prior of precision 0.01 takes half of it times the squared weights at most, and each of four regressions
        # ends where a step gains a thousandth of a nat; main effects have a precision of 1e-6.
        assert -1e-6 <= value - (-2 * total + cost) <= 2 * (0.01 / 2 * squares + p * 1e-3) + 1e-3
    # Of penalties with the same edges, and so with the same value, the smallest: its weights are shrunken least.
    values = np.where(is_clear, choice.table["ebic"].to_numpy(), np.inf)
    assert choice.index == max(np.flatnonzero(values == values.min()))
    assert choice.alpha == choice.table["alpha"][choice.index]
    assert f"has the least EBIC (gamma = {gamma:g})" in str(choice)
    assert "refitted variable by variable" in str(choice)


@pytest.mark.parametrize("table", [TABLE, make_rare()], ids=["two levels", "a level of one row"])
def test_held_out_likelihoods_are_those_of_a_plain_loop(table):
    choice = select(table, sf.HeldOut(n_alphas=6, cv=4), seed=3, solver=sf.Newton(tol=TOL))
    for alpha, k, value in choice.table.select("alpha", "parameters", "log_likelihood").iter_rows():
        fit = sf.learn(table, alpha, solver=sf.Newton(tol=TOL))
        assert k == table.domain.n_slots + edges_of(fit)
        # Log-likelihoods change with an interaction by alpha at the optimum, with those of 10 pairs of levels at most.
        assert value == pytest.approx(fit.model.log_prob(table.codes).mean(), abs=10 * alpha * OFF)
    values, allowed = np.empty((4, 6)), 0.0
    for k, part in enumerate(make_folds(100, 4, 3)):
        for m, alpha in enumerate(choice.table["alpha"]):
            model = sf.learn(table[part.fitted], alpha, solver=sf.Newton(tol=TOL)).model
            values[k, m] = model.log_prob(table.codes[part.held_out]).mean()
            # Both gradients have a norm of TOL at most: parameters differ by 2 TOL over the least curvature, and
            # log-likelihoods by that times the norm of a difference of frequencies.
            own = curvature(model)
            allowed = max(allowed, 2 * TOL / np.linalg.eigvalsh(own)[0] * np.sqrt(len(own)))
    assert allowed < 1e-3
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(4)
    np.testing.assert_allclose(choice.table["held_out"], mean, atol=allowed)
    np.testing.assert_allclose(choice.table["standard_error"], error, atol=allowed)
    assert (choice.table["simulation_error"] == 0).all()
    good = [m for m in range(6) if mean[m] >= mean.max() - error[mean.argmax()]]
    assert choice.index == good[0]
    assert "within one standard error" in str(choice)


def test_folds_hold_each_row_out_once():
    parts = make_folds(23, 5, 1)
    assert sorted(np.concatenate([part.held_out for part in parts])) == list(range(23))
    for part in parts:
        assert sorted(np.concatenate([part.held_out, part.fitted])) == list(range(23))
        assert len(part.held_out) in (4, 5)
    assert len({part.seed for part in parts}) == 5
    assert any((part.held_out != other.held_out).any() for part, other in zip(parts, make_folds(23, 5, 2), strict=True))


def test_instability_is_that_of_a_plain_loop():
    # Nearly all pairs have an edge at the last of these, so that subsamples agree again.
    alphas = [0.08, 0.06, 0.04, 0.02, 0.01, 1e-5]
    choice = select(TABLE, sf.StARS(alphas=alphas, n_subsamples=5, beta=0.2), seed=2)
    parts, largest, expected = make_subsamples(100, 5, 80, 2), 0.0, []
    for alpha in choice.table["alpha"]:
        found = [sf.learn(TABLE[part.fitted], alpha).model.interactions != 0 for part in parts]
        total = 0.0
        for i in range(4):
            for j in range(i):
                share = sum(bool(edges[i, j]) for edges in found) / 5
                total += 2 * share * (1 - share) / 6
        largest = max(largest, total)
        expected.append(largest)
    assert total < largest
    np.testing.assert_allclose(choice.table["instability"], expected, atol=1e-12)
    assert choice.index == max(m for m in range(6) if expected[m] <= 0.2)
    assert "as stable as asked for" in str(choice)


def test_subsamples_have_paths_that_begin_above_their_noise():
    table = make_independent(6, 4000)
    choice = select(table, sf.StARS(n_alphas=6, n_subsamples=4))
    assert choice.table["alpha"][0] == pytest.approx(null_alpha(Learner(read_rows(table), Options()), 632))
    assert choice.table["alpha"][0] > 2 * sf.selection.alpha_max(table)
    assert choice.table["instability"][0] <= 0.05 < choice.table["instability"][5]


@pytest.mark.parametrize(("n", "size"), [(100, 80), (144, 115), (145, 120), (4000, 632)])
def test_subsamples_have_the_sizes_of_the_paper(n, size):
    table = sf.encode(np.random.default_rng(1).integers(0, 2, (n, 2)))
    choice = select(table, sf.StARS(n_alphas=2, n_subsamples=2))
    assert f"2 subsamples of {size} rows" in str(choice)
    for part in make_subsamples(n, 3, size, 1):
        assert len(np.unique(part.fitted)) == size
        assert 0 <= part.fitted.min() <= part.fitted.max() < n


def test_weights_are_rows():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    rows = sf.Table(TABLE.domain, np.repeat(TABLE.codes, weights.astype(int), axis=0))
    alphas = [0.1, 0.05, 0.02]
    for rule in (sf.HeldOut(alphas=alphas), sf.StARS(n_subsamples=3, alphas=alphas)):
        assert_frame_equal(select(TABLE, rule, sample_weight=weights).table, select(rows, rule).table)
    options = {"rule": sf.EBIC(alphas=alphas), "solver": sf.Newton(tol=TOL)}
    own, other = select(TABLE, sample_weight=weights, **options), select(rows, **options)
    np.testing.assert_allclose(own.table["ebic"], other.table["ebic"], atol=6 * OFF)  # as above
    options["rule"] = sf.HeldOut(alphas=alphas)
    halves, plain = select(TABLE, sample_weight=np.full(100, 0.5), **options), select(TABLE, **options)
    np.testing.assert_allclose(halves.table["held_out"], plain.table["held_out"], atol=10 * OFF)  # 10 frequencies


@pytest.mark.parametrize("rule", [sf.HeldOut(cv=3, n_alphas=3), sf.StARS(n_subsamples=3, n_alphas=3)])
def test_choices_are_the_same_whoever_makes_them(rule):
    alone = select(TABLE, replace(rule, n_jobs=1), seed=5, **DRAWS)
    with joblib.parallel_config(backend="threading"):
        together = select(TABLE, replace(rule, n_jobs=2), seed=5, n_threads=2, **DRAWS)
    assert_frame_equal(alone.table, together.table, check_exact=True)
    assert str(alone) == str(together)


def test_a_choice_goes_on_where_it_was(tmp_path):
    told = []
    rule = sf.HeldOut(cv=3, n_alphas=3, checkpoint=tmp_path)
    options = {"seed": 1, "watch": lambda *own: told.append(own[:2])}
    first = select(TABLE, rule, **options)
    (tmp_path / "000002.npz").unlink()
    told.clear()
    again = select(TABLE, rule, **options)
    assert told == [(3, 4), (4, 4)]
    assert_frame_equal(first.table, again.table, check_exact=True)
    with pytest.raises(ValueError, match=r"parts is 3 parts \w+ there and 20 parts \w+ here"):
        select(TABLE, sf.StARS(n_alphas=3, checkpoint=tmp_path), **options)
    with pytest.raises(ValueError, match="data is"):
        select(make_table(4, 100, seed=2), replace(rule, alphas=list(first.table["alpha"])), **options)


def test_a_criterion_has_a_checkpoint_of_its_own(tmp_path):
    told = []
    first = select(TABLE, sf.EBIC(n_alphas=3, checkpoint=tmp_path))
    again = select(TABLE, sf.EBIC(n_alphas=3, checkpoint=tmp_path), watch=lambda *own: told.append(own[:2]))
    assert told == []  # no penalty was tried again
    assert_frame_equal(first.table, again.table)
    with pytest.raises(ValueError, match=r"gamma is 0\.25 there and 0\.5 here"):
        select(TABLE, sf.EBIC(gamma=0.5, n_alphas=3, checkpoint=tmp_path))


def test_draws_tell_their_error():
    held = select(make_table(8, 500), sf.HeldOut(cv=2, n_alphas=4), seed=1, **DRAWS)
    assert (held.table["simulation_error"][1:] > 0).all()


def test_fits_to_choose_from_have_gaps_that_rows_ask_for(monkeypatch):
    gaps = []
    monkeypatch.setattr(
        "sparsefield.selection.choices._row_subsets.path", lambda *_, **own: (gaps.append(own["gap"]), 1 / 0)
    )
    for n in (10, 100, 1000, 10_000):
        with pytest.raises(ZeroDivisionError):
            select(make_independent(5, n), sf.EBIC(alphas=[0.1]))
    assert gaps == [0.05, 5 / 800, 0.001, 0.001]


def test_independent_variables_have_no_edge_and_the_sentence_says_what_that_means():
    for rule, said in (
        (sf.EBIC(n_alphas=8), "Edges are not worth their parameters"),
        (sf.HeldOut(n_alphas=8), "Edges do not raise"),
        (sf.StARS(n_alphas=8), "No edges are as stable"),
    ):
        choice = select(make_independent(), rule)
        assert choice.table["edges"][choice.index] == 0
        assert "It leaves no edge." in str(choice)
        assert said in str(choice)
        assert "to tell." in str(choice)


def test_a_penalty_below_the_noise_is_said_to_be():
    noise = null_alpha(Learner(read_rows(TABLE), Options()))
    below, little = select(TABLE, sf.EBIC(alphas=[0.3 * noise])), select(TABLE, sf.EBIC(alphas=[0.99 * noise]))
    assert f"This alpha is below {noise:.2g}, the sampling error of the table" in str(below)
    assert "pairs of levels would have an edge" in str(below)
    assert "there would be an edge with a probability of up to 0.05" in str(little)
    above = select(TABLE, sf.EBIC(alphas=[1.01 * noise]))
    assert above.table["edges"][0] > 0
    assert "sampling error" not in str(above)


def test_the_end_of_a_path_is_said_to_be_one():
    table = make_table(8, 500)
    alphas = [sf.selection.alpha_max(table), sf.selection.alpha_max(table) / 2]
    choice = select(table, sf.EBIC(alphas=alphas))
    assert choice.alpha == alphas[1]
    assert "smaller ones may be better" in str(choice)
    unstable = select(make_independent(), sf.StARS(alphas=[0.01, 0.005], n_subsamples=4))
    assert unstable.index == 0
    assert "None has edges as stable as asked for" in str(unstable)


def test_variables_are_refitted_on_the_rows_that_show_them():
    codes = np.column_stack([TABLE.codes, np.random.default_rng(5).integers(0, 2, 100)]).astype(np.uint8)
    codes[::3, 4] = MISSING
    table = sf.Table(sf.Domain.binary(5), np.asfortranarray(codes))
    choice = select(table, sf.EBIC(alphas=[0.06]), solver=sf.Newton(tol=TOL))
    support = sf.learn(table, 0.06, solver=sf.Newton(tol=TOL)).model.interactions != 0
    assert support.any()
    assert not support[4].any()  # what is drawn for it tells nothing of others
    found = [regress(codes[:, support[i]], codes[:, i]) for i in range(4)]
    seen = codes[codes[:, 4] != MISSING, 4]
    total = sum(own for own, _ in found) + regress(np.zeros((len(seen), 0)), seen)[0]
    # As above: the prior, and what each of five regressions leaves.
    most = 0.01 / 2 * sum(weights @ weights for _, weights in found) + 5 * 1e-3
    assert -1e-6 <= total - 100 * choice.table["pseudo_log_likelihood"][0] <= most


@pytest.mark.parametrize(
    "rule", [sf.EBIC(n_alphas=6), sf.HeldOut(cv=3, n_alphas=6), sf.StARS(n_subsamples=3, n_alphas=6)]
)
def test_missing_values_are_no_obstacle(rule):
    truth = sf.datasets.make_chain(5, strength=(1.5, 2.0), seed=1)
    codes = truth.sample(1000, method="perfect", seed=1).codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.1] = MISSING
    choice = select(sf.Table(truth.domain, codes), rule)
    assert edges_at(choice) >= 4  # strong edges, each of which is 9 standard errors from none


def test_held_out_rows_with_missing_values_have_the_likelihood_of_their_observed_cells():
    codes = TABLE.codes.copy()
    codes[::7, 2] = MISSING
    codes[::5, 0] = MISSING
    table, alphas = sf.Table(TABLE.domain, codes), [0.1, 0.05, 0.02]
    choice = select(table, sf.HeldOut(cv=2, alphas=alphas), solver=sf.Newton(tol=TOL))
    values = np.zeros((2, 3))
    for k, part in enumerate(make_folds(100, 2, 0)):
        for m, alpha in enumerate(alphas):
            model = sf.learn(table[part.fitted], alpha, solver=sf.Newton(tol=TOL)).model
            states, law, _ = naive.distribution([2] * 4, [0] * 4, model.main, model.interactions)
            values[k, m] = np.mean([np.log(sum_agreeing(row, states, law)) for row in codes[part.held_out]])
    # Parameters are OFF apart, of 10 statistics; what each step of the integral leaves is 1 / 60 of 1 / (2 n).
    np.testing.assert_allclose(choice.table["held_out"], values.mean(axis=0), atol=10 * OFF + 3 / 60 / 100)


def test_folds_can_be_given():
    folds = [(np.arange(50, 100), np.arange(50)), (np.arange(50), np.arange(50, 100))]
    rule = sf.HeldOut(cv=folds, alphas=[0.1, 0.05])
    choice = select(TABLE, rule, solver=sf.Newton(tol=TOL))
    for m, alpha in enumerate(choice.table["alpha"]):
        held = [
            sf.learn(TABLE[own], alpha, solver=sf.Newton(tol=TOL)).model.log_prob(TABLE.codes[out]).mean()
            for own, out in folds
        ]
        assert choice.table["held_out"][m] == pytest.approx(np.mean(held), abs=10 * OFF)
    with pytest.raises(ValueError, match=r"cv makes 1 fold: a standard error takes two"):
        select(TABLE, replace(rule, cv=folds[:1]))


def test_penalties_that_noise_explains_are_passed_over():
    table = make_independent(15, 40, seed=7)
    choice = select(table)
    assert choice.table["edges"][choice.index] == 0
    assert choice.table["edges"][choice.table["ebic"].arg_min()] > 0
    assert "could explain more than 10% of edges there" in str(choice)
    learner = Learner(read_rows(table), Options())
    for alpha, null_edges in choice.table.select("alpha", "null_edges").iter_rows():
        assert null_edges == pytest.approx(count_null_edges(learner, alpha))


def test_independent_variables_get_edges_as_seldom_as_promised():
    # A tenth at most, where noise explains a tenth of the edges (Benjamini and Hochberg 1995).
    n_tables = 60
    n_wrong = sum(
        edges_at(select(make_independent(15, 40, seed), sf.EBIC(n_alphas=10))) > 0 for seed in range(n_tables)
    )
    assert stats.binom.sf(n_wrong - 1, n_tables, 0.1) > FALSE_ALARM


def edges_at(choice):
    return choice.table["edges"][choice.index]


def test_a_penalty_that_noise_rules_out_is_not_said_to_be_the_best():
    table = make_independent(8)
    choice = select(table, sf.EBIC(alphas=[0.003, 0.002, 0.001]))
    share = choice.table["null_edges"] / choice.table["parameters"]  # of more parameters than edges
    assert (share > 0.1).all()
    assert choice.alpha == 0.003
    assert str(choice).startswith(
        "alpha = 0.003 is the largest of 3 penalties: chance alone could explain more than 10%"
    )
    assert "the least" not in str(choice)
    assert "of one penalty:" in str(select(table, sf.EBIC(alphas=[0.003])))


def test_of_penalties_with_the_same_edges_the_smallest_is_chosen():
    # One pair, whose weight log 16 every penalty below alpha_max shrinks, the smallest ones least.
    table = sf.encode(np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [400, 100, 100, 400], axis=0))
    choice = select(table)
    is_clear = choice.table["null_edges"].to_numpy() <= 0.1
    assert np.ptp(choice.table["ebic"].to_numpy()[1:]) == 0
    assert choice.alpha == choice.table["alpha"].to_numpy()[is_clear].min()
    # The frequencies of equal values are 0.4 less alpha then, by the conditions of the optimum.
    short = 0.8 - 2 * choice.alpha
    weight = sf.learn(table, solver=sf.Newton(tol=TOL), alpha=choice.alpha).model.interactions[0, 1]
    assert weight == pytest.approx(2 * np.log(short / (1 - short)), abs=OFF)
    assert weight > 0.8 * np.log(16)


def test_regressions_count_their_main_effects_also_where_fits_penalise_them():
    table = sf.encode(np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [400, 100, 100, 400], axis=0))
    most = sf.selection.alpha_max(table, penalize_main=True)
    choice = select(table, sf.EBIC(alphas=[2 * most, 1.1 * most, 0.1], gamma=0), penalize_main=True)
    values = 1000 * np.array([-2 * np.log(2), -2 * np.log(2), 2 * (0.8 * np.log(0.8) + 0.2 * np.log(0.2))])
    # An intercept of each regression, and a weight at both ends of the edge.
    assert choice.table["parameters"].to_list() == [2, 2, 4]
    # With their prior, log-likelihoods are below the largest by no more than it: 0.01 log(16)^2 / 2 = 0.04 at each end.
    assert choice.table["ebic"].to_numpy() == pytest.approx(-2 * values + np.array([2, 2, 4]) * np.log(1000), abs=0.16)


def test_folds_that_are_given_are_of_the_rows_as_they_are_and_weights_go_along():
    halves, options = (np.arange(50), np.arange(50, 100)), {"solver": sf.Newton(tol=TOL)}
    own = sf.HeldOut(cv=[halves, halves[::-1]], alphas=[0.1, 0.05])
    twice = tuple(np.repeat(2 * half, 2) + np.tile([0, 1], 50) for half in halves)
    found = select(TABLE, own, sample_weight=np.full(100, 2.0), **options)
    rows = TABLE[np.repeat(np.arange(100), 2)]
    other = select(rows, replace(own, cv=[twice, twice[::-1]]), **options)
    np.testing.assert_allclose(found.table["held_out"], other.table["held_out"], atol=10 * OFF)


def test_variables_that_no_row_shows_together_have_a_choice():
    codes = TABLE.codes[:, :2].copy()
    codes[:50, 0] = MISSING
    codes[50:, 1] = MISSING
    choice = select(sf.Table(sf.Domain.binary(2), np.asfortranarray(codes)))
    assert edges_at(choice) == 0
    assert choice.alpha > 0.01  # a standard error of a frequency, and no rounding


def test_levels_that_no_row_shows_have_a_choice_where_main_effects_are_penalised():
    ones = sf.Table(sf.Domain.binary(3), np.ones((50, 3), dtype=np.uint8))
    choice = select(ones, sf.EBIC(n_alphas=3), penalize_main=True)
    assert choice.alpha == pytest.approx(sf.selection.alpha_max(ones, penalize_main=True), abs=1e-3)
    assert edges_at(choice) == 0


@pytest.mark.parametrize(("missing", "penalize_main"), [(0.1, False), (0.0, True)])
def test_the_first_penalty_leaves_no_edge(missing, penalize_main):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        codes = (rng.random((200, 6)) < 0.4).astype(np.uint8)
        codes[rng.random(codes.shape) < missing] = MISSING
        table = sf.Table(sf.Domain.binary(6), np.asfortranarray(codes))
        choice = select(table, sf.EBIC(n_alphas=3), penalize_main=penalize_main)
        assert choice.table["edges"][0] == 0
        assert choice.table["alpha"][0] == pytest.approx(
            sf.selection.alpha_max(table, penalize_main=penalize_main), abs=1e-3
        )


def test_noise_of_many_pairs_is_a_plain_number():
    said = str(select(make_independent(40), sf.EBIC(alphas=[0.01])))
    n_pairs = 780 * 2 * stats.norm.sf(0.01, scale=0.25 / np.sqrt(300))
    found = re.search(r"about (\d+) pairs of levels", said)
    assert found is not None, said
    # Frequencies of 300 rows are within 0.15 of one half, five standard errors, and errors within 10% of 0.25.
    assert float(found[1]) == pytest.approx(n_pairs, rel=0.1)


def test_penalties_that_are_given_and_not_tried_are_not_said_to_leave_no_edge():
    choice = select(TABLE, sf.EBIC(alphas=[0.01, 0.02]), max_seconds=0)
    assert choice.alpha == 0.02
    assert "is the largest penalty that was given. There was no time" in str(choice)


def test_time_ends_a_choice_with_what_there_is(monkeypatch):
    none = select(TABLE, max_seconds=0.0)
    assert none.alpha == pytest.approx(sf.selection.alpha_max(TABLE))
    assert "no time to try others" in str(none)
    clock = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr("sparsefield._deadline.time.perf_counter", lambda: next(clock))
    some = select(make_table(8, 500), max_seconds=20.0)
    assert 0 < len(some.table) < 30
    assert f"There was time for {len(some.table)} of 30 penalties" in str(some)


@pytest.mark.parametrize(
    ("rule", "options", "said"),
    [
        ("best", {}, "rule is 'best': use 'ebic', 'cv' or 'stars', or a rule of a path, such as EBIC"),
        (sf.EBIC(gamma=1.5), {}, "gamma is 1.5"),
        (sf.StARS(beta=0.5), {}, "beta is 0.5"),
        (sf.StARS(n_subsamples=1), {}, "n_subsamples is 1: use a whole number from 2 on"),
        (sf.HeldOut(cv=101), {}, "cv is 101: use a whole number from 2 to 100, the number of rows"),
        (sf.HeldOut(cv=1), {}, "cv is 1"),
        (
            sf.HeldOut(cv="five"),
            {},
            "cv is 'five': use a whole number, a splitter, or a list of pairs of indices of rows",
        ),
        (sf.HeldOut(), {"max_seconds": 1.0}, r"max_seconds is for EBIC\(\) without a checkpoint"),
        (sf.EBIC(alphas=[-1.0]), {}, "alphas are"),
        (sf.EBIC(), {"objective": "guess"}, "objective is 'guess': use 'likelihood' or 'pseudolikelihood'"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(rule, options, said):
    with pytest.raises(ValueError, match=said):
        select(TABLE, rule, **options)


def test_words_name_rules():
    for word, rule in (("ebic", sf.EBIC()), ("cv", sf.HeldOut()), ("stars", sf.StARS())):
        assert make_rule(word) == rule
        assert make_rule(rule) is rule
    assert_frame_equal(select(TABLE, "ebic").table, select(TABLE).table)


def test_likelihoods_out_of_reach_are_refused(monkeypatch):
    rule = sf.HeldOut(cv=2, n_alphas=3)
    original, seen = Likelihoods.of, []
    monkeypatch.setattr(Likelihoods, "of", lambda *_: None)
    with pytest.raises(ValueError, match=r"log-likelihood of the fits is out of reach: use EBIC\(\) or StARS\(\)"):
        select(TABLE, rule)

    def know_two(*words):
        seen.append(words)
        return original(*words) if len(seen) % 3 else None  # of three fits of the table, and of each fold

    monkeypatch.setattr(Likelihoods, "of", know_two)
    choice = select(TABLE, rule)
    assert len(choice.table) == 2
    assert "The log-likelihood of 1 smaller penalties is out of reach: they were not compared" in str(choice)


def test_the_pseudo_likelihood_has_choices_too():
    choice = select(TABLE, sf.StARS(n_alphas=4, n_subsamples=3), objective="pseudolikelihood")
    found = sf.path(TABLE, list(choice.table["alpha"]), objective="pseudolikelihood")
    assert choice.table["edges"].to_list() == found.table["edges"].to_list()
    assert isinstance(choice.table, pl.DataFrame)
    assert theta_of(found.fits[choice.index]).shape == (4, 4)


def test_the_time_that_is_left_leaves_out_what_compiling_took(monkeypatch):
    """Fits that end at 30, 54, 58 and 62 s, of which the first 30 and 20 between the first two were compiling."""
    ends, compiled = iter([30.0, 54.0, 58.0, 62.0]), iter([30.0, 50.0, 50.0, 50.0])
    monkeypatch.setattr(_path_rule.time, "perf_counter", lambda: next(ends))
    monkeypatch.setattr(_path_rule, "seconds_compiling", lambda: next(compiled))
    left = []
    tell = _path_rule._watch_fits(lambda n_done, n_all, seconds: left.append((n_done, n_all, seconds)))
    for n_done in range(1, 5):
        tell(n_done, 30, None)
    assert left == [(1, 30, None), (2, 30, 4.0 * 28), (3, 30, 4.0 * 27), (4, 30, 4.0 * 26)]
