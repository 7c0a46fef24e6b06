"""What limits each kernel of a GPU, by the counters that Nsight Compute reads; nothing where it is not installed."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from typing import Any

PROFILED = "limits"
METRICS = {
    "issue slots": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "logic and whole numbers (ALU)": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "floats (FMA)": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "population counts and conversions (XU)": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "tensor cores": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "first cache": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "memory": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
}
# What is profiled: a process of its own draws, counts and weighs once.
CODE = """
import numpy as np
from gpu import make_ring
from sparsefield.inference import Cuda
backend = Cuda()
for p, n in ((100, 2**22), (100, 2**18)):
    model = make_ring(p, 6)
    chains = backend.chains(model.domain, n, seed=1)
    chains.sweep(backend.prepare(model), 20)
    bounds = backend.bounding_chains(model.domain, n, seed=1)
    bounds.sweep(backend.prepare(model, n_planes=2), 20)
model = make_ring(1000, 999)
chains = backend.chains(model.domain, 2**18, seed=1)
chains.sweep(backend.prepare(model), 2)
model = make_ring(1000, 6)
chains, _ = backend.draw(model, 2**18, seed=1, max_sweeps=1000)
chains.moments()
a, b = np.triu_indices(1000)
chains.draws().along_some(np.ones(2000), a[:2000], b[:2000])
"""


def profile() -> list[dict[str, Any]]:
    """Return how busy each part of the GPU is while a kernel runs, in percent of what it can do."""
    tool = shutil.which("ncu")
    if tool is None:
        return []
    words = [tool, "--clock-control", "none", "--csv", "--metrics", ",".join(METRICS.values())]
    words += ["-k", "regex:sweep|count_pairs|settle|add_along"]
    ran = subprocess.run(
        [*words, sys.executable, "-c", CODE], capture_output=True, text=True, cwd="benchmarks", check=False
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith('"')]
    if not lines:
        print("ncu said nothing:", ran.stdout[-500:], ran.stderr[-500:])
        return []
    kernels: dict[str, dict[str, Any]] = {}
    names = {metric: name for name, metric in METRICS.items()}
    for row in csv.DictReader(lines):
        own = kernels.setdefault(f"{row['ID']}", {"kernel": row["Kernel Name"], "grid": row["Grid Size"]})
        if row["Metric Name"] in names:
            own[names[row["Metric Name"]]] = float(row["Metric Value"].replace(",", "") or "nan")
    # Of kernels that were started often, the one that was busiest.
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for own in kernels.values():
        key = own["kernel"], own["grid"]
        if key not in best or own.get("issue slots", 0) > best[key].get("issue slots", 0):
            best[key] = own
    return list(best.values())
