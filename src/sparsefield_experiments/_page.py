"""The pages: each figure beside what the paper says of it, and the check of its headline.

Their texts are templates in `pages/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from sparsefield._rounding import at_most
from sparsefield._writing import write_text
from sparsefield_experiments._claims import Claim, Numbers, find_rows
from sparsefield_experiments._votes import NELSON, ROCKEFELLER

_MOST_MISSED, _MOST_LINKS = 10, 15  # rows of tables
_BOUNDS = {
    "paper": "the paper's",
    "sharp": "sharp",
    "coalescence": "bounding chains (confidence 0.999 each)",
    "persistent": "persistent (of persistent chains)",
    "fischer": "Fischer's",
}


def write_page(folder: Path, numbers: dict[str, Numbers], claims: Sequence[Claim]) -> None:
    """Write index.md from the numbers of the experiments that were run."""
    # Sizes share a rule.
    rules = dict.fromkeys(f"{claim.words.partition(' (')[0]}. {claim.rule}" for claim in claims)
    _fill(folder, "index.md", numbers=numbers, claims=claims, rules=rules, find_rows=find_rows, bounds=_BOUNDS)


def write_headline(folder: Path, numbers: Numbers, claim: Claim) -> None:
    """Write headline.md from the numbers and tables of the experiment."""
    senators = pl.read_csv(folder / "headline-senators.csv")
    missed = senators.sort("missed", descending=True, maintain_order=True).head(_MOST_MISSED)
    _fill(
        folder,
        "headline.md",
        own=numbers,
        claim=claim,
        missed=missed.to_dicts(),
        median_missed=np.median(senators["missed"].to_numpy()),
        links=pl.read_csv(folder / "headline-links.csv").head(_MOST_LINKS).to_dicts(),
        ROCKEFELLER=ROCKEFELLER,
        NELSON=NELSON,
    )


def _fill(folder: Path, name: str, **words: Any) -> None:
    # Markdown of our own numbers and of senators' names: nothing to escape.
    environment = Environment(
        loader=PackageLoader("sparsefield_experiments", "pages"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.globals["at_most"] = at_most
    environment.globals["percent"] = lambda share: f"{share:.0%}"
    write_text(folder / name, environment.get_template(name).render(words))
