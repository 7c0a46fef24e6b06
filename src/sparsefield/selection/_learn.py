"""From a table to a fit, in one call; with a penalty that is given, or chosen."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import CountedTable, Ordinal, Table, TableError, open_rows
from sparsefield.fits import Fit
from sparsefield.gradients import CertificateKind, Schedule
from sparsefield.inference import Backend, DeviceName
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.objective import Penalty, PenaltyKind, Ridge
from sparsefield.selection._alpha_max import largest_alpha
from sparsefield.selection._choose import describe_noise, select
from sparsefield.selection._criteria import Choice
from sparsefield.selection._discoveries import find_discoveries
from sparsefield.selection._noise import edge_of_noise
from sparsefield.selection._path import Objective, count_edges
from sparsefield.selection._pieces import Watch
from sparsefield.solvers import Learner, Options, WatchSteps
from sparsefield.structure import Structure, find_structure, is_feasible

Alpha = float | Literal["auto"]

_OPTIONS = {own.name for own in fields(Options)}

_SHARE_OF_CHOICE = 0.5  # of the time that there is, where it is limited


def learn(
    data: Any,
    alpha: Alpha = "auto",
    *,
    solver: Literal["newton", "spg"] = "newton",
    schedule: str | int | Schedule = "auto",
    certificate: CertificateKind = "sharp",
    chains: Literal["restart", "persistent"] = "restart",
    n_chains: int = 2000,
    gap: float | Literal["auto"] = "auto",
    step_size: float | Literal["auto"] = "auto",
    penalize_main: bool = False,
    fdr: float | None = None,
    ordinal: Ordinal = None,
    penalty: Penalty | PenaltyKind = "auto",
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
    device: DeviceName | None = None,
    watch: WatchSteps | None = None,
) -> Fit:
    """Learn a sparse Markov random field from a table, and return all that is known of the fit as one value.

    It does what `SparseMRF` does, whose options have the same names and are explained there.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`. Folders of files, lazy frames of polars, and data frames and arrays of
        Dask are counted part by part where they do not fit into memory, and so are large files (`count_data`).
    alpha : float or "auto"
        Strength of the penalty; "auto" finds edges without one, or chooses one where `penalty` or `penalize_main` is
        given (`selection.select`), and says how in `fit.settings["choice"]`.
    solver, schedule, certificate, chains, n_chains, gap, step_size, penalize_main, fdr, max_iter, max_sweeps, tol, \
init, missing, certify
        As for `SparseMRF`.
    ordinal : iterable of names, mapping of names, bool, optional
        Which columns have ordered levels, besides those that the table declares; see `encode`.
    penalty : "auto", "group", "l1" or Penalty
        As for `SparseMRF`; or a penalty of one's own. Its `alpha` counts, and not the one given here; a start is
        found with the usual penalty of that strength, on main effects unless they are free. Whether they are is for the
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
    device : "cpu", "cuda" or "auto", optional
        As for `SparseMRF`.
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
    own = penalty if isinstance(penalty, Penalty) else None
    given = {name: value for name, value in locals().items() if name in _OPTIONS}
    options = Options(**{**given, "penalty": "auto" if own is not None else penalty})
    if ordinal is not None:
        if isinstance(data, Table):
            raise ValueError("ordinal is for tables that are read here: give it to encode, which made this one.")
        data = open_rows(data, missing=missing, ordinal=ordinal, n_threads=n_threads)
    learner = Learner(data, options, sample_weight)
    if own is not None:
        return learner.learn(own.alpha, penalty=own, began=clock, watch=watch)
    chosen = choose(learner, began=clock) if alpha == "auto" else alpha
    return learn_with(learner, chosen, began=clock, watch=watch)


def choose(learner: Learner, *, began: float | None = None, watch: Watch | None = None) -> Choice | Structure:
    """Choose the edges of a table, in half of the time that there is; where a kind of penalty was asked for, its alpha.

    So it is where some variable has more than nine levels without an order. With a false discovery rate edges are those
    that tests of pairs find.

    Parameters
    ----------
    learner : Learner
        The table, and what is asked of its fit.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with the number of penalties that are done, that of all, and the seconds that are left.
    """
    options = learner.options
    is_wide = options.fdr is None and not is_feasible(learner.table.domain)
    if options.penalty != "auto" or options.penalize_main or is_wide:
        return choose_alpha(learner, began=began, watch=watch)
    table, left = _take_rows(learner), _seconds_left(options, began)
    with until(np.inf if left is None else time.perf_counter() + left):
        if options.fdr is not None:
            with suppress(OutOfTimeError):
                return find_discoveries(table, learner.weights, options.fdr, options.n_threads)
        return find_structure(table, learner.weights, n_threads=options.n_threads)


def choose_alpha(
    learner: Learner, *, objective: Objective = "likelihood", began: float | None = None, watch: Watch | None = None
) -> Choice:
    """Choose the penalty of a table by the default criterion, in half of the time that there is.

    How gradients are estimated, and how near to their optimum fits come, is left to the choice: it is the same for all
    solvers.

    Parameters
    ----------
    learner : Learner
        The table, and what is asked of its fit.
    objective : "likelihood" or "pseudolikelihood"
        What is penalised.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.
    watch : callable, optional
        Called with the number of penalties that are done, that of all, and the seconds that are left.
    """
    options = learner.options
    return select(
        _take_rows(learner),
        objective=objective,
        sample_weight=learner.weights,
        penalty=options.penalty,
        penalize_main=options.penalize_main,
        max_seconds=_seconds_left(options, began),
        seed=options.seed,
        n_jobs=1,
        n_threads=options.n_threads,
        backend=options.backend,
        device=options.device,
        watch=watch,
    )


def _take_rows(learner: Learner) -> Table:
    """Return the rows that a choice is made by, which must be in memory."""
    table = learner.table
    if not isinstance(table, CountedTable):
        return table
    if table.sample.n_rows < table.n_rows:
        raise TableError(
            f"The {table.n_rows} rows of this table are counted and not in memory, and the choice of its edges needs "
            "them",
            f"give {{option}}: noise alone makes edges below {edge_of_noise(learner):.2g}, and there are none from "
            f"{largest_alpha(learner):.2g} on; or encode the whole table where it fits into memory",
            option="alpha",
        )
    return table.sample


def _seconds_left(options: Options, began: float | None) -> float | None:
    """Return how many seconds there are for a choice; None where time is not limited."""
    if options.max_seconds is None:
        return None
    passed = 0.0 if began is None else time.perf_counter() - began
    return max(0.0, _SHARE_OF_CHOICE * options.max_seconds - passed)


def learn_with(
    learner: Learner,
    alpha: float | Choice | Structure,
    *,
    began: float | None = None,
    watch: WatchSteps | None = None,
) -> Fit:
    """Learn a table with edges or a penalty that were given or chosen, and say what that means for its edges."""
    if learner.options.fdr is not None and not isinstance(alpha, Structure):
        raise ValueError("fdr is for edges that no penalty chooses: leave alpha out, or fdr.")
    if isinstance(alpha, Structure):
        penalty = Ridge(learner.table.domain, alpha.ridge, alpha.support)
        is_told = isinstance(learner.options.init, PairwiseMRF) or learner.options.init == "zero"
        start = None if is_told else as_theta(alpha.model)
        fit = learner.learn(penalty.alpha, penalty=penalty, start=start, began=began, watch=watch)
        return replace(fit, settings={**fit.settings, "choice": str(alpha)})
    if isinstance(alpha, Choice):
        fit = learner.learn(alpha.alpha, began=began, watch=watch)
        return replace(fit, settings={**fit.settings, "choice": alpha.of(fit.model.n_edges).sentence})
    fit = learner.learn(alpha, began=began, watch=watch)
    said = describe_alpha(fit, learner)
    return replace(fit, status=replace(fit.status, sentence=f"{fit.status.sentence} {said}".rstrip()))


def describe_alpha(fit: Fit, learner: Learner) -> str:
    """Say what a penalty means that leaves no edge, or is below the noise of the table; nothing where it is neither."""
    if fit.alpha is None or fit.status.code in ("time", "interrupted"):
        return ""
    if count_edges(fit.model):
        return describe_noise(fit.alpha, learner)
    most = largest_alpha(learner)
    if fit.alpha < most:
        return ""
    if learner.options.penalize_main:
        return f"There is no edge: that takes an alpha below {most:.3g}."
    why = (
        f"no pair of levels is by more than alpha = {fit.alpha:.3g} more or less frequent than independent variables "
        "would have it"
    )
    if not learner.make_penalty(fit.alpha).coordinates.is_plain:
        why = (
            f"no two variables are further from independent ones than alpha = {fit.alpha:.3g}, in the frequencies of "
            "their pairs of levels, taken together"
        )
    if learner.table.n_missing.any() and not learner.data.is_fixed:
        why += ", times the share of rows that show both: with missing cells alpha is in units of all rows"
    return f"There is no edge: {why}. That takes an alpha below {most:.3g}. Where none is given, one is chosen."
