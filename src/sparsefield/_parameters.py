"""Values that estimators take as parameters: `get_params`, `set_params` and `clone` of scikit-learn know them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Self


class Parameters:
    """A dataclass whose fields are parameters that scikit-learn reads and sets, also from outside: `alpha__gamma`."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name."""
        return {own.name: getattr(self, own.name) for own in fields(self)}  # type: ignore[arg-type]  # dataclasses are

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                kind, all_names = type(self).__name__, ", ".join(known)
                raise ValueError(f"{kind} has no parameter {name!r}: it has {all_names}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = []
        for own in fields(self):  # type: ignore[arg-type]  # dataclasses are
            value = getattr(self, own.name)
            if own.default is MISSING or (value is not own.default and value != own.default):
                given.append(f"{own.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"
