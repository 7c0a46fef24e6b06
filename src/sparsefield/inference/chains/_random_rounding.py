"""Values of draws rounded to numbers of a few bits, whose sums over common ones are counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Values

# With so many bits what rounding leaves of normal values has a standard deviation of 0.01 of theirs (Max 1960, Table
# II: 0.107 with 4 bits, and half of that or so with each further one).
_BITS = 8

# Errors of random rounding exceed their bound, one of them or more, with this probability at most.
_RISK = 1e-6

# Values this many standard deviations from their mean, or further, may count as the largest number: the range is chosen
# of which rounding leaves least.
_REACHES = np.arange(2.0, 8.0, 0.5)


class Rounded(NamedTuple):
    """Whole numbers from 0 on in place of values: about these but for a unit and a constant.

    Attributes
    ----------
    numbers : ndarray of shape (n,)
        The numbers.
    unit : float
        What one of them counts.
    error : float
        A bound on the error of the covariance of any indicator with the values.
    """

    numbers: NDArray[np.int64]
    unit: float
    error: float


def round_values(values: Values) -> Rounded:
    """Round values to the nearest of numbers with eight bits.

    The covariance of an indicator with what rounding leaves is at most the product of their standard deviations, and
    that of an indicator is at most 1/2.
    """
    most, found = 2**_BITS - 1, []
    for low, width in _find_ranges(values):
        unit = width / most
        numbers = np.clip(np.rint((values - low) / unit), 0, most).astype(np.int64)
        found.append(Rounded(numbers, unit, float((values - (low + unit * numbers)).std()) / 2))
    return min(found, key=lambda own: own.error)


def round_randomly(values: Values, n_indicators: int, within: float) -> Rounded:
    """Round values up or down to numbers of so few bits that covariances with indicators are about right.

    A value is rounded up with the probability that makes the result right on average. The error e_k of value k then has
    mean zero, and lies in an interval as wide as the unit u. The covariance of an indicator s with e is the sum of
    (s_k - mean s) e_k / n, whose terms are independent: it is above t with a probability of 2 exp(-8 n t^2 / u^2) at
    most (Hoeffding 1963), since an indicator has a variance of at most 1/4. What the ends of the range cut off the
    values counts as in `round_values`.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The values.
    n_indicators : int
        Of how many indicators the bound is to hold.
    within : float
        Bits are added until the bound is as small, up to eight.
    """
    share = np.sqrt(np.log(2 * n_indicators / _RISK) / (8 * len(values)))
    ranges = [
        (low, width, float((values - np.clip(values, low, low + width)).std()) / 2)
        for low, width in _find_ranges(values)
    ]
    for n_bits in range(1, _BITS + 1):
        most = 2**n_bits - 1
        error, low, unit = min((cut + share * width / most, low, width / most) for low, width, cut in ranges)
        if error <= within:
            break
    steps = np.clip((values - low) / unit, 0, most)
    numbers = np.minimum(np.floor(steps + np.random.default_rng(0).random(len(values))), most)
    return Rounded(numbers.astype(np.int64), unit, error)


def _find_ranges(values: Values) -> list[tuple[float, float]]:
    """Return ranges that values may be rounded in, as their lower ends and widths."""
    centre, spread = float(values.mean()), max(float(values.std()), 1e-300)
    reaches = [*_REACHES.tolist(), max(float(np.abs(values - centre).max()) / spread, 1.0)]
    return [(centre - reach * spread, 2 * reach * spread) for reach in reaches]
