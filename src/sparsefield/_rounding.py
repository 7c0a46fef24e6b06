"""Bounds as text: rounded outwards, so that what is printed still holds."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_EXACT = Context(prec=40)  # a float has 17 digits, one minus a confidence no more
_FINEST = Decimal("1e-300")  # unit of the smallest numbers: every multiple of it is a float of full precision


def at_most(value: float, digits: int = 3, *, below: float | None = None) -> str:
    """Return an upper bound as text, rounded up: a positive one never becomes zero.

    Parameters
    ----------
    value : float
        The bound.
    digits : int
        Significant digits.
    below : float, optional
        A number that the text stays below where the bound is below it, with as many more digits as that takes.

    Examples
    --------
    >>> from sparsefield._rounding import at_most
    >>> at_most(0.12301), at_most(3e-18), at_most(0.99991, below=1)
    ('0.124', '3e-18', '0.99991')
    """
    if below is not None and value < below:
        while _round(_read(value), digits, ROUND_CEILING) >= _read(below):
            digits += 1
    return _write(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = 3) -> str:
    """Return a lower bound as text, rounded down.

    Examples
    --------
    >>> from sparsefield._rounding import at_least
    >>> at_least(0.12399)
    '0.123'
    """
    return _write(value, digits, ROUND_FLOOR)


def as_confidence(value: float, digits: int = 3) -> str:
    """Return a confidence as text, rounded down; it is 1 only where the confidence is.

    Parameters
    ----------
    value : float
        The confidence, from 0 to 1.
    digits : int
        Significant digits of the confidence or of the risk, one minus it, whichever is smaller.

    Examples
    --------
    >>> from sparsefield._rounding import as_confidence
    >>> as_confidence(0.95), as_confidence(0.949999), as_confidence(1 - 1e-9)
    ('0.95', '0.9499', '0.999999999')
    """
    if value < 0.5:
        return at_least(value, digits)
    risk = _round(_EXACT.subtract(Decimal(1), _read(value)), digits, ROUND_CEILING)
    return f"{_EXACT.subtract(Decimal(1), risk).normalize(_EXACT):f}"


def _read(value: float) -> Decimal:
    # The shortest decimal number that is read as this float: 0.1 is a tenth, and not 5e-18 more.
    return Decimal(repr(float(value)))


def _round(exact: Decimal, digits: int, towards: str) -> Decimal:
    if not exact:
        return exact
    unit = max(Decimal(1).scaleb(exact.adjusted() - digits + 1, _EXACT), _FINEST)
    return exact.quantize(unit, towards, _EXACT)


def _write(value: float, digits: int, towards: str) -> str:
    if not math.isfinite(value):
        return str(float(value))
    return f"{float(_round(_read(value), digits, towards)) + 0.0:.{digits}g}"
