"""What the learners are compared with: nodewise regressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from sparsefield import Table


def nodewise(table: Table, make: Callable[[int], Any]) -> NDArray[np.float64]:
    """L1 logistic regression of each variable on the others; the two sides of an interaction are averaged."""
    x = table.codes.astype(np.float64)
    p = x.shape[1]
    found = np.zeros((p, p))
    for i in range(p):
        others = np.arange(p) != i
        found[i, others] = make(len(x)).fit(x[:, others], x[:, i]).coef_[0]
    return (found + found.T) / 2


def by_sklearn(table: Table, alpha: float) -> NDArray[np.float64]:
    """Nodewise regressions of scikit-learn, which minimises C times the summed loss plus the penalty."""
    options = {"l1_ratio": 1.0, "solver": "liblinear", "tol": 1e-4}
    return nodewise(table, lambda n: LogisticRegression(C=1 / (n * alpha), **options))


def by_skglm(table: Table, alpha: float) -> NDArray[np.float64]:
    """Nodewise regressions of skglm, which minimises the mean loss plus alpha times the penalty."""
    from skglm import SparseLogisticRegression

    return nodewise(table, lambda _: SparseLogisticRegression(alpha, tol=1e-4))
