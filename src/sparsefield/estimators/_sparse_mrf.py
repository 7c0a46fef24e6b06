"""The estimator of penalised likelihood."""

from __future__ import annotations

import time
from typing import Any, Literal

from numpy.typing import ArrayLike

from sparsefield.data import WAYS_WITH_MISSING, Rows
from sparsefield.estimators._field_estimator import FieldEstimator
from sparsefield.fitting import Options
from sparsefield.gradients import CertificateKind, Schedule
from sparsefield.inference import Backend, DeviceName
from sparsefield.learning import Alpha, learn_rows, seed_of
from sparsefield.model import PairwiseMRF
from sparsefield.objective import PenaltyKind
from sparsefield.progress import Bars
from sparsefield.tables import Ordinal, read_rows


class SparseMRF(FieldEstimator):
    """Sparse Markov random field, learned by penalised maximum likelihood with certified gradients.

    Parameters
    ----------
    alpha : float or "auto"
        Strength of the penalty: larger gives fewer edges. "auto" finds edges without one: a pair has an edge where that
        is more probable than none, given all others, by the likelihoods of both variables and what the table tells of
        edges (`choice_` says how); weights are the most probable ones of these edges, with a normal prior. No random
        number decides on edges. Where `penalty` or `penalize_main` is given, "auto" chooses a penalty, by the extended
        BIC of the edges of a path of penalties (`selection.select`; `SparseMRFCV` has other ways). The natural unit of
        alpha is a difference of two frequencies: a pair whose frequency the model misses by less than alpha gets no
        edge. Where no pair's frequency differs by more than alpha from that of independent variables, there is no edge
        at all, as long as main effects are free. With more than two levels it is the same for the frequencies of all
        pairs of levels taken together, on the scale of two levels (`objective.Group`).
    solver : "newton" or "spg"
        "newton": proximal Newton steps on draws whose covariance is the curvature, a few of them. "spg": the paper's
        proximal gradient steps, hundreds of them. A fit whose objective is not surely below that of its start is the
        start, and the status says so.
    schedule : "auto", "best", "tay", "conservative", "perfect", "exact", "increasing", int, or Schedule
        How gradients are estimated; `sparsefield.gradients` has the schedules as values. "auto": "best" with Newton
        steps, "tay" with the paper's. "best": enumeration of up to 2^20 states (20 variables of two levels), else exact
        draws where they can be had, else Gibbs chains with a certificate, else without one. "tay": Gibbs chains, swept
        until the certificate allows the step (the paper). "conservative": the same with a certificate for the whole
        error. "perfect": exact draws. "exact": enumeration, for small models (up to 2^20 states with Newton steps). A
        number: as many sweeps each time; "increasing": k sweeps in iteration k.
    certificate : "sharp", "persistent", "coalescence" or "paper"
        Which bound "tay" uses.
    chains : "restart" or "persistent"
        With the paper's steps: whether chains start anew in every iteration, as in the paper, or go on from the last
        one. Newton steps have new draws each time.
    n_chains : int
        Chains or draws behind a gradient; with Newton steps those of the first, where their simulation error is below
        alpha, and at least eight for each parameter that is not zero.
    gap : float or "auto"
        Newton steps on draws: how far above its optimum the objective may be, on average, in nats per row; smaller
        makes more draws, nonzeros / (2 gap) of them, and at least as many as it takes until their simulation error
        alone is not expected to make an edge at this alpha, up to 65,536 or the number of rows. "auto" makes as many
        draws as it takes until another seed is expected to find 99% of the same edges, for a gap of 0.05 at most; but
        no more than four million, nor than 2^28 over the number of slots. Steps on all states have no simulation error,
        and go on until `tol`.
    step_size : float or "auto"
        Length of the paper's steps; "auto" follows the inverse of the largest curvature. The paper's is 0.4.
    ordinal : iterable of names, mapping of names, bool, optional
        Which columns have ordered levels, besides those that the table declares; see `encode`.
    penalty : "auto", "group" or "l1"
        What is penalised: with "group" the interactions of two variables together, so that nothing depends on which
        level is the reference; with "l1" each by itself. "auto" takes groups where a variable has more than two levels;
        with two levels there is no difference where main effects are free.
    penalize_main : bool
        Whether main effects are penalised too, as in the paper; they are free unless told so. A penalty on main effects
        of 0/1 variables can make edges between variables that are independent, and other ones where 0 and 1 are
        exchanged. Where main effects are free, a level that no row shows counts as half a row, and the status says so.
    fdr : float, optional
        The false discovery rate at which a pair is an edge, as `infer` finds it, in place of the rule of alpha="auto":
        of the edges of the fit, at most this share is false in the mean. Weights that are not whole numbers are those
        of a survey.
    max_iter : int, optional
        Iterations at most: 50 Newton steps or 300 of the paper's, unless given, and four times as many with missing
        values that the model fills.
    max_sweeps : int, optional
        Sweeps of an iteration at most: of Gibbs chains that wait for their certificate (100 unless given), or of the
        pilot run of exact draws (2000 unless given, 10,000 with schedule="perfect").
    max_seconds : float, optional
        Time after which the fit ends, counted from the call: choosing a penalty, for which there is half of it, finding
        a start and certifying count too. What was reached by then is kept; Newton steps make no more draws than there
        is time for.
    tol : float
        The fit has converged when the norm of the step map (Newton: of the smallest subgradient) is at most this. With
        estimated gradients it ends earlier, when steps cannot be told from simulation error, and says so.
    init : "auto", PairwiseMRF, "pseudolikelihood" or "zero"
        Where to start: a model over the same variables, that of `PseudoLikelihood` with the same penalty, or one
        without interactions, whose main effects are those of independent variables where they are free. "auto": Newton
        steps start from the pseudo-likelihood, the paper's without interactions.
    missing : "model", "zero", "drop" or "error"
        What to do with missing values: take what the model expects of them given the observed cells of the row, anew in
        every iteration (by enumeration or exact draws, and by Gibbs chains where neither can be had); count them as the
        first level (the paper's choice); drop their rows; or refuse them. It makes no difference where there are none.
    certify : bool
        Whether the gap is a promise: the fit goes on, with as many further steps and draws as it takes, until the gap
        that is certified (`fit_.optimality`, with confidence 0.99) is at most `gap`, or the status says why not. With
        gap="auto" the promise is 0.05.
    random_state : int, RandomState, Generator or None
        Where the random numbers start.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        What makes chains and draws: `inference.Cluster` spreads them over many machines. The processors of this one
        unless given.
    device : "cpu", "cuda" or "auto", optional
        Where chains and draws are made, in place of a backend: by the processors of this machine ("cpu", unless given),
        on its GPU ("cuda": `inference.Cuda`), or on a GPU where there is one and the table is one for it ("auto":
        `inference.Auto`). A seed gives other draws on a GPU than on processors. Draws that scores and missing values
        ask for after the fit are made there too.
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
    variables in twenty is given an edge. Solver:
    in the paper's 20-variable setting Newton steps are at the optimum after 0.05 to 0.15 seconds, and the paper's are
    0.003 to 0.011 above it after 6. Start: the pseudo-likelihood, which needs no draws and takes about a twentieth
    of the whole time at 500 variables. The paper's steps: the sharp bound is at least twice as close as the paper's at
    the same cost, and holds for any number of levels; "coalescence" certifies every gradient of that setting where
    "sharp" certifies one in twenty, and in half the time, but with 10 variables, where "sharp" certifies all, its
    iterations take three times as long (`make bench-tay`). Chains that go on from the last iteration are no faster in
    either setting, and their certificate is an approximation: they start anew.

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

    def __init__(
        self,
        alpha: Alpha = "auto",
        *,
        solver: Literal["newton", "spg"] = "newton",
        schedule: str | int | Schedule = "auto",
        certificate: CertificateKind = "sharp",
        chains: Literal["restart", "persistent"] = "restart",
        n_chains: int = 2000,
        gap: float | Literal["auto"] = "auto",
        step_size: float | Literal["auto"] = "auto",
        ordinal: Ordinal = None,
        penalty: PenaltyKind = "auto",
        penalize_main: bool = False,
        fdr: float | None = None,
        max_iter: int | None = None,
        max_sweeps: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-4,
        init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
        missing: Literal["model", "zero", "drop", "error"] = "model",
        certify: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        backend: Backend | None = None,
        device: DeviceName | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.schedule = schedule
        self.certificate = certificate
        self.chains = chains
        self.n_chains = n_chains
        self.gap = gap
        self.step_size = step_size
        self.ordinal = ordinal
        self.penalty = penalty
        self.penalize_main = penalize_main
        self.fdr = fdr
        self.max_iter = max_iter
        self.max_sweeps = max_sweeps
        self.max_seconds = max_seconds
        self.tol = tol
        self.init = init
        self.missing = missing
        self.certify = certify
        self.random_state = random_state
        self.n_threads = n_threads
        self.backend = backend
        self.device = device
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
        own = ("alpha", "ordinal", "random_state", "progress")
        given = {name: value for name, value in self.get_params().items() if name not in own}
        return Options(seed=seed_of(self.random_state), **given)

    def _choose_for(self, rows: Rows) -> Alpha:  # noqa: ARG002
        return self.alpha
