"""Inferences that are made up, so that tests know every number of them."""

from types import SimpleNamespace

import numpy as np

from sparsefield.data import Domain
from sparsefield.pairs import Inference


def make_inference(names, weights, *, q_values=None, untold=(), **more):
    """Return an inference of two-level variables with these estimates, each within 0.5 of the ends of its interval.

    Parameters
    ----------
    names : sequence of str
        The variables.
    weights : dict
        The estimates of some pairs (i, j), i < j, which are edges with q = 0.004; the others have 0.05 and q = 0.6.
    q_values : dict, optional
        Other q-values of some pairs.
    untold : collection of pairs
        Those that cannot be told.
    """
    p = len(names)
    pairs = np.column_stack(np.triu_indices(p, 1)).astype(np.int64)
    keys = [tuple(pair) for pair in pairs.tolist()]
    estimate = np.array([weights.get(pair, 0.05) for pair in keys])
    q = np.array([(q_values or {}).get(pair, 0.004 if pair in weights else 0.6) for pair in keys])
    rows = SimpleNamespace(
        design=SimpleNamespace(sizes=np.ones(p), n_together=np.full((p, p), 400.0)), likeness=np.zeros((p, p))
    )
    known = {
        "error": np.full(len(pairs), 0.25),
        "low": estimate - 0.5,
        "high": estimate + 0.5,
        "p_value": q / 10,
        "detectable": np.array([9.0 if pair in untold else 0.8 for pair in keys]),
        "degrees": np.ones(len(pairs), dtype=np.int64),
        "fdr": 0.1,
        "rate": "bh",
        "level": 0.95,
    }
    domain = Domain(tuple(names), ((0, 1),) * p, (0,) * p)
    size = {"n_rows": 400, "n_effective": 400.0, "design_effect": 1.0, "n_clusters": None}
    return Inference(domain=domain, pairs=pairs, estimate=estimate, q_value=q, rows=rows, **{**known, **size, **more})
