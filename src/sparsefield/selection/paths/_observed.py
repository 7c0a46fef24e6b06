"""What rows contribute to their log-likelihood, model after model; also rows of which cells are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsefield._typing import Matrix, Values
from sparsefield.data import Rows, Table, Unseen, weighted_moments
from sparsefield.inference import Backend
from sparsefield.model import PairwiseMRF, as_theta, sum_once
from sparsefield.objective import Completed, DataTerm, Observed

# Draws of missing values for each row: their simulation error in the criterion 2 n l is sqrt(n V) / 2, with V the
# variance of a step times the statistics by what is missing.
_DRAWS_A_ROW = 16

# Steps are cut in half until the second term of the Euler-Maclaurin formula, c, is at most half a row, 1 / (2 n). The
# third is about c / 60 then, as long as no parameter moves by more than one: 1 / 60 in the criterion 2 n l.
_LARGEST_CORRECTION = 0.5
_MOST_HALVINGS = 10


@dataclass(frozen=True, eq=False)
class Reached:
    """A model that the integral has come to.

    Parameters
    ----------
    model : PairwiseMRF
        The model.
    data : DataTerm
        The rows, as they are completed there.
    value : float
        The integral.
    variance : float
        Its squared standard error, by the draws at the models before.
    counted : ndarray of shape (n_slots, n_slots)
        What the moments here are multiplied with in the integral.
    """

    model: PairwiseMRF
    data: DataTerm
    value: float
    variance: float
    counted: Matrix

    @property
    def total_variance(self) -> float:
        """The squared standard error of the integral, by all draws."""
        return self.variance + self.data.variance_along(self.counted) / self.data.n_effective


class ObservedRows:
    """The mean over rows of the logarithm of the sum of exp(theta . s) over all states that agree with a row.

    The log-likelihood of the observed cells is this less the log-partition function. For a whole row it is theta . s.
    For others it is a log-partition function itself, that of the field given the observed cells. It is known where
    variables are independent. Its gradient is what the model expects of the row, which is integrated from there on,
    from model to model, by the trapezoidal rule; the derivative of what is integrated, the variance of the step times
    the statistics, corrects the rule (Euler and Maclaurin).

    Parameters
    ----------
    table : Table
        The rows.
    weights : ndarray of shape (n_rows,), optional
        How often each counts.
    seed : int
        Where the random numbers of missing values start.
    backend : Backend
        What enumerates and draws.
    unseen : Unseen, optional
        Levels that no row shows, and that count all the same.
    max_sweeps : int, optional
        As for `Completed`.
    """

    def __init__(
        self,
        table: Table,
        weights: Values | None,
        *,
        seed: int,
        backend: Backend,
        unseen: Unseen | None = None,
        max_sweeps: int | None = None,
    ) -> None:
        n_rows = Rows(table, weights).n
        self._most, self._n_draws = _LARGEST_CORRECTION / n_rows, int(np.ceil(_DRAWS_A_ROW * n_rows))
        self._unseen = Unseen(table.domain, (), n_rows) if unseen is None else unseen
        self._missing = np.average(table.mask, axis=0, weights=weights)
        self._data: DataTerm
        if table.n_missing.any():
            self._data = Completed(table, self._n_draws, seed, weights, backend, self._unseen, max_sweeps)
        else:
            self._data = Observed(self._unseen.fill(weighted_moments(table, weights)))
        self._uniform = self._data.moments.main  # missing values count as uniform so far
        self.reached: Reached | None = None

    def at(self, model: PairwiseMRF) -> tuple[float, float] | None:
        """Return it at a model, with its standard error; None where missing values are out of reach.

        The next model is reached from this one.
        """
        if self._data.is_fixed:
            return sum_once(as_theta(model) * self._data.moments.pair), 0.0
        start = self._begin(model) if self.reached is None else self.reached
        end = None if start is None else self._walk(start, model)
        if end is None:
            return None
        self.reached = end
        return end.value, float(np.sqrt(end.total_variance))

    def _begin(self, model: PairwiseMRF) -> Reached | None:
        """Return where the integral begins: at the main effects of a model, where its value is known."""
        domain = model.domain
        of, missing = domain.slot_variables, self._missing
        kept, _ = self._unseen.shares()
        observed = self._uniform - kept * missing[of] / domain.n_levels[of]
        sums = np.bincount(of, np.exp(model.main), domain.n_variables) + (domain.reference is not None)
        shares = np.ones(domain.n_variables)
        shares[of] = kept  # of the rows, beside the halves of rows that count for levels that no row shows
        value = float(observed @ model.main + (shares * missing) @ np.log(np.maximum(sums, 1e-300)))
        start = replace(model, interactions=np.zeros_like(model.interactions))
        data = self._complete(start)
        return None if data is None else Reached(start, data, value, 0.0, np.zeros_like(model.interactions))

    def _walk(self, here: Reached, end: PairwiseMRF) -> Reached | None:
        """Integrate up to a model, in as many steps as it takes."""
        wanted = [end]
        known: list[DataTerm | None] = [self._complete(end)]
        while wanted:
            model, data = wanted[-1], known[-1]
            if data is None or len(wanted) > _MOST_HALVINGS:
                return None
            step = as_theta(model) - as_theta(here.model)
            correction = (here.data.variance_along(step) - data.variance_along(step)) / 12
            if abs(correction) <= self._most:
                here = _extend(here, model, data, step, correction)
                wanted.pop()
                known.pop()
            else:
                main, pair = here.model.main + model.main, here.model.interactions + model.interactions
                wanted.append(replace(end, main=main / 2, interactions=pair / 2))
                known.append(self._complete(wanted[-1]))
        return here

    def _complete(self, model: PairwiseMRF) -> DataTerm | None:
        """Return what a model expects of the rows; None where Gibbs chains would have to say it."""
        self._data = self._data.given(model, self._n_draws)
        return None if self._data.caveat else self._data


def _extend(here: Reached, model: PairwiseMRF, data: DataTerm, step: Matrix, correction: float) -> Reached:
    """Return the integral one step further."""
    both = (here.data.moments.pair + data.moments.pair) / 2
    closed = replace(here, counted=here.counted + step / 2)
    return Reached(model, data, here.value + sum_once(step * both) + correction, closed.total_variance, step / 2)
