"""Chains swept until a criterion of their moments is met, where a field is small enough for one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsefield import _threads
from sparsefield._deadline import check_time
from sparsefield._kernels import _packed
from sparsefield._kernels._bytes import BLOCK
from sparsefield._kernels._interim import sweep_below, sweep_until
from sparsefield._kernels._target import borrow
from sparsefield.data import Moments, borrow_rows, is_few
from sparsefield.inference.chains._blocks import Blocks
from sparsefield.inference.chains._counting import chain_masks
from sparsefield.inference.chains._scan import Scan


class StepRule(NamedTuple):
    """What the norm of a step map is made of, where the proximal step is a soft threshold entry by entry.

    Parameters
    ----------
    theta, data, weights : ndarray of shape (n_slots, n_slots)
        The parameters, the moments that they are to have, and what each pays.
    variables : ndarray of shape (n_slots,)
        The variable of each slot.
    step_size : float
        Length of the step.
    """

    theta: NDArray[np.float64]
    data: NDArray[np.float64]
    weights: NDArray[np.float64]
    variables: NDArray[np.int64]
    step_size: float


class BoundedBlocks(Blocks):
    """Blocks of bounds, of which some need not be swept any more."""

    def keep_blocks(self, n_blocks: int) -> None:
        """Go on with the first blocks alone, when all chains of the others have met."""
        if n_blocks < self.n_blocks:
            self._states, self._streams, self.n_blocks = self._states[:n_blocks], self._streams[:n_blocks], n_blocks


def fits_one_call(chains: Blocks, scan: Scan, at_once: int, n_sweeps: int) -> bool:
    """Say whether sweeps, so many between two checks and so many in all, are one call.

    They are for packed chains of two levels, unless there is work for two threads between checks.
    """
    is_plain = chains.storage == "packed" and scan.form == "product" and scan.n_planes == chains.n_planes
    if not (is_plain and chains.domain.is_binary and chains._kept is None):
        return False
    one = scan.seconds_per_block * chains.n_blocks
    is_short = one * at_once < 2 * _threads.SMALLEST_SHARE and one * n_sweeps < _threads.LONGEST_CALL
    return is_short and is_few(chains.domain.n_slots, chains.n_chains)


def sweep_with_checks(
    chains: Blocks, scan: Scan, biases: NDArray[np.float64], limit: float, rule: StepRule
) -> tuple[int, Moments | None]:
    """Sweep until a bias is below half the norm of the step map: return the sweeps made, and the moments if it is."""
    check_time()
    chains.check_scan(scan)
    size, n = chains.domain.n_slots, chains.n_chains
    field, masks, scratch = _arguments(chains, scan)
    pair = np.empty((size, size))
    states, streams = chains._states, chains._streams
    n_sweeps, is_met = sweep_until(states, streams, field, biases, limit, rule, n, masks, scratch, pair)
    chains.n_sweeps += n_sweeps
    return n_sweeps, Moments.of_pairs(pair, n) if is_met else None


def sweep_below_target(
    bounds: BoundedBlocks, scan: Scan, checks: NDArray[np.int64], risks: NDArray[np.float64], target: float
) -> int:
    """Sweep bounding chains until their bound is about as low as a target; return how many checks were passed."""
    check_time()
    bounds.check_scan(scan)
    field, masks, scratch = _arguments(bounds, scan)
    states, streams = bounds._states, bounds._streams
    n_passed, n_blocks = sweep_below(states, streams, field, checks, risks, target, bounds.n_chains, masks, scratch)
    bounds.n_sweeps += int(checks[:n_passed].sum())
    bounds.keep_blocks(n_blocks)
    return int(n_passed)


def _arguments(chains: Blocks, scan: Scan) -> tuple[Any, Any, Any]:
    """Return the field, the masks of chains that exist, and the working memory that the kernels take."""
    size, n_planes = chains.domain.n_slots, chains.n_planes
    rows, counts = borrow_rows(size, BLOCK * chains.n_blocks, chains._states.shape[1] // n_planes)
    lines = borrow("pairs", (_packed.SHIFTS, scan.most_pairs, 16), np.uint32)
    totals = borrow("totals", (n_planes, size, size), np.int32)
    scratch = lines, borrow("weights", (n_planes, BLOCK), np.float32), rows, counts, *totals
    return (scan.order, *scan.arguments, _NONE_KEPT), chain_masks(chains.n_blocks, chains.n_chains), scratch


_NONE_KEPT = np.zeros((0, 0, 0), dtype=np.uint32)
