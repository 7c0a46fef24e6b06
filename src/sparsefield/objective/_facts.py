"""Penalties as facts that a fit keeps, and made again from these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import Domain
from sparsefield.objective._penalty import L1, Penalty
from sparsefield.objective._support import Support


def describe_penalty(penalty: Penalty) -> dict[str, Any]:
    """Return what a fit keeps of its penalty: strength, name, whether main effects are penalised, and the support.

    The name is "L1" or "Support" for the penalties that these facts describe in full, and for no others: `certify`
    makes them again.
    """
    alpha, name = penalty.alpha, type(penalty).__name__
    if type(penalty) is L1 and penalty.main in (0, 1):
        return {"alpha": alpha, "penalty": "L1", "penalize_main": penalty.main == 1, "support": None}
    if type(penalty) is Support and penalty.main in (0, 1):
        kept = penalty.interactions
        return {"alpha": alpha, "penalty": "Support", "penalize_main": penalty.main == 1, "support": kept}
    other = f"{name} of another form" if name in ("L1", "Support") else name
    return {"alpha": alpha, "penalty": other, "penalize_main": None, "support": None}


def make_penalty(
    domain: Domain,
    alpha: float | None,
    penalty: str,
    penalize_main: bool | None,
    support: NDArray[np.bool_] | None,
) -> L1 | None:
    """Return the penalty that a fit had, or None where what it kept does not describe it."""
    if alpha is None or penalize_main is None:
        return None
    if penalty == "Support" and support is not None:
        return Support(domain, alpha, float(penalize_main), support)
    return L1(domain, alpha, float(penalize_main)) if penalty == "L1" else None
