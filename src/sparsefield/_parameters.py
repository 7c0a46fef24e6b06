"""Values that estimators take as parameters: `get_params`, `set_params` and `clone` of scikit-learn know them."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

from sparsefield._near_misses import explain_names

_T = TypeVar("_T", bound="Parameters")


class Parameters:
    """A value whose fields are parameters that scikit-learn reads and sets, also from outside: `alpha__gamma`."""

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

    def __eq__(self, other: object) -> bool:
        """Say whether another value has the same kind and parameters."""
        if type(other) is not type(self) or not isinstance(other, Parameters):
            return NotImplemented
        known = other.get_params()
        return all(_is_same(value, known[name]) for name, value in self.get_params().items())

    __hash__ = None  # type: ignore[assignment]  # parameters can be set

    def __repr__(self) -> str:
        given = []
        for own in fields(self):  # type: ignore[arg-type]  # dataclasses are
            value = getattr(self, own.name)
            if own.default is MISSING or not _is_same(value, own.default):
                given.append(f"{own.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass_transform()
def parameters(kind: type[_T]) -> type[_T]:
    """Make a dataclass of parameters, which refuses names that belong elsewhere by saying where."""
    made = dataclass(repr=False, eq=False)(kind)
    made.__init__ = explain_names(made.__init__)  # type: ignore[method-assign]
    return made


def _is_same(one: Any, other: Any) -> bool:
    """Say whether two values are the same; arrays may be among them."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and bool(np.array_equal(one, other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)
