"""Paths that are followed as they are fitted: they end early, and choose what whole ones do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.selection import select
from sparsefield.selection.choices import _early_stopping, _rules
from sparsefield.selection.choices._criteria import Worth
from support.problems import make_table


def make_incomplete(p=6):
    codes = make_table(p, 500).codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = MISSING
    return sf.Table(sf.Domain.binary(p), codes)


@pytest.mark.parametrize("table", [make_table(12, 500), make_incomplete(12)], ids=["whole", "incomplete"])
@pytest.mark.parametrize("patience", [4, 8])
def test_paths_end_where_the_criterion_does_not_fall(table, patience, monkeypatch):
    short = select_with(Worth(1.0, patience=patience), table, monkeypatch)
    whole = select_with(Worth(1.0, patience=100), table, monkeypatch)
    n = len(short.table)
    assert n < len(whole.table) == 30
    assert short.alpha == whole.alpha
    assert short.table["edges"].to_list() == whole.table["edges"].to_list()[:n]
    values = short.table["ebic"].to_numpy()
    np.testing.assert_allclose(values, whole.table["ebic"].to_numpy()[:n])
    is_clear = short.table["null_edges"].to_numpy() <= 0.1 * short.table["edges"].to_numpy()
    values = np.where(is_clear | (short.table["edges"].to_numpy() == 0), values, np.inf)

    def is_past(k):
        return k > patience and (values[k - patience : k] > values[:k].min()).all()

    assert is_past(n)
    assert not any(is_past(k) for k in range(n))


def select_with(worth, table, monkeypatch):
    monkeypatch.setattr(_rules, "Worth", lambda gamma: replace(worth, gamma=gamma))
    return select(table, sf.EBIC(gamma=worth.gamma))


@pytest.mark.parametrize(("n_worse", "is_last"), [(9, False), (10, True)])
def test_a_criterion_that_has_not_fallen_for_less_than_ten_penalties_may_fall_again(n_worse, is_last):
    # BIC is 2 n times a loss that falls for three penalties, and rises after them.
    losses = [4.0, 3.0, 2.0, *(2.1 + 0.1 * k for k in range(n_worse))]
    assert follow(losses, np.zeros(20)) == [False] * (len(losses) - 1) + [is_last]


def test_penalties_whose_edges_noise_explains_do_not_count_as_better():
    # The criterion falls all the way, but from the third penalty on noise explains more than a tenth of the edge.
    losses = 4.0 - 0.1 * np.arange(13)
    assert follow(losses, np.where(np.arange(13) < 3, 0.1, 0.11)) == [False] * 12 + [True]


def follow(losses, noise):
    """Say after each fit of a path with one edge whether it is the last one."""
    likelihoods = iter(-np.asarray(losses))
    counts = SimpleNamespace(count_at_both_ends=lambda _: 1, count_chosen=lambda _: 1)
    refits = SimpleNamespace(of=lambda _: next(likelihoods))
    following = _early_stopping.Following(Worth(0.0), noise, counts, lambda _: refits, n_rows=1000, has_missing=False)
    fit = SimpleNamespace(model=SimpleNamespace(domain=sf.Domain.binary(10)))
    return [following(fit) for _ in losses]


def test_missing_cells_are_drawn_from_the_last_fit_before_noise_makes_edges(monkeypatch):
    fillers, original = [], _early_stopping.NodeRefits.__init__

    def keep(self, table, weights, filler, **more):
        fillers.append(filler)
        original(self, table, weights, filler, **more)

    monkeypatch.setattr(_early_stopping.NodeRefits, "__init__", keep)
    choice = select(make_incomplete())
    (filler,) = fillers
    n_quiet = int((choice.table["null_edges"] <= 0.05).sum())
    assert 0 < n_quiet < len(choice.table)
    alphas = choice.table["alpha"][:n_quiet].to_list()
    last = sf.path(make_incomplete(), alphas, gap=6 / (8 * 500), seed=seed_of_whole()).fits[-1]
    np.testing.assert_array_equal(filler.interactions != 0, last.model.interactions != 0)


def seed_of_whole():
    return sf.selection.choices._row_subsets.seed_of_part(0, 0)


def test_time_is_up_before_variables_are_refitted_without_end(monkeypatch):
    # Refits are made as the path goes: when time is up, those of all fits are there.
    seen, original = [], _early_stopping.NodeRefits.of
    monkeypatch.setattr(_early_stopping.NodeRefits, "of", lambda *own: (seen.append(1), original(*own))[1])
    clock = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr("sparsefield._deadline.time.perf_counter", lambda: next(clock))
    choice = select(make_table(8, 500), max_seconds=20.0)
    assert len(seen) == len(choice.table)
