"""Chains, bounds and exact draws spread over the workers of a dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

from sparsefield._kernels._bytes import BLOCK
from sparsefield.data import Domain
from sparsefield.inference._backend import Cpu
from sparsefield.inference._checks import check_bounded, check_request
from sparsefield.inference._field import Field
from sparsefield.inference.cluster import _tasks as tasks
from sparsefield.inference.cluster._chains import ClusterBounds, ClusterChains, ClusterScan
from sparsefield.inference.cluster._tasks import ONE, SentField
from sparsefield.inference.cluster._workers import Workers
from sparsefield.inference.exact_draws._perfect import Perfect, PerfectRun


class Cluster(Cpu):
    """The workers of a dask cluster: each makes blocks of 512 chains with random numbers of their own.

    Results have the same bits as those of `Cpu`, whatever the number of workers, where all machines have the same
    versions of numpy, numba and this package, and processors of one kind. Draws stay with the workers; whole-number
    counts, and eight bytes a draw for values along a step, come back. Where a worker is lost, its blocks are made again
    by another one.

    The pilot run of exact draws, enumerations, and everything that is given the observed cells of rows with missing
    values (`clamped_chains`, `clamped_draw`, `clamped_products`, `clamped_variances`) is done by this machine.
    `docs/guide/machines.md` says from which size workers pay.

    Parameters
    ----------
    client : distributed.Client, optional
        The client; the one that this process has made last unless given. It is looked for when draws are asked for.
    n_threads : int, optional
        Threads of this machine, for what it does itself. A worker does as many tasks at a time as it has threads.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> backend = sf.inference.Cluster(Client("scheduler-address:8786"))  # doctest: +SKIP
    >>> fit = sf.learn(table, 0.02, backend=backend)  # doctest: +SKIP
    """

    def __init__(self, client: Any = None, *, n_threads: int | None = None) -> None:
        super().__init__(n_threads)
        object.__setattr__(self, "_made", None if client is None else Workers(client))

    @property
    def _workers(self) -> Workers:
        made: Workers = self._made or Workers()
        object.__setattr__(self, "_made", made)
        return made

    _made: Workers | None

    def prepare(self, field: Field, *, n_planes: int = 1, order: Sequence[int] | None = None) -> ClusterScan:
        """Make a field ready for sweeps."""
        return ClusterScan(field, self._workers, n_planes=n_planes, order=order)

    def chains(self, domain: Domain, n_chains: int, *, seed: int) -> ClusterChains:
        """Return chains that start at independent uniform levels."""
        return ClusterChains(domain, n_chains, *self._make(tasks.make_chains, domain, n_chains, seed))

    def bounding_chains(self, domain: Domain, n_chains: int, *, seed: int) -> ClusterBounds:
        """Return bounds on chains from all starts."""
        check_bounded(domain, "bounds of chains")
        return ClusterBounds(domain, n_chains, *self._make(tasks.make_bounds, domain, n_chains, seed))

    def _make(self, make: Any, domain: Domain, n_chains: int, seed: int) -> tuple[Workers, list[Any], Any]:
        """Have each thread of the workers make a run of blocks; return workers, runs, and where these begin."""
        check_request(n_chains, seed)
        workers = self._workers
        cuts = workers.cut(-(-n_chains // BLOCK))
        return workers, workers.call_each(make, list(pairwise(cuts.tolist())), domain, n_chains, seed), cuts

    def draw(
        self, field: Field, n_draws: int, *, seed: int, max_sweeps: int, order: Sequence[int] | None = None
    ) -> tuple[ClusterChains, PerfectRun]:
        """Return chains that stand at exact draws, and what these took."""
        kept = None if order is None else tuple(order)
        wanted = Perfect(n_draws, seed, order=kept, max_sweeps=max_sweeps, n_threads=ONE)
        length, n_pilot = wanted.choose_length(field)
        workers = self._workers
        cuts = workers.cut(wanted.n_blocks)
        sent = workers.send(SentField.of(field))
        parts = workers.call_each(tasks.draw, list(pairwise(cuts.tolist())), wanted, sent, length)
        run = workers.add_up(workers.call_each(tasks.describe_run, parts), parts)
        chains = ClusterChains(field.domain, n_draws, workers, parts, wanted.cuts[cuts], run.counts)
        return chains, wanted.describe(length, n_pilot, run.n_run, run.n_met)

    def __repr__(self) -> str:
        return f"Cluster(n_threads={self.n_threads})"

    def __deepcopy__(self, _: Any) -> Self:
        return self  # estimators are cloned with what they were given, and there is one client

    def __reduce__(self) -> tuple[Any, ...]:
        return _find_cluster, (self.n_threads,)


def _find_cluster(n_threads: int | None) -> Cluster:
    """Return the cluster of a process that a backend has been sent to or kept for: that of its own client."""
    return Cluster(n_threads=n_threads)
