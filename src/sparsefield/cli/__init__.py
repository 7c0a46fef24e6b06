"""The command line: the only room that prints."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsefield.cli._app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    from sparsefield.cli._app import app

    app()


def __getattr__(name: str) -> Any:
    """Return the program, which is imported when it is asked for: `main` begins before that."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sparsefield.cli._app import app

    return app
