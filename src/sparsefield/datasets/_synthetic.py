"""Fields with known parameters."""

from __future__ import annotations

import numpy as np

from sparsefield._model import PairwiseMRF


def make_field(
    n_variables: int,
    *,
    density: float | None = None,
    degree: float | None = None,
    strength: tuple[float, float] = (1.0, 2.0),
    main: bool = True,
    seed: int,
) -> PairwiseMRF:
    """Make a random binary field: each parameter is nonzero with some probability, its size uniform, its sign fair.

    Parameters
    ----------
    n_variables : int
        How many variables.
    density : float, optional
        Probability that a parameter is nonzero; 0.3, the paper's, unless density or degree is given.
    degree : float, optional
        Expected number of neighbours of a variable, instead of the density.
    strength : tuple of two floats
        Smallest and largest absolute value of a nonzero parameter.
    main : bool
        Whether main effects are drawn like interactions (the paper's choice) or are zero.
    seed : int
        Where the random numbers start.

    Returns
    -------
    PairwiseMRF

    Examples
    --------
    >>> from sparsefield.datasets import make_field
    >>> model = make_field(10, seed=1)
    >>> model.interactions.shape
    (10, 10)
    """
    if density is not None and degree is not None:
        raise ValueError("density and degree are both given: give one of them.")
    if degree is not None:
        density = degree / max(1, n_variables - 1)
    if density is None:
        density = 0.3
    if not 0 <= density <= 1:
        raise ValueError(
            f"Parameters would be nonzero with probability {density:g}: use 0 to 1 (degree 0 to {n_variables - 1})."
        )
    rng = np.random.default_rng(seed)
    shape = (n_variables, n_variables)
    present = rng.random(shape) < density
    values = np.where(present, rng.uniform(*strength, shape) * rng.choice([-1.0, 1.0], shape), 0.0)
    upper = np.triu(values, 1)
    return PairwiseMRF.binary(np.diagonal(values) * main, upper + upper.T)
