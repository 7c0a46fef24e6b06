"""Scales of charts: where a value is between two ends, and which values get a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ROUND = (1, 2, 5, 10)
_MOST_TICKS = 6  # of a scale: more would touch on a phone


@dataclass(frozen=True)
class Scale:
    """A scale from one end to another, linear or of powers; ends may be in either order.

    Parameters
    ----------
    start, end : float
        The values at 0 and at 1.
    is_log : bool
        Whether equal ratios are equally far apart; both ends are positive then.

    Examples
    --------
    >>> from sparsefield.report._scales import Scale
    >>> Scale(0.1, 10.0, is_log=True).share(1.0), Scale(0.0, 4.0).ticks()
    (0.5, [0.0, 1.0, 2.0, 3.0, 4.0])
    """

    start: float
    end: float
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return how far a value is along the scale, from 0 to 1."""
        if self.is_log:
            return math.log(value / self.start) / math.log(self.end / self.start)
        return (value - self.start) / (self.end - self.start)

    def ticks(self, most: int = _MOST_TICKS) -> list[float]:
        """Return round values within the scale, at most so many."""
        low, high = sorted((self.start, self.end))
        found = _log_ticks(low, high, most) if self.is_log else []
        return found if len(found) > 1 else _linear_ticks(low, high, most)


def make_scale(
    values: Iterable[float | None], *, is_log: bool = False, margin: float = 0.04, down: bool = False
) -> Scale:
    """Return a scale that holds all values that are known, with a margin on both sides.

    Parameters
    ----------
    values : iterable of float or None
        The values.
    is_log : bool
        Whether it is a scale of powers.
    margin : float
        Room on each side, as a share of the scale.
    down : bool
        Whether values fall along the scale.
    """
    known = [value for value in values if value is not None and math.isfinite(value) and (value > 0 or not is_log)]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    if is_log:
        ratio = (high / low) ** margin if high > low else 2.0
        low, high = low / ratio, high * ratio
    else:
        room = margin * (high - low) if high > low else abs(low) / 2 or 0.5
        low, high = low - room, high + room
    return Scale(high, low, is_log) if down else Scale(low, high, is_log)


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * k for k in _ROUND if (high - low) / (power * k) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)  # ends count in spite of rounding
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return powers of ten, and 2 and 5 times these where there is room; every so many powers where there is not."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [float(f"{k}e{power}") for power in powers for k in (1, 2, 5)]
    found = [value for value in fine if low <= value <= high]
    if len(found) <= most:
        return found
    whole = [float(f"1e{power}") for power in powers if low <= float(f"1e{power}") <= high]
    return whole[:: math.ceil(len(whole) / most)] if len(whole) > 1 else found[:: math.ceil(len(found) / most)]


def as_tick(value: float) -> str:
    """Write the value at a tick as briefly as it can be; signs are those of mathematics.

    Examples
    --------
    >>> from sparsefield.report._scales import as_tick
    >>> [as_tick(value) for value in (0.02, -1.5, 20000.0, 1e-07)]
    ['0.02', '−1.5', '20,000', '1e−7']
    """
    size = abs(value)
    text = f"{value:,.10g}" if size == 0 or 1e-4 <= size < 1e7 else f"{value:.3g}"
    mantissa, _, power = text.partition("e")
    return (f"{mantissa}e{int(power)}" if power else mantissa).replace("-", "\N{MINUS SIGN}")


def thin(values: Sequence[float], shares: Sequence[float], gap: float) -> list[int]:
    """Return the indices of values that are at least a gap apart along the scale, the first one included."""
    kept: list[int] = []
    for k in range(len(values)):
        if not kept or abs(shares[k] - shares[kept[-1]]) >= gap:
            kept.append(k)
    return kept
