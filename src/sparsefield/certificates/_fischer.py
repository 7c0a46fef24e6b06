"""Fischer's bound, which the paper compares with."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._influence import SMALLEST
from sparsefield.certificates._certificate import Certificate
from sparsefield.certificates._influence import log_odds_range
from sparsefield.inference import Field, check_sweeps, check_two_levels, reduce_to_binary
from sparsefield.model import across_variables, count_statistics


def fischer(model: Field, n_sweeps: int) -> Certificate:
    """Certify chains that start anywhere by the smallest conditional probability; for comparison.

    With Delta the largest absolute log-odds of any variable, a sweep leaves every state with probability
    exp(-p Delta) / 2^p or more, so that the total variation distance to the target is at most

        (1 - exp(-p Delta))^n_sweeps

    (Fischer and Igel 2011), times 2 sqrt(m) for m statistics. It holds for any order of the updates.

    Parameters
    ----------
    model : PairwiseMRF
        A field of variables with at most two levels.
    n_sweeps : int
        Sweeps of the chains.

    Examples
    --------
    >>> from sparsefield.certificates import fischer
    >>> from sparsefield.datasets import make_field
    >>> fischer(make_field(10, seed=1), 60).is_vacuous
    True
    """
    check_sweeps(n_sweeps)
    # 0^0 = 1: before the first sweep nothing is known, even where a sweep forgets everything.
    kept = float(-np.expm1(_log_lost(model)))
    distance = max(kept**n_sweeps, SMALLEST) if kept > 0 else kept**n_sweeps
    return Certificate.of_pairs("fischer", model, across_variables(model.domain, 2 * distance), n_sweeps)


def fischer_sweeps(model: Field, bias: float) -> float:
    """Return the sweeps after which Fischer's bound on the norm of the bias would be as low as asked."""
    lost = _log_lost(model)
    if lost == 0:  # no parameters: a sweep forgets everything
        return 1.0
    # A float cannot tell 1 - exp(-p Delta) from 1: by logarithms instead.
    most = 2 * np.sqrt(count_statistics(model.domain))
    return float(np.log(bias / most) / np.log1p(-np.exp(lost)))


def _log_lost(model: Field) -> float:
    """Return -p Delta, the logarithm of what a sweep takes from the distance."""
    check_two_levels(model.domain, "certificates")
    main, interactions = reduce_to_binary(model)
    low, high = log_odds_range(main, interactions)
    most = float(np.maximum(np.abs(low), np.abs(high)).max())
    return -most * int((model.domain.n_levels > 1).sum())
