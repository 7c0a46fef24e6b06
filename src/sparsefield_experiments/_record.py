"""What experiments leave behind: numbers with the command, commit and machine that made them, tables and pictures."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import polars as pl
import polars.selectors as cs
from matplotlib.figure import Figure

from sparsefield._writing import whole_file, write_text

_DPI = 110
_FORMAT = 1  # of the numbers: files of another form are as if they were not there


def _say_nothing(share: float) -> None:
    """Take note of how far an experiment is."""


@dataclass(frozen=True)
class Record:
    """Where an experiment writes, at which size it runs, and whom it tells how far it is.

    Parameters
    ----------
    folder : Path
        Where files go.
    command : str
        The command that runs it, for those who read the files.
    quick : bool
        Whether to run at a small size, for tests.
    tell : callable
        Called with the share that is done, from time to time.
    """

    folder: Path
    command: str
    quick: bool = False
    tell: Callable[[float], None] = _say_nothing

    def draw(self, figure: Figure, name: str) -> None:
        """Write a picture."""
        with whole_file(self.folder / f"{name}.png") as rough:
            figure.savefig(rough, dpi=_DPI, format="png")

    def tabulate(self, frame: pl.DataFrame, name: str) -> None:
        """Write a table."""
        rounded = frame.with_columns(cs.float().round_sig_figs(5))
        with whole_file(self.folder / f"{name}.csv") as rough:
            rounded.write_csv(rough)

    def state(self, numbers: dict[str, Any], name: str) -> None:
        """Write numbers, with what made them."""
        made_by = {"command": self.command, "quick": self.quick, "format": _FORMAT, **describe_machine()}
        write_text(self.folder / f"{name}.json", json.dumps({"made_by": made_by, **numbers}, indent=1) + "\n")


def read_numbers(folder: Path, name: str) -> dict[str, Any] | None:
    """Return the numbers that an experiment left, if it did, in the form that this version writes."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return numbers if numbers.get("made_by", {}).get("format") == _FORMAT else None


def describe_machine() -> dict[str, Any]:
    """Say on what, when and with which versions figures are made."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    features = llvm.get_host_cpu_features()
    sets = [name for name in ("sse4.2", "avx2", "avx512f", "avx512vpopcntdq") if features.get(name)]
    return {
        "date": datetime.date.today().isoformat(),
        "commit": _find_commit(),
        "processor": model,
        "llvm_name": llvm.get_host_cpu_name(),
        "instruction_sets": sets,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite", "sparsefield")},
    }


def _find_commit() -> str:
    """Return the commit of this package, marked where its code differs from it; nothing where it has no repository.

    Figures that an experiment or a benchmark has just written are not part of the package, and do not count.
    """
    package = Path(__file__).parents[1]

    def ask(*words: str) -> str:
        command = ["git", "-C", str(package), *words]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""

    # An installed copy may lie inside the repository of something else.
    if not ask("ls-files", "__init__.py"):
        return ""
    is_changed = ask("status", "--porcelain", "--", ".", ":(top)benchmarks/*.py")
    return ask("rev-parse", "--short", "HEAD") + ("-dirty" if is_changed else "")
