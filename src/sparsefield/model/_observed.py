"""Log-probabilities of the observed cells of rows: exact sums over what is missing, and draws where these fail."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sparsefield._typing import Codes, Values
from sparsefield.data import MISSING, Domain, count
from sparsefield.inference import Backend, Given, energies
from sparsefield.model._partition import find_log_partition

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF


def take_variables(model: PairwiseMRF, variables: Sequence[int], row: Codes | None = None) -> PairwiseMRF:
    """Return the field of some variables, given the observed cells of a row if there is one, or alone.

    Parameters
    ----------
    model : PairwiseMRF
        The field of all variables.
    variables : sequence of int
        Some of them, in ascending order.
    row : ndarray of shape (n_variables,), optional
        Codes, 255 for these variables. Without it they must not interact with the others.
    """
    own, slots = model.domain, np.isin(model.domain.slot_variables, variables)
    reference = None if own.reference is None else tuple(own.reference[i] for i in variables)
    names, levels = tuple(own.names[i] for i in variables), tuple(own.levels[i] for i in variables)
    main = model.main[slots]
    if row is not None:
        main = main + own.indicators(row[None])[0] @ model.interactions[:, slots]
    interactions = model.interactions[np.ix_(slots, slots)]
    return replace(model, domain=Domain(names, levels, reference), main=main, interactions=interactions)


def sum_rows(model: PairwiseMRF, codes: Codes, *, seed: int, backend: Backend) -> Values:
    """Return the logarithm of the sum of exp(-energy) over all states that agree with each row.

    Rows whose missing values cannot be summed out have an estimate, the log-partition function of these given the
    observed cells, and a warning says so.
    """
    given, of = Given.distinct(model, codes)
    is_hard = ~given.is_in_reach
    if not is_hard.any():
        return np.asarray(given.log_sums()[of])
    first = np.unique(of, return_index=True)[1]  # where each distinct row is in the table
    values, errors = np.empty(len(first)), np.zeros(len(first))
    if not is_hard.all():
        values[~is_hard] = Given(model, codes[first[~is_hard]]).log_sums()
    for k in np.flatnonzero(is_hard):
        row = codes[first[k]]
        part = take_variables(model, np.flatnonzero(row == MISSING).tolist(), row)
        found = find_log_partition(part, "auto", n_draws=None, seed=seed, backend=backend)
        values[k], errors[k] = found.value - energies(model, row[None])[0], found.error
    if errors.any():
        warnings.warn(
            f"The log-probabilities of {count(int((errors[of] > 0).sum()), 'row')}, row {first[errors > 0].min()} "
            f"among them, are estimated by draws, with standard errors of up to {errors.max():.2g}: too many missing "
            "values interact to sum them out.",
            stacklevel=3,
        )
    return np.asarray(values[of])
