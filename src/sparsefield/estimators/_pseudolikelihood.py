"""The estimator of penalised pseudo-likelihood."""

from __future__ import annotations

from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from sparsefield._near_misses import explain_names
from sparsefield.data import WAYS_WITH_MISSING, Rows, Table
from sparsefield.estimators._field_estimator import FieldEstimator
from sparsefield.fitting import Learner, Newton, Options
from sparsefield.learning import Alpha, choose, seed_of
from sparsefield.objective import PenaltyKind
from sparsefield.progress import Bars, ProgressBar
from sparsefield.pseudolikelihood import solve_filled_pseudo_likelihood, solve_pseudo_likelihood
from sparsefield.selection import Choice, Objective
from sparsefield.structure import Structure
from sparsefield.tables import Ordinal, encode


class PseudoLikelihood(FieldEstimator):
    """Sparse Markov random field, learned by penalised pseudo-likelihood: no sampling, no partition function.

    The product of the probabilities of each value given the others takes the place of the likelihood (Besag 1975;
    Hoefling and Tibshirani 2009), jointly for all variables, so that interactions are symmetric; proximal Newton steps
    over a working set, a few of them. A fast alternative, and a good start (`SparseMRF(init="pseudolikelihood")`).

    Parameters
    ----------
    alpha : float, "auto" or rule
        Strength of the penalty; "auto" chooses it, by `EBIC()`, and so does any rule of a path. It is on the scale of
        `SparseMRF`: where no pair's frequency differs by alpha from that of independent variables, there is no edge.
    ordinal, penalty
        As for `SparseMRF`.
    penalize_main : bool
        Whether main effects are penalised too; they are free unless told so. A level that no row shows then counts as
        half a row, and the status says so.
    max_iter : int
        Iterations at most.
    tol : float
        The fit has converged when the norm of the smallest subgradient of the objective is at most this.
    missing : "model", "zero", "drop" or "error"
        What to do with missing values: draw them from the fit itself given the observed cells of the row, in rounds of
        draws and fits, so that all observed cells count; count them as the first level; drop their rows; or refuse
        them. It makes no difference where there are none. With "model" and alpha="auto" the penalty is the one that
        `SparseMRF` chooses, since paths of the pseudo-likelihood are for whole rows.
    random_state : int, RandomState, Generator or None
        Where the random numbers of missing values start; there are no others.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" shows one in a terminal.

    Attributes
    ----------
    alpha_, choice_, model_, main_effects_, interactions_, trace_, status_, n_iter_, fit_
        As for `SparseMRF`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> truth = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7)
    >>> data = truth.sample(5000, method="perfect", seed=1).to_frame()
    >>> mrf = sf.PseudoLikelihood(alpha=0.02).fit(data)
    >>> sf.edge_table(mrf).row(0)[:2]
    ('x1', 'x5')
    """

    _ways_with_missing = WAYS_WITH_MISSING
    _objective: Objective = "pseudolikelihood"

    @explain_names
    def __init__(
        self,
        alpha: Alpha = "auto",
        *,
        ordinal: Ordinal = None,
        penalty: PenaltyKind = "auto",
        penalize_main: bool = False,
        max_iter: int = 100,
        tol: float = 1e-4,
        missing: Literal["model", "zero", "drop", "error"] = "model",
        random_state: Any = None,
        progress: bool | Literal["auto"] = "auto",
    ) -> None:
        self.alpha = alpha
        self.ordinal = ordinal
        self.penalty = penalty
        self.penalize_main = penalize_main
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> PseudoLikelihood:  # noqa: ARG002
        """Learn a field from a table; as `SparseMRF.fit`."""
        data = self._check_input(X)
        own = Rows.of(data if isinstance(data, Table) else encode(data), sample_weight, self.missing)
        table, weights = own.table, own.weights
        chosen = self._choose(own)
        alpha = chosen.alpha if isinstance(chosen, Choice) else chosen
        with ProgressBar(self.progress, self.max_iter) as watch:
            options: dict[str, Any] = {
                "penalty": self.penalty,
                "penalize_main": self.penalize_main,
                "weights": weights,
                "max_iter": self.max_iter,
                "tol": self.tol,
                "watch": watch,
            }
            if self._fills(table):
                seed = seed_of(self.random_state)
                fit = solve_filled_pseudo_likelihood(table, alpha, seed=seed, **options)
            else:
                fit = solve_pseudo_likelihood(table, alpha, moments=own.moments, **options)
        said = {"choice": chosen.sentence} if isinstance(chosen, Choice) else {}
        self._store(fit, **own.facts, **said, alpha=alpha)
        self._store_choice(chosen)
        return self

    def _choose(self, rows: Rows) -> float | Choice:
        """Return the penalty, given or chosen."""
        options = Options(penalty=self.penalty, penalize_main=self.penalize_main, missing=cast(Any, self.missing))
        with Bars(self.progress).choice() as watch:
            chosen = choose(Learner(rows, options), self.alpha, objective=self._objective, watch=watch)
        if isinstance(chosen, Structure):
            raise ValueError(f"alpha is {self.alpha!r}, which finds edges without a penalty: use a number or EBIC().")
        return chosen

    def _name_options(self) -> dict[str, Any]:
        return {**super()._name_options(), "solver": Newton(max_iter=self.max_iter, tol=self.tol)}

    def _fills(self, table: Table) -> bool:
        """Say whether missing values of a table are drawn."""
        return self.missing == "model" and bool(table.n_missing.any())
