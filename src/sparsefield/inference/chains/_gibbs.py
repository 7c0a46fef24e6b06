"""Moments estimated by Gibbs chains that start anew."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield.data import Moments
from sparsefield.inference._field import Field
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._scan import Scan


@dataclass(frozen=True)
class Gibbs:
    """Inference by many chains from uniform starts.

    Parameters
    ----------
    n_chains : int
        How many chains; the simulation error of a moment is at most 1 / (2 sqrt(n_chains)).
    n_sweeps : int
        Sweeps of each chain. Whether that is enough is a question for the certificates.
    seed : int
        Where the random numbers start.
    order : tuple of int, optional
        The order in which a sweep updates the variables.
    n_threads : int, optional
        Threads to use; the result does not depend on it.
    """

    n_chains: int
    n_sweeps: int
    seed: int
    order: tuple[int, ...] | None = None
    n_threads: int | None = None

    def run(self, field: Field) -> Chains:
        """Return the chains after their sweeps."""
        chains = Chains(field.domain, self.n_chains, seed=self.seed, n_threads=self.n_threads)
        chains.sweep(Scan(field, order=self.order), self.n_sweeps)
        return chains

    def moments(self, field: Field) -> Moments:
        """Return the means over the chains."""
        return self.run(field).moments()
