"""Packages that only some of this needs: who lacks one is told how to install it."""

from __future__ import annotations


def explain_missing(error: ModuleNotFoundError, what: str, extra: str) -> ModuleNotFoundError:
    """Return an error that says in one sentence which package is missing, and the command that installs it.

    Parameters
    ----------
    error : ModuleNotFoundError
        What an import has raised.
    what : str
        What it was for, as the beginning of a sentence.
    extra : str
        The extra of this package that has it.
    """
    if error.name is None or error.name.startswith("sparsefield"):
        return error
    name = error.name.partition(".")[0]
    return ModuleNotFoundError(
        f"{what} takes the package {name!r}, which is not installed: pip install 'sparsefield[{extra}]'", name=name
    )
