"""Times as the best of rounds that take turns, and what they were measured on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparsefield_experiments import describe_machine

ROUNDS, FEW_ROUNDS = 25, 5


def best_times(
    actions: dict[str, Callable[[], Any]], seconds: float = 0.15, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Time all actions in turn, several rounds; return the best seconds a call of each, by some clock."""
    repeats = {}
    for name, action in actions.items():
        action()
        start = clock()
        action()
        repeats[name] = max(1, int(seconds / max(1e-9, clock() - start)))
    best = dict.fromkeys(actions, np.inf)
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = clock()
            for _ in range(repeats[name]):
                action()
            best[name] = min(best[name], (clock() - start) / repeats[name])
    return best


def best_time(action: Callable[[], Any], rounds: int = FEW_ROUNDS) -> float:
    """Return the seconds of the fastest of some calls, the first of which does not count."""
    action()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def name_machine() -> str:
    """Name the processor in a line."""
    machine = describe_machine()
    return f"{machine['processor']} ({machine['llvm_name']}; {', '.join(machine['instruction_sets'])})"


def store(figures: dict[str, Any], path: Path) -> None:
    """Write figures to a file, with the machine, commit and versions that made them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": describe_machine(), **figures}, indent=1) + "\n")


def find_peak() -> int:
    """Return the most memory that this process has had; getrusage would count what its parent had before it began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
