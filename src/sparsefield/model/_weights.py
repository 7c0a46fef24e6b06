"""The weight of a pair of variables: one number for the interactions of all their levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain
from sparsefield.model._layout import Matrix


def pair_weights(domain: Domain, interactions: Matrix) -> Matrix:
    """Return the weight of each pair of variables, (n_variables, n_variables).

    It is the interaction where both variables have one slot, otherwise the L2 norm of the interactions of their levels.

    Parameters
    ----------
    domain : Domain
        The variables.
    interactions : ndarray of shape (n_slots, n_slots)
        The interactions of their levels.
    """
    member = membership(domain)
    if np.array_equal(member, np.eye(len(member))):
        return interactions.copy()
    norms = np.sqrt(member.T @ interactions**2 @ member)
    # With one slot each, the sum over slots is the interaction itself.
    return np.asarray(np.where(has_sign(domain), member.T @ interactions @ member, norms))


def has_sign(domain: Domain) -> NDArray[np.bool_]:
    """Say of which pairs the weight has a sign, (n_variables, n_variables): where both variables have one slot."""
    is_single = np.bincount(domain.slot_variables, minlength=domain.n_variables) == 1
    return np.asarray(is_single[:, None] & is_single)


def membership(domain: Domain) -> NDArray[np.float64]:
    """Return ones where a slot is of a variable, (n_slots, n_variables)."""
    return np.asarray(domain.slot_variables[:, None] == np.arange(domain.n_variables), dtype=np.float64)
