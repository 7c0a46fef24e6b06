"""Fields with known parameters: random ones, and those on graphs with a shape."""

from __future__ import annotations

import networkx as nx
import numpy as np

from sparsefield.inference import check_seed
from sparsefield.model import PairwiseMRF

Seed = int | np.random.Generator


def make_field(
    n_variables: int,
    edge_probability: float | None = None,
    strength: tuple[float, float] = (1.0, 2.0),
    *,
    degree: float | None = None,
    main: bool = True,
    seed: Seed,
) -> PairwiseMRF:
    """Make a random binary field: each parameter is nonzero with some probability, its size uniform, its sign fair.

    Parameters
    ----------
    n_variables : int
        How many variables.
    edge_probability : float, optional
        Probability that a parameter is nonzero, main effects included; 0.3, the paper's, unless it or degree is given.
    strength : tuple of two floats
        Smallest and largest absolute value of a nonzero parameter.
    degree : float, optional
        Expected number of neighbours of a variable, instead of the probability.
    main : bool
        Whether main effects are drawn like interactions (the paper's choice) or are zero.
    seed : int or numpy Generator
        Where the random numbers start.

    Returns
    -------
    PairwiseMRF

    Examples
    --------
    >>> from sparsefield.datasets import make_field
    >>> model = make_field(10, edge_probability=0.3, strength=(1.0, 2.0), seed=1)
    >>> model.interactions.shape
    (10, 10)
    """
    if edge_probability is not None and degree is not None:
        raise ValueError("edge_probability and degree are both given: give one of them.")
    if degree is not None:
        edge_probability = degree / max(1, n_variables - 1)
    if edge_probability is None:
        edge_probability = 0.3
    if not 0 <= edge_probability <= 1:
        raise ValueError(
            f"Parameters would be nonzero with probability {edge_probability:g}: use 0 to 1 "
            f"(degree 0 to {n_variables - 1})."
        )
    _check_strength(strength)
    rng = _make_rng(seed)
    shape = (n_variables, n_variables)
    present = rng.random(shape) < edge_probability
    values = np.where(present, rng.uniform(*strength, shape) * rng.choice([-1.0, 1.0], shape), 0.0)
    upper = np.triu(values, 1)
    return PairwiseMRF.binary(np.diagonal(values) * main, upper + upper.T)


def make_chain(n_variables: int, *, strength: tuple[float, float] = (1.0, 2.0), seed: Seed) -> PairwiseMRF:
    """Make a field on a chain: each variable interacts with the one before and the one after it.

    Interactions have a size drawn uniformly from `strength` and a fair sign. The main effect of a variable is minus
    half the sum of its interactions, so that both of its levels are equally frequent (spins without an external field).
    This holds for all fields on graphs with a shape.

    Examples
    --------
    >>> from sparsefield.datasets import make_chain
    >>> int((make_chain(5, seed=1).interactions != 0).sum()) // 2
    4
    """
    _check_size(n_variables, "n_variables")
    return _make_on(nx.path_graph(n_variables), strength, seed)


def make_star(n_variables: int, *, strength: tuple[float, float] = (1.0, 2.0), seed: Seed) -> PairwiseMRF:
    """Make a field on a star: the first variable interacts with all others; parameters as in `make_chain`.

    Examples
    --------
    >>> from sparsefield.datasets import make_star
    >>> (make_star(5, seed=1).interactions != 0).sum(axis=0).tolist()
    [4, 1, 1, 1, 1]
    """
    _check_size(n_variables, "n_variables")
    return _make_on(nx.star_graph(n_variables - 1), strength, seed)


def make_grid(n_rows: int, n_columns: int, *, strength: tuple[float, float] = (1.0, 2.0), seed: Seed) -> PairwiseMRF:
    """Make a field on a grid, row by row: a variable interacts with up to four; parameters as in `make_chain`.

    Examples
    --------
    >>> from sparsefield.datasets import make_grid
    >>> int((make_grid(3, 4, seed=1).interactions != 0).sum()) // 2
    17
    """
    _check_size(n_rows, "n_rows")
    _check_size(n_columns, "n_columns")
    return _make_on(nx.grid_2d_graph(n_rows, n_columns), strength, seed)


def make_small_world(
    n_variables: int,
    degree: int = 4,
    rewiring: float = 0.1,
    *,
    strength: tuple[float, float] = (1.0, 2.0),
    seed: Seed,
) -> PairwiseMRF:
    """Make a field on a small world (Watts and Strogatz 1998); parameters as in `make_chain`.

    Parameters
    ----------
    n_variables : int
        How many variables, on a ring.
    degree : int
        Nearest neighbours on the ring that a variable interacts with, an even number.
    rewiring : float
        Probability that one end of an interaction is moved to another variable.
    strength : tuple of two floats
        Smallest and largest absolute value of an interaction.
    seed : int or numpy Generator
        Where the random numbers start.

    Examples
    --------
    >>> from sparsefield.datasets import make_small_world
    >>> int((make_small_world(20, 4, seed=1).interactions != 0).sum()) // 2
    40
    """
    _check_size(n_variables, "n_variables")
    if degree % 2 or not 0 <= degree < n_variables:
        raise ValueError(f"degree is {degree}: use an even number from 0 to {n_variables - 1}.")
    if not 0 <= rewiring <= 1:
        raise ValueError(f"rewiring is {rewiring}: use a probability, 0 to 1.")
    _make_rng(seed)  # networkx takes other things for seeds
    return _make_on(nx.watts_strogatz_graph(n_variables, degree, rewiring, seed=seed), strength, seed)


def _make_on(graph: nx.Graph, strength: tuple[float, float], seed: Seed) -> PairwiseMRF:
    _check_strength(strength)
    rng = _make_rng(seed)
    present = np.triu(nx.to_numpy_array(graph, weight=None), 1)
    upper = present * rng.uniform(*strength, present.shape) * rng.choice([-1.0, 1.0], present.shape)
    interactions = upper + upper.T
    return PairwiseMRF.binary(-interactions.sum(axis=1) / 2, interactions)


def _make_rng(seed: Seed) -> np.random.Generator:
    """Return where random numbers come from: a generator of one's own goes on."""
    if isinstance(seed, np.random.Generator):
        return seed
    check_seed(seed)
    return np.random.default_rng(seed)


def _check_size(n: int, name: str) -> None:
    if n < 1:
        raise ValueError(f"{name} is {n}: use at least one.")


def _check_strength(strength: tuple[float, float]) -> None:
    low, high = strength
    if not 0 <= low <= high:
        raise ValueError(f"strength is {strength}: use a smallest and a largest absolute value, from zero on.")
