"""The command that says how sure every pair of variables is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain, plain_errors, quiet_warnings
from sparsefield.cli._files import beside, check_tables, check_writable, write_table
from sparsefield.cli._pairs import as_numbers, describe_sampling, find_pairs, say_interval
from sparsefield.cli._signature import spread
from sparsefield.cli._tables import Reading, Sampling

if TYPE_CHECKING:  # the command imports these when it runs: its help need not wait for them
    from sparsefield.pairs import Inference

_SUREST = 12  # edges to print
_EXCUSES = 3  # of pairs of which nothing can be told


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:  # said here, where the library calls it the level
        raise typer.BadParameter("use a number between 0 and 1, such as 0.95.")
    return confidence


@app.command()
@spread
def infer(
    data: options.Data,
    *,
    pair: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Two variables: say what the rows tell of them (more than once if need be)."),
    ] = None,
    fdr: Annotated[
        float, typer.Option(help="Which share of the edges may be false in the mean: the false discovery rate.")
    ] = 0.1,
    rate: Annotated[
        str,
        typer.Option(
            help="Which rate: bh (Benjamini and Hochberg), by (the same under any dependence) or holm (the probability "
            "of any false edge)."
        ),
    ] = "bh",
    confidence: Annotated[
        float, typer.Option(callback=_check_confidence, help="Probability with which an interval holds the weight.")
    ] = 0.95,
    missing: options.Missing = "model",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write all pairs (.csv, .tsv or .parquet); beside the data else."),
    ] = None,
    strengths: Annotated[
        Path | None,
        typer.Option(help="Also write how strongly each variable is connected, with intervals (.csv, .tsv, .parquet)."),
    ] = None,
    differences: Annotated[
        Path | None, typer.Option(help="Also compare the weights of edges, two by two (.csv, .tsv or .parquet).")
    ] = None,
    sampling: Sampling,
    reading: Reading,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Say how sure every pair of variables is: an estimate, an interval, and whether it is an edge."""
    out = Output(quiet=quiet, as_json=json)
    output = beside(data, ".pairs.csv") if output is None else output
    tables = [file for file in (output, strengths, differences) if file is not None]
    check_writable(*tables, inputs=(data,))
    check_tables(*tables)
    rows = reading.load(data, out, missing, sampling, is_survey=not sampling.frequency)
    clock = time.perf_counter()
    with plain_errors(data), quiet_warnings(out):
        from sparsefield.cli._columns import split_pair  # polars takes a moment to import

        asked = [split_pair(words, rows.table.domain.names) for words in pair or []]
        how: dict[str, Any] = {"fdr": fdr, "rate": rate, "level": confidence, "missing": missing, "n_threads": threads}
        found = find_pairs(rows, out, sampling, reading.weight, **how)
        write_table(found.table, output)
    with plain_errors(kept=output), quiet_warnings(out):
        if strengths is not None:
            write_table(found.nodes, strengths)
        if differences is not None:
            write_table(found.differences(), differences)
    seconds = time.perf_counter() - clock
    for sentence in describe_sampling(found, sampling, reading.weight):
        out.say(sentence)
    _tell(out, found, output)
    for sentence in _describe_pairs(found, asked):
        out.say(sentence)
    out.say(f"{_count_pairs(found)}; {seconds:.1f} s.")
    out.say("Written: " + ", ".join(str(file) for file in tables))
    out.give(
        {
            **as_numbers(found),
            "n_rows": found.n_rows,
            "n_variables": found.domain.n_variables,
            "weights": None if reading.weight is None else "counts" if sampling.frequency else "survey",
            "edges": found.edges.to_dicts(),
            "pairs": [_as_numbers(found, *names) for names in asked],
            "seconds": seconds,
            "files": [str(file) for file in tables],
        }
    )


def _tell(out: Output, found: Inference, output: Path) -> None:
    """Print the surest edges, and what their numbers are."""
    from sparsefield.data import count

    out.say(found.sentence)
    edges = found.edges.select("first", "second").rows()
    if not edges:
        return
    grid = Grid("", "", title="Surest edges", title_justify="left")
    for name in ("weight", f"{100 * found.level:.6g}% interval", "q"):
        grid.add_column(name, justify="right")
    for first, second in edges[:_SUREST]:
        grid.add_row(plain(first), plain(second), *say_interval(found, first, second))
    out.say(grid)
    n_more = len(edges) - _SUREST
    if n_more > 0:
        out.say(f"{count(n_more, 'more edge')} {'is' if n_more == 1 else 'are'} in {str(output)!r}.")
    least = "probability of any false edge" if found.rate == "holm" else "false discovery rate"
    out.say(f"q is the least {least} at which a pair is an edge.")


def _describe_pairs(found: Inference, asked: list[tuple[str, str]]) -> list[str]:
    """Describe the pairs that are asked for, else one without an edge; and some of which nothing can be told."""
    sentences = [found.describe(*names) for names in asked]
    others = found.table.filter(verdict="none found").select("first", "second").rows()
    if others and not asked:
        sentence = found.describe(*others[len(others) // 2])
        sentences.append(f"Of pairs without an edge, for example: {sentence[0].lower()}{sentence[1:]}")
    excuses: dict[str, str] = {}
    for names in found.table.filter(verdict="cannot be told").select("first", "second").iter_rows():
        sentence = found.describe(*names)
        excuses.setdefault(sentence.rpartition(": ")[2], sentence)
        if len(excuses) == _EXCUSES:
            break
    return [*sentences, *(sentence for sentence in excuses.values() if sentence not in sentences)]


def _count_pairs(found: Inference) -> str:
    from sparsefield.data import count

    return count(len(found.pairs), "pair")


def _as_numbers(found: Inference, first: str, second: str) -> dict[str, Any]:
    """Return what programs want to know of a pair."""
    rows = found.table.iter_rows(named=True)
    row = next(row for row in rows if {row["first"], row["second"]} == {first, second})
    return {**row, "sentence": found.describe(first, second)}
