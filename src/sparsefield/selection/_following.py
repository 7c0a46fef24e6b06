"""A path that is followed as it is fitted: what its fits are worth, and when it need not go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield._typing import Values
from sparsefield.fits import Fit
from sparsefield.model import PairwiseMRF
from sparsefield.pseudolikelihood import NodeRefits
from sparsefield.selection._degrees_of_freedom import Parameters
from sparsefield.selection._likelihoods import Likelihood
from sparsefield.selection._noise import RISK

# Noise makes ever more edges as penalties fall, and once it explains too many of them it hardly ever explains fewer
# further down: three in a row are the end.
_MOST_NOISY = 3

# A path ends where a criterion has been above its least value by the price of so many edges, so many times in a row. A
# criterion that rises by less may fall again: of 8000 rows of the spikes of 30 cells it has two least values, nine
# penalties apart, between which it rises by the price of a few edges, and the further one is the least. Of 50
# paths (known fields of 14 to 40 variables with 250 to 4000 rows, spikes, the Senate), all have the choice that whole
# paths have, in 23 seconds of a processor in place of 40; the Senate takes 1 in place of 5.
_PATIENCE, _MARGIN = 6, 4


class Worth(Protocol):
    """What fits are worth, by a criterion: less is better."""

    @property
    def noise_share(self) -> float:
        """Which share of the edges may be noise."""
        ...

    def is_clear(self, noise: Values, n_chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say at which penalties noise explains no more than that."""
        ...

    def values(
        self,
        likelihoods: Values,
        n_parameters: NDArray[np.int64],
        n_chosen: NDArray[np.int64],
        n_rows: float,
        n_variables: int,
    ) -> Values:
        """Return the criterion of each fit."""
        ...


class Following:
    """What is known of the fits of a path so far; called with each, it says whether that is to be the last one.

    Parameters
    ----------
    worth : Worth
        The criterion.
    noise : ndarray of shape (n_alphas,)
        How many edges noise makes at each penalty.
    parameters : Parameters
        Counts the parameters of a model, and how many choices these were.
    make_refits : callable, optional
        Refits variables, with missing cells drawn from a model; where log-likelihoods are not those of the path.
    n_rows : float
        How many rows there are.
    has_missing : bool
        Whether there are missing cells: what they are drawn from is known once noise begins to make edges.
    """

    def __init__(
        self,
        worth: Worth,
        noise: Values,
        parameters: Parameters,
        make_refits: Callable[[PairwiseMRF], NodeRefits] | None,
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

    def __call__(self, fit: Fit, known: Likelihood | None) -> bool:
        """Take a fit, and say whether the path need not go on."""
        self._models.append(fit.model)
        self._counts.append(self._count(fit.model))
        if self._make_refits is None:
            self._likelihoods.append(np.nan if known is None else known.value)
        elif not self._has_missing or self._noise[len(self._models) - 1] > RISK:
            self._refit()
        return self._is_noise() or self._is_past()

    @property
    def likelihoods(self) -> Values:
        """The log-likelihood of each fit, in nats per row; of refitted variables the pseudo-log-likelihood."""
        if self._make_refits is not None:
            self._refit()
        return np.array(self._likelihoods)

    @property
    def n_parameters(self) -> NDArray[np.int64]:
        """The parameters of each fit. Where variables are refitted, an edge has its own at each of its ends."""
        return np.array([n_parameters for n_parameters, _ in self._counts], dtype=np.int64)

    @property
    def n_chosen(self) -> NDArray[np.int64]:
        """What the penalty chose one by one, of each fit: interactions, or pairs of variables."""
        return np.array([n_chosen for _, n_chosen in self._counts], dtype=np.int64)

    def _count(self, model: PairwiseMRF) -> tuple[int, int]:
        """Count the parameters of a model, and the choices."""
        own = self._parameters
        n = own.count(model) if self._make_refits is None else own.count_free(model) + own.count_interactions(model)
        return n, own.count_chosen(model)

    def _refit(self) -> None:
        """Refit what has not been: with missing cells from the last model before noise makes an edge."""
        assert self._make_refits is not None
        if self._refits is None and self._models:
            n_quiet = np.count_nonzero(self._noise[: len(self._models)] <= RISK)
            self._refits = self._make_refits(self._models[max(0, int(n_quiet) - 1)])
        for model in self._models[len(self._likelihoods) :]:
            assert self._refits is not None
            self._likelihoods.append(self._refits.of(model))

    def _is_noise(self) -> bool:
        """Say whether noise explains too many of the edges of the last fits."""
        last = slice(max(0, len(self._models) - _MOST_NOISY), len(self._models))
        is_noise = self._noise[last] > self._worth.noise_share * np.maximum(1, self.n_chosen[last])
        return self._worth.noise_share < 1 and len(is_noise) == _MOST_NOISY and bool(is_noise.all())

    def _is_past(self) -> bool:
        """Say whether the last fits are all clearly worse than one before them that may be chosen."""
        n = len(self._likelihoods)
        if n <= _PATIENCE:
            return False
        likelihoods, n_chosen = np.array(self._likelihoods), self.n_chosen[:n]
        n_variables = self._models[0].domain.n_variables
        values = self._worth.values(likelihoods, self.n_parameters[:n], n_chosen, self._n_rows, n_variables)
        is_clear = self._worth.is_clear(self._noise[:n], n_chosen)
        best = np.where(is_clear, values, np.inf)[:-_PATIENCE].min()
        # What the criterion asks for edges, of fits as likely as each other.
        asked = self._worth.values(np.zeros(n), self.n_parameters[:n], n_chosen, self._n_rows, n_variables)
        price = (asked.max() - asked.min()) / max(1, n_chosen.max() - n_chosen.min())
        return bool((values[-_PATIENCE:] > best + _MARGIN * price).all())
