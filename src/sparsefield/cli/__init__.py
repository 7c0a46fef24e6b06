"""The command line: the only room that prints."""

import sys

TYPE_CHECKING = False  # as in `typing`, which takes 10 ms to import: an interrupt before `main` ends in a traceback
if TYPE_CHECKING:
    from sparsefield.cli._app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        from sparsefield.cli._app import app
        from sparsefield.cli._streams import keep_going

        with keep_going():
            app()
    except ModuleNotFoundError as error:
        from sparsefield._extras import explain_missing

        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich", "matplotlib", "jinja2"):
            raise
        sys.stderr.write(f"Error: {explain_missing(error, 'The program', 'all')}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sentence = "Interrupted. There is nothing to keep yet."
        if "--json" in sys.argv:
            sys.stdout.write(f'{{"error": "{sentence}", "exit_code": 130}}\n')
        else:
            sys.stderr.write(f"{sentence}\n")
        sys.exit(130)


def __getattr__(name: str) -> object:
    """Return the program, which is imported when it is asked for: `main` begins before that."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sparsefield.cli._app import app

    return app
