"""Seeds of scikit-learn's random states."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def seed_of(random_state: Any) -> int:
    """Return the seed that a `random_state` stands for: scikit-learn's, or a Generator of numpy.

    An integer is the seed. A RandomState or a Generator is asked for a number, and goes on from there; so is
    numpy's own where there is none (None).
    """
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    try:
        if isinstance(random_state, bool):
            raise ValueError
        if isinstance(random_state, Integral):
            np.random.RandomState(int(random_state))  # refuses what is no seed of scikit-learn's
            return int(random_state)
        from sklearn.utils import check_random_state

        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ValueError(
            f"random_state is {random_state!r}: use a whole number from 0 to 2**32 - 1, a RandomState or Generator of "
            "numpy, or None."
        ) from error
