"""Fits of tables that are counted part by part: those of the same table in memory."""

import numpy as np
import polars as pl
import pytest

import sparsefield as sf

ALPHA = 0.03


@pytest.fixture(scope="module")
def rows():
    return sf.datasets.make_field(8, strength=(0.6, 1.2), seed=3).sample(4000, method="perfect", seed=1).to_frame()


@pytest.fixture
def folder(rows, tmp_path, cut_tables):
    """Return a folder that counts as too large, whose sample is a part of its rows."""
    cut_tables(folder=1000, batch=300, sample=500)
    for k in range(4):
        rows[1000 * k : 1000 * (k + 1)].write_parquet(tmp_path / f"{k}.parquet")
    return tmp_path


def check_same_bits(one, other):
    np.testing.assert_array_equal(one.model.main, other.model.main)
    np.testing.assert_array_equal(one.model.interactions, other.model.interactions)
    assert one.status == other.status


@pytest.mark.parametrize("options", [{}, {"solver": sf.Proximal(max_iter=20)}, {"certify": True}])
def test_a_fit_from_counts_is_that_of_the_table(rows, folder, options):
    fits = [sf.learn(data, ALPHA, init="zero", seed=1, **options) for data in (rows, folder, rows.lazy())]
    check_same_bits(fits[0], fits[1])
    check_same_bits(fits[0], fits[2])


def test_a_sample_of_all_rows_gives_the_start_of_the_table(rows):
    check_same_bits(sf.learn(rows, ALPHA, seed=1), sf.learn(rows.lazy(), ALPHA, seed=1))
    assert sf.learn(rows.lazy(), seed=1).settings["choice"] == sf.learn(rows, seed=1).settings["choice"]


def test_a_fit_from_a_sampled_start_has_the_optimum_of_the_table(rows, folder):
    counted = sf.learn(folder, ALPHA, seed=1)
    assert counted.status.code == "converged"
    assert counted.settings["n_rows"] == 4000
    # The smallest subgradient is below tol = 1e-4; where the curvature is 0.005 or more, that leaves tol^2 / 0.01.
    assert sf.certify(counted, rows).optimality.gap < 1e-6


def test_certificates_are_made_from_counts(rows, folder):
    fit = sf.SparseMRF(ALPHA, random_state=1).fit(folder).fit_
    found = [sf.certify(fit, data) for data in (folder, rows, rows.lazy(), rows[::-1])]
    assert all(own.optimality.kind == "exact" for own in found)
    assert len({own.optimality.gap for own in found}) == 1
    other = rows.with_columns(pl.when(pl.int_range(pl.len()) == 7).then(1 - pl.col("x0")).otherwise("x0").alias("x0"))
    for data in (other, other.lazy()):
        with pytest.raises(sf.TableError, match="not the 4000 rows that the field was fitted to"):
            sf.certify(fit, data)
    whole = sf.learn(rows, ALPHA, seed=1)
    with pytest.raises(sf.TableError, match="fitted to rows in memory, which are compared one by one"):
        sf.certify(whole, folder)


def test_large_fields_are_certified_with_the_entropy_of_two_variables(rows, folder):
    fit = sf.learn(folder, ALPHA, penalize_main=True, seed=1)
    proven = [sf.certify(fit, data, max_states=0, n_draws=20_000).optimality.proven for data in (folder, rows)]
    assert proven[0] >= proven[1]
    assert np.isfinite(proven[0])


def test_what_needs_rows_says_so(rows, folder):
    with pytest.raises(
        sf.TableError, match=r"4000 rows.*choice of its edges needs them: give alpha: sampling error alone makes"
    ):
        sf.learn(folder)
    with pytest.raises(sf.TableError, match=r"The table is lazy.*call collect\(\) first"):
        sf.PseudoLikelihood(ALPHA).fit(rows.lazy())
    with pytest.raises(sf.TableError, match="not in memory, but this needs the rows themselves"):
        sf.PseudoLikelihood(ALPHA).fit(sf.tables.count_data(folder))
    with pytest.raises(sf.TableError, match=r"leave sample_weight out, or give a table that is in memory"):
        sf.learn(folder, ALPHA, sample_weight=np.ones(4000))
    counted = sf.tables.count_data(folder)
    with pytest.raises(sf.TableError, match="not in memory, but this needs the rows themselves"):
        sf.bootstrap(sf.SparseMRF(ALPHA), counted)
    with pytest.raises(sf.TableError, match="not in memory, and the choice of its edges needs them: give alpha"):
        sf.SparseMRF(sf.EBIC()).fit(counted)


def test_estimators_take_what_is_lazy(rows, folder):
    lazy = sf.SparseMRF(ALPHA, init="zero", random_state=1).fit(rows.lazy())
    eager = sf.SparseMRF(ALPHA, init="zero", random_state=1).fit(rows)
    check_same_bits(lazy.fit_, eager.fit_)
    assert lazy.n_features_in_ == 8
    ordered = sf.SparseMRF(ALPHA, ordinal=True, init="zero", random_state=1).fit(folder)
    check_same_bits(ordered.fit_, eager.fit_)  # two levels have no order


def test_levels_that_no_row_shows_count_as_half_a_row(rows):
    domain = sf.Domain(("x0", "x1"), ((0, 1, 2), (0, 1)), (0, 0))
    some = rows.select("x0", "x1")
    counted = sf.tables.count_data(some.lazy(), domain=domain)
    whole = sf.learn(sf.encode(some, domain=domain), ALPHA, init="zero", seed=1)
    check_same_bits(sf.learn(counted, ALPHA, init="zero", seed=1), whole)
    assert "x0=2" in whole.status.sentence


def test_the_largest_alpha_is_that_of_the_table(rows, folder):
    for options in ({}, {"penalize_main": True}):
        assert sf.selection.alpha_max(folder, **options) == pytest.approx(
            sf.selection.alpha_max(rows, **options), rel=1e-12
        )
