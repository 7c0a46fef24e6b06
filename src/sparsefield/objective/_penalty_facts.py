"""Penalties as facts that a fit keeps, and made again from these."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.objective._group import Group
from sparsefield.objective._penalty import L1, Penalty
from sparsefield.objective._ridge import Ridge
from sparsefield.objective._support import GroupSupport, Support

PenaltyKind = Literal["auto", "group", "l1"]

_KNOWN = (L1, Group, Support, GroupSupport, Ridge)  # what `make_penalty` makes again


def check_penalty_kind(kind: object) -> None:
    """Refuse what names no kind of penalty."""
    if kind not in get_args(PenaltyKind):
        raise ValueError(f"penalty is {kind!r}: use 'auto', 'group' or 'l1'.")


def choose_penalty(domain: Domain, alpha: float, kind: PenaltyKind, *, penalize_main: bool | float) -> L1 | Group:
    """Return the penalty of a kind: groups where a variable has more than two levels, unless told otherwise.

    Parameters
    ----------
    domain : Domain
        The variables.
    alpha : float
        Strength of the penalty.
    kind : "auto", "group" or "l1"
        Which one. With two levels both are the same where main effects are free.
    penalize_main : bool or float
        What main effects pay, as a multiple of alpha.
    """
    check_penalty_kind(kind)
    if kind == "group" or (kind == "auto" and np.any(domain.n_levels > 2)):
        return Group(domain, alpha, float(penalize_main))
    return L1(domain, alpha, float(penalize_main))


def describe_penalty(penalty: Penalty) -> dict[str, Any]:
    """Return what a fit keeps of its penalty: strength, name, whether main effects are penalised, and the support.

    The name is "L1", "Group", "Support", "GroupSupport" or "Ridge" for the penalties that these facts describe in full,
    and for no others: `certify` makes them again.
    """
    alpha, name, main = penalty.alpha, type(penalty).__name__, penalty.main
    if type(penalty) in _KNOWN and main in (0, 1):
        return {"alpha": alpha, "penalty": name, "penalize_main": main == 1, "support": penalty.interactions}
    other = f"{name} of another form" if name in [known.__name__ for known in _KNOWN] else name
    return {"alpha": alpha, "penalty": other, "penalize_main": None, "support": None}


def make_penalty(
    domain: Domain,
    alpha: float | None,
    penalty: str,
    penalize_main: bool | None,
    support: NDArray[np.bool_] | None,
) -> L1 | Group | Ridge | None:
    """Return the penalty that a fit had, or None where what it kept does not describe it."""
    if alpha is None or penalize_main is None:
        return None
    if penalty == "Support" and support is not None:
        return Support(domain, alpha, float(penalize_main), support)
    if penalty == "GroupSupport" and support is not None:
        return GroupSupport(domain, alpha, float(penalize_main), support)
    if penalty == "Ridge" and support is not None:
        return Ridge(domain, alpha, support)
    if penalty == "Group":
        return Group(domain, alpha, float(penalize_main))
    return L1(domain, alpha, float(penalize_main)) if penalty == "L1" else None


def find_nonzero(penalty: L1 | Group | Ridge, model: PairwiseMRF) -> NDArray[np.bool_]:
    """Say which parameters are not zero, (size, size); those of a group are so together."""
    return np.asarray(penalty.sizes(penalty.coordinates.of_slots(as_theta(model))) > 0)
