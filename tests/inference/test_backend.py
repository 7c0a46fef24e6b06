"""Backends: what solvers ask of them, and that they construct nothing themselves."""

from contextlib import contextmanager

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.certificates import coalescence
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws
from sparsefield.inference import Chains, Cpu, Exact, Gibbs, Perfect
from sparsefield.inference.chains._blocks import Blocks
from sparsefield.model import as_theta
from support.problems import make_table


class Watchful(Cpu):
    """The processors of this machine, and whether somebody is asking this backend just now."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "asked", [])
        object.__setattr__(self, "depth", [0])

    @contextmanager
    def asking(self, what):
        self.asked.append(what)
        self.depth[0] += 1
        try:
            yield
        finally:
            self.depth[0] -= 1

    def chains(self, *arguments, **options):
        with self.asking("chains"):
            return super().chains(*arguments, **options)

    def clamped_chains(self, *arguments, **options):
        with self.asking("clamped chains"):
            return super().clamped_chains(*arguments, **options)

    def bounding_chains(self, *arguments, **options):
        with self.asking("bounding chains"):
            return super().bounding_chains(*arguments, **options)

    def draw(self, *arguments, **options):
        with self.asking("draws"):
            return super().draw(*arguments, **options)

    def clamped_draw(self, *arguments, **options):
        with self.asking("clamped draws"):
            return super().clamped_draw(*arguments, **options)

    def clamped_products(self, *arguments, **options):
        with self.asking("expectations"):
            return super().clamped_products(*arguments, **options)

    def enumerate(self, *arguments, **options):
        with self.asking("enumeration"):
            return super().enumerate(*arguments, **options)

    def states(self, *arguments, **options):
        with self.asking("states"):
            return super().states(*arguments, **options)


TABLE = make_table(6, 300)
LEVELS = sf.encode(np.random.default_rng(1).integers(0, 3, (200, 3)))
CODES = np.where(np.random.default_rng(2).random(TABLE.shape) < 0.1, 255, TABLE.codes).astype(np.uint8)
INCOMPLETE = sf.Table(TABLE.domain, CODES)
# Rows with many missing values: of two levels, which are drawn, and of 65, which are out of reach.
MANY = np.random.default_rng(3).integers(0, 65, (100, 4)).astype(np.uint8)
MANY[0] = 255
DRAWN = make_table(12, 300)
DRAWN = sf.Table(DRAWN.domain, np.where(np.arange(300)[:, None] < 3, 255, DRAWN.codes).astype(np.uint8))
SHORT = {"max_iter": 4, "n_chains": 600}
ON_DRAWS = sf.Newton(schedule=BestDraws(max_states=0), **SHORT)
BOUNDING = sf.Proximal(bound="coalescence", **SHORT)
FITS = {
    "newton": (TABLE, sf.Newton(**SHORT), {"states"}),
    "draws": (TABLE, ON_DRAWS, {"draws"}),
    "levels": (LEVELS, ON_DRAWS, {"draws"}),
    "missing values": (INCOMPLETE, ON_DRAWS, {"draws", "expectations"}),
    "drawn missing values": (DRAWN, ON_DRAWS, {"draws", "expectations", "clamped draws"}),
    "filled missing values": (
        sf.Table(sf.Domain(tuple("abcd"), (tuple(range(65)),) * 4, (0,) * 4), MANY),
        sf.Proximal(schedule=3, **SHORT),
        {"chains", "draws", "expectations", "clamped draws", "clamped chains"},
    ),
    "exact": (TABLE, sf.Newton(schedule="exact", **SHORT), {"states"}),
    # All states, where there are few, tell whether a fit by the paper's steps is below its start.
    "tay": (TABLE, sf.Proximal(**SHORT), {"chains", "states"}),
    "coalescence": (TABLE, BOUNDING, {"chains", "bounding chains", "states"}),
    "coalescence of levels": (LEVELS, BOUNDING, {"chains", "bounding chains", "states"}),
    "proximal, exact": (TABLE, sf.Proximal(schedule="exact", **SHORT), {"chains", "states"}),
    "proximal, perfect": (TABLE, sf.Proximal(schedule="perfect", **SHORT), {"chains", "draws", "states"}),
}


def watch_chains(backend, monkeypatch):
    """Let every construction of chains fail that nobody asked the backend for."""
    made = Blocks.__init__

    def watched(self, *arguments, **others):
        # Counts of bounds are taken by chains of a bounding chain's own, which need no backend.
        is_inner = others.get("storage") is not None
        assert backend.depth[0] > 0 or is_inner, "chains were constructed without asking the backend"
        made(self, *arguments, **others)

    monkeypatch.setattr(Blocks, "__init__", watched)


@pytest.mark.parametrize("name", FITS)
def test_solvers_ask_the_backend_and_construct_no_chains(name, monkeypatch):
    table, solver, expected = FITS[name]
    backend = Watchful()
    watch_chains(backend, monkeypatch)
    fit = sf.learn(table, 0.05, device=backend, solver=solver, seed=1)
    assert set(backend.asked) == expected
    monkeypatch.undo()
    same = sf.learn(table, 0.05, solver=solver, seed=1)
    np.testing.assert_array_equal(as_theta(fit.model), as_theta(same.model))


def test_a_penalty_is_chosen_and_rows_are_resampled_on_a_backend_too():
    backend = Watchful()
    mrf = sf.SparseMRF(device=backend, random_state=1).fit(TABLE)
    assert backend.asked
    np.testing.assert_array_equal(mrf.interactions_, sf.SparseMRF(random_state=1).fit(TABLE).interactions_)
    assert sf.SparseMRF(sf.EBIC(n_alphas=5), device=backend, random_state=1).fit(TABLE).alpha_ > 0
    n_asked = len(backend.asked)
    sf.bootstrap(sf.SparseMRF(0.05, device=backend, random_state=1), TABLE, n=2)
    assert len(backend.asked) > n_asked


def test_samples_and_coalescence_ask_the_backend():
    model, backend, order = make_field(8, seed=1), Watchful(), range(8)[::-1]
    model.sample(700, n_sweeps=5, seed=3, order=order, device=backend)
    model.sample(700, method="perfect", seed=3, order=order, device=backend)
    coalescence(model, 5, 700, seed=3, order=order, device=backend)
    assert backend.asked == ["chains", "draws", "bounding chains"]
    with pytest.raises(ValueError, match="give it to the backend instead"):
        model.sample(700, seed=3, n_threads=2, device=backend)


def test_states_are_enumerated_once_in_a_step():
    backend = Watchful()
    fit = sf.learn(TABLE, 0.05, device=backend, seed=1)
    assert backend.asked == ["states"] * len(fit.steps)


CERTIFIED = {
    "two levels": (TABLE, {"draws"}),
    "levels": (LEVELS, {"draws"}),
    "missing values": (INCOMPLETE, {"draws", "expectations"}),
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_certificate_of_the_optimum_asks_the_backend_too(name, monkeypatch):
    table, expected = CERTIFIED[name]
    fit = sf.learn(table, 0.05, seed=1)
    backend = Watchful()
    watch_chains(backend, monkeypatch)
    certified = sf.certify(fit, table, n_draws=5000, device=backend, max_states=0)
    assert set(backend.asked) == expected
    monkeypatch.undo()
    assert certified.optimality == sf.certify(fit, table, n_draws=5000, max_states=0).optimality


def test_draws_that_are_out_of_reach_are_replaced_by_chains_of_the_same_backend(monkeypatch):
    strong = make_field(10, 0.9, strength=(2.5, 3.5), seed=1).sample(300, n_sweeps=100, seed=1)
    backend = Watchful()
    watch_chains(backend, monkeypatch)
    drawn = BestDraws(max_sweeps=2, max_states=0)
    fit = sf.learn(strong, 0.002, device=backend, solver=sf.Newton(schedule=drawn, max_iter=2, n_chains=600), seed=1)
    assert set(backend.asked) == {"draws", "chains"}
    assert fit.status.code == "not_certified"
    assert "Raise max_sweeps for them. Raise alpha" in fit.status.sentence


def test_the_backend_of_this_machine_gives_what_its_parts_give():
    model, backend = make_field(8, seed=1), Cpu(n_threads=1)
    chains = backend.chains(model.domain, 700, seed=3)
    chains.sweep(backend.prepare(model), 5)
    np.testing.assert_array_equal(chains.codes(), Gibbs(700, 5, 3).run(model).codes())
    draws, run = backend.draw(model, 700, seed=3, max_sweeps=1000)
    np.testing.assert_array_equal(draws.codes(), Perfect(700, 3).run(model).codes())
    assert run.sweeps_per_draw > 0
    log_partition, moments = backend.enumerate(model)
    assert log_partition == float(model.log_partition())
    np.testing.assert_array_equal(moments.pair, Exact().moments(model).pair)
    np.testing.assert_allclose(backend.states(model).moments.pair, moments.pair, atol=1e-12)


def test_chains_keep_their_number_of_threads():
    model = make_field(5, seed=1)
    assert Cpu(2).chains(model.domain, 10, seed=1).n_threads == 2
    assert Perfect(600, 1, n_threads=3).run(model).n_threads == 3
    chains = Chains(model.domain, 10, seed=1, n_threads=0)
    with pytest.raises(ValueError, match="n_threads is 0"):
        chains.moments()
