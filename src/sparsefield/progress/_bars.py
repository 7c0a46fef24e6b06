"""Progress bars for long fits and for many fits, in terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any

from sparsefield._extras import explain_missing
from sparsefield.fits import StepInfo

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WatchPieces = Callable[[int, int, float | None], object]


class _Bar:
    """A bar where it is wanted ("auto": in a terminal), and nothing elsewhere."""

    def __init__(self, wanted: bool | str) -> None:
        # Without rich there is no bar, and nobody who left it to us misses one.
        has_rich = find_spec("rich") is not None
        self._is_shown = sys.stderr.isatty() and has_rich if wanted == "auto" else bool(wanted)

    def _start(self, line: str, *, total: float | None, **shown: Any) -> TaskID:
        """Begin to show what is done, a bar in the room that texts leave, a line about it, and the time since then."""
        try:
            from sparsefield.progress._lines import make_progress
        except ModuleNotFoundError as error:
            raise explain_missing(error, "A progress bar", "cli") from error
        self._progress: Progress = make_progress(line)
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
        task = self._start("steps", total=self._n, said="")

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
                self._task = self._start("rows", total=None)
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
        task = self._start("pieces", total=None, what=self._what, end=None)

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
                self._task = self._start("pieces", total=None, what="pairs", end=None)

    def __exit__(self, *_: object) -> None:
        if not self._is_shown:
            return
        with self._lock:
            self._is_over = True
        self._timer.cancel()
        if self._task is not None:
            super().__exit__()


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
