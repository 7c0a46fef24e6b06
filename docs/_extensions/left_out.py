"""Examples whose data are not part of the project: they are built where the data are, and pages say which are not."""

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """What an example reads, below the folder that SPARSEFIELD_OUTSIDE names, and where it comes from."""

    files: tuple[str, ...]
    origin: str


SOURCES = {
    "plot_symptoms": Source(
        ("adhd/adhd_bgms.csv",),
        "It is the table ``ADHD`` of the R package `bgms <https://cran.r-project.org/package=bgms>`__, written as text "
        "with commas: 18 columns of symptoms and the column ``group``.",
    ),
    "plot_spikes": Source(
        ("spikes/maxent_toolbox_spikes50.npz",),
        "It is ``example50`` of the `maxent toolbox <https://github.com/orimaoz/maxent_toolbox>`__, saved by numpy as "
        "one array ``spikes`` with 40,000 rows and 50 columns.",
    ),
    "plot_protein": Source(
        ("pf00014/PF00014_match53.fasta", "pf00014/5pti_contacts.csv"),
        "The sequences are ``data/PF00014.fasta`` of `PlmDCA.jl <https://github.com/pagnani/PlmDCA.jl>`__. The "
        "contacts are the distances of entry `5PTI <https://www.rcsb.org/structure/5PTI>`__ of the Protein Data Bank: "
        "columns ``col_i``, ``col_j``, and ``min_heavy_dist``, the least distance of two heavy atoms in angstrom.",
    ),
}


def find_left_out(folder: str | None) -> list[str]:
    """Return the examples whose data are not all in this folder, or all of them where there is none."""
    if folder is None:
        return list(SOURCES)
    return [name for name, own in SOURCES.items() if not all((Path(folder) / file).exists() for file in own.files)]


def describe(example: Path, source: Source) -> str:
    """Return the page of an example that was not built: what it is about, what it reads, and its code."""
    code = example.read_text(encoding="utf-8")
    module = ast.parse(code)
    lines = code.splitlines()[module.body[0].end_lineno :]
    files = " and ".join(f"``{file}``" for file in source.files)
    return "\n".join(
        [
            ast.get_docstring(module),
            "",
            ".. note::",
            "",
            f"   This example was not built here: it reads {files}, of which the project has no copy. {source.origin}",
            "   With these files in a folder, ``SPARSEFIELD_OUTSIDE=FOLDER make docs`` builds it with its figures.",
            "",
            ".. code-block:: python",
            "",
            textwrap.indent("\n".join(lines).strip(), "   "),
            "",
        ]
    )


def write_pages(app) -> None:
    """Write a page for each example that the gallery leaves out, so that links to it lead somewhere."""
    folder = Path(app.srcdir) / "examples"
    for name in app.config.left_out:
        page = describe(Path(app.srcdir) / "gallery" / f"{name}.py", SOURCES[name])
        (folder / f"{name}.rst").write_text(page, encoding="utf-8")


def list_pages(app, page: str, source: list[str]) -> None:
    """Say at the end of the gallery what was not built."""
    if page == "examples/index" and app.config.left_out:
        title = "Not built here"
        lines = [
            title,
            "-" * len(title),
            "",
            "The data of these examples are not part of the project, and were not there when these pages were built.",
            "Each page has the code, and says where the data come from.",
            "",
            ".. toctree::",
            "   :maxdepth: 1",
            "",
            *(f"   {name}" for name in app.config.left_out),
        ]
        source[0] += "\n\n" + "\n".join(lines) + "\n"


def setup(app) -> dict[str, bool]:
    """Tell Sphinx; pages are written once the gallery has written its own."""
    app.add_config_value("left_out", [], "env")
    app.connect("builder-inited", write_pages, priority=900)
    app.connect("source-read", list_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
