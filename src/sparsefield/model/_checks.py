"""Parameters as they are given: numbers of the right shape, symmetric, and none between levels of one variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsefield.data import Domain
from sparsefield.model._layout import row_parts

LARGEST_PARAMETER = 1e100


def as_floats(what: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers as an array of floats, or refuse them: what they are is for the sentence."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers in an array of shape {shape}.") from error
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}: the domain needs {shape}.")
    # Sums of a million such values still fit a float.
    if array.size and not (array.max() < LARGEST_PARAMETER and array.min() > -LARGEST_PARAMETER):
        index = tuple(map(int, np.argwhere(~(np.abs(array) < LARGEST_PARAMETER))[0]))
        raise ValueError(f"{what} has the entry {array[index]} at {index}: use numbers below {LARGEST_PARAMETER:g}.")
    return array


def check_blocks(interactions: NDArray[np.float64], domain: Domain) -> None:
    """Refuse interactions between levels of one variable."""
    variables = domain.slot_variables
    for rows in row_parts(len(variables)):
        inside = (interactions[rows] != 0) & (variables[rows, None] == variables)
        if inside.any():
            name = domain.names[variables[rows][int(np.argwhere(inside)[0][0])]]
            raise ValueError(
                f"interactions has a value inside variable {name!r}: that block (the diagonal) must be zero."
            )


def check_symmetry(interactions: NDArray[np.float64]) -> None:
    """Refuse interactions that are not symmetric, rounding apart: what is accepted is then made symmetric."""
    uneven = ~np.isclose(interactions, interactions.T, rtol=1e-12, atol=0)
    if uneven.any():
        a, b = (int(k) for k in np.argwhere(uneven)[0])
        raise ValueError(
            f"interactions is not symmetric: entry ({a}, {b}) is {interactions[a, b]:g}, "
            f"but ({b}, {a}) is {interactions[b, a]:g}."
        )
