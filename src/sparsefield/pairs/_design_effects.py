"""How much larger variances are than those of so many independent rows: weights and clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import digamma, polygamma

from sparsefield._typing import Index, Values
from sparsefield.pairs._pair_rows import PairRows
from sparsefield.pairs._scores import Residuals

_TINY = 1e-300
_MOST_DEGREES = 1000.0  # as good as a known variance


@dataclass(frozen=True, eq=False)
class Sample:
    """How rows were drawn: which belong together.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        The cluster of each row; its own number where rows are independent.
    copies : ndarray of shape (n,)
        How many equal rows each stands for.
    """

    groups: Index
    copies: Values

    def sum(self, values: Values) -> Values:
        """Add up rows of the same cluster."""
        n = len(self.groups)
        chosen = csr_array((np.ones(n), (self.groups, np.arange(n))), shape=(int(self.groups.max(initial=-1)) + 1, n))
        return np.asarray(chosen @ values)

    def compare(self, moves: Values, shares: Values) -> tuple[Values, Values]:
        """Compare what clusters move estimates by with what they would by the model.

        Parameters
        ----------
        moves : ndarray of shape (n, k)
            By how much each row moves an estimate, in its standard errors.
        shares : ndarray of shape (n, k)
            The share of its information that each row has.

        Returns
        -------
        tuple of ndarray of shape (k,)
            The ratio of the variance of the estimate to that of the model, each cluster without its own pull (Mancl and
            DeRouen 2001); and how many clusters it is made of, in effect.
        """
        own = self.sum(moves) / np.maximum(1 - self.sum(shares), 0.1)
        squares = own**2
        total = squares.sum(axis=0)
        return total, total**2 / np.maximum((squares**2).sum(axis=0), _TINY)


def find_structured(rows: PairRows, left: Residuals, sample: Sample) -> Values:
    """Return the design effects of all pairs from a number for each variable, (n_variables, n_variables).

    That is how much what its regression leaves is alike within clusters, rho. With s the standard deviation of what is
    left in a row and w its weight, a pair has

        [sum w^2 v_i v_j + rho_i rho_j sum over t != u of a cluster of w_t w_u s_it s_jt s_iu s_ju] / sum w v_i v_j,

    exact where Theta = 0 and what clusters do to i is independent of what they do to j. Without clusters it is the
    variance that weighted scores have by the model.
    """
    p, starts = rows.n_variables, rows.design.starts
    counts, copies = rows.design.counts[:, None], sample.copies[:, None]
    s = np.sqrt(np.column_stack([_mean_trace(spread) for spread in left.spreads]))
    rho = np.zeros(p)
    for i in np.flatnonzero(rows.design.sizes).tolist():
        r = left.residuals[:, starts[i] : starts[i + 1]] * counts
        pulls = (sample.sum(r) ** 2).sum() - (r**2 / copies).sum()
        own = s[:, [i]] * counts
        could = r.shape[1] * ((sample.sum(own) ** 2).sum() - (own**2 / copies).sum())
        rho[i] = np.clip(pulls / max(could, _TINY), 0.0, 1.0)
    found = np.ones((p, p))
    for i in range(p):
        own = counts * s[:, [i]] * s
        alone = (own**2 / copies).sum(axis=0)
        together = (sample.sum(own) ** 2).sum(axis=0) - alone
        found[i] = (alone + rho[i] * rho * together) / np.maximum((own * s[:, [i]] * s).sum(axis=0), _TINY)
    return found


def _mean_trace(spread: Values) -> Values:
    d = spread.shape[1]
    return np.asarray(np.einsum("naa->n", spread) / max(1, d))


def compare_products(rows: PairRows, left: Residuals, sample: Sample, i: int) -> tuple[Values, Values]:
    """Compare the products of residuals of a variable and all others with what they would be by the model.

    Returns ratios and effective numbers of clusters, (n_variables,); means over features where there are several.
    """
    starts, sizes, counts = rows.design.starts, rows.design.sizes, rows.design.counts[:, None]
    ratios, numbers = np.ones(rows.n_variables), np.full(rows.n_variables, np.inf)
    width, d = int(starts[-1]), int(sizes[i])
    total, number = np.zeros(width), np.zeros(width)
    variances = np.column_stack([np.zeros((len(counts), 0)), *(np.einsum("naa->na", s) for s in left.spreads)])
    for a in range(d):
        column = int(starts[i]) + a
        information = (counts * variances[:, [column]] * variances).sum(axis=0)
        scale = 1 / np.maximum(information, _TINY)
        moves = counts * left.residuals[:, [column]] * left.residuals * np.sqrt(scale)
        shares = counts * variances[:, [column]] * variances * scale
        ratio, many = sample.compare(moves, shares)
        total, number = total + ratio / d, number + many
    for j in np.flatnonzero(sizes):
        ratios[j] = total[starts[j] : starts[j + 1]].mean()
        numbers[j] = number[starts[j] : starts[j + 1]].sum()
    return ratios, numbers


def moderate(ratios: Values, degrees: Values) -> tuple[Values, Values]:
    """Shrink ratios of variances to what all have in common, as those of genes are (Smyth 2004).

    Ratios are taken for scaled chi-squares with these degrees of freedom, whose scales are scaled inverse chi-squares.

    Returns
    -------
    tuple of ndarray
        What they become, and with how many degrees of freedom.
    """
    d = np.maximum(degrees, 1.0)
    logs = np.log(np.maximum(ratios, _TINY)) - digamma(d / 2) + np.log(d / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, d / 2).mean()) if len(logs) > 1 else 0.0
    prior = _MOST_DEGREES
    if excess > 1e-3:
        low, high = 1e-2, 1e4
        for _ in range(60):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if polygamma(1, middle / 2) > excess else (low, middle)
        prior = low
    common = float(np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2))) if len(logs) else 1.0
    return (prior * common + d * ratios) / (prior + d), prior + d
