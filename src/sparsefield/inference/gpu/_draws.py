"""What a Newton step asks of draws, on a GPU: counts and sums over them come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._deadline import check_time
from sparsefield._typing import Index, Matrix
from sparsefield.data import Domain
from sparsefield.inference._draws import EqualDraws
from sparsefield.inference.gpu._device import Device, guard_memory

_SIDE = 4  # lines and columns of a tile of counts
_WARP, _MOST_RUNS = 32, 65535  # threads that work as one; what the last dimension of a grid can have
_MOST_HELD = 2**30  # bytes of products of lines that are made at one time, and no more than a quarter of what is left
_NUMBERS_AT_ONCE = 2**25  # of lines as floats, 256 MiB: sums depend on it


@guard_memory
class DeviceDraws(EqualDraws):
    """The states of chains on a GPU, as `ChainDraws` are those of this machine.

    Parameters
    ----------
    device : Device
        The GPU.
    domain : Domain
        Variables with at most two levels.
    n : int
        How many draws.
    lines : array of shape (n_slots, n_words)
        Their main statistics: bit c of word w is draw 32 w + c.
    mask : array of shape (n_words,)
        Ones for draws that exist.
    codes : callable
        Returns their codes (n, n_variables).
    """

    def __init__(
        self, device: Device, domain: Domain, n: int, lines: Any, mask: Any, codes: Callable[[], NDArray[np.uint8]]
    ) -> None:
        super().__init__(domain, n, codes)
        self._device, self._lines, self._mask = device, lines, mask

    def second_moments(self, a: Index, b: Index) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of the statistics s_a s_b, 1 / n, and their means."""
        counts = self._device.make((len(a), len(a)), np.int32)
        for products, mask in self._multiply(a, b):
            add_counts(self._device, products, mask, counts)
        found = self._device.fetch(mirror(self._device, counts))
        return found, 1 / self._n, np.asarray(1 / self._n * np.diagonal(found))

    def near_moments(
        self, a: Index, b: Index, starts: Index, columns: NDArray[np.int32]
    ) -> tuple[NDArray[Any], float, Matrix]:
        """Return counts of common ones of some pairs of the statistics s_a s_b, 1 / n, and means of all statistics."""
        xp = self._device.xp
        rows = xp.asarray(np.repeat(np.arange(len(a), dtype=np.int32), np.diff(starts)))
        others = xp.asarray(columns.astype(np.int32, copy=False))
        counts, ones = self._device.make((len(columns),), np.int32), np.zeros(len(a), dtype=np.int64)
        for products, mask in self._multiply(a, b):
            n_words = np.uint64(products.shape[1])
            if len(columns):
                pairs = rows, others, np.uint64(len(columns)), counts
                self._device.launch("count_some", (len(columns),), _WARP, products, mask, n_words, *pairs)
            ones += count_each(self._device, products, mask)
        return self._device.fetch(counts), 1 / self._n, np.asarray(1 / self._n * ones)

    def along_some(self, moves: Matrix, a: Index, b: Index) -> Matrix:
        """Return the inner product of a move of some statistics and these of each draw; eight bytes a draw are sent."""
        n_bytes = 4 * self._lines.shape[1]
        values = self._device.make((8 * n_bytes,), np.float64)
        sent = (*self._index(a, b), self._device.xp.asarray(np.ascontiguousarray(moves, dtype=np.float64)))
        grid = (-(-n_bytes // 64),)
        self._device.launch("add_along", grid, 64, self._lines, np.uint64(n_bytes), *sent, np.int32(len(a)), values)
        return self._device.fetch(values[: self._n])

    def project(self, values: Matrix) -> Matrix:
        """Return the covariance of every statistic with values."""
        xp, size, n_words = self._device.xp, self._lines.shape[0], self._lines.shape[1]
        if not size:
            return np.zeros((0, 0))
        weights = self._device.make((32 * n_words,), np.float64)
        weights[: self._n] = xp.asarray((values - values.mean()) / len(values))
        total = self._device.make((size, size), np.float64)
        at_once = max(1, _NUMBERS_AT_ONCE // (32 * max(1, size)))
        for first in range(0, n_words, at_once):
            check_time()
            n = min(at_once, n_words - first)
            numbers = self._device.make((size, 32 * n), np.float64)
            words = np.uint64(n_words), np.uint64(first), np.uint64(n)
            self._device.launch("unpack", (-(-n // 64), size), 64, self._lines, *words, numbers)
            total += (numbers * weights[32 * first : 32 * (first + n)]) @ numbers.T
        found = self._device.fetch(total)
        return np.asarray((found + found.T) / 2)

    def project_roughly(self, values: Matrix, within: float | None = None) -> tuple[Matrix, float]:  # noqa: ARG002
        """Return the covariance of every statistic with values, and zero: a GPU has time for all of it."""
        return self.project(values), 0.0

    def project_onto(self, values: Matrix, a: Index, b: Index) -> Matrix:
        """Return the covariances of the statistics s_a s_b with values."""
        if not len(a):
            return np.zeros(0)
        n_words = self._lines.shape[1]
        weights = np.zeros(32 * n_words)
        weights[: self._n] = (values - values.mean()) / len(values)
        by_bit = self._device.xp.asarray(weights).reshape(n_words, 32).T.copy()
        sums = self._device.make((len(a), _WARP), np.float64)
        sent = np.uint64(n_words), *self._index(a, b), by_bit, sums
        self._device.launch("add_weights", (len(a),), _WARP, self._lines, *sent)
        return np.asarray(self._device.fetch(sums).sum(axis=1))

    def _index(self, a: Index, b: Index) -> tuple[Any, Any]:
        xp = self._device.xp
        return xp.asarray(a.astype(np.int32)), xp.asarray(b.astype(np.int32))

    def _multiply(self, a: Index, b: Index) -> Iterator[tuple[Any, Any]]:
        """Yield lines of the products s_a s_b, (w, n), and the mask of their words, as many as there is room for."""
        n_words, (first_lines, second_lines) = self._lines.shape[1], self._index(a, b)
        room = min(_MOST_HELD, self._device.free_bytes // 4)
        at_once = max(4, room // (4 * max(1, len(a))) // 4 * 4)
        for first in range(0, n_words, at_once):
            check_time()
            n = min(at_once, n_words - first)
            products = self._device.make((len(a), n), np.uint32)
            words = np.uint64(n_words), np.uint64(first), np.uint64(n)
            for k in range(0, len(a), 65535):  # as many rows as a grid may have
                some = slice(k, k + 65535)
                lines = first_lines[some], second_lines[some], products[some]
                self._device.launch("multiply", (-(-n // 64), len(lines[0])), 64, self._lines, *words, *lines)
            yield products, self._mask[first : first + n]


def count_lines(device: Device, lines: Any, mask: Any) -> NDArray[np.int32]:
    """Count common ones of all pairs of lines (n, n_words) where a mask has ones: (n, n)."""
    counts = device.make((len(lines), len(lines)), np.int32)
    add_counts(device, lines, mask, counts)
    return device.fetch(mirror(device, counts))


def add_counts(device: Device, lines: Any, mask: Any, counts: Any) -> None:
    """Add common ones of all pairs of lines to counts, their upper part."""
    n_lines, n_fours = len(lines), lines.shape[1] // 4
    if not n_lines:
        return
    n_tiles = -(-n_lines // _SIDE)
    # Runs of words are short enough for a warp on each to keep the device busy, but not shorter than a warp's read.
    n_runs = min(-(-n_fours // _WARP), max(1, min(_MOST_RUNS, 2 * device.n_full // n_tiles**2)))
    n_each = _WARP * -(-n_fours // (_WARP * n_runs))
    grid = (n_tiles, n_tiles, -(-n_fours // n_each))
    sizes = np.uint32(n_lines), np.uint64(n_fours), np.uint64(n_each)
    device.launch("count_pairs", grid, _WARP, lines, mask, *sizes, counts)


def count_each(device: Device, lines: Any, mask: Any) -> NDArray[np.int64]:
    """Count the ones of each line (n, n_words) where a mask has ones."""
    n_lines, n_words = lines.shape
    counts = device.make((n_lines,), np.int32)
    n_each = _WARP * max(16, -(-n_words * n_lines // (4 * device.n_full)))
    if n_lines:
        grid = (n_lines, -(-n_words // n_each))
        device.launch("count_ones", grid, _WARP, lines, mask, np.uint64(n_words), np.uint64(n_each), counts)
    return device.fetch(counts).astype(np.int64)


def mirror(device: Device, counts: Any) -> Any:
    """Return counts whose upper part is known, whole."""
    return counts + device.xp.triu(counts, 1).T
