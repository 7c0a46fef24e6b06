"""What commands that make many fits have in common: their options, and how they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output
from sparsefield.cli._tables import Reading

Found = TypeVar("Found")


def _check_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("use a number from one on, or -1 for as many as there are processors.")
    return jobs


@dataclass(frozen=True)
class ManyFits:
    """What is asked of many fits, and where they are made."""

    objective: Annotated[str, typer.Option(help="What is penalised: likelihood or pseudolikelihood.")] = "likelihood"
    missing: options.Missing = "model"
    penalty: options.Penalty = "auto"
    penalize_main: options.PenalizeMain = False
    max_iter: options.MaxIter = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            help="Keep fits that are finished here: after an interrupt, the same command goes on.",
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            callback=_check_jobs, help="How many fits are made at a time, -1 for as many as there are processors."
        ),
    ] = None
    seed: options.Seed = 0
    threads: options.Threads = None
    device: options.Device = None

    @property
    def settings(self) -> dict[str, Any]:
        """What the library is asked for."""
        from sparsefield.fitting import Newton

        return {
            "objective": self.objective,
            "missing": self.missing,
            "penalty": self.penalty,
            "penalize_main": self.penalize_main,
            **({} if self.max_iter is None else {"solver": Newton(max_iter=self.max_iter)}),
            "seed": self.seed,
            "n_threads": self.threads,
            "device": self.device,
        }

    def run(self, what: str, function: Callable[..., Found], *inputs: Any, out: Output, **how: Any) -> Found:
        """Call what makes many fits, with a bar that shows how far it is."""
        from sparsefield.progress import PiecesBar

        with PiecesBar(out.progress, what) as watch:
            return function(*inputs, **how, **self.settings, watch=watch)

    def pieces(self, what: str) -> dict[str, Any]:
        """Return how many fits are made at a time, and where they are kept: each kind of them has its own folder."""
        folder = None if self.checkpoint is None else self.checkpoint / what
        return {"n_jobs": self.jobs, "checkpoint": folder}

    def describe_interrupt(self) -> str:
        """Say what an interrupt leaves."""
        if self.checkpoint is None:
            return "No fit is kept: with --checkpoint FOLDER they are, and the same command goes on from there."
        if not self.checkpoint.exists():
            return "No fit was finished."
        return f"The finished fits are in {str(self.checkpoint)!r}: the same command goes on from there."


def make_fit_command(data: Path, alpha: float, reading: Reading, asked: ManyFits) -> list[str]:
    """Return the words of the command that fits the same table with a penalty."""
    from sparsefield.tables import as_address

    words = ["sparsefield", "fit", as_address(data) or str(data), "--alpha", repr(alpha), *_as_words(reading)]
    words += [] if asked.missing == "model" else ["--missing", asked.missing]
    words += [] if asked.penalty == "auto" else ["--penalty", asked.penalty]
    words += ["--penalize-main"] if asked.penalize_main else []
    words += [] if asked.max_iter is None else ["--max-iter", str(asked.max_iter)]
    words += [] if asked.device is None else ["--device", asked.device]
    return words


def _as_words(group: Any) -> list[str]:
    """Return options as they are typed; those that are as without them are left out."""
    words: list[str] = []
    for field in fields(group):
        value = getattr(group, field.name)
        if value not in (field.default, []):
            name = f"--{field.name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(name if value else f"--no-{name[2:]}")
                continue
            words += [word for own in (value if isinstance(value, list) else [value]) for word in (name, str(own))]
    return words
