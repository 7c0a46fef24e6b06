"""The estimator of penalised likelihood that chooses its penalty."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from sparsefield.data import WAYS_WITH_MISSING, Rows, Table, count
from sparsefield.estimators._field_estimator import FieldEstimator
from sparsefield.fitting import Learner, Options
from sparsefield.gradients import Schedule
from sparsefield.inference import Backend, DeviceName
from sparsefield.learning import seed_of
from sparsefield.objective import PenaltyKind
from sparsefield.progress import PiecesBar, ProgressBar
from sparsefield.selection import Choice, Criterion, relax, select
from sparsefield.tables import Ordinal, encode

# What `select` and the last fit have in common. The path has a gap of its own, unless one is given.
_COMMON = (
    "schedule",
    "n_chains",
    "penalty",
    "penalize_main",
    "max_iter",
    "max_sweeps",
    "tol",
    "missing",
    "n_threads",
    "backend",
    "device",
)


class SparseMRFCV(FieldEstimator):
    """Sparse Markov random field whose penalty is chosen: by an information criterion, rows held out, or stability.

    A path of penalties is fitted, one of them is chosen (`selection.select`), and the table is fitted with it as
    `SparseMRF` would.

    Parameters
    ----------
    alphas : sequence of float, optional
        The penalties to choose from. Unless given, `n_alphas` from `alpha_max` down to where sampling error makes edges
        (`selection.select`).
    n_alphas : int
        How many there are, unless they are given.
    criterion : "ebic", "cv" or "stars"
        "ebic": the least extended BIC of the edges of each fit, to find edges. "cv": the largest alpha whose
        log-likelihood of rows that were held out is within one standard error of the best, to predict. "stars": the
        smallest alpha on whose edges subsamples agree.
    gamma : float
        With "ebic": what it adds for the choice among sets of edges, from 0 (the BIC) to 1.
    cv : int, splitter or iterable
        With "cv": how many folds the rows are shuffled into, or a splitter of scikit-learn, or pairs of indices of rows
        to fit and to hold out.
    beta : float
        With "stars": on which share of all pairs two subsamples may disagree.
    n_subsamples : int
        With "stars": how many subsamples there are.
    relax : bool
        Whether the edges of the last fit are fitted again without their penalty, so that their weights are not
        shrunken.
    schedule, n_chains, ordinal, penalty, penalize_main, max_iter, max_sweeps, tol, missing
        As for `SparseMRF`, for all fits.
    gap : float or "auto"
        As for `SparseMRF`, for the last fit; a number is also that of the fits to choose from, for which `select` has
        one of its own otherwise.
    certify : bool
        As for `SparseMRF`, for the last fit; with relax=True for the fit whose edges are kept, too, and the optimum is
        that of these edges.
    n_jobs : int, optional
        Folds or subsamples at a time, -1 for as many as there are processors; see `parallel.run_pieces`.
    checkpoint : path, optional
        A folder that keeps finished parts of the choice, so that it can go on.
    random_state : int, RandomState, Generator or None
        Where the random numbers start. An integer is needed to go on from a checkpoint.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    backend : Backend, optional
        As for `SparseMRF`. Draws or fits can be spread over a cluster, not both: with one for draws leave `n_jobs` out.
    device : "cpu", "cuda" or "auto", optional
        As for `SparseMRF`, for all fits.
    progress : bool or "auto"
        Whether to show progress bars; "auto" shows them in a terminal.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    choice_ : Choice
        Why, in a sentence: `print(mrf.choice_)`.
    path_table_ : polars.DataFrame
        One row for each penalty: edges, parameters, log-likelihood, and the criterion.
    model_, main_effects_, interactions_, trace_, status_, certificate_, n_iter_, fit_
        As for `SparseMRF`, of the last fit.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> data = truth.sample(5000, method="perfect", seed=1).to_frame()
    >>> mrf = sf.SparseMRFCV(n_alphas=10, random_state=1).fit(data)
    >>> int((truth.interactions != 0).sum()) // 2, mrf.graph().number_of_edges()
    (3, 3)
    """

    _ways_with_missing = WAYS_WITH_MISSING

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        *,
        n_alphas: int = 30,
        criterion: Criterion = "ebic",
        gamma: float = 0.25,
        cv: Any = 5,
        beta: float = 0.05,
        n_subsamples: int = 20,
        relax: bool = False,
        schedule: str | int | Schedule = "auto",
        n_chains: int = 2000,
        gap: float | Literal["auto"] = "auto",
        ordinal: Ordinal = None,
        penalty: PenaltyKind = "auto",
        penalize_main: bool = False,
        max_iter: int | None = None,
        max_sweeps: int | None = None,
        tol: float = 1e-4,
        missing: Literal["model", "zero", "drop", "error"] = "model",
        certify: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        backend: Backend | None = None,
        device: DeviceName | None = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.alphas = alphas
        self.n_alphas = n_alphas
        self.criterion = criterion
        self.gamma = gamma
        self.cv = cv
        self.beta = beta
        self.n_subsamples = n_subsamples
        self.relax = relax
        self.schedule = schedule
        self.n_chains = n_chains
        self.gap = gap
        self.ordinal = ordinal
        self.penalty = penalty
        self.penalize_main = penalize_main
        self.max_iter = max_iter
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.missing = missing
        self.certify = certify
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_threads = n_threads
        self.backend = backend
        self.device = device
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SparseMRFCV:  # noqa: ARG002
        """Choose a penalty and learn a field with it.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; see `encode`.
        y : None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        """
        data = self._check_input(X)
        table = data if isinstance(data, Table) else encode(data)
        # Refused before the choice, which takes long, if an option of the last fit makes no sense.
        learner = Learner(Rows.of(table, sample_weight, self.missing), self._make_options())
        choice = self._choose_for(learner.rows)
        self._store_choice(self._fit_chosen(learner, choice))
        self.path_table_ = choice.table
        return self

    def _make_options(self) -> Options:
        given: dict[str, Any] = {name: getattr(self, name) for name in _COMMON}
        return Options(seed=seed_of(self.random_state), gap=self.gap, certify=self.certify, **given)

    def _choose_for(self, rows: Rows) -> Choice:
        given: dict[str, Any] = {name: getattr(self, name) for name in _COMMON}
        with PiecesBar(self.progress, "parts of the choice") as watch:
            return select(
                rows,
                criterion=self.criterion,
                alphas=self.alphas,
                n_alphas=self.n_alphas,
                gamma=self.gamma,
                n_folds=self._make_folds(rows.table.n_rows),
                beta=self.beta,
                n_subsamples=self.n_subsamples,
                seed=seed_of(self.random_state),
                n_jobs=self.n_jobs,
                checkpoint=self.checkpoint,
                watch=watch,
                **(given if self.gap == "auto" else {**given, "gap": self.gap}),
            )

    def _make_folds(self, n_rows: int) -> Any:
        """Return the number of folds, or the folds that a splitter makes of the rows that count."""
        if isinstance(self.cv, int | np.integer):
            return self.cv
        folds = list(check_cv(self.cv).split(np.zeros((n_rows, 1))))
        if any(np.max(own, initial=0) >= n_rows for fold in folds for own in fold):
            raise ValueError(f"cv has indices of rows that there are none of: the table has {count(n_rows, 'row')}.")
        return folds

    def _fit_chosen(self, learner: Learner, choice: Choice) -> Choice:
        """Fit with the penalty that was chosen, and without it the edges that it leaves, if that is wanted.

        Returns the choice, with the edges of that fit.
        """
        began = time.perf_counter()
        with ProgressBar(self.progress, learner.options.most_steps(learner.table)) as watch:
            fit = learner.learn(choice.alpha, began=began, watch=watch)
            if self.relax:
                if fit.is_serious:
                    warnings.warn(
                        f"The fit whose edges are kept: {fit.status.sentence}", ConvergenceWarning, stacklevel=3
                    )
                fit = relax(learner, fit, learner.stand)
        choice = choice.of(fit.model.n_edges)
        self._store(fit, choice=choice.sentence)
        return choice
