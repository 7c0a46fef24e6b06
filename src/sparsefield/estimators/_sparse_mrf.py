"""The estimator of penalised likelihood."""

from __future__ import annotations

import time
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsefield._near_misses import explain_names
from sparsefield.data import WAYS_WITH_MISSING
from sparsefield.estimators._field_estimator import FieldEstimator
from sparsefield.fitting import Newton, Options, Proximal, SolverName
from sparsefield.inference import Device
from sparsefield.learning import Alpha, learn_rows, seed_of
from sparsefield.model import PairwiseMRF
from sparsefield.objective import PenaltyKind
from sparsefield.progress import Bars
from sparsefield.tables import Ordinal, read_rows


class SparseMRF(FieldEstimator):
    """Sparse Markov random field, learned by penalised maximum likelihood with certified gradients.

    Parameters
    ----------
    alpha : float, "auto" or rule
        What decides on edges. "auto": a pair has an edge where that is more probable than none, given all others, by
        the likelihoods of both variables and what the table tells of edges (`choice_` says how); weights are the most
        probable ones of these edges, with a normal prior. No random number decides on edges. A number is the strength
        of a penalty: larger gives fewer edges. Its unit is a difference of two frequencies: a pair whose frequency the
        model misses by less than alpha gets no edge. A rule chooses: `EBIC()`, `HeldOut()` and `StARS()` a penalty,
        `FalseDiscovery(0.1)` edges of which at most a tenth is false, or one of your own
        (`selection.Rule`). Where `penalty` or `penalize_main` is given, or a variable has more than nine levels without
        an order, "auto" is `EBIC()`.
    missing : "model", "zero", "drop" or "error"
        What to do with missing values: take what the model expects of them given the observed cells of the row, anew in
        every iteration (by enumeration or exact draws, and by Gibbs chains where neither can be had); count them as the
        first level (the paper's choice); drop their rows; or refuse them. It makes no difference where there are none.
    ordinal : iterable of names, mapping of names, bool, optional
        Which columns have ordered levels, besides those that the table declares; see `encode`.
    certify : bool
        Whether the gap is a promise: the fit goes on, with as many further steps and draws as it takes, until the gap
        that is certified (`fit_.optimality`, with confidence 0.99) is at most `gap`, or the status says why not. With
        gap="auto" the promise is 0.05.
    random_state : int, RandomState, Generator or None
        Where the random numbers start.
    device : "cpu", "cuda", "auto" or Backend, optional
        Where chains and draws are made: by the processors of this machine ("cpu", unless given), on its GPU ("cuda"),
        on a GPU where there is one and the table is one for it ("auto"), or by a backend, such as `inference.Cluster`,
        which spreads them over many machines. A seed gives other draws on a GPU than on processors.
    solver : "newton", "proximal", Newton or Proximal
        How the optimum is found: by a few proximal Newton steps on draws whose covariance is the curvature, or by the
        paper's proximal gradient steps, hundreds of them. `Newton(...)` and `Proximal(...)` have options of their own:
        how gradients are estimated, how many draws are made, when it ends.
    penalty : "auto", "group" or "l1"
        What is penalised: with "group" the interactions of two variables together, so that nothing depends on which
        level is the reference; with "l1" each by itself. "auto" takes groups where a variable has more than two levels;
        with two levels there is no difference where main effects are free.
    penalize_main : bool
        Whether main effects are penalised too, as in the paper; they are free unless told so. A penalty on main effects
        of 0/1 variables can make edges between variables that are independent, and other ones where 0 and 1 are
        exchanged. Where main effects are free, a level that no row shows counts as half a row, and the status says so.
    gap : float or "auto"
        Newton steps on draws: how far above its optimum the objective may be, on average, in nats per row; smaller
        makes more draws, nonzeros / (2 gap) of them, and at least as many as it takes until their simulation error
        alone is not expected to make an edge at this alpha, up to 65,536 or the number of rows. "auto" makes as many
        draws as it takes until another seed is expected to find 99% of the same edges, for a gap of 0.05 at most; but
        no more than four million, nor than 2^28 over the number of slots. Steps on all states have no simulation error,
        and go on until the solver's `tol`.
    init : "auto", PairwiseMRF, "pseudolikelihood" or "zero"
        Where to start: a model over the same variables, that of `PseudoLikelihood` with the same penalty, or one
        without interactions, whose main effects are those of independent variables where they are free. "auto": Newton
        steps start from the pseudo-likelihood, the paper's without interactions.
    max_seconds : float, optional
        Time after which the fit ends, counted from the call: choosing a penalty, for which there is half of it, finding
        a start and certifying count too. What was reached by then is kept; Newton steps make no more draws than there
        is time for.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" shows one in a terminal.

    Attributes
    ----------
    alpha_ : float or None
        The penalty, given or chosen; None where edges were found without one.
    choice_ : Structure, Choice or None
        How edges were found, or why the penalty was chosen, in a sentence (`print(mrf.choice_)`).
    model_ : PairwiseMRF
        The fitted field.
    main_effects_ : ndarray of shape (n_slots,)
    interactions_ : ndarray of shape (n_slots, n_slots)
    trace_ : polars.DataFrame
        One row per iteration: sweeps, chains, certificate, norms, the step, objective if known, seconds, and why
        sweeping stopped.
    status_ : Status
        How the fit ended, in a sentence.
    certificate_ : float or None
        The last gradient's certificate: a bound on the L2 norm of its bias (conservative: of its whole error), with the
        confidence in the trace. None where there is none: of fixed numbers of sweeps, of interactions that are too
        strong, and of missing values that are filled by Gibbs chains.
    n_iter_ : int
        Iterations made.
    fit_ : Fit
        All of this as one value. `sf.edge_table(mrf)` marks edges that simulation error leaves open, and
        `sf.certify(mrf, X)` bounds what the objective is above its optimum; both take the estimator or its fit.

    Notes
    -----
    Why these defaults (`make bench-choice`, `make bench-newton`, `make bench-learner`). Edges: a price that the table
    tells finds more of the edges of known fields than penalties do (a mean F1 of 0.77 over 22 kinds of fields, where an
    L1 penalty chosen by the EBIC has 0.70 and IsingFit's recipe 0.72 and 0.73), and weights that are not shrunken are
    nearer to the truth (a mean error of 0.30 in place of 0.68, and 0.45 to 0.47). At most one table of independent
    variables in twenty is given an edge. Solver: in the paper's 20-variable setting Newton steps are at the optimum
    after 0.05 to 0.15 seconds, and the paper's are 0.003 to 0.011 above it after 6. Start: the pseudo-likelihood, which
    needs no draws and takes about a twentieth of the whole time at 500 variables.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> data = truth.sample(5000, method="perfect", seed=1).to_frame()
    >>> mrf = sf.SparseMRF(random_state=1).fit(data)
    >>> sf.edge_table(mrf).row(0)[:2]
    ('x1', 'x5')
    >>> int((truth.interactions != 0).sum()) // 2, mrf.graph().number_of_edges()
    (3, 3)
    """

    _ways_with_missing = WAYS_WITH_MISSING

    @explain_names
    def __init__(
        self,
        alpha: Alpha = "auto",
        *,
        missing: Literal["model", "zero", "drop", "error"] = "model",
        ordinal: Ordinal = None,
        certify: bool = False,
        random_state: Any = None,
        device: Device = None,
        solver: SolverName | Newton | Proximal = "newton",
        penalty: PenaltyKind = "auto",
        penalize_main: bool = False,
        gap: float | Literal["auto"] = "auto",
        init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
        max_seconds: float | None = None,
        n_threads: int | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.alpha = alpha
        self.missing = missing
        self.ordinal = ordinal
        self.certify = certify
        self.random_state = random_state
        self.device = device
        self.solver = solver
        self.penalty = penalty
        self.penalize_main = penalize_main
        self.gap = gap
        self.init = init
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SparseMRF:  # noqa: ARG002
        """Learn a field from a table.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; see `encode`. Lazy frames of polars, and data frames and arrays of Dask, are
            counted part by part, and so are large files and folders; see `count_data`.
        y : None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        """
        began = time.perf_counter()
        data, options, show = self._check_input(X), self._make_options(), Bars(self.progress)
        with show.rows() as watch:
            rows = read_rows(data, sample_weight, missing=self.missing, n_threads=self.n_threads, watch=watch)
        fit, chosen = learn_rows(rows, options, self.alpha, show=show, began=began)
        self._store(fit)
        self._store_choice(chosen)
        return self

    def _make_options(self) -> Options:
        return Options(seed=seed_of(self.random_state), **self._name_options())
