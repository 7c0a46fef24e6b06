"""A browser without a network."""

import os
import shutil

import pytest

from sparsefield.datasets import make_field
from support.pages import visiting
from support.views import describe, make_few, write_view

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser():
    if BROWSER is None:
        message = "There is no Chromium here: `apt-get install chromium` to test the page in a browser."
        if os.environ.get("SPARSEFIELD_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page with the network cut; what it complains about is collected, and must be nothing."""
    with visiting(browser) as visit:
        yield visit


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return where pages with views are written."""
    return tmp_path_factory.mktemp("view")


@pytest.fixture(scope="session")
def few(folder):
    """Return the page of a network of four variables."""
    return write_view(folder / "few.html", make_few())


@pytest.fixture(scope="session")
def many(folder):
    """Return the page of a network of ninety variables."""
    return write_view(folder / "many.html", describe(make_field(90, degree=4, seed=1)))
