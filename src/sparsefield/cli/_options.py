"""Options that several commands share, as they are shown and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sparsefield.cli._app import plain_errors

MAX_LEVELS, MOST_LEVELS = 32, 254  # those of `data`, which help need not wait for; a test compares them

Data = Annotated[
    Path,
    typer.Argument(
        help="A table, one row each: .csv, .tsv, .xlsx, .sav, .dta, .parquet, also as .gz or https://...; a folder of "
        "parquet or text files, or a pattern in quotes, 'part-*.csv'; or an alignment: .fasta, .a2m, .sto."
    ),
]


def _read_alpha(word: str) -> float | None:
    """Return a penalty, or None for the one that is chosen."""
    try:
        return None if word == "auto" else float(word)
    except ValueError:
        raise typer.BadParameter(f"{word!r} is no number: use one from zero on, or auto.") from None


Alpha = Annotated[
    float | None,
    typer.Option(
        parser=_read_alpha,
        metavar="NUMBER",
        help="Strength of the penalty: larger gives fewer edges. Unless given, or with auto, edges are found "
        "without a penalty.",
    ),
]
FieldFile = Annotated[Path, typer.Argument(help="A fitted field, as `sparsefield fit` writes it.")]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="The columns to use as variables, also as q1-q20 (as they stand in the file) and phq*; all unless given.",
    ),
]
Ignore = Annotated[str | None, typer.Option(metavar="A,B,...", help="Columns to leave out, also as q1-q20 and phq*.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column that names the rows: no variable.")]
Separator = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="What separates the values of a text file, such as ';'; found out unless given."),
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="The sheet of a workbook; the first unless given.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row names the columns; found out unless given."),
]
Marker = Annotated[
    list[str] | None,
    typer.Option("--missing-marker", metavar="WORD", help="A word that means a missing cell, besides NA, NaN, ..."),
]
KeptWord = Annotated[
    list[str] | None,
    typer.Option("--level", metavar="WORD", help="A word that is a level and no missing cell, such as None."),
]
MergeLevels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns in which levels that differ in case or blanks alone are one, or 'all': the most frequent "
        "spelling counts.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="A column that says how often or how much each row counts: no variable."),
]
Frequency = Annotated[
    bool | None,
    typer.Option(
        "--frequency/--survey",
        help="The column of --weight counts equal rows, or has weights of a survey, whose scale does not matter. "
        "Unless given, whole numbers beside rows that all differ are counts.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column that says which rows belong together, such as a school or a person: intervals and tests do "
        "not take these for independent. It is no variable.",
    ),
]
Infer = Annotated[
    bool | None,
    typer.Option(
        "--infer/--no-infer",
        help="Say how sure each edge is, by an interval and a test for each pair, or leave that out; said of up to 300 "
        "variables unless given.",
    ),
]
MaxLevels = Annotated[int, typer.Option(min=1, max=MOST_LEVELS, help="Columns with more levels are refused.")]
AsText = Annotated[
    str | None,
    typer.Option(
        "--text", metavar="A,B,...", help="Columns in which few words among numbers are levels, and no typos."
    ),
]
Ordinal = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns whose levels are ordered, or 'all' with numbers; the order of words as 'mood=low<mid<high'.",
    ),
]
Penalty = Annotated[
    str,
    typer.Option(
        help="group (all levels of two variables together), l1 (each by itself), or auto: group with more than two "
        "levels."
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: model (what each row shows counts), zero (the first level), drop (the row) or error."
    ),
]
PenalizeMain = Annotated[
    bool,
    typer.Option("--penalize-main/--free-main", help="Penalise main effects too (the paper's choice), or not."),
]
MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Steps after which a fit ends; 50 unless given, and 200 with missing values."),
]
Nodes = Annotated[
    Path | None, typer.Option(help="A table with a row for each variable: its name first, then what is known of it.")
]
Color = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of --nodes whose groups give colours.")]
Seed = Annotated[int, typer.Option(min=0, help="Where the random numbers start.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; the result does not depend on it.")]


def _check_device(device: str | None) -> str | None:
    """Refuse a GPU that is not there before tables are read, which may take long."""
    if device is not None:
        from sparsefield.inference import make_backend

        with plain_errors():
            make_backend(device)  # type: ignore[arg-type]  # checked there
    return device


Device = Annotated[
    str | None,
    typer.Option(
        callback=_check_device,
        help="Where draws are made: cpu, cuda (a GPU), or auto (a GPU where there is one and the table is one for it); "
        "cpu unless given.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Also say how the computation went: iterations, draws, certificates."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what is wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs, and nothing else.")]
