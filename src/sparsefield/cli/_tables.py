"""How a table is read: options that commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output

if TYPE_CHECKING:  # what reads tables is imported when one is read: help need not wait for it
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.data import Domain


@dataclass(frozen=True)
class Sampling:
    """How rows were drawn: options of commands that say how sure pairs are."""

    frequency: options.Frequency = None
    cluster: options.Cluster = None


@dataclass(frozen=True)
class Cells:
    """How the cells of a file are read: options that all commands have which read a table."""

    separator: options.Separator = None
    sheet: options.Sheet = None
    header: options.Header = None
    missing_marker: options.Marker = None
    level: options.KeptWord = None
    merge_levels: options.MergeLevels = None
    weight: options.Weight = None

    def load_same(
        self, path: Path, domain: Domain, out: Output, missing: str = "model", sampling: Sampling | None = None
    ) -> LoadedTable:
        """Read a table again, with the variables and levels that a field already has.

        Parameters
        ----------
        path : Path
            The file.
        domain : Domain
            The variables of the field.
        out : Output
            Where to say what was assumed.
        missing : str
            What the fit did with missing values, where rows are counted and not kept.
        sampling : Sampling, optional
            How rows were drawn.
        """
        from sparsefield.cli._loading import load_same

        return load_same(path, domain, self, out, missing, _check_sampling(sampling, self.weight))


@dataclass(frozen=True)
class Reading(Cells):
    """How a table is read: options that all commands have which learn from one."""

    columns: options.Columns = None
    ignore: options.Ignore = None
    id: options.Id = None
    text: options.AsText = None
    ordinal: options.Ordinal = None
    max_levels: options.MaxLevels = options.MAX_LEVELS

    def load(self, path: Path, out: Output, missing: str, sampling: Sampling | None = None) -> LoadedTable:
        """Read a table, and take the columns that are asked for; say what it holds, and what to look at.

        Parameters
        ----------
        path : Path
            The file.
        out : Output
            Where to say so.
        missing : str
            What the fit does with missing values.
        sampling : Sampling, optional
            How rows were drawn.
        """
        from sparsefield.cli._loading import load

        return load(path, self, out, missing, _check_sampling(sampling, self.weight))


def _check_sampling(sampling: Sampling | None, weight: str | None) -> Sampling:
    """Refuse to take for counts what is not there."""
    sampling = Sampling() if sampling is None else sampling
    if sampling.frequency is not None and weight is None:
        what, hint = ("counts equal rows", "--frequency") if sampling.frequency else ("has the weights", "--survey")
        raise typer.BadParameter(f"name the column that {what} with --weight.", param_hint=hint)
    return sampling
