"""Estimators that have another name now; they go with version 0.3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsefield.data import listed
from sparsefield.estimators._sparse_mrf import SparseMRF
from sparsefield.selection import EBIC, HeldOut, PathRule, StARS


def SparseMRFCV(  # noqa: N802  # a class once
    alphas: Sequence[float] | None = None,
    *,
    criterion: str = "ebic",
    gamma: float = 0.25,
    cv: Any = 5,
    beta: float = 0.05,
    n_subsamples: int = 20,
    **options: Any,
) -> SparseMRF:
    """Return the estimator whose penalty a rule chooses: `SparseMRF(EBIC(...))`, with `HeldOut` or `StARS` in place."""
    own = {"alphas": alphas}
    own |= {name: options.pop(name) for name in ("n_alphas", "relax", "n_jobs", "checkpoint") if name in options}
    rules: dict[str, PathRule] = {
        "ebic": EBIC(gamma, **own),  # type: ignore[arg-type]  # checked by the rules
        "cv": HeldOut(cv, **own),  # type: ignore[arg-type]
        "stars": StARS(beta, n_subsamples, **own),  # type: ignore[arg-type]
    }
    if criterion not in rules:
        raise ValueError(f"criterion is {criterion!r}: use {listed(list(rules))}.")
    return SparseMRF(rules[criterion], **options)
