"""Paths that are followed as they are fitted: they end early, and choose what whole ones do."""

import numpy as np
import pytest

import sparsefield as sf
from problems import make_table
from sparsefield.data import MISSING
from sparsefield.selection import _following, select


def make_incomplete():
    codes = make_table(6, 500).codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = MISSING
    return sf.Table(sf.Domain.binary(6), codes)


@pytest.mark.parametrize("table", [make_table(6, 500), make_incomplete()], ids=["whole", "incomplete"])
@pytest.mark.parametrize("refit", ["nodes", "none"])
def test_paths_end_where_the_criterion_rises(table, refit, monkeypatch):
    options = {"refit": refit, "noise_share": 1, "criterion": "bic"}
    short = select(table, **options)
    monkeypatch.setattr(_following, "_PATIENCE", 100)
    whole = select(table, **options)
    n = len(short.table)
    assert n < len(whole.table) == 30
    assert short.alpha == whole.alpha
    assert short.table["edges"].to_list() == whole.table["edges"].to_list()[:n]
    values = short.table["bic"].to_numpy()
    np.testing.assert_allclose(values, whole.table["bic"].to_numpy()[:n])
    assert (values[-6:] > values[:-6].min()).all()
    assert not any((values[k - 6 : k] > values[: k - 6].min()).all() for k in range(7, n))


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
