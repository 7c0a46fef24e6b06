"""What tests of pages share: hostile names, and waiting for a text."""

import os
from contextlib import contextmanager
from pathlib import Path

ARTEFACTS = Path(os.environ.get("SPARSEFIELD_ARTEFACTS", Path(__file__).parents[2] / ".cache" / "artefacts"))
HOSTILE = [
    "<script>window.hit = 1</script>",
    "</script><img src=x onerror='window.hit = 1'>",
    '"quoted", with a comma',
    "<b>bold</b> & <a href='javascript:window.hit=1'>link</a>",
    "{{ 7 * 7 }} ${7*7}",
    "line\nbreak",
    "=1+1",
    "naïve 統計 \u2028 \u202e",
]


def settle(page, selector, text):
    """Wait until an element has a text (without evaluating a string in the page, which its policy forbids)."""
    for _ in range(100):
        if page.text_content(selector) == text:
            return
        page.wait_for_timeout(50)
    assert page.text_content(selector) == text


@contextmanager
def visiting(browser):
    """Give a function that opens pages with the network cut; what they complain about must be nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, accept_downloads=True, offline=True)
    complaints = []

    def visit(path):
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if "file:" not in request.url[:5] else None)
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready=yes]", timeout=30_000)
        return page

    yield visit
    context.close()
    assert [text for text in complaints if not text.startswith(("data:", "blob:"))] == []
