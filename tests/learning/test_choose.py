"""Fits whose penalty is chosen, and what is said of one that is given."""

import re

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.fitting import Learner, Options
from sparsefield.selection import select
from sparsefield.selection.choices._null_edges import count_null_edges, null_alpha
from sparsefield.tables import read_rows
from support.problems import make_table, theta_of
from support.statistics_ import FALSE_ALARM

TABLE = make_table(6, 600)


def test_a_fit_has_the_penalty_that_is_chosen():
    fit, choice = sf.learn(TABLE, penalty="l1", seed=3), select(TABLE, penalty="l1", seed=3)
    assert fit.alpha == choice.alpha
    assert fit.settings["choice"] == str(choice)
    alone = sf.learn(TABLE, choice.alpha, penalty="l1", seed=3)
    np.testing.assert_array_equal(theta_of(fit), theta_of(alone))
    assert "choice" not in alone.settings


def test_a_choice_does_not_depend_on_how_the_fit_is_asked_for():
    chosen = {
        sf.learn(TABLE, seed=1, **own).alpha
        for own in (
            {},
            {"gap": 0.1},
            {"solver": sf.Proximal(max_iter=3)},
            {"solver": sf.Newton(tol=1e-2)},
            {"n_threads": 1},
        )
    }
    assert len(chosen) == 1


def test_relabelling_and_shuffled_columns_change_no_choice():
    order = np.random.default_rng(1).permutation(6)
    codes = TABLE.codes[:, order].copy()
    codes[:, ::2] = 1 - codes[:, ::2]
    # Edges and penalties are the same, but for the last bits of sums in another order.
    other = select(sf.encode(codes))
    own = select(TABLE)
    assert other.alpha == pytest.approx(own.alpha)
    assert other.table["edges"].to_list() == own.table["edges"].to_list()
    np.testing.assert_allclose(other.table["ebic"], own.table["ebic"], atol=2 * 6 * 1e-3)  # what regressions leave


def test_with_missing_cells_it_is_said_that_alpha_counts_all_rows():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 2000)
    second = np.where(rng.random(2000) < 0.9, first, 1 - first)
    codes = np.column_stack([first, second]).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.6] = 255
    both = codes[(codes != 255).all(axis=1)].astype(float)
    covariance, share = np.cov(both.T, bias=True)[0, 1], len(both) / len(codes)
    assert covariance * share < 0.05 < covariance
    said = str(sf.learn(sf.Table(sf.Domain.binary(2), codes), 0.05).status)
    assert "times the share of rows that show both: with missing cells alpha is in units of all rows" in said


def test_a_penalty_that_leaves_no_edge_is_said_to():
    most = sf.selection.alpha_max(TABLE)
    assert f"There is no edge: no pair of levels is by more than alpha = {2 * most:.3g}" in str(
        sf.learn(TABLE, 2 * most).status
    )
    assert f"That takes an alpha below {most:.3g}" in str(sf.learn(TABLE, 2 * most).status)
    assert "units of all rows" not in str(sf.learn(TABLE, 2 * most).status)
    penalised = sf.selection.alpha_max(TABLE, penalize_main=True)
    said = str(sf.learn(TABLE, 2 * penalised, penalize_main=True).status)
    assert f"There is no edge: that takes an alpha below {penalised:.3g}" in said
    assert "no edge" not in str(sf.learn(TABLE, 0.9 * most).status)


def test_a_penalty_below_the_noise_is_said_to_be():
    noise = null_alpha(Learner(read_rows(TABLE), Options()))
    said = f"This alpha is below {noise:.2g}, the sampling error of the table"
    assert said in str(sf.learn(TABLE, 0.5 * noise).status)
    assert "sampling error of the table" not in str(sf.learn(TABLE, 1.1 * noise).status)
    assert "sampling error of the table" not in str(sf.learn(TABLE, 0.5 * noise, penalize_main=True).status)


@pytest.mark.parametrize("share", [0.5, 0.99, 0.999, 1 - 1e-9])
def test_a_penalty_and_the_noise_above_it_can_be_told_apart(share):
    noise = null_alpha(Learner(read_rows(TABLE), Options()))
    alpha = share * noise
    said = str(sf.learn(TABLE, alpha).status)
    own, above = re.search(r"This alpha(?:, (\S+),)? is below (\S+), the sampling error", said).groups()
    assert float(own or f"{alpha:.3g}") < float(above)


def test_noise_of_pairs_is_that_of_the_rows_that_show_both():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 100, dtype=np.uint8)
    whole = Learner(read_rows(sf.encode(codes)), Options())
    codes[::4, 0] = MISSING
    codes[1::4, 1] = MISSING
    # Half of the rows show both.
    half = Learner(read_rows(sf.Table(sf.Domain.binary(2), np.asfortranarray(codes))), Options())
    means = [2 / 3, 2 / 3]
    variance = np.prod([q * (1 - q) for q in means]) * 0.5 / 400
    assert count_null_edges(half, np.sqrt(variance)) == pytest.approx(0.3173, abs=1e-4)  # one standard error
    assert null_alpha(half) < null_alpha(whole)


def test_incomplete_independent_tables_have_noise_as_often_as_promised():
    n_tables, n_above = 200, 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 2, (300, 4)).astype(np.uint8)
        codes[rng.random(codes.shape) < 0.3] = MISSING
        learner = Learner(read_rows(sf.Table(sf.Domain.binary(4), np.asfortranarray(codes))), Options())
        n_above += sf.selection.alpha_max(learner.table) > null_alpha(learner)
    # At most 0.05, by Bonferroni's inequality.
    assert stats.binom.sf(n_above - 1, n_tables, 0.05) > FALSE_ALARM


def test_time_is_shared_by_the_choice_and_the_fit():
    fit = sf.learn(TABLE, max_seconds=0.0)
    assert fit.model.n_edges == 0
    assert "no time to look for edges" in fit.settings["choice"]
    fit = sf.learn(TABLE, penalty="l1", max_seconds=0.0)
    assert fit.alpha == pytest.approx(sf.selection.alpha_max(TABLE))
    assert fit.status.code == "max_seconds"
    assert "no time to try others" in fit.settings["choice"]


def test_missing_cells_and_resamples_of_the_pseudo_likelihood_do_not_go_together():
    codes = TABLE.codes.copy()
    codes[3, 2] = MISSING
    table = sf.Table(TABLE.domain, codes)
    with pytest.raises(sf.TableError, match=r"1 missing value, most in column 'x2'.*set missing to 'drop'"):
        sf.resampling.bootstrap(table, alpha=0.1, n=2, objective="pseudolikelihood")
    sf.resampling.bootstrap(table, alpha=0.1, n=2, objective="pseudolikelihood", missing="drop")


def test_choices_with_missing_cells_do_not_depend_on_the_seed():
    """Edges of fits on draws came and went: paths stood still for eight penalties, and seeds chose 16 to 22 edges."""
    truth = sf.datasets.make_field(24, degree=4, strength=(0.3, 0.8), seed=3)
    x = np.asarray(truth.sample(600, method="perfect", seed=3)).astype(float)
    x[np.random.default_rng(1).random(x.shape) < 0.05] = np.nan
    first, *others = (select(x, seed=seed) for seed in range(3))
    edges = first.table["edges"].to_list()
    for other in others:
        assert (other.alpha, other.n_edges, other.table["edges"].to_list()) == (first.alpha, first.n_edges, edges)
    assert first.n_edges > 10
    assert max(edges.count(n) for n in set(edges)) <= 6


def test_weights_that_are_shares_count_rows():
    shares = np.full(len(TABLE), 1 / len(TABLE))
    own, other = select(TABLE, sample_weight=shares), select(TABLE)
    assert own.alpha == pytest.approx(other.alpha)
    np.testing.assert_allclose(own.table["null_edges"], other.table["null_edges"])


def test_copies_of_rows_with_weights_that_say_so_count_once():
    """As sequences that are alike do: a choice must not take them for so many rows."""
    rows = TABLE[:100]
    copies = sf.Table(rows.domain, np.asfortranarray(np.repeat(rows.codes, 10, axis=0)))
    own, other = select(copies, sample_weight=np.full(1000, 0.1)), select(rows)
    assert own.alpha == pytest.approx(other.alpha)
    np.testing.assert_allclose(own.table["null_edges"], other.table["null_edges"])
