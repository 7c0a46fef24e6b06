"""The choice of a penalty: criteria against hand computation, and sentences that say what it means."""

import joblib
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import exact_chains
import sparsefield as sf
from noise import curvature
from problems import make_table, theta_of
from sparsefield.data import MISSING
from sparsefield.gradients import BestDraws
from sparsefield.selection import select
from sparsefield.selection._noise import count_noise, edge_of_noise
from sparsefield.selection._parts import make_folds, make_subsamples
from sparsefield.solvers import Learner, Options
from statistics_ import FALSE_ALARM

TABLE = make_table(4, 100)
TOL = 1e-8
OFF = (
    1e-5  # in each parameter, where the gradients of two fits have norms of TOL at most and no curvature is below 2e-3
)
# On all states nothing is random but rows; these are drawn.
DRAWS = {"schedule": BestDraws(max_states=0), "gap": 0.02}


def make_rare():
    """Return a table in which one row alone has the level 2 of a variable."""
    codes = TABLE.codes.copy()
    codes[17, 0] = 2
    domain = sf.Domain(TABLE.domain.names, ((0, 1, 2), *TABLE.domain.levels[1:]), (0, 0, 0, 0))
    return sf.Table(domain, codes)


def make_independent(p=5, n=300, seed=1):
    return sf.encode(np.random.default_rng(seed).integers(0, 2, (n, p)))


def edges_of(fit):
    return int(np.count_nonzero(np.triu(fit.model.interactions)))


@pytest.mark.parametrize(("kind", "gamma"), [("ebic", 0.25), ("ebic", 1.0), ("bic", 0.25), ("aic", 0.25)])
def test_information_criteria_are_those_of_supports_without_a_penalty(kind, gamma):
    choice = select(TABLE, criterion=kind, gamma=gamma, n_alphas=6, tol=TOL)
    pair, n, p = sf.moments_of_table(TABLE).pair, 100, 4
    expected = []
    for alpha in choice.table["alpha"]:
        support = sf.learn(TABLE, alpha, tol=TOL).model.interactions != 0
        penalty = np.where(support, 1 / (2 * n), 2.0)  # outside the support more than a frequency can be missed by
        np.fill_diagonal(penalty, 0.0)
        theta, _ = exact_chains.penalised_optimum(pair, penalty)
        law = exact_chains.probabilities(np.diagonal(theta), theta - np.diag(np.diagonal(theta)))
        which = TABLE.codes @ 2 ** np.arange(p)
        states = exact_chains.states(p) @ 2 ** np.arange(p)
        log_likelihood = np.log(law[np.argsort(states)][which]).sum()
        k = np.count_nonzero(np.triu(support))
        cost = {"aic": 2 * (p + k), "bic": (p + k) * np.log(n), "ebic": (p + k) * np.log(n) + 4 * gamma * k * np.log(p)}
        expected.append(-2 * log_likelihood + cost[kind])
    # At the optimum the log-likelihood of a row changes with an interaction by what that pays, 1 / (2 n); criteria are
    # 2 n of them, of 6 interactions.
    np.testing.assert_allclose(choice.table[kind], expected, atol=6 * OFF)
    assert choice.index == np.argmin(expected)
    assert choice.alpha == choice.table["alpha"][choice.index]
    assert f"has the least {kind.upper()}" in str(choice)


def test_criteria_of_shrunken_fits_are_those_of_the_fits():
    choice = select(TABLE, criterion="bic", refit="none", n_alphas=5, tol=TOL)
    for alpha, k, value in choice.table.select("alpha", "parameters", "bic").iter_rows():
        fit = sf.learn(TABLE, alpha, tol=TOL)
        assert k == 4 + edges_of(fit)
        expected = -2 * fit.model.log_prob(TABLE.codes).sum() + k * np.log(100)
        assert value == pytest.approx(expected, abs=2 * 100 * alpha * 6 * OFF)  # as above, with another penalty


@pytest.mark.parametrize("table", [TABLE, make_rare()], ids=["two levels", "a level of one row"])
def test_held_out_likelihoods_are_those_of_a_plain_loop(table):
    choice = select(table, criterion="cv", n_alphas=6, n_folds=4, seed=3, tol=TOL)
    values, allowed = np.empty((4, 6)), 0.0
    for k, part in enumerate(make_folds(100, 4, 3)):
        for m, alpha in enumerate(choice.table["alpha"]):
            model = sf.learn(table[part.fitted], alpha, tol=TOL).model
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
    choice = select(TABLE, criterion="stars", alphas=alphas, n_subsamples=5, beta=0.2, seed=2)
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
    choice = select(table, criterion="stars", n_alphas=6, n_subsamples=4)
    assert choice.table["alpha"][0] == pytest.approx(edge_of_noise(Learner(table, Options()), 632))
    assert choice.table["alpha"][0] > 2 * sf.alpha_max(table)
    assert choice.table["instability"][0] <= 0.05 < choice.table["instability"][5]


@pytest.mark.parametrize(("n", "size"), [(100, 80), (144, 115), (145, 120), (4000, 632)])
def test_subsamples_have_the_sizes_of_the_paper(n, size):
    table = sf.encode(np.random.default_rng(1).integers(0, 2, (n, 2)))
    choice = select(table, criterion="stars", n_alphas=2, n_subsamples=2)
    assert f"2 subsamples of {size} rows" in str(choice)
    for part in make_subsamples(n, 3, size, 1):
        assert len(np.unique(part.fitted)) == size
        assert 0 <= part.fitted.min() <= part.fitted.max() < n


def test_weights_are_rows():
    weights = np.random.default_rng(1).integers(0, 3, len(TABLE)).astype(float)
    rows = sf.Table(TABLE.domain, np.repeat(TABLE.codes, weights.astype(int), axis=0))
    for criterion in ("cv", "stars"):
        options = {"criterion": criterion, "alphas": [0.1, 0.05, 0.02], "n_subsamples": 3}
        assert_frame_equal(select(TABLE, sample_weight=weights, **options).table, select(rows, **options).table)
    options = {"alphas": [0.1, 0.05, 0.02], "tol": TOL}
    own, other = select(TABLE, sample_weight=weights, **options), select(rows, **options)
    np.testing.assert_allclose(own.table["ebic"], other.table["ebic"], atol=6 * OFF)  # as above
    halves = select(TABLE, criterion="cv", sample_weight=np.full(100, 0.5), **options)
    plain = select(TABLE, criterion="cv", **options)
    np.testing.assert_allclose(halves.table["held_out"], plain.table["held_out"], atol=10 * OFF)  # 10 frequencies


@pytest.mark.parametrize("criterion", ["cv", "stars"])
def test_choices_are_the_same_whoever_makes_them(criterion):
    options = {"criterion": criterion, "n_alphas": 3, "n_folds": 3, "n_subsamples": 3, "seed": 5, **DRAWS}
    alone = select(TABLE, **options, n_jobs=1)
    with joblib.parallel_config(backend="threading"):
        together = select(TABLE, **options, n_jobs=2, n_threads=2)
    assert_frame_equal(alone.table, together.table, check_exact=True)
    assert str(alone) == str(together)


def test_a_choice_goes_on_where_it_was(tmp_path):
    told = []
    options = {
        "n_alphas": 3,
        "n_folds": 3,
        "seed": 1,
        "checkpoint": tmp_path,
        "watch": lambda *own: told.append(own[:2]),
    }
    first = select(TABLE, criterion="cv", **options)
    (tmp_path / "000002.npz").unlink()
    told.clear()
    again = select(TABLE, criterion="cv", **options)
    assert told == [(3, 4), (4, 4)]
    assert_frame_equal(first.table, again.table, check_exact=True)
    with pytest.raises(ValueError, match="parts is folds there and subsamples here"):
        select(TABLE, criterion="stars", **options)
    with pytest.raises(ValueError, match="data is"):
        select(make_table(4, 100, seed=2), criterion="cv", alphas=list(first.table["alpha"]), **options)


def test_criteria_of_one_path_share_a_checkpoint(tmp_path):
    told = []
    select(TABLE, criterion="ebic", n_alphas=3, checkpoint=tmp_path)
    select(TABLE, criterion="bic", n_alphas=3, checkpoint=tmp_path, watch=lambda *own: told.append(own[:2]))
    assert told == [(1, 1)]


def test_draws_tell_their_error():
    choice = select(make_table(8, 500), n_alphas=4, seed=1, **DRAWS)
    exact = select(make_table(8, 500), alphas=choice.table["alpha"], seed=1)
    assert (choice.table["standard_error"][1:] > 0).all()
    assert (exact.table["standard_error"] == 0).all()
    held = select(make_table(8, 500), criterion="cv", n_folds=2, n_alphas=4, seed=1, **DRAWS)
    assert (held.table["simulation_error"][1:] > 0).all()


def test_what_simulation_error_leaves_open_is_said():
    rough, exact = (select(make_table(8, 500), n_alphas=10, seed=1, **own) for own in (DRAWS, {}))
    values, errors, edges = (rough.table[name].to_numpy() for name in ("ebic", "standard_error", "edges"))
    near = [
        k
        for k in range(10)
        if edges[k] != edges[rough.index]
        and values[k] - values.min() < np.sqrt(errors[k] ** 2 + errors[rough.index] ** 2)
    ]
    assert near == [exact.index]  # on all states, another one is best
    assert "by simulation error, 1 of the others could have less" in str(rough)
    assert "simulation error" not in str(exact)


def test_fits_to_choose_from_have_gaps_that_rows_ask_for(monkeypatch):
    gaps = []
    monkeypatch.setattr("sparsefield.selection._parts.path", lambda *_, **own: (gaps.append(own["gap"]), 1 / 0))
    for n in (10, 100, 1000, 10_000):
        with pytest.raises(ZeroDivisionError):
            select(make_independent(5, n), alphas=[0.1])
    assert gaps == [0.05, 5 / 800, 0.001, 0.001]


def test_independent_variables_have_no_edge_and_the_sentence_says_what_that_means():
    means = {"ebic": "no edge is worth its parameters", "cv": "Edges do not raise", "stars": "No edges are as stable"}
    for criterion, said in means.items():
        choice = select(make_independent(), criterion=criterion, n_alphas=8)
        assert choice.table["edges"][choice.index] == 0
        assert "It leaves no edge." in str(choice)
        assert said in str(choice)
        assert "to tell." in str(choice)


def test_a_penalty_below_the_noise_is_said_to_be():
    noise = edge_of_noise(Learner(TABLE, Options()))
    below, little = select(TABLE, alphas=[0.3 * noise]), select(TABLE, alphas=[0.99 * noise])
    assert f"This alpha is below {noise:.2g}, the noise of the table" in str(below)
    assert "pairs of levels would have an edge" in str(below)
    assert "there would be an edge with a probability of up to 0.05" in str(little)
    above = select(TABLE, alphas=[1.01 * noise])
    assert above.table["edges"][0] > 0
    assert "noise" not in str(above)


def test_the_end_of_a_path_is_said_to_be_one():
    alphas = [sf.alpha_max(TABLE), sf.alpha_max(TABLE) / 2]
    choice = select(TABLE, criterion="aic", alphas=alphas)
    assert choice.alpha == alphas[1]
    assert "smaller ones may be better" in str(choice)
    unstable = select(make_independent(), criterion="stars", alphas=[0.01, 0.005], n_subsamples=4)
    assert unstable.index == 0
    assert "None has edges as stable as asked for" in str(unstable)


def test_noise_makes_edges_among_independent_variables_as_often_as_promised():
    n_tables, n_above = 500, 0
    for seed in range(n_tables):
        table = make_independent(6, 400, seed)
        n_above += sf.alpha_max(table) > edge_of_noise(Learner(table, Options()))
    # Bonferroni's inequality is an upper bound, and nearly sharp: pairs are independent two by two, which takes 15 * 14
    # / 2 times (0.05 / 15)^2 from the rate at most. What is left to 0.04 is for counts that are not quite normal.
    assert stats.binom.cdf(n_above, n_tables, 0.04) > FALSE_ALARM
    assert stats.binom.sf(n_above - 1, n_tables, 0.05) > FALSE_ALARM


def test_pairs_that_noise_makes_are_counted():
    table = sf.encode([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    learner = Learner(table, Options())
    assert count_noise(learner, 0.05) == pytest.approx(2 * stats.norm.sf(0.05, scale=0.25 / 10))
    assert edge_of_noise(learner) == pytest.approx(stats.norm.isf(0.025, scale=0.25 / 10))
    rare = sf.encode(
        np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]] * 25) + [0, 0, 1] * (np.arange(100) == 7)[:, None]
    )
    risk = count_noise(Learner(rare, Options()), edge_of_noise(Learner(rare, Options())))
    assert risk == pytest.approx(0.05)  # of pairs with errors of their own
    # A quarter of the rows has twice the noise.
    assert edge_of_noise(learner, 25) == pytest.approx(2 * edge_of_noise(learner))


def test_missing_values_are_refused_where_likelihoods_are_needed():
    codes = TABLE.codes.copy()
    codes[::9, 2] = MISSING
    table = sf.Table(TABLE.domain, codes)
    for criterion in ("ebic", "cv"):
        with pytest.raises(
            sf.TableError, match="likelihood of rows with missing values is not known: use criterion='st"
        ):
            select(table, criterion=criterion)
        assert select(table, criterion=criterion, n_alphas=3, missing="drop").alpha > 0
    stable = select(table, criterion="stars", n_alphas=3, n_subsamples=2)
    assert stable.table["log_likelihood"].null_count() == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"criterion": "best"}, "criterion is 'best': use 'ebic', 'bic', 'aic', 'cv' or 'stars'"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"criterion": "stars", "beta": 0.5}, "beta is 0.5"),
        ({"criterion": "stars", "n_subsamples": 1}, "n_subsamples is 1: use a whole number from 2 on"),
        ({"criterion": "cv", "n_folds": 101}, "n_folds is 101: use a whole number from 2 to 100, the number of rows"),
        ({"criterion": "cv", "n_folds": 1}, "n_folds is 1"),
        ({"refit": "no"}, "refit is 'no'"),
        ({"max_seconds": 1.0}, "max_seconds is not for a choice"),
        ({"alphas": [-1.0]}, "alphas are"),
        ({"objective": "guess"}, "objective is 'guess': use 'likelihood' or 'pseudolikelihood'"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        select(TABLE, **options)


def test_likelihoods_out_of_reach_are_refused(monkeypatch):
    monkeypatch.setattr("sparsefield.selection._path.Likelihoods.of", lambda *_: None)
    with pytest.raises(ValueError, match="log-likelihood of 3 fits is out of reach: use criterion='stars'"):
        select(TABLE, n_alphas=3, refit="none")


def test_the_pseudo_likelihood_has_choices_too():
    choice = select(TABLE, criterion="stars", objective="pseudolikelihood", n_alphas=4, n_subsamples=3)
    found = sf.path(TABLE, list(choice.table["alpha"]), objective="pseudolikelihood")
    assert choice.table["edges"].to_list() == found.table["edges"].to_list()
    assert isinstance(choice.table, pl.DataFrame)
    assert theta_of(found.fits[choice.index]).shape == (4, 4)
