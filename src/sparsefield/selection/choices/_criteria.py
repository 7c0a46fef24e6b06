"""Which fit of a path: an information criterion, rows held out, and stability of the edges, as functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._typing import Mask, Values
from sparsefield.selection.paths._path_weights import PathWeights

CRITERION_COLUMNS = ("ebic", "held_out", "instability")


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
    threshold : float or None
        What the criterion was compared with: the best less one standard error with rows held out, beta with stability;
        None where the least was chosen.
    weights : PathWeights or None
        The weights of edges at each penalty, with the penalty, for pictures and pages; None where they are not known.
    n_edges : int or None
        How many edges the sentence speaks of: those of the fit on the path.
    relax : bool
        Whether the edges of its fit are to be fitted again without the penalty.
    """

    index: int
    alpha: float
    table: pl.DataFrame
    sentence: str
    threshold: float | None = None
    weights: PathWeights | None = None
    n_edges: int | None = None
    relax: bool = False

    def of(self, n_edges: int) -> Choice:
        """Return the choice with the edges of another fit with its penalty, which the sentence speaks of then.

        The fit on a path may differ from it by a few edges: it is one of the pseudo-likelihood, or of other draws.
        """
        if self.n_edges is None:
            return self
        sentence = self.sentence.replace(say_edges(self.n_edges), say_edges(n_edges))
        return replace(self, sentence=sentence, n_edges=n_edges)

    @property
    def criterion(self) -> str:
        """The column of the table that it was chosen by."""
        found = [name for name in CRITERION_COLUMNS if name in self.table.columns]
        if not found:
            raise ValueError("There was no time to choose by a criterion.")
        return found[0]

    def __repr__(self) -> str:
        return f"<Choice: {self.sentence}>"

    def __str__(self) -> str:
        return self.sentence


def say_edges(n_edges: int) -> str:
    """Say how many edges a penalty leaves."""
    return f"It leaves {({0: 'no edge', 1: 'one edge'}).get(n_edges, f'{n_edges} edges')}."


def extended_bic(
    log_likelihoods: NDArray[np.float64],
    n_parameters: NDArray[np.int64],
    n_edges: NDArray[np.int64],
    n_rows: float,
    n_variables: int,
    gamma: float = 0.25,
) -> NDArray[np.float64]:
    """Return the extended Bayesian information criterion (EBIC) of several fits, in nats: smaller is better.

    With l the log-likelihood of all rows and k the number of parameters: BIC = -2 l + k log n (Schwarz 1978), and the
    extended BIC adds 4 gamma log p for each edge (Foygel and Drton 2010): there are many sets of as many edges to
    choose from. Where a penalty chooses interactions of levels one by one, each is an edge; where it chooses pairs of
    variables, an edge has several parameters, and pays for the choice once.

    Where likelihoods are added up over the variables, each given all others, as a choice does, an edge is to be counted
    at both ends. Its parameters and what it gains are about twice those of the joint likelihood, and so is what the
    choice costs, 8 gamma log p: the criterion is twice the joint one. Barber and Drton (2015) charge 4 gamma log p
    there, which is half of gamma here.

    Parameters
    ----------
    log_likelihoods : ndarray of shape (n_fits,)
        The log-likelihood of each fit, per row.
    n_parameters, n_edges : ndarray of shape (n_fits,)
        Parameters that are not zero, and how many edges were chosen.
    n_rows : float
        How many rows there are.
    n_variables : int
        How many variables.
    gamma : float
        What the choice among sets of edges costs, from 0 (BIC) to 1.
    """
    found = -2 * n_rows * log_likelihoods + n_parameters * np.log(n_rows)
    return np.asarray(found + 4 * gamma * n_edges * np.log(n_variables))


@dataclass(frozen=True)
class Worth:
    """What the edges of fits are worth: their extended BIC, refitted, at penalties whose edges chance cannot explain.

    Parameters
    ----------
    gamma : float
        What the choice among sets of edges costs, from 0 (BIC) to 1.
    null_share : float
        Which share of the edges chance may explain: of 40 tables of independent variables (10 to 30 of them, 100 and
        250 rows) 35% have an edge where all penalties count, and 10% with this; of 28 tables of known fields the mean
        F1 is 0.897 either way.
    patience : int
        A path ends once so many penalties in a row are worth less than one before them (early stopping). A criterion
        that rises may fall again: of 8000 rows of the spikes of 30 cells it has two least values, nine penalties apart,
        and the further one is the least. Of 71 paths (known fields of 10 to 300 variables, spikes, the Senate) all have
        the choice that whole paths have, in 10.8 seconds of a processor in place of 13.4; with a patience of six one
        has another. Of a protein family (53 columns of 21 letters) the last fits take most of the time: 34 seconds in
        place of more than 150.
    """

    gamma: float
    null_share: float = 0.1
    patience: int = 10

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma is {self.gamma}: use a number from 0 to 1.")

    def values(
        self,
        likelihoods: Values,
        n_parameters: NDArray[np.int64],
        n_chosen: NDArray[np.int64],
        n_rows: float,
        n_variables: int,
    ) -> Values:
        """Return the criterion of each fit: less is better.

        Variables are refitted one by one, so that edges pay at both ends: where variables are nearly independent, the
        pseudo-log-likelihood rises with an edge by twice of what the log-likelihood does.
        """
        return extended_bic(likelihoods, n_parameters, 2 * n_chosen, n_rows, n_variables, self.gamma)

    def is_clear(self, null_edges: Values, n_chosen: NDArray[np.int64]) -> Mask:
        """Say at which penalties chance explains no more than a share of the edges (Benjamini and Hochberg 1995).

        Where all variables are independent, there is an edge in no more than about this share of all tables.
        """
        return np.asarray(null_edges * (n_chosen > 0) <= self.null_share * n_chosen)


def average_folds(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of several folds and its standard error, for each penalty.

    With weights w that add up to one, and K folds: the mean is the sum of w x, and the squared error is the sum of
    w (x - mean)^2 over K - 1. Folds of one size have the usual standard error of a mean. (Folds share training rows, so
    that it is a rough one.)

    Parameters
    ----------
    values : ndarray of shape (n_folds, n_alphas)
        What each fold says.
    weights : ndarray of shape (n_folds,)
        How many rows were held out.
    """
    shares = weights / weights.sum()
    mean = shares @ values
    return mean, np.sqrt(shares @ (values - mean) ** 2 / (len(values) - 1))


def within_one_error(mean: NDArray[np.float64], error: NDArray[np.float64]) -> int:
    """Return the first place whose mean is within one standard error of the largest (Breiman et al. 1984).

    Penalties come from the largest to the smallest, so that the first is the simplest.
    """
    best = int(np.argmax(mean))
    return int(np.argmax(mean >= mean[best] - error[best]))


def instability(edges: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how much subsamples disagree on the edges, for each penalty (Liu, Roeder and Wasserman 2010).

    With t the share of the subsamples in which a pair has an edge, two of them disagree on it with probability
    2 t (1 - t): the mean over pairs, and the largest so far along the path, because small penalties agree on all edges.

    Parameters
    ----------
    edges : ndarray of shape (n_subsamples, n_alphas, n_pairs), bool
        Whether each pair has an edge, from the largest penalty to the smallest.
    """
    share = edges.mean(axis=0)
    disagree = 2 * share * (1 - share)
    return np.asarray(np.maximum.accumulate(disagree.sum(axis=1) / max(1, disagree.shape[1])))
