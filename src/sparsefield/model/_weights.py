"""The weight of a pair of variables: one number for the interactions of all their levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Matrix
from sparsefield.data import Domain
from sparsefield.model._gauge import block_norms, zero_sum
from sparsefield.model._pairwise import PairwiseMRF


def pair_weights(domain: Domain, interactions: Matrix) -> Matrix:
    """Return the weight of each pair of variables, (n_variables, n_variables).

    Its size is that of the interactions of their levels in the zero-sum gauge, which does not depend on reference
    levels or on the order of levels: four times their root mean square, or 4 / sqrt(K L) times their Frobenius norm for
    variables with K and L levels. Where both have two levels that is the absolute value of their interaction. Its sign,
    where both have two levels or are ordered (`has_sign`), says whether higher levels go with higher ones.

    Parameters
    ----------
    domain : Domain
        The variables.
    interactions : ndarray of shape (n_slots, n_slots)
        The interactions of their levels.
    """
    if domain.is_binary:
        return interactions.copy()
    n_levels = domain.n_levels
    model = PairwiseMRF(domain, np.zeros(domain.n_slots), interactions)
    norms = 4 / np.sqrt(np.outer(n_levels, n_levels)) * block_norms(model)
    scores, starts = _scores(domain), np.cumsum(n_levels) - n_levels
    trends = np.outer(scores, scores) * zero_sum(model)[1]
    trends = np.add.reduceat(np.add.reduceat(trends, starts, axis=0), starts, axis=1)
    return np.asarray(np.where(has_sign(domain), np.where(trends < 0, -norms, norms), norms))


def _scores(domain: Domain) -> NDArray[np.float64]:
    """Return the score of each level, centred, of variables with two levels or ordered ones; zero for the others."""
    found = []
    for i, n in enumerate(domain.n_levels):
        own = None if domain.scores is None else domain.scores[i]
        scores = np.arange(n) * (n == 2) if own is None else np.array(own)
        found.append(scores - scores.mean())
    return np.concatenate(found)


def has_sign(domain: Domain) -> NDArray[np.bool_]:
    """Say of which pairs the weight has a sign, (n_variables, n_variables): both have two levels, or are ordered."""
    is_single = (domain.n_levels == 2) | domain.is_ordered
    return np.asarray(is_single[:, None] & is_single)


def membership(domain: Domain) -> NDArray[np.float64]:
    """Return ones where a slot is of a variable, (n_slots, n_variables)."""
    return np.asarray(domain.slot_variables[:, None] == np.arange(domain.n_variables), dtype=np.float64)
