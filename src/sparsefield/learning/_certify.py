"""How far a fit is above its optimum, by a table that is read as the fit was."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sparsefield._near_misses import explain_names
from sparsefield.data import CountedTable, Rows, Table, TableError, resolve_missing, take_counted
from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.inference import MOST_ENTRIES, Device, make_backend
from sparsefield.optimality import certify_rows, check_certifiable
from sparsefield.solvers import WatchSteps
from sparsefield.tables import open_rows


@explain_names
def certify(
    fit: Fit | Fitted,
    data: Any,
    *,
    confidence: float = 0.99,
    n_draws: int = 200_000,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
    device: Device = None,
    watch: WatchSteps | None = None,
    max_states: int = MOST_ENTRIES,
) -> Fit:
    """Bound how far the objective of a fit is above its optimum, from draws that the fit has not seen.

    Every distribution P whose moments are within alpha of those of the data (by the norm of a group, where parameters
    vanish in groups) has an entropy below the least objective: the problem is the dual of maximum entropy. So the gap
    of theta is at most g(theta) - H(P), for any such P. Small fields are enumerated, and the gap is exact. Elsewhere
    three such P are tried, and `optimality.kind` says which of them the gap is from. The field with a Newton step in
    its probabilities gives a bound that is close to the gap ("asymptotic": by the central limit theorem), and, where
    draws are many and parameters few, one that holds for every number of draws ("proven"). The field of a second fit,
    with a penalty a little below alpha, gives one that is always proven, and far from the gap; where main effects are
    free it is that of the data, which says next to nothing. `optimality.proven` is the smaller of these two.

    Parameters
    ----------
    fit : Fit or fitted estimator
        A fit of penalised likelihood (`SparseMRF(...).fit(data)`), or a relaxed one (`selection.relax`): its optimum is
        that of the parameters which it has, with all others at zero.
    data : Table, array, pandas or polars data frame, or path
        What it was fitted to, as it was given to the fit; other rows, and rows in another order, are refused. Of rows
        that were counted part by part (`count_data`) it is the counts that must be the same. Missing
        values are treated as the fit was told to. Where the model filled them, their expectations are found by
        enumeration (up to 20 missing values of two levels in a row), and the smallest subgradient alone is certified.
    confidence : float
        Probability with which all bounds hold together; of asymptotic ones, as draws become many.
    n_draws : int
        Fresh draws of each batch: of one for the subgradient, one at the second fit, two for the decrement, and of two
        more for each step where the fit is far from its optimum. With five times the draws that a fit ended with the
        asymptotic bound is about twice its gap, unless many parameters are near their penalties or statistics are
        rare: the note of what is refused says how many draws would do, where that is known.
    seed : int
        Where the random numbers start; they are others than those of a fit with the same seed.
    sample_weight : array-like of shape (n_rows,), optional
        The weights that it was fitted with; others are refused. Weights that are all equal are the same as none, unless
        a level that no row shows has half a row beside as many as they count.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    device : "cpu", "cuda", "auto" or Backend, optional
        As for `SparseMRF`; it need not be that of the fit.
    watch : callable, optional
        Called with each StepInfo of the second fit.
    max_states : int
        Fields with no more states are enumerated, which takes no draws.

    Returns
    -------
    Fit
        The same fit, with `optimality`: `gap`, its `kind`, `proven`, `subgradient` and a sentence.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(8, seed=1).sample(2000, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> certified = sf.certify(mrf, table, seed=2)
    >>> certified.optimality.kind, certified.optimality.gap < 0.02
    ('exact', True)
    """
    backend = make_backend(device, n_threads)
    fit = as_fit(fit)
    check_certifiable(fit, confidence, n_draws, seed)  # before a long table is read
    rows = _read_rows(fit, data, sample_weight)
    options: dict[str, Any] = {"confidence": confidence, "n_draws": n_draws, "seed": seed, "max_states": max_states}
    return certify_rows(fit, rows, backend=backend, watch=watch, **options)


def _read_rows(fit: Fit, data: Any, sample_weight: ArrayLike | None) -> Rows:
    """Read the rows that count, in the codes of the fit, and do with missing values what the fit was told to."""
    domain = fit.model.domain
    missing = fit.settings.get("missing", "model")
    if not (isinstance(data, Table) and data.domain == domain):
        if isinstance(data, CountedTable):
            raise TableError(
                "These counts are of other variables or levels than those of the fit",
                "give count_data the domain of its model",
            )
        data = open_rows(data.to_frame() if isinstance(data, Table) else data, missing=missing, domain=domain)
    table, weights = take_counted(data, sample_weight)
    try:
        return Rows(*resolve_missing(table, missing, weights))
    except TableError as error:  # its remedy is an option of fits
        raise TableError(error.problem, "give the table that the field was fitted to", column=error.column) from error
