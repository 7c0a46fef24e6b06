"""Early stopping of a path: what the edges of its fits are worth as they are made, and when it need not go on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsefield._typing import Index, Values
from sparsefield.fits import Fit
from sparsefield.model import PairwiseMRF
from sparsefield.pseudolikelihood import NodeRefits
from sparsefield.selection.choices._criteria import Worth
from sparsefield.selection.choices._degrees_of_freedom import Parameters
from sparsefield.selection.choices._null_edges import RISK


class Following:
    """The fits of a path so far, their edges refitted variable by variable, for its early stopping.

    Edges are refitted as fits come, so that refits count in the time that a path has. With missing cells they are once
    sampling error makes an edge: cells are drawn from the last fit before that.

    Parameters
    ----------
    worth : Worth
        What edges are worth.
    noise : ndarray of shape (n_alphas,)
        How many edges sampling error makes at each penalty.
    parameters : Parameters
        Counts the parameters of a model, and how many choices these were.
    make_refits : callable
        Refits variables, with missing cells drawn from a model.
    n_rows : float
        How many rows there are.
    has_missing : bool
        Whether cells are missing.
    """

    def __init__(
        self,
        worth: Worth,
        noise: Values,
        parameters: Parameters,
        make_refits: Callable[[PairwiseMRF], NodeRefits],
        *,
        n_rows: float,
        has_missing: bool,
    ) -> None:
        self._worth, self._noise, self._parameters, self._make_refits = worth, noise, parameters, make_refits
        self._n_rows, self._has_missing = n_rows, has_missing
        self._refits: NodeRefits | None = None
        self._models: list[PairwiseMRF] = []
        self._counts: list[tuple[int, int]] = []
        self._likelihoods: list[float] = []

    def __call__(self, fit: Fit) -> bool:
        """Take a fit, and say whether the path need not go on."""
        model = fit.model
        self._models.append(model)
        self._counts.append((self._parameters.count_at_both_ends(model), self._parameters.count_chosen(model)))
        if not self._has_missing or self._noise[len(self._models) - 1] > RISK:
            self._refit()
        return self._is_past()

    def take(self) -> dict[str, Values | Index]:
        """Return what is known of each fit: the pseudo-log-likelihood of its edges, in nats per row, and how many.

        An edge has its own parameters at each of its ends; interactions were chosen, or pairs of variables.
        """
        self._refit()
        n_parameters, n_chosen = self._count()
        return {"pseudo_log_likelihood": np.array(self._likelihoods), "parameters": n_parameters, "chosen": n_chosen}

    def _count(self) -> Index:
        """Return the parameters of each fit whose edges are refitted, and what the penalty chose one by one."""
        return np.array(self._counts, dtype=np.int64).reshape(-1, 2)[: len(self._likelihoods)].T

    def _refit(self) -> None:
        """Refit what has not been: with missing cells from the last model before sampling error makes an edge."""
        if self._refits is None and self._models:
            n_quiet = np.count_nonzero(self._noise[: len(self._models)] <= RISK)
            self._refits = self._make_refits(self._models[max(0, int(n_quiet) - 1)])
        for model in self._models[len(self._likelihoods) :]:
            assert self._refits is not None
            self._likelihoods.append(self._refits.of(model))

    def _is_past(self) -> bool:
        """Say whether the last fits are all worth less than one before them that may be chosen."""
        n = len(self._likelihoods)
        if n <= self._worth.patience:
            return False
        n_parameters, n_chosen = self._count()
        n_variables = self._models[0].domain.n_variables
        values = self._worth.values(np.array(self._likelihoods), n_parameters, n_chosen, self._n_rows, n_variables)
        values = np.where(self._worth.is_clear(self._noise[:n], n_chosen), values, np.inf)
        return bool((values[-self._worth.patience :] > values.min()).all())
