"""A GPU behind the same interface as the processors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import MISSING, Domain
from sparsefield.inference._backend import Bounds, ChainStates, Cpu
from sparsefield.inference._checks import check_two_levels
from sparsefield.inference._field import Field
from sparsefield.inference.chains._blocks import CONTINUED, SWEEPS
from sparsefield.inference.exact_draws._perfect import PerfectRun
from sparsefield.inference.gpu._chains import DeviceBounds, DeviceChains
from sparsefield.inference.gpu._coupled import draw_exactly
from sparsefield.inference.gpu._device import Device, find_gpu, guard_memory, has_gpu
from sparsefield.inference.gpu._missing import DeviceCoupling
from sparsefield.inference.gpu._scan import DeviceScan
from sparsefield.inference.missing._missing import ClampedRun, fill_exactly

FEWEST_VARIABLES = 32  # of fields that `Auto` gives to a GPU


def check_levels(domain: Domain) -> None:
    """Refuse variables whose draws a GPU does not make."""
    check_two_levels(domain, "draws on a GPU", " Use device='cpu' or 'auto'.")


@guard_memory
class Cuda(Cpu):
    """A GPU, by CuPy: chains, bounds and exact draws of variables with at most two levels.

    States, random numbers and draws stay on the GPU; counts, matrices of working sets, and eight bytes a draw for
    values along a step, come back. A seed gives the same states whatever the GPU, but not those of `Cpu`, which has
    other random numbers. Enumerations and pilot runs are done by this machine's processors. `docs/guide/gpu.md` says
    from which size a GPU pays.

    Parameters
    ----------
    n_threads : int, optional
        Threads of this machine, for what it does itself.

    Examples
    --------
    >>> import sparsefield as sf
    >>> fit = sf.learn(table, 0.02, device=sf.inference.Cuda())  # doctest: +SKIP
    """

    def __init__(self, n_threads: int | None = None) -> None:
        super().__init__(n_threads)

    @property
    def _device(self) -> Device:
        return find_gpu()

    def prepare(self, field: Field, *, n_planes: int = 1, order: Sequence[int] | None = None) -> Any:
        """Make a field ready for sweeps."""
        if not self._takes(field.domain):
            return super().prepare(field, n_planes=n_planes, order=order)
        return DeviceScan(self._device, field, n_planes=n_planes, order=order)

    def chains(self, domain: Domain, n_chains: int, *, seed: int) -> ChainStates:
        """Return chains that start at independent uniform levels."""
        if not self._takes(domain):
            return super().chains(domain, n_chains, seed=seed)
        return DeviceChains.start(self._device, domain, n_chains, seed=seed)

    def clamped_chains(self, domain: Domain, codes: NDArray[np.uint8], *, seed: int) -> Any:
        """Return a chain for each row of codes, whose sweeps update missing values alone."""
        if not self._takes(domain):
            return super().clamped_chains(domain, codes, seed=seed)
        uniform = np.random.default_rng(seed).integers(0, domain.n_levels, codes.shape)
        filled = np.where(codes == MISSING, uniform, codes).astype(np.uint8)
        return DeviceChains.clamped(self._device, domain, codes, filled, seed=seed, use=SWEEPS)

    def bounding_chains(self, domain: Domain, n_chains: int, *, seed: int) -> Bounds:
        """Return bounds on chains from all starts."""
        if not self._takes(domain):
            return super().bounding_chains(domain, n_chains, seed=seed)
        return DeviceBounds.start(self._device, domain, n_chains, seed=seed)

    def draw(
        self, field: Field, n_draws: int, *, seed: int, max_sweeps: int, order: Sequence[int] | None = None
    ) -> tuple[ChainStates, PerfectRun]:
        """Return chains that stand at exact draws, and what these took."""
        how: dict[str, Any] = {"seed": seed, "max_sweeps": max_sweeps, "order": order}
        if not self._takes(field.domain):
            return super().draw(field, n_draws, **how)
        return draw_exactly(self._device, field, n_draws, **how)

    def clamped_draw(
        self, field: Field, codes: NDArray[np.uint8], *, seed: int, max_sweeps: int
    ) -> tuple[Any, ClampedRun]:
        """Return chains whose missing values are exact draws given the observed cells, and what these took."""
        how: dict[str, Any] = {"seed": seed, "max_sweeps": max_sweeps}
        if not self._takes(field.domain):
            return super().clamped_draw(field, codes, **how)
        couple = partial(DeviceCoupling, device=self._device)
        filled, run = fill_exactly(field, codes, **how, n_threads=self.n_threads, couple=couple)
        return DeviceChains.clamped(self._device, field.domain, codes, filled, seed=seed, use=CONTINUED), run

    def _takes(self, domain: Domain) -> bool:
        """Say whether draws of a domain are made on the GPU; they are, or it is refused."""
        check_levels(domain)
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_threads={self.n_threads})"


class Auto(Cuda):
    """A GPU where there is one and it pays; this machine's processors for other fields.

    A GPU takes fields of at most two levels and at least 32 variables: smaller ones are swept by a processor in less
    time than it takes to ask a GPU, or enumerated. The choice depends on the variables alone, so that one fit has one
    machine.

    Parameters
    ----------
    n_threads : int, optional
        Threads of this machine.
    """

    def _takes(self, domain: Domain) -> bool:
        """Say whether draws of a domain are made on the GPU."""
        return domain.n_variables >= FEWEST_VARIABLES and bool(np.all(domain.n_levels <= 2)) and has_gpu()
