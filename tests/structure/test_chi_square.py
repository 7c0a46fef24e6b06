"""Tails of chi-square laws, beside those of scipy."""

import numpy as np
import pytest
from scipy.stats import chi2

from sparsefield.structure import chi_square_tail


def test_tails_are_those_of_scipy():
    # Statistics up to 1400, whose tail is 1e-306: beyond it numbers are subnormal. The error function of C libraries is
    # right to a few units in the last place, and so is the exponential of x / 2 <= 700 but for the rounding of x / 2
    # and its root, each of which moves the tail by up to 700 units.
    x = np.concatenate([np.linspace(0, 40, 401), np.geomspace(40, 1400, 100)])
    for degrees in (1, 2, 3, 16):
        found = chi_square_tail(x, degrees)
        assert np.abs(found / chi2.sf(x, degrees) - 1).max() < 4 * 700 * np.finfo(float).eps


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3)])
def test_degrees_may_differ_from_place_to_place(shape):
    degrees = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    x = np.full(shape, 2.5)
    assert np.allclose(chi_square_tail(x, degrees), chi2.sf(x, degrees), rtol=1e-12)
