"""Without the packages of the extras: what learns works, and what needs them says which command installs them."""

import re
import subprocess
import sys

import pytest

from sparsefield._extras import explain_missing

EXTRAS = ("jinja2", "matplotlib", "rich", "typer")

LEARNS = """
import sparsefield as sf
table = sf.encode({"a": [0, 1, 1, 0] * 30, "b": [0, 1, 1, 1] * 30, "c": ["x", "y", "y", "x"] * 30})
mrf = sf.SparseMRF(certify=True, random_state=1).fit(table)
print(mrf.status_.code, mrf.fit_.optimality.kind, len(sf.edge_table(mrf)), sf.infer(table).n_edges)
print(sf.bootstrap(mrf, table, n=2).n_resamples, sf.SparseMRF(sf.EBIC(n_alphas=3)).fit(table).choice_.criterion)
print("<pre>" in mrf.fit_._repr_html_(), "sparsefield[report]" in mrf.fit_._repr_html_())
"""
ASKS = {
    "plot": ("import sparsefield.plotting", "A picture takes the package 'matplotlib'"),
    "report": ("import sparsefield.report", "The interactive page takes the package"),
    "cli": ("import sparsefield as sf; sf.SparseMRF(0.1, progress=True).fit([[0, 1], [1, 0]])", "A progress bar takes"),
    "all": ("from sparsefield.cli import main; main()", "Error: The program takes the package"),
}


def run(script):
    """Run a script where the packages of the extras are not installed."""
    lacks = f"import sys\nfor name in {EXTRAS!r}: sys.modules[name] = None\n"
    return subprocess.run([sys.executable, "-c", lacks + script], capture_output=True, text=True, check=False)


def test_the_core_fits_and_certifies():
    done = run(LEARNS)
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert re.fullmatch(r"converged exact \d \d", first)
    assert second == "2 ebic"
    assert third == "True True"


@pytest.mark.parametrize("extra", ASKS)
def test_what_needs_an_extra_says_how_to_install_it(extra):
    script, sentence = ASKS[extra]
    done = run(script)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert sentence in last
    assert last.endswith(f"which is not installed: pip install 'sparsefield[{extra}]'")


def test_a_package_of_our_own_is_no_extra():
    error = ModuleNotFoundError("No module named 'sparsefield.foo'", name="sparsefield.foo")
    assert explain_missing(error, "It", "all") is error
