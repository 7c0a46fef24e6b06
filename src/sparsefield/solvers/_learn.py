"""From a table to a fit, in one call."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsefield.fits import Fit
from sparsefield.gradients import CertificateKind, Schedule
from sparsefield.inference import Backend
from sparsefield.model import PairwiseMRF
from sparsefield.objective import Penalty
from sparsefield.solvers._learner import Learner
from sparsefield.solvers._loop import Watch
from sparsefield.solvers._options import Options

_OPTIONS = {own.name for own in fields(Options)}


def learn(
    data: Any,
    alpha: float = 0.05,
    *,
    solver: Literal["newton", "spg"] = "newton",
    schedule: str | int | Schedule = "auto",
    certificate: CertificateKind = "sharp",
    chains: Literal["restart", "persistent"] = "restart",
    n_chains: int = 2000,
    gap: float | Literal["auto"] = "auto",
    step_size: float | Literal["auto"] = "auto",
    penalize_main: bool = False,
    penalty: Penalty | None = None,
    max_iter: int | None = None,
    max_sweeps: int | None = None,
    max_seconds: float | None = None,
    tol: float = 1e-4,
    init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
    missing: Literal["model", "zero", "drop", "error"] = "model",
    certify: bool = False,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    backend: Backend | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Learn a sparse Markov random field from a table, and return all that is known of the fit as one value.

    It does what `SparseMRF` does, whose options have the same names and are explained there.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`.
    alpha : float
        Strength of the penalty.
    solver, schedule, certificate, chains, n_chains, gap, step_size, penalize_main, max_iter, max_sweeps, tol, init, \
missing, certify
        As for `SparseMRF`.
    penalty : Penalty, optional
        A penalty of one's own in place of the L1 penalty. Its `alpha` counts, and not the one given here; a start is
        found with an L1 penalty of that strength, on main effects unless they are free. Whether they are is for the
        `weights` of the penalty to say, and for `penalize_main` where it has none. A level that no row shows counts as
        half a row then.
    max_seconds : float, optional
        Time after which the fit ends, counted from the call: reading the table, finding a start and certifying count
        too. Newton steps make no more draws than there is time for.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    seed : int
        Where the random numbers start.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        What makes chains and draws; this machine's processors unless given.
    watch : callable, optional
        Called with each StepInfo.

    Returns
    -------
    Fit
        The model, how the fit ended, one StepInfo per iteration, and the settings.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> fit = sf.learn(table, 0.02, seed=1)
    >>> fit.status.code, sf.edge_table(fit).row(0)[:2]
    ('converged', ('x1', 'x5'))
    """
    clock = time.perf_counter()
    options = Options(**{name: value for name, value in locals().items() if name in _OPTIONS})
    learner = Learner(data, options, sample_weight)
    return learner.learn(alpha, penalty=penalty, began=clock, watch=watch)
