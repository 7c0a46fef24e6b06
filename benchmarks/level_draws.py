"""What exact draws of variables with several levels take, beside Gibbs sweeps: prints a table.

python benchmarks/level_draws.py
"""

from __future__ import annotations

import time

import numpy as np

from sparsefield import Domain, PairwiseMRF
from sparsefield.certificates import dobrushin
from sparsefield.inference import Chains, OutOfReachError, Perfect, Scan

N_DRAWS = 20_000
# Levels, neighbours, whether levels are ordered, and the standard deviation of interactions.
FIELDS = [
    (4, 3, False, 0.3),
    (4, 3, False, 0.5),
    (4, 6, False, 0.3),
    (4, 6, False, 0.4),
    (5, 3, True, 0.1),
    (5, 3, True, 0.2),
]


def make_field(n_levels: int, degree: int, is_ordered: bool, scale: float, p: int = 20, seed: int = 1) -> PairwiseMRF:
    """Make a random graph with so many neighbours on average, whose interactions are normal, or products of scores."""
    rng = np.random.default_rng(seed)
    domain = Domain(tuple(f"v{i}" for i in range(p)), (tuple(range(n_levels)),) * p, None)
    main, interactions = rng.normal(0, 0.5, domain.n_slots), np.zeros((domain.n_slots, domain.n_slots))
    pairs = np.array(np.triu_indices(p, 1)).T
    scores = np.arange(n_levels) - (n_levels - 1) / 2
    for i, j in rng.permutation(pairs)[: p * degree // 2]:
        block = rng.normal(0, scale, (n_levels, n_levels))
        if is_ordered:
            block = rng.normal(0, scale) * np.outer(scores, scores)
        block -= block.mean(axis=0)
        block -= block.mean(axis=1, keepdims=True)
        own, other = (slice(k * n_levels, (k + 1) * n_levels) for k in (i, j))
        interactions[own, other], interactions[other, own] = block, block.T
    return PairwiseMRF(domain, main, interactions)


def time_sweep(model: PairwiseMRF) -> float:
    """Return the microseconds of a plain sweep of one chain."""
    chains, scan = Chains(model.domain, 5120, seed=1, n_threads=1), Scan(model)
    found = []
    for _ in range(5):
        start = time.process_time()
        chains.sweep(scan, 10)
        found.append(time.process_time() - start)
    return min(found) / 10 / 5120 * 1e6


def main() -> None:
    """Print a row for each field."""
    columns = ["levels, neighbours", "influence radius", "bounds", "sweeps of a block", "sweeps per draw"]
    columns += ["microseconds per draw", "microseconds per Gibbs sweep"]
    print("| " + " | ".join(columns) + " |")
    print("|---|---|---|---|---|---|---|")
    for n_levels, degree, is_ordered, scale in FIELDS:
        model = make_field(n_levels, degree, is_ordered, scale)
        name = f"{n_levels}{' ordered' if is_ordered else ''}, {degree} neighbours"
        row = [name, f"{dobrushin(model, 1).radius:.1f}", Scan(model, n_planes=3).form]
        try:
            Perfect(512, seed=2, max_sweeps=2000, n_threads=1).draw(model)  # compiles
            start = time.process_time()
            _, run = Perfect(N_DRAWS, seed=1, max_sweeps=2000, n_threads=1).draw(model)
            each = (time.process_time() - start) / N_DRAWS * 1e6
            row += [f"{run.block_length}", f"{run.sweeps_per_draw:.0f}", f"{each:.1f}", f"{time_sweep(model):.2f}"]
        except OutOfReachError:
            row += ["refused", "", "", f"{time_sweep(model):.2f}"]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
