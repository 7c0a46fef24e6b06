"""Times as the best of rounds that take turns, and what they were measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

ROUNDS = 25


def best_times(actions: dict[str, Callable[[], Any]], seconds: float = 0.15) -> dict[str, float]:
    """Time all actions in turn, several rounds; return the best seconds a call of each."""
    repeats = {}
    for name, action in actions.items():
        action()
        start = time.perf_counter()
        action()
        repeats[name] = max(1, int(seconds / max(1e-9, time.perf_counter() - start)))
    best = dict.fromkeys(actions, np.inf)
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                action()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return best


def describe_machine() -> dict[str, Any]:
    """Say what the figures were measured on."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    features = llvm.get_host_cpu_features()
    sets = [name for name in ("sse4.2", "avx2", "avx512f", "avx512vpopcntdq") if features.get(name)]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "processor": model,
        "llvm_name": llvm.get_host_cpu_name(),
        "instruction_sets": sets,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite", "sparsefield")},
    }


def name_machine() -> str:
    """Name the processor in a line."""
    machine = describe_machine()
    return f"{machine['processor']} ({machine['llvm_name']}; {', '.join(machine['instruction_sets'])})"


def store(figures: dict[str, Any], path: Path) -> None:
    """Write figures to a file, with the machine, commit and versions that made them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": describe_machine(), **figures}, indent=1) + "\n")
