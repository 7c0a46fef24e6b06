"""The examples that people read must run: docstrings, README and docs."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import sparsefield

ROOT = Path(__file__).parents[2]
# What the documentation is built into is not ours to check.
BUILT = ("_build", "generated", "examples")
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.relative_to(ROOT / "docs").parts[0] not in BUILT),
]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(sparsefield.__path__, "sparsefield.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["sparsefield", *MODULES])
def test_docstring_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    failed, _ = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert failed == 0


def test_every_public_name_has_an_example_that_is_found():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in MODULES]
    found = {test.name for module in modules for test in finder.find(module) if test.examples}
    for name in sparsefield.__all__:
        own = getattr(sparsefield, name)
        if callable(own):
            parts = (f"{own.__module__}.{name}", f"{own.__module__}.{name}.")
            assert any(test == parts[0] or test.startswith(parts[1]) for test in found), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def test_the_readme_has_an_example():
    assert "```python" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            path = (page.parent / target).resolve()
            if path.is_relative_to(ROOT / "docs" / "examples"):  # which is built of the gallery
                path = ROOT / "docs" / "gallery" / f"{path.relative_to(ROOT / 'docs' / 'examples')}.py"
            assert path.exists(), (page, target)


def test_tests_that_pages_name_are_there():
    named = 0
    for page in PAGES:
        for path, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8")):
            assert re.search(rf"^def {test}\(", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE), test
            named += 1
    assert named >= 15


def test_terms_that_pages_link_to_are_in_the_glossary():
    entries = re.search(
        r"```\{glossary\}\n(.*?)```", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.DOTALL
    )[1]
    terms = re.findall(r"^(\S.*)$", entries, flags=re.MULTILINE)
    anchors = {f"term-{term.replace(' ', '-')}" for term in terms}
    linked = {
        anchor for page in PAGES for anchor in re.findall(r"glossary\.md#([\w-]+)", page.read_text(encoding="utf-8"))
    }
    assert linked
    assert linked <= anchors
    first = [entry.split("\n")[0].lower() for entry in entries.strip().split("\n\n")]
    assert first == sorted(first)
