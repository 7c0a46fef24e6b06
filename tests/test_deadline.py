"""Work ends when its time is up, in the middle of draws too."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import _threads
from sparsefield._deadline import OutOfTimeError, check_time, until
from sparsefield.datasets import make_field
from sparsefield.gradients import PerfectDraws
from sparsefield.inference import Cpu, Perfect
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.missing._enumerated_rows import fill_by_enumeration
from sparsefield.marks import _mark
from sparsefield.optimality import _certified_solve
from support.clock import Clock
from support.problems import make_table, theta_of


def test_work_ends_at_the_earlier_of_two_moments(monkeypatch):
    now = Clock(monkeypatch).now
    with until(now + 60):
        check_time()
        with until(now - 1), pytest.raises(OutOfTimeError):
            check_time()
        with until(now - 1), pytest.raises(OutOfTimeError):
            _threads.run(lambda: None, [()])
        check_time()
    with until(now - 1), until(now + 60), pytest.raises(OutOfTimeError):
        check_time()
    check_time()


def test_exact_draws_end_with_their_time(monkeypatch):
    # Sweeps take as long as they are said to: no piece of the work takes longer than a call.
    clock, sweep = Clock(monkeypatch), Scan.sweep

    def take_time(scan, states, streams, n_sweeps, *rest):
        clock.advance(n_sweeps * len(states) * scan.seconds_per_block)
        sweep(scan, states, streams, n_sweeps, *rest)

    monkeypatch.setattr(Scan, "sweep", take_time)
    field, draws = make_field(256, degree=4, strength=(0.9, 0.9), seed=1), Perfect(50_000, 1, n_threads=1)
    draws.draw(field)
    whole = clock.now
    assert whole > 3 * _threads.LONGEST_CALL  # else the first half of the time would be one call
    for share in (0.0, 0.5):
        end = clock.now + share * whole
        with until(end), pytest.raises(OutOfTimeError):
            draws.draw(field)
        assert clock.now - end <= _threads.LONGEST_CALL * (1 + 1e-9)  # a sum of rounded numbers


def let_time_run_out(monkeypatch, n_pieces):
    """Let the time be up once so many pieces of work were done."""
    pieces = iter(range(n_pieces))

    def check():
        if next(pieces, None) is None:
            raise OutOfTimeError

    monkeypatch.setattr(_threads, "check_time", check)


ROWS_WITHOUT_A_CELL = np.full((60, 20), 255, dtype=np.uint8)  # 2^20 states each: 15 ms, and all of them a second


@pytest.mark.parametrize(
    "work",
    [
        lambda field: Cpu(1).clamped_products(field, ROWS_WITHOUT_A_CELL, np.ones(60)),
        lambda field: Cpu(1).clamped_variances(field, ROWS_WITHOUT_A_CELL, np.eye(20)),
        lambda field: fill_by_enumeration(
            field,
            ROWS_WITHOUT_A_CELL,
            (np.arange(60), np.arange(1, 61)),
            np.full(60, 0.5),
            ROWS_WITHOUT_A_CELL.copy(),
            1,
        ),
    ],
    ids=["expectations", "variances", "draws"],
)
def test_enumeration_of_missing_values_ends_with_its_time(work, monkeypatch):
    let_time_run_out(monkeypatch, n_pieces=2)
    with pytest.raises(OutOfTimeError):
        work(make_field(20, seed=1))


def test_pilots_of_missing_values_end_with_their_time(monkeypatch):
    # Nearly all are on or nearly all are off: bounds never meet, and 100,000 sweeps take about ten seconds.
    p = 60
    field = sf.PairwiseMRF.binary([-6.0] * p, 12.0 / (p - 1) * (1 - np.eye(p)))
    let_time_run_out(monkeypatch, n_pieces=2)
    with pytest.raises(OutOfTimeError):
        Cpu(1).clamped_draw(field, np.full((1, p), 255, dtype=np.uint8), seed=1, max_sweeps=100_000)


class Slow(Cpu):
    """A backend whose second batch of draws takes longer than there is time for."""

    def __init__(self, clock):
        super().__init__()
        self.clock, self.n_batches = clock, 0

    def draw(self, field, n_draws, **options):
        self.n_batches += 1
        if self.n_batches > 1:
            self.clock.advance(2.0)
        return super().draw(field, n_draws, **options)


@pytest.mark.parametrize("solver", [sf.Newton, sf.Proximal])
def test_a_step_that_is_under_way_when_the_time_is_up_does_not_count(solver, monkeypatch):
    clock = Clock(monkeypatch)
    table, options = make_table(), {"seed": 1, "init": "zero"}
    steps = solver(schedule=PerfectDraws())
    backend = Slow(clock)
    fit = sf.learn(table, 0.02, solver=steps, max_seconds=1.5, device=backend, **options)
    assert backend.n_batches == 2
    assert fit.status.code == "max_seconds"
    assert len(fit.steps) == 1
    # Newton steps count when they were judged at their end; gradient steps are made before that.
    start = sf.learn(table, 0.02, solver=steps, max_seconds=0.0, **options)
    once = sf.learn(table, 0.02, solver=solver(schedule=PerfectDraws(), max_iter=1), **options)
    np.testing.assert_array_equal(theta_of(fit), theta_of(start if solver is sf.Newton else once))
    assert ("no time to compare it with its start" in fit.status.sentence) == (solver is sf.Proximal)


def test_marks_and_certificates_have_no_more_time_than_the_fit(monkeypatch):
    def never(*_args, **_options):
        raise OutOfTimeError

    table = make_table()
    options = {"solver": sf.Newton(schedule=PerfectDraws()), "seed": 1, "gap": 0.05}
    monkeypatch.setattr(_mark, "find_undecided", never)
    fit = sf.learn(table, 0.05, **options)
    assert fit.undecided is None
    assert "There was no time to mark what simulation error leaves open." in fit.status.sentence
    assert fit.status.code == "converged"
    monkeypatch.setattr(_certified_solve, "assess", never)
    fit = sf.learn(table, 0.05, certify=True, **options)
    assert fit.status.code == "not_certified"
    assert "is not certified: there was no time for it" in fit.status.sentence
