"""Paths that are followed as they are fitted: they end early, and choose what whole ones do."""

from types import SimpleNamespace

import numpy as np
import pytest

import sparsefield as sf
from problems import make_table
from sparsefield.data import MISSING
from sparsefield.selection import _following, select
from sparsefield.selection._rules import ByInformation


def make_incomplete(p=6):
    codes = make_table(p, 500).codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = MISSING
    return sf.Table(sf.Domain.binary(p), codes)


@pytest.mark.parametrize("table", [make_table(12, 500), make_incomplete(12)], ids=["whole", "incomplete"])
@pytest.mark.parametrize("refit", ["nodes", "none"])
def test_paths_end_where_the_criterion_rises(table, refit, monkeypatch):
    options = {"refit": refit, "noise_share": 1, "gamma": 1.0}
    short = select(table, **options)
    monkeypatch.setattr(_following, "_PATIENCE", 100)
    whole = select(table, **options)
    n = len(short.table)
    assert n < len(whole.table) == 30
    assert short.alpha == whole.alpha
    assert short.table["edges"].to_list() == whole.table["edges"].to_list()[:n]
    values = short.table["ebic"].to_numpy()
    np.testing.assert_allclose(values, whole.table["ebic"].to_numpy()[:n])
    # The price of four edges: variables pay at both ends.
    margin = 4 * (np.log(500) + 4 * np.log(12)) * (2 if refit == "nodes" else 1)

    def is_past(k):
        return (values[k - 6 : k] > values[: k - 6].min() + margin).all()

    assert is_past(n)
    assert not any(is_past(k) for k in range(7, n))


@pytest.mark.parametrize(("rise", "is_last"), [(0.9, False), (1.1, True)])
def test_a_criterion_that_rises_by_less_than_the_price_of_four_edges_may_fall_again(rise, is_last):
    # An edge at each penalty; BIC asks log(rows) for it, which the likelihood pays for in full from the second on.
    n_rows, counts = 1000, iter(range(20))
    parameters = SimpleNamespace(count=lambda _: next(counts), count_chosen=lambda model: model.n_edges)
    worth = ByInformation("bic", 0.0, "none", 1.0)
    following = _following.Following(worth, np.zeros(20), parameters, None, n_rows=n_rows, has_missing=False)
    price, ended = np.log(n_rows), []
    for k in range(9):
        value = (k * price - (0 if k < 2 else 4 * rise * price)) / (2 * n_rows)
        model = SimpleNamespace(n_edges=k, domain=sf.Domain.binary(10))
        ended.append(following(SimpleNamespace(model=model), SimpleNamespace(value=value)))
    assert ended == [False] * 7 + [is_last] * 2


def test_missing_cells_are_drawn_from_the_last_fit_before_noise_makes_edges(monkeypatch):
    fillers, original = [], _following.NodeRefits.__init__

    def keep(self, table, weights, filler, **more):
        fillers.append(filler)
        original(self, table, weights, filler, **more)

    monkeypatch.setattr(_following.NodeRefits, "__init__", keep)
    choice = select(make_incomplete())
    (filler,) = fillers
    n_quiet = int((choice.table["noise"] <= 0.05).sum())
    assert 0 < n_quiet < len(choice.table)
    alphas = choice.table["alpha"][:n_quiet].to_list()
    last = sf.path(make_incomplete(), alphas, gap=6 / (8 * 500), seed=seed_of_whole()).fits[-1]
    np.testing.assert_array_equal(filler.interactions != 0, last.model.interactions != 0)


def seed_of_whole():
    return sf.selection._parts.seed_of_part(0, 0)


def test_time_is_up_before_variables_are_refitted_without_end(monkeypatch):
    # Refits are made as the path goes: when time is up, those of all fits are there.
    seen, original = [], _following.NodeRefits.of
    monkeypatch.setattr(_following.NodeRefits, "of", lambda *own: (seen.append(1), original(*own))[1])
    clock = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr("sparsefield._deadline.time.perf_counter", lambda: next(clock))
    choice = select(make_table(8, 500), max_seconds=20.0)
    assert len(seen) == len(choice.table)
