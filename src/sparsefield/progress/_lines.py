"""The lines of progress bars, with rich."""

from __future__ import annotations

from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from sparsefield._kernels._compiling import describe_compiling


def make_progress(line: str) -> Progress:
    """Return a bar with a line about steps, rows or pieces."""
    console = Console(stderr=True, force_terminal=True)
    lines: dict[str, ProgressColumn] = {"steps": StepsDone(), "rows": RowsDone(), "pieces": PiecesLeft()}
    columns = (_Doing(), BarColumn(bar_width=None), lines[line], TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, expand=True)


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


class StepsDone(_Line):
    """How many steps are done. How long the others take is not known: a fit ends when it is good enough."""

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        if describe_compiling():
            return Text("since")
        return Text(f"step {task.completed:.0f} of up to {task.total:.0f}{task.fields['said']}")


class RowsDone(_Line):
    """How many rows are counted. How many there are is known in the end."""

    def render(self, task: Task) -> Text:
        """Return the text before the time since the start."""
        return Text(f"{task.completed:,.0f} rows, since")


class PiecesLeft(_Line):
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
