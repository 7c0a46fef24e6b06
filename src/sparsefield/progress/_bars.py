"""Progress bars for long fits and for many fits, in terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from threading import Lock, Timer
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from sparsefield._kernels._compiling import describe_compiling
from sparsefield.fits import StepInfo

WatchPieces = Callable[[int, int, float | None], object]


class _Bar:
    """A bar where it is wanted ("auto": in a terminal), and nothing elsewhere."""

    def __init__(self, wanted: bool | str) -> None:
        self._is_shown = sys.stderr.isatty() if wanted == "auto" else bool(wanted)

    def _start(self, line: ProgressColumn, *, total: float | None, **shown: Any) -> TaskID:
        """Begin to show what is done, a bar in the room that texts leave, a line about it, and the time since then."""
        console = Console(stderr=True, force_terminal=True)
        columns = (_Doing(), BarColumn(bar_width=None), line, TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, expand=True)
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
        task = self._start(_StepsDone(), total=self._n, said="")

        def watch(info: StepInfo) -> None:
            said = f", gradient {info.violation:.2g}, {info.n_nonzero} nonzero"
            self._progress.update(task, completed=info.iteration, said=said)

        return watch


class RowsBar(_Bar):
    """How many rows of a table are counted, where they are not in memory; nothing of other tables."""

    _is_begun = False

    def __enter__(self) -> Callable[[int], object] | None:
        if not self._is_shown:
            return None

        def watch(n_rows: int) -> None:
            if not self._is_begun:
                self._task = self._start(_RowsDone(), total=None)
                self._is_begun = True
            self._progress.update(self._task, completed=n_rows)

        return watch

    def __exit__(self, *_: object) -> None:
        if self._is_begun:
            super().__exit__()


class PiecesBar(_Bar):
    """A progress bar of pieces of work (`parallel.run_pieces`), with the time that is left.

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
        task = self._start(_PiecesLeft(), total=None, what=self._what, end=None)

        def watch(n_done: int, n_all: int, seconds_left: float | None) -> None:
            end = None if seconds_left is None else monotonic() + seconds_left
            self._progress.update(task, completed=n_done, total=n_all if n_all > 1 else None, end=end)

        return watch


class PairsBar(_Bar):
    """How many pairs are done, from ten seconds on; nothing of work that takes less.

    Before the first pair, while neighbours are looked for or kernels compiled, it shows that something is done.

    Parameters
    ----------
    wanted : bool or "auto"
        Whether to show it; "auto" does so in a terminal.
    patience : float
        Seconds until it is shown.
    """

    _task: TaskID | None = None

    def __init__(self, wanted: bool | str, patience: float = 10.0) -> None:
        super().__init__(wanted)
        self._patience = patience

    def __enter__(self) -> Callable[[int, int], object] | None:
        if not self._is_shown:
            return None
        self._lock, self._is_over = Lock(), False
        self._timer = Timer(self._patience, self._begin)
        self._timer.daemon = True
        self._timer.start()
        first: list[tuple[float, int]] = []  # when the first pairs were done, and how many

        def watch(n_done: int, n_all: int) -> None:
            if not first:
                first.append((monotonic(), n_done))
            if self._task is None:
                return
            (clock, n_before), passed = first[0], monotonic() - first[0][0]
            end = clock + passed * (n_all - n_before) / (n_done - n_before) if n_done > n_before else None
            self._progress.update(self._task, completed=n_done, total=n_all, end=end)

        return watch

    def _begin(self) -> None:
        """Show the bar, unless all is done by now."""
        with self._lock:
            if not self._is_over:
                self._task = self._start(_PiecesLeft(), total=None, what="pairs", end=None)

    def __exit__(self, *_: object) -> None:
        if not self._is_shown:
            return
        with self._lock:
            self._is_over = True
        self._timer.cancel()
        if self._task is not None:
            super().__exit__()


class _Line(ProgressColumn):
    """A text that is never cut: the bar is shorter where it is long."""

    def get_table_column(self) -> Column:
        """Keep the text in one line."""
        return Column(no_wrap=True)


class _Doing(_Line):
    """What is done now: a first fit compiles for many seconds before it gets anywhere."""

    def render(self, task: Task) -> Text:  # noqa: ARG002  # asked for by rich
        """Return the text before the bar."""
        return Text(describe_compiling() or "fitting")


class _StepsDone(_Line):
    """How many steps are done. How long the others take is not known: a fit ends when it is good enough."""

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        if describe_compiling():
            return Text("since")
        return Text(f"step {task.completed:.0f} of up to {task.total:.0f}{task.fields['said']}")


class _RowsDone(_Line):
    """How many rows are counted. How many there are is known in the end."""

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        return Text(f"{task.completed:,.0f} rows, since")


class _PiecesLeft(_Line):
    """How many pieces are done, and how long the others will take."""

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        if task.total is None or describe_compiling():
            return Text("since")
        done = f"{task.completed:.0f} of {task.total:.0f} {task.fields['what']}"
        end = task.fields["end"]
        if end is None:
            return Text(f"{done}, since")
        left = timedelta(seconds=round(max(0.0, end - monotonic())))
        return Text(f"{done}, about {left} left, since")


class Bars:
    """Progress bars of a fit where they are wanted ("auto": in a terminal), and nothing elsewhere (`learning.Show`)."""

    def __init__(self, wanted: bool | str) -> None:
        self._wanted = wanted

    def rows(self) -> RowsBar:
        """Show how many rows are counted."""
        return RowsBar(self._wanted)

    def choice(self) -> PiecesBar:
        """Show how many penalties were tried."""
        return PiecesBar(self._wanted, "penalties")

    def tell(self, chosen: object) -> None:
        """Take no note of how edges were found."""

    def steps(self, n_most: int) -> ProgressBar:
        """Show how many steps a fit has made."""
        return ProgressBar(self._wanted, n_most)
