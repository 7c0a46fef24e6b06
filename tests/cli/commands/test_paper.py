"""The command that runs the experiments: alone, refused, interrupted."""

from typer.testing import CliRunner

import sparsefield_experiments as experiments
from sparsefield.cli import app
from sparsefield_experiments import write_pages
from sparsefield_experiments._trials import QUICK, make_trial, run_newton


def test_one_experiment_can_be_run_alone(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--quick", "--only", "tightness", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".csv", ".json", ".md"}
    assert {path.stem for path in tmp_path.iterdir()} == {"tightness", "index"}


def unframed(output):
    """Return an error message without the frame that wraps it."""
    return " ".join(output.replace("│", " ").split())


def test_the_command_refuses_what_it_does_not_know(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--only", "figure-9"])
    assert result.exit_code == 2
    assert "use structure-10, structure-20" in unframed(result.output)
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["paper", "--quick", "--output", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "is a file: name a folder" in unframed(result.output)


def test_an_interrupt_of_a_fit_ends_the_experiment(tmp_path, monkeypatch):
    """Solvers turn an interrupt into a result that says so; here it must not count as one."""
    made = []

    def interrupt(record):
        made.append(record)
        trial = make_trial(QUICK[10], 1)

        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("sparsefield.solvers._newton.find_move", stop)
        run_newton(trial, 0.1)

    monkeypatch.setitem(experiments.EXPERIMENTS, "senate", interrupt)
    result = CliRunner().invoke(app, ["paper", "--quick", "--only", "senate", "--output", str(tmp_path)])
    assert result.exit_code == 130
    assert len(made) == 1


def test_numbers_of_another_form_are_as_if_they_were_not_there(tmp_path):
    for text in ('{"made_by": {"format": 0}}', '{"methods": []}'):
        (tmp_path / "structure-10.json").write_text(text)
        assert write_pages(tmp_path) == []


def test_an_interrupt_keeps_what_was_finished(tmp_path, monkeypatch):
    def interrupt(record):
        record.tell(0.5)
        raise KeyboardInterrupt

    monkeypatch.setitem(experiments.EXPERIMENTS, "senate", interrupt)
    options = ["paper", "--quick", "--only", "tightness", "--only", "senate", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert "Tightness" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert not list(tmp_path.glob("senate*"))
