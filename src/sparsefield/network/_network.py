"""The network of a model as one value: which variables interact, how strongly, what simulation error leaves open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.data import count
from sparsefield.fits import Fit, Fitted, as_fit, as_model
from sparsefield.model import PairwiseMRF, has_sign, pair_weights
from sparsefield.network._inferred import check_inference, find_places, make_columns
from sparsefield.pairs import Inference

_MOST_DECIMALS = 3  # of a weight in a table that is printed


@dataclass(frozen=True, eq=False)
class Network:
    """The network behind a field, found once for tables, pictures, pages and files.

    Parameters
    ----------
    names : tuple of str
        The variables.
    strengths : ndarray of shape (n_variables, n_variables)
        The interaction of each pair where both variables have two levels; in general four times the root mean square
        of the interactions of their levels in the zero-sum gauge, with a sign where both have two levels or are
        ordered.
    is_signed : ndarray of shape (n_variables, n_variables)
        Whether the strength of each pair has a sign.
    mains : tuple of float or None
        The main effect of each variable that has a single one.
    undecided : ndarray of shape (n_variables, n_variables), optional
        Whether the simulation error of the draws leaves open that a pair has an edge, or has none; None where that is
        not known.
    inference : Inference, optional
        How sure every pair is, of the same variables.
    spread : float, optional
        By how much weights of another seed differ at most, where the fit says so.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.network import Network
    >>> network = Network.of(sf.datasets.make_chain(5, seed=1))
    >>> network.n_edges, network.edges.columns
    (4, ['first', 'second', 'weight'])
    """

    names: tuple[str, ...]
    strengths: NDArray[np.float64]
    is_signed: NDArray[np.bool_]
    mains: tuple[float | None, ...]
    undecided: NDArray[np.bool_] | None = None
    inference: Inference | None = None
    spread: float | None = None

    @classmethod
    def of(cls, fitted: PairwiseMRF | Fit | Fitted | Network, inference: Inference | None = None) -> Network:
        """Return the network of a field, a fit or a fitted estimator; a network is its own.

        With an inference (`infer`), which must be of the same variables, edges have what it says of them.
        """
        if inference is not None:
            network = cls.of(fitted)
            check_inference(inference, network.names, network.is_signed)
            return replace(network, inference=inference)
        if isinstance(fitted, Network):
            return fitted
        fit = None if isinstance(fitted, PairwiseMRF) else as_fit(fitted)
        marked, spread = (None, None) if fit is None else (fit.undecided, fit.spread)
        model = as_model(fitted)
        domain = model.domain
        starts = np.searchsorted(domain.slot_variables, np.arange(domain.n_variables + 1))
        mains = tuple(
            float(model.main[start]) if end - start == 1 else None for start, end in pairwise(starts.tolist())
        )
        undecided = None if marked is None else _find_open(model, marked)
        weights = pair_weights(domain, model.interactions)
        return cls(domain.names, weights, has_sign(domain), mains, undecided, spread=spread)

    def __repr__(self) -> str:
        return f"<Network: {count(len(self.names), 'variable')}, {count(self.n_edges, 'edge')}>"

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each variable by its name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def edges(self) -> pl.DataFrame:
        """The edges as a table, strongest first; see `edge_table`."""
        is_listed = self.strengths != 0
        if self.undecided is not None:
            is_listed = is_listed | self.undecided
        if self.inference is not None and len(self.inference.pairs):
            is_listed = is_listed | self.inference.is_edge[self.places]
        first, second = np.nonzero(np.triu(is_listed, 1))
        order = self._order(first, second)
        first, second = first[order], second[order]
        columns = {
            "first": pl.Series([self.names[i] for i in first], dtype=pl.String),
            "second": pl.Series([self.names[j] for j in second], dtype=pl.String),
            "weight": pl.Series(self.strengths[first, second], dtype=pl.Float64),
        }
        if not self.is_signed.all():
            columns["signed"] = pl.Series(self.is_signed[first, second], dtype=pl.Boolean)
        if self.undecided is not None:
            columns["undecided"] = pl.Series(self.undecided[first, second], dtype=pl.Boolean)
        if self.inference is not None:
            columns |= make_columns(self.inference, self.places[first, second])
        return pl.DataFrame(columns)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where each two variables are among the pairs of the inference; the diagonal does not matter."""
        if self.inference is None:
            raise ValueError("This network has no inference: make it by Network.of(fit, inference).")
        return find_places(self.inference, self.names)

    def _order(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the order of pairs: by weight, and of those without one, edges of the inference by their estimates."""
        sizes = np.abs(self.strengths[first, second])
        if self.inference is None:
            return np.argsort(-sizes, kind="stable")
        at = self.places[first, second]
        estimates = np.where(self.inference.is_edge[at], np.abs(self.inference.estimate[at]), 0.0)
        return np.lexsort([-estimates, -sizes])

    def form_of(self, first: str, second: str, n_digits: int) -> str:
        """Return how a weight of a pair is written: with its sign, where it has one, and so many decimals."""
        sign = "+" if self.is_signed[self.index[first], self.index[second]] else ""
        return f"{sign}.{n_digits}f"

    def write(self, first: str, second: str, weight: float) -> str:
        """Write the weight of an edge of the fit: without decimals that another seed would change, but for the last."""
        n_digits = _MOST_DECIMALS if self.n_decimals is None else self.n_decimals
        return format(weight, self.form_of(first, second, n_digits))

    @property
    def n_decimals(self) -> int | None:
        """How many decimals of weights are written, for their simulation error; None where they have none."""
        return int(np.clip(-np.log10(self.spread), 1, _MOST_DECIMALS)) if self.spread else None

    @property
    def n_edges(self) -> int:
        """How many pairs have an edge."""
        return int(np.count_nonzero(np.triu(self.strengths, 1)))

    @property
    def n_pairs(self) -> int:
        """How many pairs of variables there are."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def n_sure(self) -> int:
        """How many edges are edges of the inference too, at its rate."""
        if self.inference is None or not len(self.inference.pairs):
            return 0
        return int(np.count_nonzero(np.triu(self.inference.is_edge[self.places] & (self.strengths != 0), 1)))

    @property
    def n_undecided(self) -> int | None:
        """How many edges simulation error leaves open, where that is known."""
        return self._count_open(self.strengths != 0)

    @property
    def n_open_pairs(self) -> int | None:
        """Of how many pairs without an edge simulation error leaves open that they have one, where that is known."""
        return self._count_open(self.strengths == 0)

    def _count_open(self, among: NDArray[np.bool_]) -> int | None:
        return None if self.undecided is None else int(np.count_nonzero(np.triu(self.undecided & among, 1)))


def edge_table(fitted: PairwiseMRF | Fit | Fitted | Network, inference: Inference | None = None) -> pl.DataFrame:
    """Return the edges as a table, strongest first.

    Of a fit that knows which of its parameters are undecided, there is a column that says so: whether the simulation
    error of the draws leaves open that an edge is none. Pairs without an edge of which it leaves open that they have
    one come last, with weight zero.

    With an inference, each pair has what that says of it. Pairs that are edges at its rate, but not in the fit, come
    after the edges of the fit, with weight zero, those with the largest estimates first.

    Parameters
    ----------
    fitted : PairwiseMRF, Fit, fitted estimator or Network
        The field.
    inference : Inference, optional
        How sure every pair is (`infer`), of the same variables.

    Returns
    -------
    polars.DataFrame
        Columns `first`, `second`, `weight`; `signed` where some variables have more than two levels and no order, whose
        weights have no sign; `undecided` where that is known; and with an inference `estimate`, `low`, `high`, `p`, `q`
        and `detectable`, which mean what they do in `Inference.table`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> sf.edge_table(mrf).select("first", "second").rows()
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3')]

    With intervals, which say what other rows would show:

    >>> sf.edge_table(mrf, sf.infer(table)).columns
    ['first', 'second', 'weight', 'undecided', 'estimate', 'low', 'high', 'p', 'q', 'detectable']
    """
    return Network.of(fitted, inference).edges


def _find_open(model: PairwiseMRF, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say whether simulation error leaves each pair open: an edge is settled as soon as one of its parameters is."""
    is_settled = _join_slots(model, (model.interactions != 0) & ~marked)
    found = _join_slots(model, marked) & ~is_settled
    np.fill_diagonal(found, False)
    return np.asarray(found)


def _join_slots(model: PairwiseMRF, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say of each pair of variables whether some parameter of theirs is marked."""
    variables = model.domain.slot_variables
    found = np.zeros((model.domain.n_variables,) * 2, dtype=bool)
    a, b = np.nonzero(marked)
    found[variables[a], variables[b]] = True
    return found
