"""What a fit keeps: its trace, as a table and in a file."""

import numpy as np
import pytest

import sparsefield as sf
from problems import make_problem, theta_of
from sparsefield.fits import Fit
from sparsefield.gradients import Simulation, Tay
from sparsefield.model import write_parameters
from sparsefield.solvers import solve


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
