"""Other ways to run the same Gibbs sampler: tuned numpy, a jax scan, and thrml.

Each has the same interface: `one_sweep` updates every variable of every chain once, `means` are those of the chains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import saxpy

from sparsefield import PairwiseMRF

MOST_COLORS = 24


class Sampler(Protocol):
    def one_sweep(self) -> Any: ...

    def sweep(self, n: int) -> None: ...

    def means(self) -> NDArray[Any]: ...


class NumpyGibbs:
    """Float32 chains side by side, one row a variable; no array is allocated in a sweep.

    Fields come from one BLAS call where most variables are neighbours and from one axpy a neighbour elsewhere; the
    logistic function is spelt out without a division; random numbers are the raw words of the fastest generator that
    numpy has.
    """

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        self.source = np.random.SFC64(1)
        p = model.domain.n_variables
        self.states = (np.random.default_rng(0).random((p, n_chains)) < 0.5).astype(np.float32)
        self.main = -model.main.astype(np.float32)
        self.rows = -model.interactions.astype(np.float32)
        self.neighbours = [np.flatnonzero(row) for row in self.rows]
        self.weights = [[float(row[k]) for k in own] for row, own in zip(self.rows, self.neighbours, strict=True)]
        self.dense = np.count_nonzero(self.rows) > 0.3 * p * p
        self.field = np.empty(n_chains, dtype=np.float32)
        self.uniform = np.empty(n_chains, dtype=np.float32)
        self.bits = np.empty(n_chains, dtype=bool)

    def one_sweep(self) -> None:
        states, field, uniform, bits = self.states, self.field, self.uniform, self.bits
        n = len(field)
        limit = np.float32(2.0**32)
        for i in range(len(states)):
            if self.dense:
                np.dot(self.rows[i], states, out=field)
                field += self.main[i]
            else:
                field.fill(self.main[i])
                for k, weight in zip(self.neighbours[i], self.weights[i], strict=True):
                    saxpy(states[k], field, a=weight)
            np.exp(field, out=field)
            uniform[:] = self.source.random_raw((n + 1) // 2).view(np.uint32)[:n]
            field += np.float32(1)
            field *= uniform
            np.less(field, limit, out=bits)
            states[i] = bits

    def sweep(self, n: int) -> None:
        for _ in range(n):
            self.one_sweep()

    def means(self) -> NDArray[Any]:
        return np.asarray(self.states.mean(axis=1))


class JaxScan:
    """A compiled `lax.scan` over the variables, all chains at once."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        import jax
        import jax.numpy as jnp

        rows = jnp.asarray(model.interactions, dtype=jnp.float32)
        main = jnp.asarray(model.main, dtype=jnp.float32)
        p = len(main)

        def update(carry: Any, i: Any) -> Any:
            states, key = carry
            key, own = jax.random.split(key)
            field = main[i] + rows[i] @ states
            new = (jax.random.uniform(own, (n_chains,)) * (1 + jnp.exp(-field)) < 1).astype(jnp.float32)
            return (states.at[i].set(new), key), None

        def sweep(states: Any, key: Any) -> Any:
            return jax.lax.scan(update, (states, key), jnp.arange(p))[0]

        self._sweep = jax.jit(sweep, donate_argnums=0)
        self.states = jnp.zeros((p, n_chains), dtype=jnp.float32)
        self.key = jax.random.key(0)

    def one_sweep(self) -> None:
        self.states, self.key = self._sweep(self.states, self.key)
        self.states.block_until_ready()

    def sweep(self, n: int) -> None:
        for _ in range(n):
            self.one_sweep()

    def means(self) -> NDArray[Any]:
        return np.asarray(self.states.mean(axis=1))


class ThrmlBlocks:
    """Block Gibbs of thrml: variables of one colour, which are not neighbours, are updated together."""

    def __init__(self, model: PairwiseMRF, n_chains: int) -> None:
        import jax
        import jax.numpy as jnp
        from thrml import Block, SpinNode, sample_blocks
        from thrml.models import IsingEBM, IsingSamplingProgram

        fields, couplings = model.as_spins()
        nodes = [SpinNode() for _ in fields]
        graph = nx.from_numpy_array(couplings != 0)
        colors = nx.greedy_color(graph)
        n_colors = max(colors.values()) + 1
        if n_colors > MOST_COLORS:
            raise NotImplementedError(f"{n_colors} colours, each compiled on its own, would take minutes to compile")
        self.members = [[i for i in range(len(nodes)) if colors[i] == c] for c in range(n_colors)]
        edges = [(nodes[i], nodes[j]) for i, j in graph.edges]
        weights = jnp.asarray([couplings[i, j] for i, j in graph.edges], dtype=jnp.float32)
        ebm = IsingEBM(nodes, edges, jnp.asarray(fields, dtype=jnp.float32), weights, jnp.array(1.0))
        blocks = [Block([nodes[i] for i in own]) for own in self.members]
        program = IsingSamplingProgram(ebm, blocks, [])

        def sweep(key: Any, states: Any) -> Any:
            samplers = [sampler.init() for sampler in program.samplers]
            return sample_blocks(key, list(states), [], program, samplers)[0]

        self._sweep = jax.jit(jax.vmap(sweep))
        self._split = jax.jit(lambda key: jax.random.split(key, n_chains + 1))
        self.states = [jnp.zeros((n_chains, len(own)), dtype=jnp.bool_) for own in self.members]
        self.key = jax.random.key(0)

    def one_sweep(self) -> None:
        keys = self._split(self.key)
        self.key = keys[0]
        self.states = self._sweep(keys[1:], self.states)
        self.states[0].block_until_ready()

    def sweep(self, n: int) -> None:
        for _ in range(n):
            self.one_sweep()

    def means(self) -> NDArray[Any]:
        means = np.empty(sum(len(own) for own in self.members))
        for own, states in zip(self.members, self.states, strict=True):
            means[own] = np.asarray(states).mean(axis=0)
        return means


PEERS: dict[str, Callable[[PairwiseMRF, int], Sampler]] = {"jax scan": JaxScan, "thrml": ThrmlBlocks}
