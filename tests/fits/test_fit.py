"""What a fit keeps: its trace, as a table and in a file."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.fits import PROMISED_GAP, Fit, GradientStep, NewtonStep, Optimality, Status
from sparsefield.gradients import Simulation, Tay
from sparsefield.model import write_parameters
from sparsefield.solvers import solve
from support.problems import make_problem, theta_of


def test_the_trace_is_a_table():
    fit = solve(make_problem(4), Tay(), Simulation(300), max_iter=3)
    assert fit.trace.columns[:3] == ["iteration", "n_sweeps", "n_chains"]
    assert fit.trace["iteration"].to_list() == [1, 2, 3]
    assert fit.trace.to_pandas().shape == fit.trace.shape
    assert fit.trace["seconds"].is_sorted()


def test_fits_are_saved_with_their_trace(tmp_path):
    fit = solve(make_problem(4), Tay(), Simulation(300), max_iter=3)
    path = tmp_path / "fit.sf"
    fit.save(path)
    again = Fit.load(path)
    assert again.status == fit.status
    assert again.steps == fit.steps
    np.testing.assert_array_equal(theta_of(again.model), theta_of(fit.model))
    np.testing.assert_array_equal(theta_of(sf.PairwiseMRF.load(path)), theta_of(fit.model))
    fit.model.save(path)
    with pytest.raises(ValueError, match="holds a field without a fit"):
        Fit.load(path)
    write_parameters(
        path,
        fit.model.domain,
        fit.model.main,
        fit.model.interactions,
        {"status.json": "{}", "trace.csv": "", "fit.json": "{}"},
    )
    with pytest.raises(ValueError, match="trace or status cannot be read"):
        Fit.load(path)


@pytest.mark.parametrize("solver", [sf.Newton, sf.Proximal])
@pytest.mark.parametrize("options", [{}, {"penalize_main": True}], ids=str)
def test_iterations_come_back_as_the_kind_that_they_were(solver, options, tmp_path):
    table = make_field(5, seed=1).sample(300, method="perfect", seed=1)
    fit = sf.learn(table, 0.05, solver=solver(max_iter=3), seed=1, **options)
    fit.save(tmp_path / "fit.field")
    again = Fit.load(tmp_path / "fit.field")
    assert again.steps == fit.steps
    assert {type(step) for step in again.steps} == {NewtonStep if solver is sf.Newton else GradientStep}
    assert again.trace.equals(fit.trace)
    assert (again.alpha, again.penalty, again.penalize_main) == (0.05, "L1", options.get("penalize_main", False))


def test_a_fit_of_another_version_says_what_can_be_read(tmp_path):
    model, path = make_field(4, seed=1), tmp_path / "old.field"
    texts = {"status.json": "{}", "trace.csv": "iteration,n_sweeps,step_norm\n1,2.0,0.5\n", "fit.json": "{}"}
    write_parameters(path, model.domain, model.main, model.interactions, texts)
    with pytest.raises(ValueError, match=r"another version of sparsefield: PairwiseMRF\.load reads its field"):
        Fit.load(path)
    np.testing.assert_array_equal(sf.PairwiseMRF.load(path).main, model.main)


def test_time_that_was_too_short_is_serious_where_there_is_no_step_or_a_broken_promise():
    made = solve(make_problem(4), Tay(), Simulation(300), max_iter=1)

    def is_serious(code="max_seconds", steps=made.steps, bound=None, **settings):
        optimality = None if bound is None else Optimality(bound, 0.1, 0.99, 1000)
        return Fit(made.model, Status(code, "."), steps, optimality=optimality, settings=settings).is_serious

    assert not is_serious()
    assert not is_serious(certify=False, gap=0.2)
    assert is_serious(steps=())
    assert is_serious(certify=True)
    for gap, asked in (("auto", PROMISED_GAP), (0.2, 0.2)):
        assert not is_serious(bound=asked, certify=True, gap=gap)
        assert is_serious(bound=1.01 * asked, certify=True, gap=gap)
        assert is_serious(bound=np.inf, certify=True, gap=gap)
    for code in ("converged", "simulation_error", "interrupted"):
        assert not is_serious(code, steps=())
    for code in ("step_too_long", "not_certified", "max_iter", "stalled"):
        assert is_serious(code)
