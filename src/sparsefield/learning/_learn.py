"""From rows to a fit, in one call; with edges or a penalty that are given, or chosen."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from numbers import Real
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsefield._near_misses import explain_names
from sparsefield.data import Rows
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Newton, Options, Proximal, SolverName
from sparsefield.inference import Device
from sparsefield.learning._choose import Alpha, choose, is_rule
from sparsefield.learning._show import QUIET, Quiet, Show
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.objective import Penalty, PenaltyKind, Ridge
from sparsefield.selection import Choice, count_edges, describe_null_edges, largest_alpha, relax
from sparsefield.solvers import WatchSteps
from sparsefield.structure import Structure
from sparsefield.tables import Ordinal, read_rows

Chosen = float | Penalty | Choice | Structure

_OPTIONS = {own.name for own in fields(Options)}


@explain_names
def learn(
    data: Any,
    alpha: Alpha = "auto",
    *,
    missing: Literal["model", "zero", "drop", "error"] = "model",
    ordinal: Ordinal = None,
    certify: bool = False,
    seed: int = 0,
    device: Device = None,
    solver: SolverName | Newton | Proximal = "newton",
    penalty: Penalty | PenaltyKind = "auto",
    penalize_main: bool = False,
    gap: float | Literal["auto"] = "auto",
    init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
    max_seconds: float | None = None,
    n_threads: int | None = None,
    sample_weight: ArrayLike | None = None,
    watch: WatchSteps | None = None,
) -> Fit:
    """Learn a sparse Markov random field from a table, and return all that is known of the fit as one value.

    It does what `SparseMRF` does, whose options have the same names and are explained there.

    Parameters
    ----------
    data : Table, array, pandas or polars data frame, or path
        Observations, one row each; see `encode`. Folders of files, lazy frames of polars, and data frames and arrays of
        Dask are counted part by part where they do not fit into memory, and so are large files (`count_data`).
    alpha : float, "auto" or rule
        Strength of the penalty; "auto" finds edges without one; or a rule, such as `EBIC()`. `fit.settings["choice"]`
        says how edges, or the penalty, were chosen.
    missing, ordinal, certify, device, solver, penalize_main, gap, init
        As for `SparseMRF`.
    seed : int
        Where the random numbers start: `SparseMRF(random_state=seed)` is the same fit.
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
    n_threads : int, optional
        Threads to use; the result does not depend on it.
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
    began = time.perf_counter()
    own = penalty if isinstance(penalty, Penalty) else None
    given = {name: value for name, value in locals().items() if name in _OPTIONS}
    options = Options(**{**given, "penalty": "auto" if own is not None else penalty})
    rows = read_rows(data, sample_weight, missing=missing, ordinal=ordinal, n_threads=n_threads)
    return learn_rows(rows, options, alpha if own is None else own, show=Quiet(watch), began=began)[0]


def learn_rows(
    rows: Rows, options: Options, alpha: Alpha | Chosen = "auto", *, show: Show = QUIET, began: float | None = None
) -> tuple[Fit, Chosen]:
    """Learn rows: the road of every fit, from the choice of its edges to the certificate of its optimum.

    Parameters
    ----------
    rows : Rows
        The rows that count.
    options : Options
        What is asked of the fit.
    alpha : float, Penalty, Choice, Structure, rule or "auto"
        A penalty, or edges, that are given or were chosen before; a rule chooses, and so does "auto" (`choose`).
    show : Show
        Who is told how far it is.
    began : float, optional
        When the fit began, by `time.perf_counter`; now unless given.

    Returns
    -------
    Fit
        The fit.
    float, Penalty, Choice or Structure
        What decided on its edges; a choice speaks of the edges of this fit.
    """
    began = time.perf_counter() if began is None else began
    learner = Learner(rows, options)
    chosen: Chosen
    if isinstance(alpha, str) or is_rule(alpha):
        with show.choice() as watch:
            chosen = choose(learner, alpha, began=began, watch=watch)
        if isinstance(chosen, Choice | Structure):
            show.tell(chosen)
    else:
        chosen = float(alpha) if isinstance(alpha, Real) else alpha
    with show.steps(options.most_steps(rows.table)) as watch_steps:
        fit = learn_with(learner, chosen, began=began, watch=watch_steps)
    return fit, chosen.of(fit.model.n_edges) if isinstance(chosen, Choice) else chosen


def learn_with(
    learner: Learner,
    alpha: Chosen,
    *,
    began: float | None = None,
    watch: WatchSteps | None = None,
) -> Fit:
    """Learn a table with edges or a penalty that were given or chosen, and say what that means for its edges."""
    if isinstance(alpha, Structure):
        penalty = Ridge(learner.table.domain, alpha.ridge, alpha.support)
        is_told = isinstance(learner.options.init, PairwiseMRF) or learner.options.init == "zero"
        start = None if is_told else as_theta(alpha.model)
        fit = learner.learn(penalty.alpha, penalty=penalty, start=start, began=began, watch=watch)
        return replace(fit, settings={**fit.settings, "choice": str(alpha)})
    if isinstance(alpha, Choice):
        fit = learner.learn(alpha.alpha, began=began, watch=watch)
        if alpha.relax:
            fit = _relax(learner, fit)
        return replace(fit, settings={**fit.settings, "choice": alpha.of(fit.model.n_edges).sentence})
    if isinstance(alpha, Penalty):
        return learner.learn(alpha.alpha, penalty=alpha, began=began, watch=watch)
    fit = learner.learn(alpha, began=began, watch=watch)
    said = describe_alpha(fit, learner)
    return replace(fit, status=replace(fit.status, sentence=f"{fit.status.sentence} {said}".rstrip()))


def _relax(learner: Learner, first: Fit) -> Fit:
    """Fit the edges of a fit without its penalty; where something is wrong with that, the status has it."""
    fit = relax(learner, first, learner.known)
    if not first.is_serious:
        return fit
    said = f"The fit whose edges are kept: {first.status.sentence} {fit.status.sentence}"
    return replace(fit, status=replace(first.status, sentence=said))


def describe_alpha(fit: Fit, learner: Learner) -> str:
    """Say what a penalty means that leaves no edge, or some by sampling error; nothing where it is neither."""
    if fit.alpha is None or fit.status.code in ("max_seconds", "interrupted"):
        return ""
    if count_edges(fit.model):
        return describe_null_edges(fit.alpha, learner)
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
    return f"There is no edge: {why}. That takes an alpha below {most:.3g}. Without alpha, no penalty decides."
