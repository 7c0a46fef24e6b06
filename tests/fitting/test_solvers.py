"""Solvers as values: what their words name, and what they refuse."""

import pytest

import sparsefield as sf
from sparsefield.fitting import Options
from sparsefield.fitting._solvers import make_solver
from sparsefield.gradients import BestDraws, ExactMoments, Fixed, Increasing, PerfectDraws, Tay


def test_words_name_solvers():
    assert make_solver("newton") == sf.Newton() == Options().steps
    assert make_solver("proximal") == sf.Proximal()
    own = sf.Newton(tol=1e-6)
    assert make_solver(own) is own
    with pytest.raises(ValueError, match=r"solver is 'spg', which is 'proximal' now"):
        make_solver("spg")
    for bad in ("Newton", None, sf.Newton, BestDraws()):
        with pytest.raises(ValueError, match=r"solver is .*: use 'newton', 'proximal', or one with options of its own"):
            Options(solver=bad)


def test_words_name_schedules():
    for solver, expected in (
        (sf.Newton(), BestDraws()),
        (sf.Proximal("auto", bound="paper"), Tay("paper")),
        (sf.Proximal(), Tay("sharp")),
        (sf.Proximal("best"), BestDraws()),
        (sf.Newton("tay"), Tay("sharp")),
        (sf.Proximal("conservative", bound="paper"), Tay("paper", conservative=True)),
        (sf.Newton("perfect"), PerfectDraws()),
        (sf.Newton("exact"), ExactMoments()),
        (sf.Proximal("increasing"), Increasing()),
        (sf.Proximal(4), Fixed(4)),
        (sf.Newton(max_sweeps=30), BestDraws(max_sweeps=30)),
        (sf.Proximal("tay", max_sweeps=30), Tay("sharp", max_sweeps=30)),
    ):
        assert solver.way == expected


def test_a_schedule_stays_what_it_is():
    schedule = BestDraws(max_states=0)
    assert sf.Newton(schedule).way is schedule
    assert sf.Proximal(schedule).way is schedule


def test_sums_are_exact_where_draws_are_not_asked_for():
    assert sf.Newton().sums_out
    assert not any(own.sums_out for own in (sf.Newton("best"), sf.Newton("tay"), sf.Proximal(), sf.Proximal("auto")))


def test_chains_persist_where_it_is_asked_for_or_the_bound_is_of_such():
    assert sf.Proximal(chains="persistent").persists
    assert sf.Proximal(bound="persistent").persists
    assert not sf.Proximal().persists
    assert not sf.Proximal("best", bound="persistent").persists  # which has no such bound


@pytest.mark.parametrize(
    ("solver", "n", "n_slow"),
    [
        (sf.Newton(), 50, 200),
        (sf.Proximal(), 300, 1200),
        (sf.Newton(max_iter=7), 7, 7),
        (sf.Proximal(max_iter=7), 7, 7),
    ],
    ids=str,
)
def test_missing_values_take_more_steps_unless_their_number_is_given(solver, n, n_slow):
    limits = [Options(solver=solver).limits(is_slow=own).max_iter for own in (False, True)]
    assert limits == [n, n_slow]


def test_settings_say_which_solver_it_was():
    assert Options().settings()["solver"] == "Newton()"
    assert Options(solver=sf.Proximal(step_size=0.4)).settings()["solver"] == "Proximal(step_size=0.4)"
