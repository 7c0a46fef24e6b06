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
    alpha, name = penalty.alpha, type(penalty).__name__
    if type(penalty) is Ridge:
        return {"alpha": alpha, "penalty": "Ridge", "penalize_main": False, "support": penalty.interactions}
    if type(penalty) is Group and penalty.main in (0, 1):
        return {"alpha": alpha, "penalty": "Group", "penalize_main": penalty.main == 1, "support": None}
    if type(penalty) is L1 and penalty.main in (0, 1):
        return {"alpha": alpha, "penalty": "L1", "penalize_main": penalty.main == 1, "support": None}
    is_kept = type(penalty) is Support or type(penalty) is GroupSupport
    if is_kept and isinstance(penalty, Support | GroupSupport) and penalty.main in (0, 1):
        kept = penalty.interactions
        return {"alpha": alpha, "penalty": name, "penalize_main": penalty.main == 1, "support": kept}
    known = ("L1", "Group", "Support", "GroupSupport", "Ridge")
    other = f"{name} of another form" if name in known else name
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
