"""The command that says how sure every pair of variables is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from sparsefield.cli import _options as options
from sparsefield.cli._app import Output, app, plain, plain_errors, quiet_warnings
from sparsefield.cli._files import beside, check_tables, check_writable, write_table
from sparsefield.cli._help import Command
from sparsefield.cli._pairs import as_numbers, describe_sampling, explain_q, find_pairs, say_interval
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


@dataclass(frozen=True)
class _Files:
    """What is written."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the table of all pairs (.csv, .tsv or .parquet); beside the data unless given.",
        ),
    ] = None
    strengths: Annotated[
        Path | None,
        typer.Option(
            help="Also write how strongly each variable is connected to all others, with intervals (.csv, .tsv or "
            ".parquet)."
        ),
    ] = None
    differences: Annotated[
        Path | None,
        typer.Option(
            help="Also write which edges differ in weight: a test for each two edges (.csv, .tsv or .parquet)."
        ),
    ] = None

    def check(self, data: Path) -> list[Path]:
        """Return the files, and refuse what cannot be written."""
        given = (self.output or beside(data, ".pairs.csv"), self.strengths, self.differences)
        files = [file for file in given if file is not None]
        check_writable(*files, inputs=(data,))
        check_tables(*files)
        return files


@app.command(cls=Command)
@spread
def infer(
    data: options.Data,
    *,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help="Two variables: also say in a sentence what the rows tell of them. May be repeated."
        ),
    ] = None,
    fdr: Annotated[
        float,
        typer.Option(
            help="The false discovery rate: which share of the edges may be false, in the mean. 0.1 is one in ten."
        ),
    ] = 0.1,
    rate: Annotated[
        str,
        typer.Option(
            help="What --fdr limits: bh, the share of false edges (Benjamini and Hochberg); by, the same however pairs "
            "depend on each other (Benjamini and Yekutieli), which finds fewer; or holm, the probability that there is "
            "any false edge (Holm)."
        ),
    ] = "bh",
    confidence: Annotated[
        float,
        typer.Option(callback=_check_confidence, help="How often an interval holds the true weight; 0.95 is 95%."),
    ] = 0.95,
    missing: options.Missing = "model",
    files: _Files,
    sampling: Sampling,
    reading: Reading,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Say how sure each edge is: for every pair of variables an estimate, an interval, and a test.

    The estimate is the weight of the pair given all other variables: with two levels each, a log odds ratio.

    The interval says between which limits the weight is: other rows (persons, say) would have given other estimates.

    Pairs are edges where their q-value is at most --fdr, so that few edges are false.

    Where no edge is found, a sentence says how large a weight these rows would have shown.
    """
    out = Output(quiet=quiet, as_json=json)
    tables = files.check(data)
    rows = reading.load(data, out, missing, sampling)
    clock = time.perf_counter()
    with plain_errors(data), quiet_warnings(out):
        from sparsefield.cli._columns import split_pair

        asked = [split_pair(words, rows.table.domain.names) for words in pair or []]
        how: dict[str, Any] = {"fdr": fdr, "rate": rate, "level": confidence, "missing": missing, "n_threads": threads}
        found = find_pairs(rows, out, sampling, reading.weight, **how)
        write_table(found.table, tables[0])
    with plain_errors(kept=tables[0]), quiet_warnings(out):
        if files.strengths is not None:
            write_table(found.nodes, files.strengths)
        if files.differences is not None:
            write_table(found.differences(), files.differences)
    seconds = time.perf_counter() - clock
    for sentence in describe_sampling(found, rows, sampling, reading.weight):
        out.say(sentence)
    _tell(out, found, asked, tables[0], seconds)
    out.say("Written: " + ", ".join(str(file) for file in tables))
    weights = "counts" if rows.are_counts else "survey"
    out.give(
        {
            **as_numbers(found),
            "n_rows": found.n_rows,
            "n_variables": found.domain.n_variables,
            "weights": None if reading.weight is None else weights,
            "edges": found.edges.to_dicts(),
            "pairs": [_as_numbers(found, *names) for names in asked],
            "seconds": seconds,
            "files": [str(file) for file in tables],
        }
    )


def _tell(out: Output, found: Inference, asked: list[tuple[str, str]], output: Path, seconds: float) -> None:
    """Say how many edges there are, print the surest, and describe pairs."""
    from sparsefield.data import count

    out.say(found.sentence)
    if found.n_edges:
        out.say(_make_grid(found))
        n_more = found.n_edges - _SUREST
        if n_more > 0:
            out.say(f"{count(n_more, 'more edge')} {'is' if n_more == 1 else 'are'} in {str(output)!r}.")
        out.say(explain_q(found))
    for sentence in _describe_pairs(found, asked):
        out.say(sentence)
    out.say(f"{count(len(found.pairs), 'pair')}; {seconds:.1f} s.")


def _make_grid(found: Inference) -> Grid:
    """Show the surest edges."""
    from sparsefield.model import has_sign
    from sparsefield.pairs import as_level

    grid = Grid("", "", title="Surest edges", title_justify="left")
    for name in ("estimate", f"{as_level(found.level)} interval", "q"):
        grid.add_column(name, justify="right")
    is_signed, index = has_sign(found.domain), found.domain.index_of
    for row in found.edges.head(_SUREST).to_dicts():
        names = row["first"], row["second"]
        form = "+.2f" if is_signed[index(names[0]), index(names[1])] else ".2f"
        grid.add_row(*map(plain, names), *say_interval(row, form))
    return grid


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


def _as_numbers(found: Inference, first: str, second: str) -> dict[str, Any]:
    """Return what programs want to know of a pair."""
    rows = found.table.iter_rows(named=True)
    row = next(row for row in rows if {row["first"], row["second"]} == {first, second})
    return {**row, "sentence": found.describe(first, second)}
