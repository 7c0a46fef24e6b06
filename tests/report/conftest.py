"""A browser without a network."""

import os
import shutil

import pytest

from pages import visiting

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
