"""Names of parameters that belong elsewhere: who gives one is told where."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_ELSEWHERE = {
    **dict.fromkeys(("n_chains", "max_iter", "max_sweeps", "tol", "schedule"), "solver=Newton({}=...)"),
    **dict.fromkeys(("bound", "chains", "step_size"), "solver=Proximal({}=...)"),
    "certificate": "solver=Proximal(bound=...)",
    **dict.fromkeys(("gamma", "alphas", "n_alphas", "relax", "checkpoint", "n_jobs"), "alpha=EBIC({}=...)"),
    "cv": "alpha=HeldOut(cv=...)",
    "n_folds": "alpha=HeldOut(cv=...)",
    **dict.fromkeys(("beta", "n_subsamples"), "alpha=StARS({}=...)"),
    "criterion": "alpha=EBIC(), HeldOut() or StARS()",
    **dict.fromkeys(("fdr", "rate"), "alpha=FalseDiscovery({}=...)"),
    "backend": "device=...",
}


def explain_names(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function refuse names that it does not have by saying where they belong, or which one is alike."""
    known = {name: own.kind for name, own in signature(function).parameters.items()}
    names = [name for name, kind in known.items() if kind is not Parameter.VAR_KEYWORD and name != "self"]

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs:
            if name not in known:
                raise TypeError(_describe(function.__qualname__.removesuffix(".__init__"), name, names))
        return function(*args, **kwargs)

    return checked


def _describe(function: str, name: str, names: list[str]) -> str:
    """Say where a name belongs."""
    if name in _ELSEWHERE:
        return f"{function} has no parameter {name!r}: give {_ELSEWHERE[name].format(name)}"
    alike = {"seed": "random_state", "random_state": "seed"}.get(name)
    found = [alike] if alike in names else get_close_matches(name, names, 1)
    if found:
        return f"{function} has no parameter {name!r}: did you mean {found[0]!r}?"
    return f"{function} has no parameter {name!r}: it has {', '.join(names)}."
