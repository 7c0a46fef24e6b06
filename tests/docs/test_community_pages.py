"""Pages for the people of a field: each says what is made up, what to report, and what other programs call it."""

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = sorted((DOCS / "gallery" / "communities").glob("plot_*.py"))
PAGES = [DOCS / "guide" / "survey.md", *SCRIPTS]


def read(page):
    """Return the text of a page in one line, without the marks of comments."""
    return " ".join(re.sub(r"^# ", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_end_with_what_to_report_and_other_programs(page):
    text = read(page)
    report, other = text.index("What to report"), text.index("Coming from")
    assert report < other
    assert "sf.__version__" in text[report:other]
    assert "coming-from" in text[other:]


@pytest.mark.parametrize("name", ["plot_neuroscience", "plot_sequences"])
def test_pages_on_made_up_tables_say_so_before_anything_is_computed(name):
    (page,) = (page for page in SCRIPTS if page.stem == name)
    told = ast.get_docstring(ast.parse(page.read_text(encoding="utf-8")))
    assert re.search(r"\*\*The \w+ on this page (are|is) made up\*\*", told)


def test_the_tutorial_says_where_its_table_comes_from():
    text = read(PAGES[0])
    said = text[: text.index("## The table")]
    assert "Nobody gave the answers" in said
    assert "10.1371/journal.pone.0167490" in said
    assert "CC BY 4.0" in said


def test_there_is_a_page_for_each_of_four_fields():
    assert [page.stem for page in PAGES] == ["survey", "plot_neuroscience", "plot_politics", "plot_sequences"]
