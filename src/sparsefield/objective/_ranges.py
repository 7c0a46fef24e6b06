"""What values statistics can take, and how many there are to be right about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix, Values
from sparsefield.data import Domain
from sparsefield.model import count_statistics
from sparsefield.objective._coordinates import Features
from sparsefield.objective._problem import Problem


def count_statements(problem: Problem) -> int:
    """Return how many gradients are compared with a penalty: one for each parameter, or for each group of them."""
    if problem.is_by_slots:
        return count_statistics(problem.domain)
    return problem.penalty.count_chosen(problem.coordinates.is_parameter)


def depends(problem: Problem) -> bool:
    """Say whether statistics depend on each other: as many features of a variable as it has levels add up to one."""
    n_features = np.bincount(problem.coordinates.variables, minlength=problem.domain.n_variables)
    return bool(np.any(n_features >= problem.domain.n_levels))


def extremes(problem: Problem) -> tuple[Matrix, Matrix]:
    """Return the least and the largest value of each statistic, (size, size) each."""
    size = problem.coordinates.size
    if not isinstance(problem.coordinates, Features):
        return np.broadcast_to(0.0, (size, size)), np.broadcast_to(1.0, (size, size))
    basis, owners = problem.coordinates.basis, _level_variables(problem.domain)
    low, high = np.empty(size), np.empty(size)
    for a, values in enumerate(_by_level(problem.coordinates).T):
        own = values[owners == basis.variables[a]]
        low[a], high[a] = own.min(), own.max()
    corners = np.stack([np.outer(one, other) for one in (low, high) for other in (low, high)])
    at = np.outer(basis.reference, basis.reference)
    least, most = corners.min(axis=0) - at, corners.max(axis=0) - at
    np.fill_diagonal(least, low - basis.reference)
    np.fill_diagonal(most, high - basis.reference)
    return least, most


def widths(problem: Problem) -> Matrix:
    """Return the range of each statistic; of groups that of their combinations whose coefficients have norm one.

    A combination u of the products of the features of two variables is f_i . U f_j with |U| = 1, which lies between -1
    and 1 times the largest |f_i| |f_j|. One of the features of a variable goes no further than two of its levels are
    apart.
    """
    low, high = extremes(problem)
    if problem.penalty.groups is None or not isinstance(problem.coordinates, Features):
        return np.asarray(high - low)
    basis, variables = problem.coordinates.basis, problem.coordinates.variables
    values, owners = _by_level(problem.coordinates), _level_variables(problem.domain)
    longest = np.array(
        [
            np.linalg.norm(values[owners == i][:, basis.interacts], axis=1).max(initial=0.0)
            for i in range(problem.domain.n_variables)
        ]
    )
    found = 2 * np.outer(longest, longest)[np.ix_(variables, variables)]
    np.fill_diagonal(found, _distances(problem.coordinates, np.ones(len(variables), dtype=bool)))
    return np.asarray(found)


def spans(problem: Problem) -> Matrix:
    """Return how large centred statistics can be; of groups their combinations whose coefficients have norm one.

    A feature is no further from its mean than two of its levels are apart, and a product of two centred features is no
    larger than the product of these distances: one where both are indicators, or contrasts of two levels.
    """
    if not isinstance(problem.coordinates, Features):
        return np.broadcast_to(1.0, (problem.coordinates.size,) * 2)
    low, high = extremes(problem)
    ranges = np.diagonal(high) - np.diagonal(low)
    if problem.penalty.groups is None:
        found = np.outer(ranges, ranges)
        np.fill_diagonal(found, ranges)
        return found
    inner = _distances(problem.coordinates, problem.coordinates.interacts)
    found = np.outer(inner, inner)
    np.fill_diagonal(found, _distances(problem.coordinates, np.ones(len(inner), dtype=bool)))
    return found


def _distances(coordinates: Features, some: NDArray[np.bool_]) -> Values:
    """Return how far two levels of the variable of each feature are apart at most, by some of the features, (size,)."""
    values, owners = _by_level(coordinates)[:, some], _level_variables(coordinates.domain)
    found = np.zeros(coordinates.domain.n_variables)
    for i in range(len(found)):
        own = values[owners == i]
        found[i] = np.linalg.norm(own[:, None] - own, axis=2).max(initial=0.0)
    return np.asarray(found[coordinates.variables])


def _by_level(coordinates: Features) -> Matrix:
    """Return the features at each level, (n_levels, size), zero at levels of other variables."""
    return np.asarray(coordinates.basis.values.toarray())


def _level_variables(domain: Domain) -> NDArray[np.int64]:
    """Return the variable of each level, levels of all variables one after the other."""
    return np.repeat(np.arange(domain.n_variables), domain.n_levels)
