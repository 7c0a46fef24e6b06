"""Names of parameters that belong elsewhere: who gives one is told where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

_OF_SOLVERS = {
    **dict.fromkeys(("n_chains", "max_iter", "max_sweeps", "tol", "schedule"), "solver=Newton({}=...)"),
    **dict.fromkeys(("bound", "chains", "step_size"), "solver=Proximal({}=...)"),
    "certificate": "solver=Proximal(bound=...)",
}
_SOLVERS, _RULES = ("Newton", "Proximal"), ("EBIC", "HeldOut", "StARS", "FalseDiscovery")
_NUMBERS = ("n_resamples", "n_boot", "n_boots", "n_bootstraps", "n_iter", "n_subsamples", "n_samples", "nboots")
_OF_RULES = {
    **dict.fromkeys(("gamma", "alphas", "n_alphas", "relax", "checkpoint", "n_jobs"), "EBIC({}=...)"),
    "cv": "HeldOut(cv=...)",
    "n_folds": "HeldOut(cv=...)",
    **dict.fromkeys(("beta", "n_subsamples"), "StARS({}=...)"),
    "criterion": "EBIC(), HeldOut() or StARS()",
    **dict.fromkeys(("fdr", "rate"), "FalseDiscovery({}=...)"),
}


def explain_names(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function refuse names that it does not have by saying where they belong, or which one is alike."""
    known = {name: own.kind for name, own in signature(function).parameters.items()}
    names = [name for name, kind in known.items() if kind is not Parameter.VAR_KEYWORD and name != "self"]

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        refuse_names(function.__qualname__.removesuffix(".__init__"), kwargs, names)
        return function(*args, **kwargs)

    return checked


def refuse_names(
    function: str, given: Iterable[str], known: Sequence[str], rule: str | None = "alpha", *, n: bool = False
) -> None:
    """Refuse names that a function does not know.

    Parameters
    ----------
    function : str
        Its name.
    given, known : iterable of str
        The names that it was given, and those that it knows.
    rule : str, optional
        The parameter that takes a rule, where there is one.
    n : bool
        Whether how many resamples there are is called n.
    """
    of_solvers, of_rules = "solver" in known or function in _SOLVERS, rule in known or function in _RULES
    for name in given:
        if name in known:
            continue
        said = f"{function} has no parameter {name!r}"
        if n and name in _NUMBERS:
            raise TypeError(f"{said}: did you mean 'n'?")
        if name == "backend" and "device" in known:
            raise TypeError(f"{said}: give device=...")
        if name in _OF_SOLVERS and of_solvers:
            raise TypeError(f"{said}: give {_OF_SOLVERS[name].format(name)}")
        if name in _OF_RULES and of_rules and rule is not None:
            raise TypeError(f"{said}: give {rule}={_OF_RULES[name].format(name)}")
        if name in _OF_RULES and rule is None:
            raise TypeError(f"{said}: it is one of a rule, {_OF_RULES[name].format(name)}, which `select` takes")
        alike = {"seed": "random_state", "random_state": "seed"}.get(name, "")
        found = [alike] if alike in known else get_close_matches(name, known, 1)
        hint = f"did you mean {found[0]!r}?" if found else f"it has {', '.join(known)}."
        raise TypeError(f"{said}: {hint}")
