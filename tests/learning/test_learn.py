"""`learn` is what the estimators do, as a function; and the loop of all solvers keeps what there is."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from sparsefield.fits import GradientStep, NewtonStep, Status, StepInfo
from sparsefield.inference import Cpu
from sparsefield.learning import seed_of
from sparsefield.pseudolikelihood import solve_pseudo_likelihood
from sparsefield.solvers import Limits
from sparsefield.solvers._loop import run
from support.problems import make_problem, make_table, theta_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": sf.Newton(schedule="perfect"), "penalize_main": False, "gap": 0.02},
        {"solver": sf.Proximal(max_iter=10)},
        {"solver": sf.Proximal(bound="persistent", max_iter=10)},
        {"solver": sf.Newton(schedule=7, max_iter=3), "init": "zero"},
    ],
    ids=str,
)
def test_learn_is_the_fit_of_the_estimator_bit_for_bit(options):
    table = make_table()
    mrf = sf.SparseMRF(0.04, random_state=5, **options).fit(table)
    fit = sf.learn(table, 0.04, seed=seed_of(5), **options)
    np.testing.assert_array_equal(theta_of(fit), theta_of(mrf))
    assert fit.trace.drop("seconds").equals(mrf.trace_.drop("seconds"))
    assert fit.status.code == mrf.status_.code
    assert fit.settings["seed"] == mrf.fit_.settings["seed"] == seed_of(5)
    assert fit.settings["data"] == table.fingerprint()
    assert "estimator" not in fit.settings
    assert mrf.fit_.settings["estimator"] == "SparseMRF"


def test_learn_takes_what_encode_takes(tmp_path):
    table = make_table()
    path = tmp_path / "table.csv"
    table.to_frame().write_csv(path)
    fits = [sf.learn(data, 0.05, seed=1) for data in (table, np.asarray(table), table.to_frame(), path)]
    for other in fits[1:]:
        np.testing.assert_array_equal(theta_of(fits[0]), theta_of(other))


def test_a_fit_of_learn_is_saved_with_its_settings(tmp_path):
    fit = sf.learn(make_table(), 0.05, init=sf.datasets.make_field(6, seed=1), seed=np.int64(3))
    assert fit.settings["init"] == "PairwiseMRF"
    assert type(fit.settings["seed"]) is int
    fit.save(tmp_path / "fit.field")
    assert sf.Fit.load(tmp_path / "fit.field").settings == fit.settings


def test_kinds_of_steps_are_told_apart():
    table = make_table()
    newton, gradient = (sf.learn(table, 0.05, solver=solver(max_iter=3), seed=1) for solver in (sf.Newton, sf.Proximal))
    pseudo = solve_pseudo_likelihood(table, 0.05)
    assert all(type(step) is NewtonStep for step in (*newton.steps, *pseudo.steps))
    assert all(type(step) is GradientStep for step in gradient.steps)
    assert {"subgradient_norm", "share"} <= set(newton.trace.columns)
    assert {"step_map_norm", "step_size"} <= set(gradient.trace.columns)
    assert "step_size" not in newton.trace.columns
    assert [step.violation for step in newton.steps] == newton.trace["subgradient_norm"].to_list()
    assert [step.violation for step in gradient.steps] == gradient.trace["step_map_norm"].to_list()


class Counted:
    """A solver that needs some iterations, and can fail in one."""

    def __init__(self, needed, error=None):
        self.needed, self.error, self.n = needed, error, 0

    def advance(self) -> StepInfo:
        self.n += 1
        if self.error is not None and self.n == self.needed:
            raise self.error
        return NewtonStep(
            iteration=self.n, n_nonzero=0, seconds=-1.0, reason="", subgradient_norm=1.0, share=1.0, decrease=0.25
        )

    def judge(self, steps):
        return Status("converged", "Done.") if len(steps) == self.needed else None


def test_the_loop_ends_where_it_should():
    steps, status = run(Counted(3), Limits(10))
    assert (len(steps), status.code) == (3, "converged")
    assert all(step.seconds >= 0 for step in steps)
    steps, status = run(Counted(30), Limits(10))
    assert (len(steps), status.code) == (10, "max_iter")
    assert "10 iterations, the last of which gained 0.25: raise max_iter" in status.sentence
    steps, status = run(Counted(30), Limits(10, max_seconds=0.0))
    assert (len(steps), status.code) == (0, "max_seconds")
    assert "before the first iteration" in status.sentence
    steps, status = run(Counted(30), Limits(10, max_seconds=60.0, began=time.perf_counter() - 61))
    assert (len(steps), status.code) == (0, "max_seconds")
    steps, status = run(Counted(30), Limits(10, max_seconds=60.0, began=time.perf_counter() - 50))
    assert (len(steps), status.code) == (10, "max_iter")
    steps, status = run(Counted(3, KeyboardInterrupt()), Limits(10))
    assert (len(steps), status.code) == (2, "interrupted")


def test_an_interrupt_by_the_watcher_keeps_the_step():
    def stop(info):
        if info.iteration == 2:
            raise KeyboardInterrupt

    steps, status = run(Counted(30), Limits(10), stop)
    assert (len(steps), status.code) == (2, "interrupted")


@pytest.mark.parametrize("solver", [sf.Newton, sf.Proximal])
def test_bad_options_are_refused_before_any_work(solver, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the table was counted")

    monkeypatch.setattr("sparsefield.learning._learn.read_rows", work)
    monkeypatch.setattr("sparsefield.fitting._learner.solve_pseudo_likelihood", work)
    for options, message in (
        ({"solver": solver(max_iter=0)}, "max_iter is 0"),
        ({"solver": solver(tol=-1.0)}, "tol is -1"),
        ({"max_seconds": -1.0}, "max_seconds is -1"),
        ({"gap": 0.0}, "gap is 0"),
        ({"init": None}, "init is None"),
        ({"solver": solver(schedule="fast")}, "schedule is 'fast'"),
        ({"solver": solver(schedule=0)}, "n_sweeps is 0"),
        ({"n_threads": 2, "device": Cpu()}, "give it to the backend"),
    ):
        with pytest.raises(ValueError, match=message):
            sf.learn(make_table(), **{"solver": solver(), **options})
    for limits in ({"max_iter": 1.5}, {"max_iter": 5, "tol": np.nan}):
        with pytest.raises(ValueError, match=" is "):
            Limits(**limits)


def test_an_iteration_for_which_there_is_no_time_is_not_begun():
    # The first one takes 0.3 of 0.5 seconds: another one would not fit.
    steps, status = run(Counted(30), Limits(10, max_seconds=0.5), lambda _: time.sleep(0.3))
    assert (len(steps), status.code) == (1, "max_seconds")


def test_time_counts_from_the_first_look_at_the_table(monkeypatch):
    table = make_table()
    read_rows = sf.tables.read_rows

    def slow(*inputs, **options):
        time.sleep(0.3)
        return read_rows(*inputs, **options)

    monkeypatch.setattr("sparsefield.estimators._sparse_mrf.read_rows", slow)
    with pytest.warns(ConvergenceWarning, match="before the first iteration"):
        fit = sf.SparseMRF(0.05, max_seconds=0.2, gap=1e-4, random_state=1).fit(np.asarray(table)).fit_
    assert fit.status.code == "max_seconds"
    assert len(fit.steps) == 0


@pytest.mark.parametrize(
    "options", [{}, {"solver": sf.Newton(schedule="perfect")}, {"solver": "proximal"}, {"init": "zero"}], ids=str
)
def test_without_time_a_fit_is_its_start(options, tmp_path):
    table = make_table()
    fit = sf.learn(table, 0.05, max_seconds=0.0, **options)
    assert (fit.status.code, fit.steps, fit.undecided) == ("max_seconds", (), None)
    # There is none for the pseudo-likelihood either: variables are independent, with the frequencies of the table.
    means = table.codes.mean(axis=0)
    assert not fit.model.interactions.any()
    np.testing.assert_allclose(fit.model.main, np.log(means / (1 - means)), rtol=1e-12)
    penalised = sf.learn(table, 0.05, max_seconds=0.0, penalize_main=True, **options)
    assert not theta_of(penalised).any()
    own = sf.datasets.make_field(6, seed=1)
    np.testing.assert_array_equal(
        theta_of(sf.learn(table, 0.05, max_seconds=0.0, **{**options, "init": own})), theta_of(own)
    )
    fit.save(tmp_path / "fit.field")
    again = sf.Fit.load(tmp_path / "fit.field")
    assert (again.status, again.steps) == (fit.status, ())
    assert fit.trace.is_empty()
    assert "no gradient was estimated" in fit.certified


def test_a_problem_says_what_its_data_are():
    problem = make_problem()
    assert problem.data.caveat == ""
    assert problem.data.given(problem.model(np.eye(6)), 5) is problem.data
    assert problem.data.simulation_error(np.ones((6, 6), dtype=bool)) == 0
    assert problem.with_data(problem.data) is problem


@pytest.mark.parametrize("alpha", ["foo", "AUTO", "0.02"])
@pytest.mark.parametrize("fit", [sf.learn, lambda table, alpha: sf.SparseMRF(alpha).fit(table)], ids=["learn", "fit"])
def test_words_that_choose_nothing_are_refused(fit, alpha):
    with pytest.raises(ValueError, match=f"alpha is '{alpha}': use a number from zero on, 'auto', or a rule"):
        fit(make_table(), alpha)
