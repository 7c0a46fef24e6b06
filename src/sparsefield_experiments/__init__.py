"""The paper's experiments, one file a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from sparsefield_experiments._claims import Claim, judge
from sparsefield_experiments._headline import run_headline
from sparsefield_experiments._law import Law
from sparsefield_experiments._page import write_headline, write_page
from sparsefield_experiments._pseudolikelihood import run_pseudolikelihood
from sparsefield_experiments._record import Record, describe_machine, read_numbers
from sparsefield_experiments._senate import run_senate
from sparsefield_experiments._sizes import run_sizes
from sparsefield_experiments._structure import run_structure
from sparsefield_experiments._tightness import run_tightness

__all__ = ["EXPERIMENTS", "Claim", "Law", "describe_machine", "run_paper", "write_pages"]

EXPERIMENTS: dict[str, Callable[[Record], None]] = {
    "structure-10": partial(run_structure, n_variables=10),
    "structure-20": partial(run_structure, n_variables=20),
    "sizes": run_sizes,
    "pseudolikelihood": run_pseudolikelihood,
    "tightness": run_tightness,
    "senate": run_senate,
    "headline": run_headline,
}


def run_paper(
    folder: Path,
    *,
    names: Iterable[str] = tuple(EXPERIMENTS),
    quick: bool = False,
    command: str = "",
    tell: Callable[[str, float], None] | None = None,
) -> list[Claim]:
    """Run experiments of the paper, and write figures, numbers and pages to a folder.

    Each experiment writes its files as it ends, and so do the pages, from all that the folder then has: what was run
    earlier stays.

    Parameters
    ----------
    folder : Path
        Where to write; made if it is not there.
    names : iterable of str
        Which experiments, all unless given.
    quick : bool
        Whether to run them at a small size, for tests.
    command : str
        What is written beside the numbers as the command that made them.
    tell : callable, optional
        Called with the name of the experiment that runs and the share of it that is done.

    Returns
    -------
    list of Claim
        What the numbers in the folder say of the paper's claims.
    """
    folder.mkdir(parents=True, exist_ok=True)
    claims: list[Claim] = []
    for name in names:
        record = Record(folder, command, quick) if tell is None else Record(folder, command, quick, partial(tell, name))
        EXPERIMENTS[name](record)
        record.tell(1.0)
        claims = write_pages(folder)
    return claims


def write_pages(folder: Path) -> list[Claim]:
    """Write the pages from the numbers in a folder, and return the claims judged by them."""
    found = {name: read_numbers(folder, name) for name in EXPERIMENTS}
    numbers = {name: own for name, own in found.items() if own is not None}
    claims = judge(numbers)
    write_page(folder, numbers, claims)
    if "headline" in numbers:
        own = next(claim for claim in claims if claim.name == "headline")
        write_headline(folder, numbers["headline"], own)
    return claims
