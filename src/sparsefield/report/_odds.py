"""What one edge says, in words and odds, for variables with two levels, ordered levels, and levels without an order."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsefield.inference import expand
from sparsefield.model import PairwiseMRF
from sparsefield.report._counting import as_name

Block = NDArray[np.float64]
_LARGEST = 10_000  # odds ratios beyond are as good as infinite, and nobody reads their digits
_SAME = 1e-6  # steps whose odds ratios differ by no more than rounding; interactions of scores have 16 digits


@dataclass(frozen=True, eq=False)
class _Side:
    """A variable of an edge: its name, its levels, and the order of their codes where they have one."""

    name: str
    levels: tuple[str, ...]
    order: NDArray[np.int64] | None

    def level(self, code: int) -> str:
        return self.levels[code]


def describe_edge(model: PairwiseMRF, first: str, second: str) -> str:
    """Say what the interaction of two variables means for their odds, all other variables fixed.

    Of two levels each that is the odds ratio, and of ordered levels the odds ratio of one step of both; where steps
    differ, that of the ends of both scales. Without an order it is the largest odds ratio of any two levels of each.

    Parameters
    ----------
    model : PairwiseMRF
        The field.
    first, second : str
        The names of two variables.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.report._odds import describe_edge
    >>> model = sf.PairwiseMRF.binary([0.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], names=["rain", "wind"])
    >>> describe_edge(model, "rain", "wind")
    'when rain is 1 rather than 0, the odds of wind being 1 are 2.7 times as large, all other variables fixed'
    """
    a, b = _side(model, first), _side(model, second)
    block = _block(model, first, second)
    if a.order is not None and b.order is not None:
        return _describe_ordered(a, b, block[np.ix_(a.order, b.order)])
    return _describe_unordered(a, b, block)


def _side(model: PairwiseMRF, name: str) -> _Side:
    """Return what is known of a variable; two levels are in order."""
    domain = model.domain
    i = domain.names.index(name)
    scores = None if domain.scores is None else domain.scores[i]
    if scores is not None:
        order: NDArray[np.int64] | None = np.argsort(scores, kind="stable")
    else:
        order = np.arange(2) if domain.n_levels[i] == 2 else None
    return _Side(as_name(name), tuple(as_name(str(level)) for level in domain.levels[i]), order)


def _block(model: PairwiseMRF, first: str, second: str) -> Block:
    """Return the interactions of all levels of two variables, zero at the references."""
    domain = model.domain
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    i, j = domain.names.index(first), domain.names.index(second)
    pair = expand(model)[1]
    return np.asarray(
        pair[starts[i] : starts[i] + domain.n_levels[i], starts[j] : starts[j] + domain.n_levels[j]], dtype=np.float64
    )


def _describe_ordered(a: _Side, b: _Side, block: Block) -> str:
    """Describe the odds ratio of a step, or of the ends where steps are not alike; levels are in order."""
    assert a.order is not None
    assert b.order is not None
    if block.shape == (2, 2):
        low, high = a.level(int(a.order[0])), a.level(int(a.order[1]))
        ratio = block[1, 1] - block[1, 0] - block[0, 1] + block[0, 0]
        return _say(
            f"when {a.name} is {high} rather than {low}, the odds of {b.name} being {b.level(int(b.order[1]))}", ratio
        )
    steps = np.diff(np.diff(block, axis=0), axis=1)
    if np.ptp(steps) <= _SAME * np.abs(steps).max():
        return _say(
            f"with each step up of {a.name}, the odds of each level of {b.name} against the one below it",
            float(steps.mean()),
        )
    ends = block[-1, -1] - block[-1, 0] - block[0, -1] + block[0, 0]
    return _say(_ask(a, b, int(a.order[-1]), int(a.order[0]), int(b.order[-1]), int(b.order[0])), float(ends))


def _describe_unordered(a: _Side, b: _Side, block: Block) -> str:
    """Describe the largest odds ratio of any two levels of each variable."""
    best, found = -np.inf, (0, 0, 0, 0)
    for code in range(len(block)):  # a matrix at a time: 254 levels have two billion odds ratios
        rises = block[code] - block  # of each level of b, from each other level of a
        spans = np.ptp(rises, axis=1)
        other = int(np.argmax(spans))
        if spans[other] > best:
            best = float(spans[other])
            found = code, other, int(np.argmax(rises[other])), int(np.argmin(rises[other]))
    return f"{_say(_ask(a, b, *found), best)}; no other two levels of each differ more"


def _ask(a: _Side, b: _Side, high: int, low: int, more: int, less: int) -> str:
    return (
        f"when {a.name} is {a.level(high)} rather than {a.level(low)}, the odds of {b.name} being {b.level(more)} "
        f"rather than {b.level(less)}"
    )


def _say(what: str, log_ratio: float) -> str:
    return f"{what} are {as_times(log_ratio)} times as large, all other variables fixed"


def as_times(log_ratio: float) -> str:
    """Write an odds ratio for people: two digits or three, whole numbers where it is large, never 1 where it is not.

    Examples
    --------
    >>> from sparsefield.report._odds import as_times
    >>> [as_times(value) for value in (0.04, 1.1, -1.1, 3.0, 6.0, 20.0, -20.0)]
    ['1.04', '3.0', '0.33', '20', '403', 'more than 10,000', 'less than 0.0001']
    >>> as_times(0.001), as_times(-0.0004)
    ('1.001', '0.9996')
    """
    if abs(log_ratio) > np.log(_LARGEST):
        return f"more than {_LARGEST:,}" if log_ratio > 0 else f"less than {1 / _LARGEST:g}"
    ratio = float(np.exp(log_ratio))
    if 0 < abs(log_ratio) < 0.005:  # two digits would be 1.00
        return f"{ratio:.{min(-math.floor(math.log10(abs(log_ratio))), 15)}f}"
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    if ratio >= 2:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 1 else f"{ratio:.{3 if ratio > 0.9 else 2}g}"
