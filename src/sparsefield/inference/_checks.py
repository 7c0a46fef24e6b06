"""What chains and sweeps can be asked for, and how chains are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._target import HAS_AVX2
from sparsefield.data import Domain

Storage = Literal["packed", "bytes"]
MOST_BOUNDED = 64  # levels, one bit each in the sets that bounding chains hold


def choose_storage(domain: Domain, wanted: Storage | None) -> Storage:
    """Choose how chains are held: bits where there are at most two levels and the processor can use them."""
    can_pack = HAS_AVX2 and (domain.is_binary or bool(np.all(domain.n_levels <= 2)))
    if wanted is None:
        return "packed" if can_pack else "bytes"
    if wanted not in get_args(Storage) or (wanted == "packed" and not can_pack):
        raise ValueError(f"storage is {wanted!r}: use 'bytes', or 'packed' for two levels on a processor with AVX2.")
    return wanted


def count_lines(n_variables: int, storage: Storage) -> int:
    """Count the lines of a plane of a block; packed ones come in eights, as the counting of moments wants them."""
    return -(-n_variables // 8) * 8 if storage == "packed" else n_variables


def check_two_levels(domain: Domain, what: str, instead: str = "") -> None:
    """Refuse variables with more than two levels, and say what to do instead."""
    if np.any(domain.n_levels > 2):
        i = int(np.argmax(domain.n_levels > 2))
        raise ValueError(
            f"Variable {domain.names[i]!r} has {domain.n_levels[i]} levels: {what} are for two levels so far.{instead}"
        )


def check_bounded(domain: Domain, what: str) -> None:
    """Refuse variables with more levels than a set of them can hold."""
    if np.any(domain.n_levels > MOST_BOUNDED):
        i = int(np.argmax(domain.n_levels))
        raise ValueError(
            f"Variable {domain.names[i]!r} has {domain.n_levels[i]} levels: {what} are for up to {MOST_BOUNDED} levels."
        )


def check_sweeps(n_sweeps: int) -> None:
    """Refuse what is not a number of sweeps."""
    if not isinstance(n_sweeps, int | np.integer) or n_sweeps < 0:
        raise ValueError(f"n_sweeps is {n_sweeps}: use a whole number from zero on.")


def check_order(order: Sequence[int] | NDArray[np.int64] | None, n_variables: int) -> NDArray[np.int64]:
    """Check that an order of updates names every variable once."""
    if order is None:
        return np.arange(n_variables)
    checked = np.asarray(order)
    if checked.shape != (n_variables,) or not np.array_equal(np.sort(checked), np.arange(n_variables)):
        raise ValueError(f"order must name each of the variables 0 to {n_variables - 1} once.")
    return checked.astype(np.int64)


def check_request(n_chains: int, seed: int) -> None:
    """Refuse numbers of chains and seeds that make no sense."""
    if not isinstance(n_chains, int | np.integer) or n_chains < 1:
        raise ValueError(f"n_chains is {n_chains}: use a whole number from one on.")
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Refuse what is no seed: random numbers start from a whole number."""
    if not isinstance(seed, int | np.integer):
        raise TypeError(
            f"seed is of type {type(seed).__name__}: use a whole number, such as int(rng.integers(2**31)) of a "
            "Generator."
        )
    if seed < 0:
        raise ValueError(f"seed is {seed}: use a number from zero on.")
