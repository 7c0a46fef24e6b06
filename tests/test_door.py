"""The package is entered at once; what takes long to import waits until it is needed."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

import sparsefield as sf
from sparsefield import data, estimators, tables
from sparsefield.cli import _options

SLOW = {"joblib", "matplotlib", "networkx", "numba", "numpy", "pandas", "polars", "scipy", "sklearn"}
ROOMS = (
    *("data", "estimators", "fits", "fitting", "learning", "marks", "model", "network", "objective"),
    *("optimality", "pairs", "parallel", "plotting", "proteins", "pseudolikelihood", "report", "resampling", "solvers"),
    "tables",
)


def run_python(lines):
    """Run lines in a process of their own, and return what they print as JSON."""
    result = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "words", [[], ["--version"], ["--help"], ["fit", "--help"], ["path", "--help"], ["infer", "--help"]]
)
def test_nothing_slow_is_imported_before_it_is_needed(words):
    call = f"""
import json, sys
import sparsefield
if {words}:
    from sparsefield.cli import main
    sys.argv = ["sparsefield", *{words}]
    try:
        main()
    except SystemExit as end:
        assert not end.code
print(json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""
    assert SLOW & set(run_python(call)) == set()


def test_the_program_fits_without_scikit_learn(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "0,1\n1,0\n1,1\n" * 20)
    call = f"""
import json, sys
from sparsefield.cli import main
sys.argv = ["sparsefield", "fit", {str(path)!r}, "--no-certify", "--quiet"]
try:
    main()
except SystemExit as end:
    assert not end.code
print(json.dumps(sorted(name for name in sys.modules if "." not in name)))
"""
    assert not {"sklearn", "matplotlib", "pandas"} & set(run_python(call))
    assert path.with_suffix(".field").exists()


def test_rooms_and_names_are_found_when_they_are_asked_for():
    lines = (
        "import json, sparsefield as sf; "
        f"found = [getattr(sf, room).__name__ for room in {ROOMS}]; "
        "print(json.dumps([*found, sf.SparseMRF().alpha, sf.path.__name__]))"
    )
    assert run_python(lines) == [*(f"sparsefield.{room}" for room in ROOMS), "auto", "path"]


def test_every_name_is_what_its_room_offers():
    rooms = [import_module(f"sparsefield.{room}") for room in (*ROOMS, "selection")]
    for name in sf.__all__:
        found = getattr(sf, name)
        assert found.__name__ == f"sparsefield.{name}" or any(getattr(room, name, None) is found for room in rooms)
    names: dict[str, object] = {}
    exec("from sparsefield import *", names)
    assert names.keys() - {"__builtins__"} == set(sf.__all__)
    assert {*sf.__all__, *ROOMS, "__version__"} <= set(dir(sf))
    assert [name for name in dir(sf) if not name.startswith("__") and not hasattr(getattr(sf, name), "__name__")] == []


def test_estimators_are_listed_before_they_are_imported():
    lines = "import json, sparsefield as sf; print(json.dumps([*dir(sf.estimators), sf.estimators.__name__]))"
    assert {*estimators.__all__, "sparsefield.estimators"} <= set(run_python(lines))


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'sparsefield' has no attribute 'SparseMRFs'"):
        sf.SparseMRFs  # noqa: B018


def test_limits_of_options_are_those_of_tables():
    assert (_options.MAX_LEVELS, _options.MOST_LEVELS) == (tables.MAX_LEVELS, data.MOST_LEVELS)
