"""Different parameters of one distribution: other reference levels, and the zero-sum gauge, which needs none.

With a parameter for every level, what all levels of a variable share can be moved between blocks of interactions, main
effects and the normalising constant. A gauge says where it stands. Reference levels put it into the other levels, so
that sizes depend on the choice; in the zero-sum gauge, blocks have the least Frobenius norm that they can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.inference import Field, expand


def zero_sum(model: Field) -> tuple[NDArray[np.float64], Matrix]:
    """Return the parameters of a field in the zero-sum gauge, with an entry for every level.

    The main effects of each variable add up to zero, and so does every row and column of each block of interactions.
    They do not depend on reference levels, and levels in another order have them in that order.

    Parameters
    ----------
    model : Field
        The field.

    Returns
    -------
    main : ndarray of shape (s,)
        Main effects, s levels of all variables together, in the order of the variables.
    interactions : ndarray of shape (s, s)
        Interactions; a block of zeros stays one.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.model import zero_sum
    >>> main, interactions = zero_sum(sf.PairwiseMRF.binary([1.0, 0.0], [[0.0, 2.0], [2.0, 0.0]]))
    >>> main.tolist()
    [-1.0, 1.0, -0.5, 0.5]
    >>> interactions[:2, 2:].tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    main, pair = expand(model)
    n_levels = model.domain.n_levels
    starts = np.cumsum(n_levels) - n_levels
    # The means of blocks over the levels of one variable: (levels, variables), and over those of both.
    means = np.add.reduceat(pair, starts, axis=1) / n_levels
    overall = np.add.reduceat(means, starts, axis=0) / n_levels[:, None]
    main = main + means.sum(axis=1)
    main -= np.repeat(np.add.reduceat(main, starts) / n_levels, n_levels)
    spread = np.repeat(means, n_levels, axis=1)
    # The sum of a matrix and its transpose is the same both ways round, to the last bit.
    pair = pair - (spread + spread.T) + _spread(overall, n_levels)
    return main, pair


def block_norms(model: Field) -> Matrix:
    """Return the Frobenius norm of the interactions of each pair of variables, (n_variables, n_variables).

    They are those of the zero-sum gauge, so that norms depend neither on reference levels nor on the order of levels.
    Where both variables have two levels it is half the absolute interaction.

    Parameters
    ----------
    model : Field
        The field.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.model import block_norms
    >>> block_norms(sf.PairwiseMRF.binary([1.0, 0.0], [[0.0, -2.0], [-2.0, 0.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n_levels = model.domain.n_levels
    starts = np.cumsum(n_levels) - n_levels
    squares = zero_sum(model)[1] ** 2
    sums = np.add.reduceat(np.add.reduceat(squares, starts, axis=0), starts, axis=1)
    norms = np.sqrt(sums)
    # Squares of a block and of its transpose may add up in another order.
    return np.asarray(np.maximum(norms, norms.T))


def change_reference(model: Field, reference: Sequence[int] | None) -> tuple[Domain, NDArray[np.float64], Matrix]:
    """Return domain, main effects and interactions of the same distribution with other reference levels.

    Parameters
    ----------
    model : Field
        The field.
    reference : sequence of int, or None
        The code of the level without parameters, for each variable. None keeps parameters for all levels, in the
        zero-sum gauge.
    """
    domain = replace(model.domain, reference=None if reference is None else tuple(reference))
    if domain.reference is None:
        return domain, *zero_sum(model)
    main, pair = expand(model)
    n_levels = domain.n_levels
    chosen = np.cumsum(n_levels) - n_levels + np.array(domain.reference)
    # Blocks less their row and column of the reference, which go to the main effects.
    taken = pair[:, chosen]
    main = main + taken.sum(axis=1)
    main = main - np.repeat(main[chosen], n_levels)
    spread = np.repeat(taken, n_levels, axis=1)
    pair = pair - (spread + spread.T) + _spread(taken[chosen], n_levels)
    kept = np.delete(np.arange(n_levels.sum()), chosen)
    return domain, main[kept], pair[np.ix_(kept, kept)]


def _spread(values: Matrix, n_levels: NDArray[np.int64]) -> Matrix:
    """Repeat a value for each pair of variables over all pairs of their levels."""
    return np.asarray(np.repeat(np.repeat((values + values.T) / 2, n_levels, axis=0), n_levels, axis=1))
