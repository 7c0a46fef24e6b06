"""The pairwise Markov random field: a domain and its parameters, as one value that does not change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from sparsefield._kernels._parameters import split_parameters
from sparsefield.data import MISSING, Domain, Moments, Table, count
from sparsefield.inference import (
    Device,
    Given,
    PerfectRun,
    energies,
    enumerate_states,
    make_backend,
    reduce_to_binary,
)
from sparsefield.model._checks import LARGEST_PARAMETER, as_floats, check_blocks, check_symmetry
from sparsefield.model._entropy import Entropy, find_entropy
from sparsefield.model._file import read_parameters, write_parameters
from sparsefield.model._gauge import change_reference
from sparsefield.model._imputing import ImputeMethod, fill_missing
from sparsefield.model._layout import independent_main, is_symmetric
from sparsefield.model._observed import sum_rows
from sparsefield.model._partition import LogPartition, find_log_partition

Method = Literal["gibbs", "perfect"]

_ROWS_AT_ONCE = 8192  # states whose indicators are held as floats at one time


@dataclass(frozen=True, eq=False)
class PairwiseMRF:
    """A pairwise Markov random field over discrete variables.

    P(x) is proportional to exp( sum_a main_a s_a(x) + sum_{a<b} interactions_ab s_a(x) s_b(x) ), where s_a is the
    indicator of one level of one variable (a *slot*; reference levels have none). With two levels coded 0 and 1 and
    reference 0 this is the paper's model: s_a(x) = x_a.

    Parameters
    ----------
    domain : Domain
        The variables.
    main : array-like of shape (n_slots,)
        Main effects.
    interactions : array-like of shape (n_slots, n_slots)
        Interactions: symmetric, and zero between slots of one variable.

    Examples
    --------
    >>> from sparsefield import PairwiseMRF
    >>> model = PairwiseMRF.binary([-1.0, 0.5], [[0.0, 2.0], [2.0, 0.0]], names=["rain", "umbrella"])
    >>> model.moments().main.round(3)
    array([0.647, 0.818])
    >>> model.conditional("umbrella", [[1, 0]]).round(3)
    array([[0.076, 0.924]])
    """

    domain: Domain
    main: NDArray[np.float64]
    interactions: NDArray[np.float64]

    def __post_init__(self) -> None:
        main = as_floats("main", self.main, (self.domain.n_slots,))
        interactions = as_floats("interactions", self.interactions, (self.domain.n_slots,) * 2)
        check_blocks(interactions, self.domain)
        if not is_symmetric(interactions):
            check_symmetry(interactions)
            interactions = np.where(interactions == interactions.T, interactions, (interactions + interactions.T) / 2)
        for name, value in (("main", main), ("interactions", interactions)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<PairwiseMRF: {count(self.domain.n_variables, 'variable')}, {count(self.n_edges, 'edge')}>"

    @property
    def n_edges(self) -> int:
        """How many pairs of variables interact."""
        a, b = np.nonzero(self.interactions)
        a, b = a[a < b], b[a < b]
        of = self.domain.slot_variables
        return len(np.unique(of[a] * self.domain.n_variables + of[b]))

    @classmethod
    def binary(cls, main: ArrayLike, interactions: ArrayLike, names: Iterable[str] | None = None) -> PairwiseMRF:
        """Make a field of variables with levels 0 and 1.

        Parameters
        ----------
        main : array-like of shape (p,)
            Main effects.
        interactions : array-like of shape (p, p)
            Interactions, symmetric with zero diagonal.
        names : iterable of str, optional
            Names; x0, x1, ... unless given.
        """
        domain = Domain.binary(_names_or_count(main, names))
        p = domain.n_variables
        return cls(domain, as_floats("main", main, (p,)), as_floats("interactions", interactions, (p, p)))

    @classmethod
    def of_theta(cls, domain: Domain, theta: NDArray[np.float64]) -> PairwiseMRF:
        """Make a field of parameters in one matrix, main effects on its diagonal.

        Parameters
        ----------
        domain : Domain
            The variables.
        theta : ndarray of shape (n_slots, n_slots)
            The parameters. They are checked as others are, in one pass: a step of a small field makes many of these.
        """
        size = domain.n_slots
        main, interactions = np.empty(size), np.empty((size, size))
        if theta.shape != (size, size) or not split_parameters(
            theta, domain.slot_variables, LARGEST_PARAMETER, main, interactions
        ):
            return cls(domain, np.diagonal(theta), theta - np.diag(np.diagonal(theta)))
        model = object.__new__(cls)
        for name, value in (("main", main), ("interactions", interactions)):
            value.flags.writeable = False
            object.__setattr__(model, name, value)
        object.__setattr__(model, "domain", domain)
        return model

    @classmethod
    def independent(cls, domain: Domain, means: NDArray[np.float64]) -> PairwiseMRF:
        """Make a field without interactions.

        Parameters
        ----------
        domain : Domain
            The variables.
        means : ndarray of shape (n_slots,)
            How often each level that has parameters is taken.
        """
        return cls(domain, independent_main(domain, means), np.zeros((domain.n_slots,) * 2))

    @classmethod
    def from_spins(cls, fields: ArrayLike, couplings: ArrayLike, names: Iterable[str] | None = None) -> PairwiseMRF:
        """Make a field of spins: P(s) proportional to exp( sum_i h_i s_i + sum_{i<j} J_ij s_i s_j ), s in {-1, +1}.

        Parameters
        ----------
        fields : array-like of shape (p,)
            The fields h.
        couplings : array-like of shape (p, p)
            The couplings J, symmetric with zero diagonal.
        names : iterable of str, optional
            Names; x0, x1, ... unless given.
        """
        domain = Domain.binary(_names_or_count(fields, names), levels=(-1, 1))
        h = as_floats("fields", fields, (domain.n_variables,))
        j = as_floats("couplings", couplings, (domain.n_variables,) * 2)
        # s = 2x - 1: the interaction is 4 J_ij, exactly, and the main effect 2 h_i - 2 sum_j J_ij.
        return cls(domain, 2 * (h - _row_sums(j)), 4 * j)

    def as_spins(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the fields (p,) and couplings (p, p) of the same distribution over spins -1 and +1.

        The inverse of `from_spins`: couplings come back bit for bit, fields up to the rounding of one addition.
        """
        if np.any(self.domain.n_levels != 2):
            name = self.domain.names[int(np.argmax(self.domain.n_levels != 2))]
            raise ValueError(f"Variable {name!r} does not have two levels: only two-level variables are spins.")
        main, interactions = reduce_to_binary(self)
        couplings = interactions / 4
        return main / 2 + _row_sums(couplings), couplings

    def with_reference(self, reference: Sequence[int] | None) -> PairwiseMRF:
        """Return the same distribution with other reference levels.

        Parameters
        ----------
        reference : sequence of int, or None
            The code of the level without parameters, for each variable. None keeps parameters for all levels, in the
            zero-sum gauge: main effects of a variable, and rows and columns of a block of interactions, add up to zero.

        Examples
        --------
        >>> from sparsefield import PairwiseMRF
        >>> model = PairwiseMRF.binary([-1.0, 0.5], [[0.0, 2.0], [2.0, 0.0]])
        >>> model.with_reference([1, 0]).main
        array([1. , 2.5])
        >>> model.with_reference(None).interactions[0, 2:]
        array([ 0.5, -0.5])
        """
        return PairwiseMRF(*change_reference(self, reference))

    def energy(self, states: Any) -> NDArray[np.float64]:
        """Return minus the exponent of each state: P(x) is proportional to exp(-energy(x)).

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            Codes of the levels.
        """
        return energies(self, self.domain.check_codes(states))

    def log_prob(self, states: Any, *, log_partition: LogPartition | float | None = None) -> NDArray[np.float64]:
        """Return the log-probability of each state.

        Parameters
        ----------
        states : array-like of shape (n, n_variables)
            Codes of the levels.
        log_partition : LogPartition or float, optional
            What `log_partition` returned; all log-probabilities have its error then. Exact unless given, which is for
            small fields and sparse ones.
        """
        log_normaliser = self.log_partition("exact") if log_partition is None else log_partition
        return -self.energy(states) - float(log_normaliser)

    def log_prob_observed(
        self,
        states: Any,
        *,
        log_partition: LogPartition | float | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        device: Device = None,
    ) -> NDArray[np.float64]:
        """Return the log-probability of the observed cells of each row, whatever the missing ones are.

        The logarithm of the sum of the probabilities of all states that agree with the row (the observed-data
        log-likelihood). Missing values that interact, over other missing ones too, are summed out together, by
        variable elimination: exactly for up to 20 of two levels, and for more in sparse fields. Where the missing
        values of a row interact so much that tables of more than 2^20 entries would be needed, the sum over them is
        estimated as `log_partition` is, and a warning says so.

        Parameters
        ----------
        states : Table or array-like of shape (n, n_variables)
            Codes of the levels, 255 where a value is missing.
        log_partition : LogPartition or float, optional
            As for `log_prob`.
        seed, n_threads, device
            For estimates: as for `log_partition`.

        Raises
        ------
        OutOfReachError
            Where there is no estimate either.

        Examples
        --------
        >>> import numpy as np
        >>> from sparsefield import PairwiseMRF
        >>> model = PairwiseMRF.binary([-1.0, 0.5], [[0.0, 2.0], [2.0, 0.0]], names=["rain", "umbrella"])
        >>> np.exp(model.log_prob_observed([[1, 255], [1, 1], [255, 255]])).round(3)
        array([0.647, 0.598, 1.   ])
        """
        codes = self.domain.check_codes(states, allow_missing=True)
        log_normaliser = self.log_partition("exact") if log_partition is None else log_partition
        sums = sum_rows(self, codes, seed=seed, backend=make_backend(device, n_threads))
        return sums - float(log_normaliser)

    def conditional(self, variable: int | str, states: Any) -> NDArray[np.float64]:
        """Return P(variable = level | the others) for each state (row) and level (column).

        Where others are missing, it is the probability given those that were observed: the missing ones are summed out.

        Parameters
        ----------
        variable : int or str
            Number or name; its own value in the states does not matter, and may be missing.
        states : Table or array-like of shape (n, n_variables)
            Codes of the levels, 255 where a value is missing.

        Raises
        ------
        OutOfReachError
            Where missing values interact so much that tables of more than 2^20 entries would be needed.
        """
        codes = self.domain.check_codes(states, allow_missing=True)
        i = self.domain.index_of(variable)
        codes[:, i] = 0
        if (codes == MISSING).any():
            given, of = Given.distinct(self, codes, variable=i)
            return np.asarray(np.exp(given.log_probabilities())[of])
        own = self.domain.slot_variables == i
        exponents = np.zeros((len(codes), self.domain.n_levels[i]))
        levels = self.domain.slot_levels[own]
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            s = self.domain.indicators(codes[start : start + _ROWS_AT_ONCE])
            exponents[start : start + len(s), levels] = self.main[own] + s @ self.interactions[:, own]
        return np.asarray(np.exp(log_softmax(exponents, axis=1)))

    def log_partition(
        self,
        method: Literal["auto", "exact", "draws", "annealed"] = "auto",
        *,
        n_draws: int | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        device: Device = None,
    ) -> LogPartition:
        """Return the logarithm of the normalising constant, with its standard error.

        Parameters
        ----------
        method : "auto", "exact", "draws" or "annealed"
            "exact": by enumeration, for up to 2^27 states, or by sums over one variable after the other (variable
            elimination), for sparse graphs of any size. "draws": by bridges (Bennett 1976) from independent
            variables over models between, with exact draws of each. "annealed": by Gibbs chains that are led from
            independent variables to the field (Neal 2001), for any number of levels. "auto": the first of them that
            can be had. Fields without interactions have a formula, which is exact.
        n_draws : int, optional
            Draws of all models together: 100,000 unless given, or fewer where they are slow. Or annealed chains:
            unless given 4096, and 1024 with more than two levels.
        seed : int
            Where the random numbers start.
        n_threads : int, optional
            Threads to use; the result does not depend on it.
        device : "cpu", "cuda", "auto" or Backend, optional
            As for `sample`.

        Raises
        ------
        OutOfReachError
            Where an estimate could be had, but no error of it that can be trusted.

        Examples
        --------
        >>> from sparsefield.datasets import make_field
        >>> model = make_field(20, seed=1)
        >>> exact, drawn = model.log_partition(), model.log_partition("draws")
        >>> exact.error, drawn.error < 0.05
        (0.0, True)
        >>> abs(float(drawn) - float(exact)) < 4 * drawn.error
        True
        """
        machine = make_backend(device, n_threads)
        return find_log_partition(self, method, n_draws=n_draws, seed=seed, backend=machine)

    def entropy(
        self,
        method: Literal["auto", "exact", "draws"] = "auto",
        *,
        n_draws: int | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        device: Device = None,
    ) -> Entropy:
        """Return the entropy, -E log P(x), in nats, with its standard error.

        Parameters
        ----------
        method : "auto", "exact" or "draws"
            "exact": by sums over the levels of one variable after the other (variable elimination), which fields with
            sparse graphs allow whatever their size; or over all states of connected parts that have up to 2^27 of them.
            "draws": the log-partition function plus the mean energy, both by exact draws. "auto": exactly where that
            can be had, and by draws for the other connected parts.
        n_draws : int, optional
            Draws for the log-partition function, and as many for the mean energy; as `log_partition` unless given.
        seed, n_threads, device
            As for `log_partition`.

        Raises
        ------
        OutOfReachError
            Where neither can be had.

        Examples
        --------
        >>> from sparsefield import PairwiseMRF
        >>> print(PairwiseMRF.binary([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]).entropy())
        The entropy is 1.386294361 nats.
        >>> same = PairwiseMRF.from_spins([0.0, 0.0], [[0.0, 9.0], [9.0, 0.0]])
        >>> round(float(same.entropy()), 3)
        0.693
        """
        machine = make_backend(device, n_threads)
        return find_entropy(self, method, n_draws=n_draws, seed=seed, backend=machine)

    def impute(
        self,
        states: Any,
        method: ImputeMethod = "draws",
        *,
        seed: int | None = None,
        n_threads: int | None = None,
        device: Device = None,
    ) -> Table:
        """Fill missing values given the observed cells of their rows.

        Parameters
        ----------
        states : Table or array-like of shape (n, n_variables)
            Codes of the levels, 255 where a value is missing.
        method : "draws" or "most probable"
            "draws": one draw for each row from the joint law of its missing values given the observed cells; several
            seeds make several completed tables (multiple imputation). They are exact: by sums over the levels of one
            variable after the other, or by coupled chains for rows that this is out of reach of. Where both are,
            Gibbs chains of 1000 sweeps fill the row, and a warning says so. "most probable": the values that are most
            probable together, which are not those that are most probable one by one (`conditional`).
        seed : int, optional
            Where the random numbers of draws start; anywhere unless given.
        n_threads, device
            As for `log_partition`.

        Returns
        -------
        Table
            All rows, without missing values. `to_frame()` has them as labelled values.

        Raises
        ------
        OutOfReachError
            Where the most probable values cannot be had.

        Examples
        --------
        >>> from sparsefield import PairwiseMRF
        >>> model = PairwiseMRF.binary([-1.0, 0.5], [[0.0, 2.0], [2.0, 0.0]], names=["rain", "umbrella"])
        >>> model.impute([[255, 0], [255, 1], [0, 1]], "most probable").codes.tolist()
        [[0, 0], [1, 1], [0, 1]]
        """
        codes = self.domain.check_codes(states, allow_missing=True)
        known = _any_seed() if seed is None else seed
        filled = fill_missing(self, codes, method, seed=known, backend=make_backend(device, n_threads))
        return Table(self.domain, np.asfortranarray(filled))

    def moments(self) -> Moments:
        """Return the exact moments, by enumeration."""
        return enumerate_states(self)[1]

    @overload
    def sample(
        self,
        n: int,
        *,
        method: Method = ...,
        n_sweeps: int | None = ...,
        seed: int | None = ...,
        order: Sequence[int] | None = ...,
        max_sweeps: int | None = ...,
        n_threads: int | None = ...,
        device: Device = ...,
        return_run: Literal[False] = ...,
    ) -> Table: ...

    @overload
    def sample(
        self,
        n: int,
        *,
        method: Literal["perfect"],
        seed: int | None = ...,
        order: Sequence[int] | None = ...,
        max_sweeps: int | None = ...,
        n_threads: int | None = ...,
        device: Device = ...,
        return_run: Literal[True],
    ) -> tuple[Table, PerfectRun]: ...

    def sample(
        self,
        n: int,
        *,
        method: Method = "gibbs",
        n_sweeps: int | None = None,
        seed: int | None = None,
        order: Sequence[int] | None = None,
        max_sweeps: int | None = None,
        n_threads: int | None = None,
        device: Device = None,
        return_run: bool = False,
    ) -> Table | tuple[Table, PerfectRun]:
        """Draw n states.

        Parameters
        ----------
        n : int
            How many draws.
        method : "gibbs" or "perfect"
            "gibbs": each draw is the state of a chain of its own after some sweeps from a uniform start, exact only in
            the limit. "perfect": independent exact draws, for variables with up to 64 levels (`inference.Perfect`);
            strong interactions make them slow, and too strong ones are refused.
        n_sweeps : int, optional
            Sweeps of each Gibbs chain; 1000 unless given.
        seed : int, optional
            Where the random numbers start; anywhere unless given.
        order : sequence of int, optional
            The order in which a sweep updates the variables.
        max_sweeps : int, optional
            For exact draws: sweeps within which half of the chains of a pilot run must forget their start; 10,000
            unless given. Where they do not, an error says so.
        n_threads : int, optional
            Threads to use; the draws do not depend on it.
        device : "cpu", "cuda", "auto" or Backend, optional
            Where the draws are made: by the processors of this machine ("cpu", unless given), on its GPU ("cuda"), on a
            GPU where there is one and the field is one for it ("auto"), or by a backend, such as `inference.Cluster`. A
            seed gives other draws on a GPU than on processors.
        return_run : bool
            For exact draws: whether to return what they took as well.

        Returns
        -------
        Table
            The draws. `np.asarray` of it has them as codes; `to_frame()`, `to_pandas()` and `to_numpy()` as levels.
        PerfectRun
            Blocks and sweeps of exact draws, if `return_run`.
        """
        if seed is None:
            seed = _any_seed()
        machine = make_backend(device, n_threads)
        if method == "gibbs":
            if max_sweeps is not None or return_run:
                raise ValueError("max_sweeps and return_run are for method='perfect': leave them out.")
            sweeps = 1000 if n_sweeps is None else n_sweeps
            chains = machine.chains(self.domain, n, seed=seed)
            chains.sweep(machine.prepare(self, order=order), sweeps)
            return Table(self.domain, chains.codes())
        if method != "perfect":
            raise ValueError(f"method is {method!r}: use 'gibbs' or 'perfect'.")
        if n_sweeps is not None:
            raise ValueError("n_sweeps is for method='gibbs': exact draws choose their sweeps themselves.")
        limit = 10_000 if max_sweeps is None else max_sweeps
        chains, run = machine.draw(self, n, seed=seed, max_sweeps=limit, order=order)
        table = Table(self.domain, chains.codes())
        return (table, run) if return_run else table

    def save(self, path: str | PathLike[str]) -> None:
        """Write the field to a file; `docs/format.md` says how."""
        write_parameters(path, self.domain, self.main, self.interactions)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> PairwiseMRF:
        """Read a field that `save` wrote."""
        domain, main, interactions = read_parameters(path)
        try:
            return cls(domain, main, interactions)
        except ValueError as error:
            raise ValueError(f"File {str(path)!r} is damaged: {error}") from error


def _any_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def _row_sums(couplings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up rows with a single rounding each, so that `as_spins` takes away exactly what `from_spins` put in."""
    return np.array([math.fsum(row) for row in couplings.tolist()])


def _names_or_count(values: ArrayLike, names: Iterable[str] | None) -> int | tuple[str, ...]:
    if names is not None:
        return tuple(names)
    if not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
        raise ValueError("Main effects are not a list of numbers: give one number per variable.")
    return len(values)
