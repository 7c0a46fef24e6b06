"""Progress bars for long fits and for many fits, in terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from sparsefield._kernels._compiling import describe_compiling
from sparsefield.fits import StepInfo
from sparsefield.selection import Choice, choose
from sparsefield.solvers import Learner

WatchPieces = Callable[[int, int, float | None], object]


class _Bar:
    """A bar where it is wanted ("auto": in a terminal), and nothing elsewhere."""

    def __init__(self, wanted: bool | str) -> None:
        self._is_shown = sys.stderr.isatty() if wanted == "auto" else bool(wanted)

    def _start(self, *columns: ProgressColumn, total: float | None, **shown: Any) -> TaskID:
        """Begin to show a bar between texts, and the time since then after them."""
        console = Console(stderr=True, force_terminal=True)
        self._progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._progress.start()
        return self._progress.add_task("", total=total, **shown)

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._progress.stop()


class ProgressBar(_Bar):
    """A progress bar of the steps of a fit where it is wanted ("auto": in a terminal), and nothing elsewhere."""

    def __init__(self, wanted: bool | str, n: int) -> None:
        super().__init__(wanted)
        self._n = n

    def __enter__(self) -> Any:
        if not self._is_shown:
            return None
        task = self._start(
            _Doing(),
            BarColumn(),
            TextColumn("{task.completed} of at most {task.total} steps, {task.fields[said]}"),
            TextColumn("at most"),
            TimeRemainingColumn(),
            TextColumn("left, since"),
            total=self._n,
            said="",
        )

        def watch(info: StepInfo) -> None:
            said = f"gradient {info.violation:.3g}, {info.n_nonzero} parameters"
            self._progress.update(task, completed=info.iteration, said=said)

        return watch


class PiecesBar(_Bar):
    """A progress bar of pieces of work (`selection.run_pieces`), with the time that is left.

    Until the first of several pieces begins, and where there is one only, it shows that something is done.

    Parameters
    ----------
    wanted : bool or "auto"
        Whether to show it; "auto" does so in a terminal.
    what : str
        What the pieces are, such as "resamples".
    """

    def __init__(self, wanted: bool | str, what: str) -> None:
        super().__init__(wanted)
        self._what = what

    def __enter__(self) -> WatchPieces | None:
        if not self._is_shown:
            return None
        task = self._start(_Doing(), BarColumn(), _PiecesLeft(), total=None, what=self._what, end=None)

        def watch(n_done: int, n_all: int, seconds_left: float | None) -> None:
            end = None if seconds_left is None else monotonic() + seconds_left
            self._progress.update(task, completed=n_done, total=n_all if n_all > 1 else None, end=end)

        return watch


class _Doing(ProgressColumn):
    """What is done now: a first fit compiles for many seconds before it gets anywhere."""

    def get_table_column(self) -> Column:
        """Let the bar be shorter where the words are long."""
        return Column(no_wrap=True)

    def render(self, task: Task) -> Text:  # noqa: ARG002  # asked for by rich
        """Return the text before the bar."""
        return Text(describe_compiling() or "fitting")


class _PiecesLeft(ProgressColumn):
    """How many pieces are done, and how long the others will take, in one line."""

    def get_table_column(self) -> Column:
        """Let the bar be shorter where the line is too long."""
        return Column(no_wrap=True)

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        if task.total is None:
            return Text("since")
        done = f"{task.completed:.0f} of {task.total:.0f} {task.fields['what']}"
        end = task.fields["end"]
        if end is None or describe_compiling():  # compiling is no measure of what comes after it
            return Text(f"{done}, since")
        left = timedelta(seconds=round(max(0.0, end - monotonic())))
        return Text(f"{done}, about {left} left, since")


def choose_shown(learner: Learner, began: float | None, wanted: bool | str, **options: Any) -> Choice:
    """Choose a penalty (`selection.choose`), with a progress bar where it is wanted."""
    with PiecesBar(wanted, "penalties") as watch:
        return choose(learner, began=began, watch=watch, **options)
