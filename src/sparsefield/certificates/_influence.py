"""How much one variable can move the conditional distribution of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from sparsefield._kernels._influence import (
    bound_radius,
    compress_levels,
    compress_rows,
    count_entries,
    largest_level_changes,
    list_influences,
)
from sparsefield._kernels._level_influence import bound_influences
from sparsefield.inference import Field, expand, reduce_to_binary

# Every result is rounded up: a bound that rounding leaves a little too small is no bound. A logistic function of -745,
# below which it is zero, is right to about 745 units of the last place, a sum over a row to as many as it has entries.
_ROUNDING = 2.0**-52
_UP = 1 + 4096 * _ROUNDING
_SMALLEST = np.finfo(np.float64).tiny
_MOST_WORK = 2**15  # of the bound of an influence between variables of several levels: 8 of them each
_STEPS, _MOST_ROUNDS, _PRECISION = 20, 100, 1e-7  # of the spectral radius: it stops when 20 steps gain no more


def influence_matrix(model: Field) -> csr_array:
    """Return the paper's influence matrix U, in which entry (i, j) bounds how much variable j can move variable i.

    With xi the interaction of i and j, s the logistic function and b minus the log-odds of i without j::

        U_ij = | s(xi - b) - s(-b) |,  b = clip(xi / 2, lo, hi),
        lo = -main_i - sum_k max(xi_ik, 0),  hi = -main_i - sum_k min(xi_ik, 0),  k other than i and j.

    This is Lemma 2 of the paper with b* = exp(b), in a form that does not overflow and keeps small entries to full
    precision. It is the largest change of a conditional probability over all log-odds from lo to hi, whether or not a
    state has them, hence at least Dobrushin's influence. For a variable with more than two levels, ::

        U_ij = max_{a, b} tanh( osc_k( xi_ij(k, a) - xi_ij(k, b) ) / 4 ),  osc = largest minus least over its levels k,

    which is the largest total variation distance that such a change of the exponents can make, whatever they are. Where
    the other neighbours cannot bring them to where it makes that much, the entry is lowered to what it makes for
    exponents within their reach, the largest over sets A of levels of s(F') - s(F), F and F' the log-odds of A before
    and after. Where exponents add up to more than 600, too much for exponentials, it stays the tanh.

    Parameters
    ----------
    model : PairwiseMRF
        The field.

    Returns
    -------
    csr_array of shape (n_variables, n_variables)
        Nonzero only where the model has an interaction.

    Examples
    --------
    >>> from sparsefield import PairwiseMRF
    >>> from sparsefield.certificates import influence_matrix
    >>> model = PairwiseMRF.binary([0.0, -1.0], [[0.0, 2.0], [2.0, 0.0]])
    >>> influence_matrix(model).toarray().round(3)
    array([[0.   , 0.381],
           [0.462, 0.   ]])
    """
    starts, columns, entries = influence_rows(model)
    return csr_array((entries, columns, starts), shape=(model.domain.n_variables,) * 2)


def influence_rows(model: Field) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the influence matrix in compressed rows: starts, columns and entries."""
    domain = model.domain
    if not domain.is_binary and np.any(domain.n_levels > 2):
        return _influence_of_levels(model)
    main, interactions = reduce_to_binary(model)
    n = count_entries(interactions)
    starts, columns = np.empty(len(main) + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    sizes, ends = np.empty(n), np.empty(n)
    # Variable j moves the log-odds of i by |xi|, from one value to another, both within their range.
    list_influences(main, interactions, _ROUNDING, starts, columns, sizes, ends)
    return starts, columns, _change_at(ends, sizes)


def _influence_of_levels(model: Field) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    main, pair = expand(model)
    n_levels = model.domain.n_levels
    cuts = np.cumsum(n_levels) - n_levels
    starts, columns, sizes, low, high = compress_levels(pair, cuts, n_levels)
    rows = _row_numbers(starts)
    # A variable with two levels has log-odds, the difference of their exponents, and a range of them.
    own = np.where(n_levels == 2, main[np.minimum(cuts + 1, len(main) - 1)] - main[cuts], 0.0)
    slack = 2 * (len(main) + 2) * _ROUNDING * (np.abs(own) + high - low + np.abs(low) + np.abs(high))
    two = largest_change(sizes, (own + low - slack)[rows], (own + high + slack)[rows] - sizes)
    entries = np.where(n_levels[rows] == 2, two, np.minimum(np.tanh(sizes / 4) * _UP, 1.0))
    slacks = 4 * (len(main) + 2) * _ROUNDING * (np.maximum.reduceat(np.abs(main) + np.abs(pair).sum(axis=1), cuts))
    bound_influences(main, pair, cuts, n_levels, starts, columns, slacks, _MOST_WORK, entries)
    return starts, columns, np.clip(entries * _UP, _SMALLEST, 1.0)


def _row_numbers(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def log_odds_range(
    main: NDArray[np.float64], interactions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest log-odds that each variable can have, a little outside for rounding."""
    starts, _, values = compress_rows(interactions)
    return _range_of(main, _row_numbers(starts), values)


def _range_of(
    main: NDArray[np.float64], rows: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    positive, negative = (np.bincount(rows, part(values, 0), minlength=len(main)) for part in (np.maximum, np.minimum))
    slack = 2 * (len(main) + 2) * _ROUNDING * (np.abs(main) + positive - negative)
    return main + negative - slack, main + positive + slack


def largest_change(
    sizes: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest s(y + size) - s(y) for y from low to high, size >= 0 and s the logistic function.

    It is largest at y = -size / 2, where it is tanh(size / 4), or as near to there as the range allows. The difference
    is written as a product, (1 - exp(-size)) s(y + size) s(-y), which loses nothing where size is small.
    """
    return _change_at(np.clip(-sizes / 2, low, high), sizes)


def _change_at(y: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    change = -np.expm1(-sizes) * expit(y + sizes) * expit(-y)
    return np.asarray(np.minimum(np.maximum(change * _UP, _SMALLEST), 1.0))


def conditional_changes(old: Field, new: Field) -> NDArray[np.float64]:
    """Bound how much the conditional probability of each variable differs between two models, over all states."""
    if np.any(old.domain.n_levels > 2):
        (main, pair), (new_main, new_pair) = expand(old), expand(new)
        cuts = np.cumsum(old.domain.n_levels) - old.domain.n_levels
        main, pair = new_main - main, new_pair - pair
        moves = largest_level_changes(main, pair, cuts, old.domain.n_levels)
        slack = 2 * (len(main) + 2) * _ROUNDING * (np.abs(main).max() + np.abs(pair).sum(axis=1).max())
        return np.asarray(np.clip(np.tanh((moves + slack) / 4) * _UP, _SMALLEST, 1.0))
    (main, interactions), (new_main, new_interactions) = reduce_to_binary(old), reduce_to_binary(new)
    low, high = log_odds_range(main, interactions)
    fall, rise = log_odds_range(new_main - main, new_interactions - interactions)
    fall, rise = np.minimum(fall, 0), np.maximum(rise, 0)
    return np.maximum(largest_change(rise, low, high), largest_change(-fall, low + fall, high + fall))


def spectral_radius(influence: csr_array) -> tuple[float, NDArray[np.float64]]:
    """Bound the spectral radius of a matrix without negative entries; return the bound and a vector that proves it.

    For every positive v the radius is at most max_i (U v)_i / v_i (Collatz and Wielandt); v is improved by power steps
    with U + I, which do not go round in circles where U does. The smallest bound found is returned, whatever the
    number of steps.
    """
    v = np.ones(influence.shape[0])
    proof, best_proof, best = v.copy(), v.copy(), np.inf
    for _ in range(_MOST_ROUNDS):
        found = bound_radius(influence.indptr, influence.indices, influence.data, _STEPS, v, proof) * _UP
        last = best
        if found < best:
            best, best_proof = found, proof.copy()
        if best >= last * (1 - _PRECISION):
            break
    return best, best_proof
