"""What people should look at in a table, with the options of the program that mend it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from sparsefield.cli._spelling import spell as spell_option
from sparsefield.data import Suspicion, Table, columns_have
from sparsefield.tables import FEW_LEVELS

_MOST = 5  # notes of a kind: more of them hide the others


def compose_notes(suspicions: Iterable[Suspicion]) -> list[str]:
    """Return a sentence for each suspicion; of many of a kind, the first few, and how many there are."""
    notes: list[str] = []
    seen: Counter[str] = Counter()
    for own in suspicions:
        seen[own.kind] += 1
        if seen[own.kind] <= _MOST:
            notes.append(compose_note(own))
    notes += [
        f"There are {n - _MOST} more notes like those on {_TOPICS[kind]}." for kind, n in seen.items() if n > _MOST
    ]
    return notes


_TOPICS = {
    "missing code": "codes for missing values",
    "missing word": "words for missing values",
    "variants": "levels that differ in case or blanks",
    "rare": "typos",
    "row names": "columns that name the rows",
    "copies": "columns that tell the same",
}


def compose_note(suspicion: Suspicion) -> str:
    """Return the sentence of a suspicion, with options as they are typed."""

    def spell(option: str) -> str:
        columns = suspicion.columns[1:] if suspicion.kind == "copies" else suspicion.columns
        named = shlex.quote(",".join(columns))
        if option == "missing_markers":
            # With "=", a value may begin with a minus.
            return " ".join(f"--missing-marker={shlex.quote(str(value))}" for value in suspicion.values)
        if option == "level":
            return " ".join(f"--level {shlex.quote(str(value))}" for value in suspicion.values)
        if option == "missing":
            return "--missing model"
        return f"{spell_option(option)} {named}"

    return suspicion.compose(spell)


def list_unordered(table: Table) -> list[str]:
    """Say which columns look as if their levels were ordered, and count as if they were not."""
    domain = table.domain
    names = [
        name
        for name, levels, is_ordered in zip(domain.names, domain.levels, domain.is_ordered, strict=True)
        if not is_ordered and 2 < len(levels) <= FEW_LEVELS and all(type(level) is int for level in levels)
    ]
    if not names:
        return []
    return [
        f"{columns_have(names)} numbers as levels, which count as categories without an order: --ordinal all, or their "
        "names, makes edges with a sign of them."
    ]
