"""Run the examples of a page when it is built, and show what they print and draw below them."""

import contextlib
import doctest
import io
import itertools
import os
import re
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot as plt

BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
# A network with 800 edges, the Senate's, has 670 kB as lines and 127 kB as points (150 to the inch).
LARGEST = 150_000
# A line of a table that polars prints.
FRAME = re.compile(r"shape: |[┌│├└╞]")


def run_block(code: str, names: dict[str, object], page: str) -> str:
    """Run one example with the names of those above it, and return what it prints; one with `>>>` shows that itself."""
    if ">>>" in code:
        test = doctest.DocTestParser().get_doctest(code, names, page, page, 0)
        told = io.StringIO()
        if doctest.DocTestRunner().run(test, out=told.write, clear_globs=False).failed:
            raise ValueError(f"An example of page {page} does not give what it shows.\n{told.getvalue()}")
        names.update(test.globs)
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def show_printed(text: str) -> list[str]:
    """Return blocks of what an example printed: tables keep their lines, and sentences fill the width of the page."""
    lines = text.rstrip().splitlines()
    parts = itertools.groupby(lines, key=lambda line: "table" if FRAME.match(line) else "told")
    return [f"```{{code-block}} text\n:class: output {kind}\n\n" + "\n".join(own) + "\n```" for kind, own in parts]


def save_figures(folder: Path, stem: str) -> list[tuple[Path, str]]:
    """Write the figures that are open, close them, and return their files, each with what it is called."""
    found = []
    for k, number in enumerate(plt.get_fignums()):
        figure = plt.figure(number)
        titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
        path = folder / f"{stem}-{k}.svg"
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        if path.stat().st_size > LARGEST:
            path.unlink()
            path = path.with_suffix(".png")
            figure.savefig(path, bbox_inches="tight", dpi=150)
        found.append((path, next((title for title in titles if title), "What these lines draw.")))
    plt.close("all")
    return found


def show_outputs(text: str, page: str, folder: Path, root: Path) -> str:
    """Return the text of a page with the output of each example below it.

    Examples run in a folder of their own, in the order of the page, and share their names. Pictures are written to
    `folder`, and named by their path from `root`. An example that fails ends the build.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    stem = page.replace("/", "-")
    shown = 0

    def show(block: re.Match[str]) -> str:
        nonlocal shown
        shown += 1
        parts = [block[0]]
        parts += show_printed(run_block(block[1], names, page))
        for path, title in save_figures(folder, f"{stem}-{shown}"):
            place = Path(os.path.relpath(path, root)).as_posix()
            parts.append(f"```{{image}} /{place}\n:alt: {title}\n:class: drawn\n```")
        return "\n\n".join(parts)

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        return BLOCK.sub(show, text)


def show_on_page(app, page: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    if app.env.doc2path(page).suffix == ".md" and BLOCK.search(source[0]):
        # With the parsed pages: they name these files, and both are removed together.
        source[0] = show_outputs(source[0], page, Path(app.doctreedir) / "outputs", Path(app.srcdir))


def setup(app) -> dict[str, bool]:
    """Tell Sphinx; pages are not read side by side, because examples change the working folder."""
    app.connect("source-read", show_on_page)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
