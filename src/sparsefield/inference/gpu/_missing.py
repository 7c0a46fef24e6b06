"""Exact draws of missing values on a GPU, given the observed cells of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._kernels._bytes import BLOCK
from sparsefield._typing import Codes
from sparsefield.data import MISSING
from sparsefield.inference._field import Field
from sparsefield.inference.gpu._chains import WORD, lay_out
from sparsefield.inference.gpu._coupled import DeviceCoupled, Place
from sparsefield.inference.gpu._device import Device
from sparsefield.inference.gpu._scan import DeviceScan
from sparsefield.inference.missing._clamped_coupling import Coupling

_MOST_CELLS = 2**28  # of draws that are made at one time: 256 MiB of this machine, as codes


class DeviceCoupling(Coupling):
    """Chains on a GPU that draw the missing values of rows.

    Which rows they draw for, how many draws each chain gives and how long blocks of sweeps are is chosen as for chains
    of this machine, by pilot runs on its processors.

    Parameters
    ----------
    field, rows, chosen, seed, max_sweeps, n_threads
        As for `Coupling`.
    device : Device
        The GPU.
    """

    def __init__(self, field: Field, *arguments: Any, device: Device, **options: Any) -> None:
        super().__init__(field, *arguments, **options)
        self._device = device

    def fill(self, filled: Codes) -> float:
        """Write the draws to codes (n, n_variables); return the sweeps that all chains made together."""
        if not len(self.rows):
            return 0.0
        scan, n_chains = DeviceScan(self._device, self._field, n_planes=3), len(self._plan.rows)
        at_once = _MOST_CELLS // (self._plan.most_draws * self._field.domain.n_variables)
        step = max(BLOCK, at_once // BLOCK * BLOCK)
        parts = [slice(first, min(first + step, n_chains)) for first in range(0, n_chains, step)]
        return sum(self._fill_some(scan, some, filled) for some in parts)

    def _fill_some(self, scan: DeviceScan, some: slice, filled: Codes) -> float:
        """Write the draws of some chains; return the sweeps that these made."""
        plan, device, domain = self._plan, self._device, self._field.domain
        codes, n_draws = plan.codes_of(some), plan.n_draws[some]
        is_missing = codes == MISSING
        ends = [lay_out(np.where(is_missing, end, codes)) for end in (0, domain.n_levels - 1)]
        starts, kept = device.xp.asarray(np.concatenate(ends)), device.xp.asarray(lay_out(~is_missing))
        n_words, n_rounds = starts.shape[1], plan.most_draws
        draws = device.make((domain.n_variables, n_rounds * n_words), np.uint32)
        how: dict[str, Any] = {"seed": self._seed, "first_word": some.start // WORD, "starts": starts, "kept": kept}
        chains = DeviceCoupled(device, scan, Place(draws, n_rounds, n_words, 0), _mark_spare(n_draws, n_rounds), **how)
        # Blocks of sweeps may be as long as those of the slowest of these rows: that is known before any is run.
        length = int(self._lengths[some.start // BLOCK : -(-some.stop // BLOCK)].max())
        chains.run(length)
        words = np.ascontiguousarray(device.fetch(draws), dtype="<u4").view(np.uint8)
        bits = np.unpackbits(words, axis=1, bitorder="little").reshape(len(words), n_rounds, -1)[:, :, : len(codes)]
        for k in range(n_rounds):
            has = n_draws > k
            filled[plan.first[some][has] + k] = bits[:, k, has].T
        return float(WORD * chains.n_run * length)


def _mark_spare(n_draws: NDArray[np.int64], n_rounds: int) -> NDArray[np.uint32]:
    """Return ones for draws (n_rounds, n_words) that nobody asked for of chains that give so many each."""
    wanted = lay_out(np.arange(n_rounds) < n_draws[:, None])
    return ~wanted
