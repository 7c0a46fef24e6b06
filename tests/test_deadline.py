"""Work ends when its time is up, in the middle of draws too."""

import time

import numpy as np
import pytest

import sparsefield as sf
from problems import make_table, theta_of
from sparsefield import _threads
from sparsefield._deadline import OutOfTimeError, check_time, until
from sparsefield.datasets import make_field
from sparsefield.gradients import PerfectDraws
from sparsefield.inference import Cpu, Perfect
from sparsefield.inference._conditional import fill_by_enumeration
from sparsefield.solvers import _newton, _promise


def test_work_ends_at_the_earlier_of_two_moments():
    now = time.perf_counter()
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


def test_exact_draws_end_with_their_time():
    # 50,000 draws of this field take 0.14 s on two cores, and four million ten.
    field = make_field(256, degree=4, strength=(0.9, 0.9), seed=1)
    clock = time.perf_counter()
    with until(clock + 0.5), pytest.raises(OutOfTimeError):
        Perfect(4_000_000, 1).draw(field)
    assert time.perf_counter() - clock < 5  # calls take a tenth of a second each


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
def test_enumeration_of_missing_values_ends_with_its_time(work):
    field = make_field(20, seed=1)
    with until(time.perf_counter() + 0.05), pytest.raises(OutOfTimeError):
        work(field)


def test_pilots_of_missing_values_end_with_their_time():
    # Nearly all are on or nearly all are off: bounds never meet, and 100,000 sweeps take about ten seconds.
    p = 60
    field = sf.PairwiseMRF.binary([-6.0] * p, 12.0 / (p - 1) * (1 - np.eye(p)))
    clock = time.perf_counter()
    with until(clock + 0.2), pytest.raises(OutOfTimeError):
        Cpu(1).clamped_draw(field, np.full((1, p), 255, dtype=np.uint8), seed=1, max_sweeps=100_000)
    assert time.perf_counter() - clock < 5  # calls take a tenth of a second each


class Slow(Cpu):
    """A backend whose second batch of draws takes longer than there is time for."""

    def __init__(self):
        super().__init__()
        self.n_batches = 0

    def draw(self, field, n_draws, **options):
        self.n_batches += 1
        if self.n_batches > 1:
            for _ in range(600):
                time.sleep(0.1)
                check_time()
        return super().draw(field, n_draws, **options)


@pytest.mark.parametrize("solver", ["newton", "spg"])
def test_a_step_that_is_under_way_when_the_time_is_up_does_not_count(solver):
    table, options = make_table(), {"solver": solver, "schedule": PerfectDraws(), "seed": 1, "init": "zero"}
    clock = time.perf_counter()
    fit = sf.learn(table, 0.02, max_seconds=1.5, backend=Slow(), **options)
    assert time.perf_counter() - clock < 10
    assert fit.status.code == "time"
    assert len(fit.steps) == 1
    # Newton steps count when they were judged at their end; gradient steps are made before that.
    start = sf.learn(table, 0.02, max_seconds=0.0, **options)
    once = sf.learn(table, 0.02, max_iter=1, **options)
    np.testing.assert_array_equal(theta_of(fit), theta_of(start if solver == "newton" else once))
    assert ("no time to compare it with its start" in fit.status.sentence) == (solver == "spg")


def test_marks_and_certificates_have_no_more_time_than_the_fit(monkeypatch):
    def never(*_args, **_options):
        raise OutOfTimeError

    table = make_table()
    options = {"schedule": PerfectDraws(), "seed": 1, "gap": 0.05}
    monkeypatch.setattr(_newton, "find_undecided", never)
    fit = sf.learn(table, 0.05, **options)
    assert fit.undecided is None
    assert fit.status.sentence.endswith("There was no time to mark what noise leaves open.")
    assert fit.status.code == "converged"
    monkeypatch.setattr(_promise, "assess", never)
    fit = sf.learn(table, 0.05, certify=True, **options)
    assert fit.status.code == "not certified"
    assert "is not certified: there was no time for it" in fit.status.sentence
