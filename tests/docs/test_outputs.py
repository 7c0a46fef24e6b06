"""Pages show what their examples print and draw."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SHOWS = re.compile(
    r"^\s*(print\(|>>> |[\w.]*(plot|Display)[\w.]*\()|```text\n|!\[.*\]\(|```\{(image|include)\}", flags=re.MULTILINE
)


@pytest.fixture(scope="module")
def outputs():
    spec = importlib.util.spec_from_file_location("outputs", DOCS / "_extensions" / "outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def show(outputs, tmp_path):
    return lambda text: outputs.show_outputs(text, "guide/page", tmp_path / "built" / "outputs", tmp_path / "docs")


def test_examples_print_below_themselves_and_share_their_names(show):
    text = show("Before.\n\n```python\nx = 2\n```\n\nBetween.\n\n```python\nprint(x + 1)\n```\n\nAfter.\n")
    assert text == (
        "Before.\n\n```python\nx = 2\n```\n\nBetween.\n\n```python\nprint(x + 1)\n```\n\n"
        "```{code-block} text\n:class: output told\n\n3\n```\n\nAfter.\n"
    )


def test_figures_are_shown_with_their_title(show, tmp_path):
    text = show("```python\nfrom matplotlib import pyplot as plt\nplt.plot([1, 2])\nplt.title('A line')\n```\n")
    assert "```{image} /../built/outputs/guide-page-1-0.svg\n:alt: A line\n" in text
    assert (tmp_path / "built" / "outputs" / "guide-page-1-0.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_tables_are_kept_apart_from_sentences(outputs):
    told, table, more = outputs.show_printed("One.\nTwo.\nshape: (1, 1)\n┌───┐\n│ 1 │\n└───┘\n  Three.\n")
    assert told == "```{code-block} text\n:class: output told\n\nOne.\nTwo.\n```"
    assert table == "```{code-block} text\n:class: output table\n\nshape: (1, 1)\n┌───┐\n│ 1 │\n└───┘\n```"
    assert more.endswith("\n\n  Three.\n```")
    assert outputs.show_printed("\n") == []


def test_an_example_that_fails_ends_the_build(show):
    with pytest.raises(ZeroDivisionError):
        show("```python\n1 / 0\n```\n")
    with pytest.raises(ValueError, match=r"page guide/page does not give what it shows(.|\n)*Got:\n +2"):
        show("```python\n>>> 1 + 1\n3\n```\n")


@pytest.mark.parametrize("page", sorted((DOCS / "guide").glob("*.md")), ids=lambda page: page.stem)
def test_every_guide_shows_something(page):
    assert SHOWS.search(page.read_text(encoding="utf-8")), page
