"""A progress bar for long fits, in terminals only."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sparsefield.fits import StepInfo


class ProgressBar:
    """A progress bar where it is wanted ("auto": in a terminal), and nothing elsewhere."""

    def __init__(self, wanted: bool | str, n: int) -> None:
        self._is_shown = sys.stderr.isatty() if wanted == "auto" else bool(wanted)
        self._n = n

    def __enter__(self) -> Any:
        if not self._is_shown:
            return None
        columns = (
            TextColumn("fitting"),
            BarColumn(),
            TextColumn("{task.completed} of at most {task.total} steps, {task.fields[said]}"),
            TextColumn("at most"),
            TimeRemainingColumn(),
            TextColumn("left, since"),
        )
        console = Console(stderr=True, force_terminal=True)
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._progress.start()
        task = self._progress.add_task("fit", total=self._n, said="")

        def watch(info: StepInfo) -> None:
            said = f"gradient {info.violation:.3g}, {info.n_nonzero} parameters"
            self._progress.update(task, completed=info.iteration, said=said)

        return watch

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._progress.stop()
