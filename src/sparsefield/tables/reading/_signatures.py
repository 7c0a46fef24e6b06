"""What a file is, told by its first bytes, whatever its name ends in."""

from __future__ import annotations

from sparsefield.tables.reading._characters import is_like_text
from sparsefield.tables.reading._contents import Note
from sparsefield.tables.reading._source import Source

TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}  # and what separates values in them
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SURVEYS = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
FRAMES = (".parquet", ".arrow", ".feather", ".ipc", ".json", ".ndjson", ".jsonl")

_LFS = b"version https://git-lfs.github.com/spec/v1"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Where the ending says something else than the first bytes, these are right.
_SIGNATURES = {
    b"PAR1": (".parquet", "a parquet file"),
    b"ARROW1": (".arrow", "an Arrow file"),
    b"PK\x03\x04": (".xlsx", "a workbook"),
    _OLD_OFFICE: (".xls", "a workbook"),
    b"$FL2": (".sav", "an SPSS file"),
    b"$FL3": (".zsav", "an SPSS file"),
    b"<stata_dta>": (".dta", "a Stata file"),
    b"HEADER RECORD*******": (".xpt", "a SAS transport file"),
}
_SAME = {
    ".arrow": (".arrow", ".feather", ".ipc"),
    ".sav": SURVEYS,
    ".zsav": SURVEYS,
    ".xpt": SURVEYS,
    ".dta": SURVEYS,
    ".xlsx": SHEETS,
    ".xls": SHEETS,
}
_REFUSED = {
    b"%PDF": ("is a PDF document", "save the table that it shows as .csv"),
    b"SQLite format 3": ("is a database", "write the table that you want to a .csv or .parquet file"),
    b"RDX": ("is a file of R", "write the table with write.csv in R"),
    b"FEA1": ("is a Feather file of the first version", "write it again with a newer program, or as .parquet"),
    b"\x93NUMPY": ("is an array of numpy", "load it with numpy, and give the array"),
    b"\x28\xb5\x2f\xfd": ("is packed by zstd", "unpack it first"),
}


def find_kind(source: Source) -> tuple[str, tuple[Note, ...]]:
    """Return the ending that says what a file is, and a note where that is not its own.

    Pages of the web, pointers of git-lfs and the like are refused.
    """
    head = source.head
    if head.startswith(_LFS):
        raise source.error("is a pointer of git-lfs, not the table itself", "fetch the table with: git lfs pull")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        raise source.error(
            "is a page of the web, or XML, and not a table", "download the table itself, or save it as .csv"
        )
    for signature, (problem, remedy) in _REFUSED.items():
        if head.startswith(signature):
            raise source.error(problem, remedy)
    if source.ending in (".rds", ".rda", ".rdata"):
        raise source.error("is a file of R", "write the table with write.csv in R")
    for signature, (ending, what) in _SIGNATURES.items():
        if head.startswith(signature):
            if source.ending in _SAME.get(ending, (ending,)):
                return source.ending, ()
            return ending, (Note(f"File {source.name!r} is {what}, and is read as one."),)
    if source.ending in SHEETS and is_like_text(head):
        return ".txt", (Note(f"File {source.name!r} is text and no workbook, and is read as text."),)
    return source.ending, ()
