"""A moment at which work ends, whoever does it: long work asks between its pieces, as interrupts do."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_moment: ContextVar[float] = ContextVar("moment", default=math.inf)


class OutOfTimeError(Exception):
    """The time for some work is up."""


@contextmanager
def until(moment: float) -> Iterator[None]:
    """End what is done here at a moment, by `time.perf_counter`, or at an earlier one that is set already.

    Work then raises OutOfTimeError, as soon as it asks (`check_time`).
    """
    token = _moment.set(min(moment, _moment.get()))
    try:
        yield
    finally:
        _moment.reset(token)


def check_time() -> None:
    """Raise OutOfTimeError where the time is up."""
    if time.perf_counter() > _moment.get():
        raise OutOfTimeError
