"""The tables of `machines.py` as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measure import name_machine
from model_of_machines import Costs, Field, count_step, find_least_draws, time_here

NETWORK = 1.25e9  # bytes a second of 10-gigabit Ethernet: an assumption
WORKERS = (2, 10, 100, 1000)
THREADS = 16  # of the one machine beside which workers are put on paper: an assumption
MANY = (2**22, 2**25, 2**28)


def _lay_out(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = [f"{value:.2g}" if isinstance(value, float) else str(value) for value in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _say_draws(n: int | None) -> str:
    return "never" if n is None else f"{n:,}"


def _measured(rows: Sequence[dict[str, Any]]) -> str:
    return _lay_out(list(rows[0]), [list(row.values()) for row in rows])


def _pays(costs: Costs, fields: Sequence[Field]) -> str:
    network = costs.with_network(NETWORK)
    rows = []
    for field in fields:
        here = _say_draws(find_least_draws(costs, field, 2, 1))
        far = [_say_draws(find_least_draws(network, field, n, 1)) for n in WORKERS]
        more = [_say_draws(find_least_draws(network, field, n, THREADS)) for n in WORKERS if n > THREADS]
        rows.append([field.n_variables, here, *far, *more])
    heads = [
        "variables",
        "2 workers here, 1 thread",
        *(f"{n} workers, 1 thread" for n in WORKERS),
        *(f"{n} workers, {THREADS} threads" for n in WORKERS if n > THREADS),
    ]
    return _lay_out(heads, rows)


def _on_paper(costs: Costs, fields: Sequence[Field]) -> str:
    network, rows = costs.with_network(NETWORK), []
    for field in fields:
        for n in MANY:
            parts = count_step(network, field, n, WORKERS[-1])
            total = sum(parts.values())
            one, many = time_here(field, n, 1), time_here(field, n, THREADS)
            rows.append([field.n_variables, f"{n:,}", one, many, total, *parts.values(), one / total])
    heads = [
        *("variables", "draws", "1 thread, s", f"{THREADS} threads, s", f"{WORKERS[-1]} workers, s"),
        *("of it tasks", "draws", "bytes", "times faster than 1 thread"),
    ]
    return _lay_out(heads, rows)


def write_tables(costs: Costs, fields: Sequence[Field], rows: Sequence[dict[str, Any]], fit: dict[str, Any]) -> str:
    """Return all tables as a page."""
    ratios = [row["2 workers"] / row["2 workers by the model"] for row in rows]
    blocks = [
        [f.n_variables, 1e3 * f.seconds_per_block, 1e3 * f.seconds_before, f.bytes_of_field, f.bytes_of_counts]
        for f in fields
    ]
    return "\n".join(
        [
            "# From which size draws on several machines pay\n",
            f"Made by `make bench-machines` on {name_machine()}; versions and commit are in machines.json.\n",
            f"A task that does nothing takes {1e3 * costs.seconds_per_trip:.2g} ms from asking to its result, and "
            f"{1e3 * costs.seconds_per_task:.2g} ms more for each further one of many. Workers on this machine send "
            f"{costs.bytes_per_second / 1e9:.2g} GB a second. A step is exact draws, their moments, and their values "
            "along a move. For each 512 draws it takes, on one thread:\n",
            _lay_out(["variables", "ms a block", "ms before", "bytes of the field", "bytes of counts"], blocks),
            "\n## Measured\n",
            "Seconds of a step, the best of five, and what the model says of two workers:\n",
            _measured(rows),
            f"\nMeasured times are {min(ratios):.2g} to {max(ratios):.2g} of what the model says. Two workers and the "
            "process that asks them share the processors of this machine.\n",
            f"A fit with {fit['variables']} variables ({fit['steps']} steps, {fit['draws at the end']} draws at the "
            f"end) takes {fit['1 thread']:.2g} s on one thread, {fit['2 threads']:.2g} s on two, and "
            f"{fit['2 workers']:.2g} s on two workers, with the same bits.\n",
            "## From which number of draws it pays\n",
            f"Least powers of two at which a step takes less time on workers of one thread each than on one machine. "
            f"The network carries {NETWORK / 1e9:.3g} GB a second (10-gigabit Ethernet, an assumption), but for two "
            "workers here. Threads of one machine are taken to share the work evenly.\n",
            _pays(costs, fields),
            f"\n## {WORKERS[-1]:,} workers, on paper\n",
            "Seconds of a step by the model, and where they go:\n",
            _on_paper(costs, fields),
            "",
        ]
    )
