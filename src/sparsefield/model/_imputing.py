"""Missing values filled given the observed cells of their rows: by draws, or with what is most probable."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sparsefield._typing import Codes
from sparsefield.data import MISSING, count
from sparsefield.inference import Backend, Given, OutOfReachError, check_seed

if TYPE_CHECKING:
    from sparsefield.model._pairwise import PairwiseMRF

ImputeMethod = Literal["draws", "most probable"]

_CELLS_AT_ONCE = 2**22  # whose uniform numbers are held at one time: 32 MB
_MAX_SWEEPS = 2000  # within which half of the bounding chains of a row must meet, as for data moments
_GIBBS_SWEEPS = 1000  # of chains that nobody waits for to meet: as many as `PairwiseMRF.sample` makes unless told


def fill_missing(model: PairwiseMRF, codes: Codes, method: ImputeMethod, *, seed: int, backend: Backend) -> Codes:
    """Return codes whose missing values are filled; `PairwiseMRF.impute` says how."""
    if method not in get_args(ImputeMethod):
        raise ValueError(f"method is {method!r}: use 'draws' or 'most probable'.")
    check_seed(seed)
    if method == "most probable":
        given, of = Given.distinct(model, codes)
        return given.find_mode()[of]
    filled, incomplete = codes.copy(), np.flatnonzero((codes == MISSING).any(axis=1))
    random = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // model.domain.n_variables)
    for start in range(0, len(incomplete), at_once):
        rows = incomplete[start : start + at_once]
        filled[rows] = Given(model, codes[rows]).draw(random.random((len(rows), model.domain.n_variables)))
    hard = np.flatnonzero((filled == MISSING).any(axis=1))
    if len(hard):
        filled[hard] = _draw_by_chains(model, filled[hard], int(random.integers(2**63)), backend)
    return filled


def _draw_by_chains(model: PairwiseMRF, codes: Codes, seed: int, backend: Backend) -> Codes:
    """Draw what cannot be summed out: exactly by coupled chains, or by Gibbs chains, which is said."""
    try:
        return backend.clamped_draw(model, codes, seed=seed, max_sweeps=_MAX_SWEEPS)[0].codes()
    except OutOfReachError as error:
        warnings.warn(
            f"Exact draws of the missing values of {count(len(codes), 'row')} are out of reach ({error.reason}): "
            f"Gibbs chains of {_GIBBS_SWEEPS} sweeps fill them, whose draws are exact only in the limit.",
            stacklevel=4,
        )
        chains = backend.clamped_chains(model.domain, codes, seed=seed)
        chains.sweep(backend.prepare(model), _GIBBS_SWEEPS)
        return chains.codes()
