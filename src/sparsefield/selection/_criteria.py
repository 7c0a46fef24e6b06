"""Which fit of a path: information criteria, of the fits or of their supports without a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

Information = Literal["aic", "bic", "ebic"]


@dataclass(frozen=True, eq=False)
class Choice:
    """A fit of a path that was chosen, and why.

    Parameters
    ----------
    index : int
        Its place on the path.
    alpha : float
        Its penalty.
    table : polars.DataFrame
        One row for each penalty, with the criterion and its standard error.
    sentence : str
        Why it was chosen, for people.
    """

    index: int
    alpha: float
    table: pl.DataFrame
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def information(
    kind: Information,
    log_likelihoods: NDArray[np.float64],
    n_parameters: NDArray[np.int64],
    n_edges: NDArray[np.int64],
    n_rows: float,
    n_variables: int,
    gamma: float = 0.25,
) -> NDArray[np.float64]:
    """Return an information criterion of several fits, in nats: smaller is better.

    With l the log-likelihood of all rows and k the number of parameters: AIC = -2 l + 2 k (Akaike 1974), BIC = -2 l +
    k log n (Schwarz 1978), and the extended BIC adds 4 gamma log p for each parameter of an edge (Foygel and Drton
    2010): there are many sets of as many edges to choose from.

    Parameters
    ----------
    kind : "aic", "bic" or "ebic"
        Which one.
    log_likelihoods : ndarray of shape (n_fits,)
        The log-likelihood of each fit, per row.
    n_parameters, n_edges : ndarray of shape (n_fits,)
        Parameters that are not zero, and those of them that are interactions.
    n_rows : float
        How many rows there are.
    n_variables : int
        How many variables.
    gamma : float
        What the choice among sets of edges costs, from 0 (BIC) to 1.
    """
    fit = -2 * n_rows * log_likelihoods
    if kind == "aic":
        return fit + 2 * n_parameters
    found = fit + n_parameters * np.log(n_rows)
    if kind == "ebic":
        found = found + 4 * gamma * n_edges * np.log(n_variables)
    return np.asarray(found)
