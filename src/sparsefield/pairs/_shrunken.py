"""Weights as they are expected to be, once all pairs have told how large weights are: without the winner's curse."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit
from scipy.stats import chi2, norm

from sparsefield._typing import Mask, Values
from sparsefield.structure import learn_prior


@dataclass(frozen=True, eq=False)
class Shrunken:
    """What is expected of weights that were found because they are large (empirical Bayes, a spike and a slab).

    Parameters
    ----------
    share : ndarray of shape (n_pairs,)
        By how much each estimate counts, with the probability of an edge.
    mean, variance : ndarray of shape (n_pairs,)
        The mean and the variance of each weight, given the table.
    size, size_variance : ndarray of shape (n_pairs,)
        Those of its absolute value.
    """

    share: Values
    mean: Values
    variance: Values
    size: Values
    size_variance: Values

    def take(self, which: Mask) -> Shrunken:
        """Return what is known of some of the pairs."""
        return Shrunken(*(getattr(self, own.name)[which] for own in fields(self)))

    @classmethod
    def of(cls, estimate: Values, error: Values, p_value: Values) -> Shrunken:
        """Learn from all pairs how large weights are, and how many pairs have an edge.

        Estimates of edges that were chosen among many are too large in the mean, the more so the less sure they are.
        With a normal law of the weights of edges, the mean given an estimate is a share of it.

        Parameters
        ----------
        estimate, error, p_value : ndarray of shape (n_pairs,)
            Of every pair that has a weight.
        """
        squared, ones = error**2, np.ones(len(error))
        statistics = chi2.isf(np.clip(p_value, 1e-300, 1.0), 1)
        prior = learn_prior(estimate**2, statistics, ones, squared)
        chance = expit(prior.log_odds(statistics, ones, squared))
        share = prior.variance / (prior.variance + squared)
        mean, spread = share * estimate, np.sqrt(share * squared)
        away = mean / spread
        size = 2 * spread * norm.pdf(away) + mean * (1 - 2 * norm.cdf(-away))  # of a folded normal law
        second = chance * (mean**2 + share * squared)
        return cls(
            chance * share,
            chance * mean,
            second - (chance * mean) ** 2,
            chance * size,
            second - (chance * size) ** 2,
        )
