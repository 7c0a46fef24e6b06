"""Who is told how far a fit is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from sparsefield.parallel import Watch
from sparsefield.selection import Choice
from sparsefield.solvers import WatchSteps
from sparsefield.structure import Structure

WatchRows = Callable[[int], object]


class Show(Protocol):
    """What shows how far a fit is: each method gives what is called as that part of it goes on, or nothing."""

    def rows(self) -> AbstractContextManager[WatchRows | None]:
        """Show how many rows are counted, where they are not in memory."""
        ...

    def choice(self) -> AbstractContextManager[Watch | None]:
        """Show how many penalties were tried."""
        ...

    def tell(self, chosen: Choice | Structure) -> None:
        """Take note of how edges were found, before their weights are learned."""
        ...

    def steps(self, n_most: int) -> AbstractContextManager[WatchSteps | None]:
        """Show how many steps were made, of so many at most."""
        ...


@dataclass(frozen=True)
class Quiet:
    """Nothing is shown; whoever wants it is called with each step.

    Parameters
    ----------
    watch : callable, optional
        Called with each StepInfo.
    """

    watch: WatchSteps | None = None

    def rows(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()

    def choice(self) -> AbstractContextManager[None]:
        """Show nothing."""
        return nullcontext()

    def tell(self, chosen: Choice | Structure) -> None:
        """Take no note."""

    def steps(self, n_most: int) -> AbstractContextManager[WatchSteps | None]:  # noqa: ARG002
        """Call whoever wants it."""
        return nullcontext(self.watch)


QUIET = Quiet()
