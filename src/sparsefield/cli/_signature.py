"""Options that belong together: a dataclass in the signature of a command stands for its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the dataclasses among its parameters.

    typer makes an option of each parameter that it sees. It sees the fields, annotated as options are, where the
    dataclass stands; the command is called with the dataclass.
    """
    own = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {given.name: given.annotation for given in own if is_dataclass(given.annotation)}
    seen = [one for given in own for one in (_spread(given.annotation) if given.name in groups else [given])]

    @wraps(command)
    def call(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **made)

    call.__signature__ = Signature(seen)  # type: ignore[attr-defined]  # what `inspect.signature` returns
    call.__annotations__ = {given.name: given.annotation for given in seen}
    return call


def _spread(group: type) -> Iterator[Parameter]:
    """Return a parameter for each field."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
