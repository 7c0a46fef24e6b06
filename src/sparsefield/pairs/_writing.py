"""How q-values and levels are written, for whoever prints them."""

from __future__ import annotations


def as_q(q: float) -> str:
    """Write a q-value: tiny ones have no digits that anybody reads.

    Examples
    --------
    >>> from sparsefield.pairs import as_q
    >>> [as_q(value) for value in (0.234, 0.0101, 2e-5)]
    ['0.23', '0.01', '<0.001']
    """
    return "<0.001" if q < 0.001 else f"{q:.2g}"


def as_level(level: float) -> str:
    """Write the level of intervals.

    Examples
    --------
    >>> from sparsefield.pairs import as_level
    >>> [as_level(value) for value in (0.95, 0.995)]
    ['95%', '99.5%']
    """
    return f"{100 * level:.6g}%"
