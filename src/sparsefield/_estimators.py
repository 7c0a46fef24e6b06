"""scikit-learn estimators: validate, call the solver, store what it says."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from sparsefield._graph import make_graph
from sparsefield._missing import Completion
from sparsefield._model import PairwiseMRF
from sparsefield._moments import check_weights, moments_of_table, weighted_moments
from sparsefield._newton import solve_newton
from sparsefield._problem import Problem
from sparsefield._progress import ProgressBar
from sparsefield._pseudolikelihood import pseudo_log_likelihood, solve_pseudo_likelihood
from sparsefield._result import Fit
from sparsefield._schedule import CertificateKind, Sampler, Schedule, best, exact, fixed, increasing, perfect, tay
from sparsefield._solver import check_step_size, solve
from sparsefield._table import Table, encode
from sparsefield.inference import MAX_STATES


class _FieldEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators of fields have in common: tables in, a model out."""

    _ways_with_holes: tuple[str, ...] = ("zero", "drop", "error")
    missing: str

    def _check_table(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.float64] | None]:
        table = X if isinstance(X, Table) else encode(_check_array(X, self.missing, self._ways_with_holes))
        if hasattr(X, "shape"):
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, X, reset=True)
        else:
            self.n_features_in_ = table.domain.n_variables
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights is not None:
            check_weights(weights, table.n_rows)
            if not weights.all():  # rows that do not count need not be looked at
                table, weights = Table(table.domain, np.asfortranarray(table.codes[weights > 0])), weights[weights > 0]
        if self.missing not in self._ways_with_holes:
            raise ValueError(f"missing is {self.missing!r}: use {_listed(self._ways_with_holes)}.")
        if not table.n_holes.any() or self.missing == "model":
            return table, weights
        if self.missing == "zero":
            return table.fill_first(), weights
        if self.missing == "drop":
            whole = ~table.mask.any(axis=1)
            return table.drop_holes(), None if weights is None else weights[whole]
        name = table.domain.names[int(table.n_holes.argmax())]
        raise ValueError(
            f"The table has {table.n_holes.sum()} hole(s) (NaN or null), most in column {name!r}: "
            f"use missing={_listed(self._ways_with_holes[:-1])}."
        )

    def _store(self, fit: Fit, table: Table, **more: Any) -> None:
        fit = replace(fit, settings={**self._settings(), **more, "n_rows": table.n_rows, "data": table.fingerprint()})
        self.fit_ = fit
        self.model_ = fit.model
        self.main_effects_ = fit.model.main
        self.interactions_ = fit.model.interactions
        self.trace_ = fit.trace
        self.status_ = fit.status
        self.n_iter_ = len(fit.steps)
        self.certificate_ = fit.steps[-1].certificate if fit.steps else None
        if fit.status.code in ("step too long", "not certified", "max_iter"):
            warnings.warn(fit.status.sentence, ConvergenceWarning, stacklevel=3)

    def _settings(self) -> dict[str, Any]:
        """Return what it takes to repeat the fit, in plain values."""
        versions = {name: version(name) for name in ("sparsefield", "numpy", "numba")}
        return {"estimator": type(self).__name__, **{k: _plain(v) for k, v in self.get_params().items()}, **versions}

    def sample(self, n: int, **options: Any) -> Table:
        """Draw from the fitted field; options as for `PairwiseMRF.sample`."""
        check_is_fitted(self)
        table: Table = self.model_.sample(n, **options)
        return table

    def graph(self, nodes: Mapping[str, Mapping[str, Any]] | None = None) -> nx.Graph:
        """Return the network of the fitted field: an edge with a signed weight for each pair that interacts.

        Parameters
        ----------
        nodes : mapping of variable to attributes, optional
            Further attributes of nodes, such as a group.
        """
        check_is_fitted(self)
        return make_graph(self.fit_, nodes)

    @property
    def score_kind_(self) -> str:
        """What `score` returns: "log-likelihood" where the field can be enumerated, else "pseudo-log-likelihood"."""
        check_is_fitted(self)
        n_states = float(np.prod(self.model_.domain.n_levels.astype(float)))
        return "log-likelihood" if n_states <= MAX_STATES else "pseudo-log-likelihood"

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of a table under the fitted field.

        Where the field is too large to enumerate it is the mean pseudo-log-likelihood, the sum of the log-probabilities
        of each value given the others; `score_kind_` says which.
        """
        check_is_fitted(self)
        if hasattr(X, "shape"):
            _check_feature_names(self, X, reset=False)
            _check_n_features(self, X, reset=False)
        table = encode(X, domain=self.model_.domain)
        if table.n_holes.any():
            raise ValueError("The table has holes (NaN or null): fill or drop them before scoring.")
        if self.score_kind_ == "log-likelihood":
            return float(self.model_.log_prob(table.codes).mean())
        return pseudo_log_likelihood(self.model_, table)

    def __sklearn_tags__(self) -> Any:
        """Say that columns hold categories."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.non_deterministic = False
        return tags


class SparseMRF(_FieldEstimator):
    """Sparse Markov random field, learned by L1-penalised maximum likelihood with certified gradients.

    Parameters
    ----------
    alpha : float
        Strength of the penalty: larger gives fewer edges. Its natural unit is a difference of two frequencies: a pair
        whose frequency the model misses by less than alpha gets no edge.
    solver : "newton" or "spg"
        "newton": proximal Newton steps on draws whose covariance is the curvature, a few of them. "spg": the paper's
        proximal gradient steps, hundreds of them.
    schedule : "auto", "tay", "conservative", "perfect", "exact", "increasing", int, or Schedule
        How gradients are estimated. "auto": with Newton steps, exact draws where they can be had, else Gibbs chains
        with a certificate, else without one; with the paper's steps, "tay". "tay": Gibbs chains, swept until the
        certificate allows the step (the paper). "conservative": the same with a certificate for the whole error.
        "perfect": exact draws. "exact": enumeration, for small models. A number: as many sweeps each time;
        "increasing": k sweeps in iteration k.
    certificate : "sharp", "persistent", "coalescence" or "paper"
        Which bound "tay" uses.
    chains : "restart" or "persistent"
        With the paper's steps: whether chains start anew in every iteration, as in the paper, or go on from the last
        one. Newton steps have new draws each time.
    n_chains : int
        Chains or draws behind a gradient; with Newton steps those of the first, and at least eight for each parameter
        that is not zero.
    gap : float or "auto"
        Newton steps: how far above its optimum the objective may be, on average; smaller makes more draws, nonzeros /
        (2 gap) of them. "auto" is a tenth of what the sampling noise of the table itself costs, nonzeros / (20 rows),
        and at most 0.05.
    step_size : float or "auto"
        Length of the paper's steps; "auto" follows the inverse of the largest curvature. The paper's is 0.4.
    penalize_main : bool
        Whether main effects are penalised too, as in the paper.
    max_iter : int, optional
        Iterations at most: 50 Newton steps or 300 of the paper's, unless given.
    max_sweeps : int, optional
        Sweeps of an iteration at most: of Gibbs chains that wait for their certificate (100 unless given), or of the
        pilot run of exact draws (2000 unless given, 10,000 with schedule="perfect").
    max_seconds : float, optional
        Time after which no further iteration is begun.
    tol : float
        The fit has converged when the norm of the step map (Newton: of the smallest subgradient) is at most this. With
        estimated gradients it ends earlier, when steps cannot be told from noise, and says so.
    init : "auto", PairwiseMRF, "pseudolikelihood" or "zero"
        Where to start: a model over the same variables, that of `PseudoLikelihood` with the same penalty, or without
        parameters. "auto": Newton steps start from the pseudo-likelihood, the paper's from zero.
    missing : "model", "zero", "drop" or "error"
        What to do with holes: fill them by Gibbs draws from the model given the observed cells of the row, anew in
        every iteration; count them as the first level (the paper's); drop their rows; or refuse them. It makes no
        difference where there are none.
    random_state : int, RandomState or None
        Where the random numbers start.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" shows one in a terminal.

    Attributes
    ----------
    model_ : PairwiseMRF
        The fitted field.
    main_effects_ : ndarray of shape (n_slots,)
    interactions_ : ndarray of shape (n_slots, n_slots)
    trace_ : polars.DataFrame
        One row an iteration: sweeps, chains, certificate, norms, step size, objective if known, seconds, and why
        sweeping stopped.
    status_ : Status
        How the fit ended, in a sentence.
    certificate_ : float or None
        The last gradient's certificate: a bound on the L2 norm of its bias (conservative: of its whole error), with the
        confidence in the trace. None where there is none: fixed numbers of sweeps, and tables with holes that the model
        fills.
    n_iter_ : int
        Iterations made.
    fit_ : Fit
        All of this as one value. `sf.edge_table(mrf.fit_)` marks edges that noise leaves open, and
        `sf.certify(mrf.fit_, X)` bounds what the objective is above its optimum.

    Notes
    -----
    Why these defaults (`make bench-newton`, `make bench-learner`). Solver: in the paper's 20-variable setting Newton
    steps are at most 0.002 above the optimum after 4 steps and a tenth of a second; the paper's are 0.03 to 0.07 above
    it after 6 seconds. Start: the pseudo-likelihood, which needs no draws and takes about a third of the whole time at
    500 variables. The paper's steps: the sharp bound is at least twice as close as the paper's at the same cost, and
    holds for any number of levels; "coalescence" certifies every gradient of that setting where "sharp" certifies one
    in twenty, in two to three times the time. Chains that go on from the last iteration are hardly faster there, and
    their certificate is an approximation: they start anew.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> data = truth.sample(5000, method="perfect", seed=1).to_frame()
    >>> mrf = sf.SparseMRF(alpha=0.05, random_state=1).fit(data)
    >>> sf.edge_table(mrf.model_).row(0)[:2]
    ('x0', 'x3')
    """

    _ways_with_holes = ("model", "zero", "drop", "error")

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        solver: Literal["newton", "spg"] = "newton",
        schedule: str | int | Schedule = "auto",
        certificate: CertificateKind = "sharp",
        chains: Literal["restart", "persistent"] = "restart",
        n_chains: int = 2000,
        gap: float | Literal["auto"] = "auto",
        step_size: float | Literal["auto"] = "auto",
        penalize_main: bool = True,
        max_iter: int | None = None,
        max_sweeps: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-4,
        init: PairwiseMRF | Literal["auto", "pseudolikelihood", "zero"] = "auto",
        missing: Literal["model", "zero", "drop", "error"] = "model",
        random_state: Any = None,
        n_threads: int | None = None,
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
        self.penalize_main = penalize_main
        self.max_iter = max_iter
        self.max_sweeps = max_sweeps
        self.max_seconds = max_seconds
        self.tol = tol
        self.init = init
        self.missing = missing
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> SparseMRF:  # noqa: ARG002
        """Learn a field from a table.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; see `encode`.
        y : None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        """
        clock = time.perf_counter()
        table, weights = self._check_table(X, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31))
        completion = Completion(table, self.n_chains, seed, weights) if table.n_holes.any() else None
        if completion is not None:
            data = completion.moments()
        else:
            data = moments_of_table(table) if weights is None else weighted_moments(table, weights)
        problem = Problem(data, table.domain, self.alpha, self.penalize_main)
        if self.solver not in ("newton", "spg"):
            raise ValueError(f"solver is {self.solver!r}: use 'newton' or 'spg'.")
        if self.max_seconds is not None and not self.max_seconds >= 0:
            raise ValueError(f"max_seconds is {self.max_seconds}: use a number from zero on, or None for no limit.")
        tay(self.certificate)  # also where another schedule makes no use of it
        check_step_size(self.step_size)
        sampler = Sampler(self.n_chains, seed, self._persists(), self.n_threads)
        start = self._start(table, weights)
        common: dict[str, Any] = {"start": start, "tol": self.tol, "completion": completion}
        if self.max_seconds is not None:
            common["max_seconds"] = max(0.0, self.max_seconds - (time.perf_counter() - clock))
        if self.solver == "newton":
            gap, n_draws = (0.05, 10 * table.n_rows) if self.gap == "auto" else (self.gap, 1)
            max_iter = 50 if self.max_iter is None else self.max_iter
            own: dict[str, Any] = {"gap": gap, "n_draws": n_draws, "max_iter": max_iter}
        else:
            max_iter = 300 if self.max_iter is None else self.max_iter
            own = {"step_size": self.step_size, "max_iter": max_iter}
        run = solve_newton if self.solver == "newton" else solve
        with ProgressBar(self.progress, max_iter) as watch:
            fit = run(problem, self._make_schedule(), sampler, watch=watch, **common, **own)
        self._store(fit, table, seed=seed)
        return self

    def _start(self, table: Table, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        init = self.init
        if isinstance(init, str):
            if init not in ("auto", "pseudolikelihood", "zero"):
                raise ValueError(f"init is {init!r}: use a model, 'auto', 'pseudolikelihood' or 'zero'.")
            if init == "zero" or (init == "auto" and self.solver == "spg"):
                return None
            whole = table.fill_first()
            fit = solve_pseudo_likelihood(whole, self.alpha, penalize_main=self.penalize_main, weights=weights)
            if fit.status.code == "interrupted":
                raise KeyboardInterrupt
            return _as_theta(fit.model)
        if not isinstance(init, PairwiseMRF):
            raise ValueError(f"init is {init!r}: use a model, 'auto', 'pseudolikelihood' or 'zero'.")
        if init.domain != table.domain:
            raise ValueError(
                "init is a model over other variables or levels than the table: fit it to the same columns."
            )
        return _as_theta(init)

    def _persists(self) -> bool:
        if self.chains not in ("restart", "persistent"):
            raise ValueError(f"chains is {self.chains!r}: use 'restart' or 'persistent'.")
        # The persistent certificate is about chains that persist.
        is_tay = self.schedule == "tay" or (self.schedule == "auto" and self.solver == "spg")
        return self.chains == "persistent" or (is_tay and self.certificate == "persistent")

    def _make_schedule(self) -> Schedule:
        if isinstance(self.schedule, int | np.integer):
            return fixed(int(self.schedule))
        if not isinstance(self.schedule, str):
            return self.schedule
        if self.schedule == "auto" and self.solver == "newton":
            return best(max_sweeps=2000 if self.max_sweeps is None else self.max_sweeps)
        if self.schedule in ("auto", "tay", "conservative"):
            is_conservative = self.schedule == "conservative"
            max_sweeps = 100 if self.max_sweeps is None else self.max_sweeps
            return tay(self.certificate, max_sweeps=max_sweeps, conservative=is_conservative)
        if self.schedule == "perfect":
            return perfect(max_sweeps=10_000 if self.max_sweeps is None else self.max_sweeps)
        known: dict[str, Callable[[], Schedule]] = {"exact": exact, "increasing": increasing}
        if self.schedule not in known:
            raise ValueError(
                f"schedule is {self.schedule!r}: use 'auto', 'tay', 'conservative', 'perfect', 'exact', 'increasing', "
                "a number of sweeps, or a Schedule."
            )
        return known[self.schedule]()


class PseudoLikelihood(_FieldEstimator):
    """Sparse Markov random field, learned by L1-penalised pseudo-likelihood: no sampling, no partition function.

    The product of the probabilities of each value given the others takes the place of the likelihood (Besag 1975;
    Hoefling and Tibshirani 2009), jointly for all variables, so that interactions are symmetric; proximal Newton steps
    over a working set, a few of them. A fast rival, and a good start (`SparseMRF(init="pseudolikelihood")`).

    Parameters
    ----------
    alpha : float
        Strength of the penalty. With free main effects it is on the scale of `SparseMRF`: a pair whose frequency
        differs by less than alpha from that of independent variables gets no edge.
    penalize_main : bool
        Whether main effects are penalised too.
    max_iter : int
        Iterations at most.
    tol : float
        The fit has converged when the norm of the smallest subgradient of the objective is at most this.
    missing : "error", "zero" or "drop"
        What to do with holes: refuse them, count them as the first level, or drop their rows.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" shows one in a terminal.

    Attributes
    ----------
    model_, main_effects_, interactions_, trace_, status_, n_iter_, fit_
        As for `SparseMRF`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> data = truth.sample(5000, method="perfect", seed=1).to_frame()
    >>> mrf = sf.PseudoLikelihood(alpha=0.05).fit(data)
    >>> sf.edge_table(mrf.model_).row(0)[:2]
    ('x0', 'x3')
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        penalize_main: bool = True,
        max_iter: int = 100,
        tol: float = 1e-4,
        missing: Literal["error", "zero", "drop"] = "error",
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.alpha = alpha
        self.penalize_main = penalize_main
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> PseudoLikelihood:  # noqa: ARG002
        """Learn a field from a table; as `SparseMRF.fit`."""
        table, weights = self._check_table(X, sample_weight)
        with ProgressBar(self.progress, self.max_iter) as watch:
            fit = solve_pseudo_likelihood(
                table,
                self.alpha,
                penalize_main=self.penalize_main,
                weights=weights,
                max_iter=self.max_iter,
                tol=self.tol,
                watch=watch,
            )
        self._store(fit, table)
        return self


def _check_array(X: Any, missing: str, ways: tuple[str, ...]) -> Any:
    """Refuse what no table of levels can be made of, in the words that scikit-learn's users know."""
    if issparse(X):
        raise TypeError("Sparse data are not supported: use X.toarray().")
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: give levels as whole numbers or text.")
        if X.ndim == 2 and X.shape[1] == 0:
            raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.dtype.kind == "f":
            if np.isinf(X).any():
                raise ValueError("X contains inf: give levels as whole numbers or text.")
            if missing == "error" and np.isnan(X).any():
                raise ValueError(f"X contains NaN: use missing={_listed(ways[:-1])} to have holes filled or dropped.")
    return X


def _as_theta(model: PairwiseMRF) -> NDArray[np.float64]:
    return model.interactions + np.diag(model.main)


def _plain(value: Any) -> Any:
    """Return a value that a file can hold: itself, or the name of its kind."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else type(value).__name__


def _listed(words: tuple[str, ...]) -> str:
    *first, last = (repr(word) for word in words)
    return f"{', '.join(first)} or {last}"
