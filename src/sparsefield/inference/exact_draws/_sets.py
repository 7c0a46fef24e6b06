"""Sets of levels: how bounds of chains are held where variables have more than two levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._target import make_aligned
from sparsefield.data import MISSING, Domain

Sets = NDArray[np.uint64]  # (blocks, n_variables, 512), bit a for level a


def has_sets(domain: Domain) -> bool:
    """Say whether bounds are sets of levels, rather than the least and the largest of two."""
    return bool(np.any(domain.n_levels > 2))


def make_sets(domain: Domain, n_blocks: int) -> Sets:
    """Return sets of all levels."""
    sets = make_aligned((n_blocks, domain.n_variables, BLOCK), np.uint64)
    sets[:] = _all_levels(domain)[:, None]
    return sets


def as_sets(codes: NDArray[np.uint8], domain: Domain) -> Sets:
    """Return a set for each code (n, n_variables): of one level, or of all where the value is missing."""
    n_blocks = -(-len(codes) // BLOCK)
    own = np.where(codes == MISSING, _all_levels(domain), np.uint64(1) << codes.astype(np.uint64) % np.uint64(64))
    padded = np.ones((n_blocks * BLOCK, domain.n_variables), dtype=np.uint64)
    padded[: len(codes)] = own
    sets = make_aligned((n_blocks, domain.n_variables, BLOCK), np.uint64)
    sets[:] = padded.reshape(n_blocks, BLOCK, -1).transpose(0, 2, 1)
    return sets


def _all_levels(domain: Domain) -> NDArray[np.uint64]:
    """Return the set of all levels of each variable."""
    return np.asarray(np.uint64(2**64 - 1) >> (64 - domain.n_levels).astype(np.uint64))


def carry_along(sets: Sets) -> Sets:
    """Return sets and, as many lines more, chains within them that stand at their least levels."""
    n_blocks, n_lines, _ = sets.shape
    states = make_aligned((n_blocks, 2 * n_lines, BLOCK), np.uint64)
    states[:, :n_lines] = sets
    states[:, n_lines:] = np.log2((sets & (~sets + np.uint64(1))).astype(np.float64)).astype(np.uint64)
    return states
