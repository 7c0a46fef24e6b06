"""Examples whose data are not there have a page that says so."""

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def left_out():
    spec = importlib.util.spec_from_file_location("left_out", DOCS / "_extensions" / "left_out.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["left_out"] = module  # where dataclasses look up annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules["left_out"]


def test_examples_are_left_out_until_all_their_files_are_there(left_out, tmp_path):
    assert left_out.find_left_out(None) == left_out.find_left_out(str(tmp_path)) == list(left_out.SOURCES)
    for name, source in left_out.SOURCES.items():
        for file in source.files:
            assert name in left_out.find_left_out(str(tmp_path))
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).touch()
    assert left_out.find_left_out(str(tmp_path)) == []


def test_every_example_on_other_data_is_known_with_the_files_that_it_reads(left_out):
    found = {
        path.stem: code
        for path in (DOCS / "gallery").glob("**/*.py")
        if 'os.environ["SPARSEFIELD_OUTSIDE"]' in (code := path.read_text(encoding="utf-8"))
    }
    assert set(found) == set(left_out.SOURCES)
    for name, code in found.items():
        for file in left_out.SOURCES[name].files:
            assert all(f'"{part}"' in code for part in file.split("/")), (name, file)


def test_pages_of_examples_say_what_is_missing_and_have_the_code(left_out, tmp_path):
    (tmp_path / "examples").mkdir()
    (tmp_path / "gallery").symlink_to(DOCS / "gallery")
    app = SimpleNamespace(srcdir=tmp_path, config=SimpleNamespace(left_out=["plot_protein"]))
    left_out.write_pages(app)
    page = (tmp_path / "examples" / "plot_protein.rst").read_text(encoding="utf-8")
    example = (DOCS / "gallery" / "plot_protein.py").read_text(encoding="utf-8")
    assert page.startswith(ast.get_docstring(ast.parse(example)))
    for said in (
        "was not built here",
        "PF00014_match53.fasta",
        "5pti_contacts.csv",
        "SPARSEFIELD_OUTSIDE=FOLDER make docs",
    ):
        assert said in page
    code = page.split(".. code-block:: python\n\n")[1]
    assert re.sub(r"^   ", "", code, flags=re.MULTILINE).strip() == example.split('"""\n')[2].strip()

    source = ["Examples\n"]
    left_out.list_pages(app, "examples/index", source)
    assert "Not built here" in source[0]
    assert source[0].endswith("   plot_protein\n")
    app.config.left_out = []
    source = ["Examples\n"]
    left_out.list_pages(app, "examples/index", source)
    assert source == ["Examples\n"]
