"""scikit-learn estimators: validate, call the solver, store what it says."""

from typing import TYPE_CHECKING, Any

from sparsefield.estimators._progress import PairsBar, PiecesBar, ProgressBar, RowsBar, choose_shown
from sparsefield.estimators._seeds import seed_of

if TYPE_CHECKING:
    from sparsefield.estimators._infer import infer
    from sparsefield.estimators._pseudolikelihood import PseudoLikelihood
    from sparsefield.estimators._resampling import bootstrap, stability
    from sparsefield.estimators._sparse_mrf import SparseMRF
    from sparsefield.estimators._sparse_mrf_cv import SparseMRFCV

__all__ = [
    "PairsBar",
    "PiecesBar",
    "ProgressBar",
    "PseudoLikelihood",
    "RowsBar",
    "SparseMRF",
    "SparseMRFCV",
    "bootstrap",
    "choose_shown",
    "infer",
    "seed_of",
    "stability",
]

if not TYPE_CHECKING:
    # What knows scikit-learn waits until it is asked for: it takes a second to import, and the program needs none.
    _FILES = {
        "PseudoLikelihood": "_pseudolikelihood",
        "SparseMRF": "_sparse_mrf",
        "SparseMRFCV": "_sparse_mrf_cv",
        "bootstrap": "_resampling",
        "infer": "_infer",
        "stability": "_resampling",
    }

    def __getattr__(name: str) -> Any:
        """Return an estimator, or what takes one."""
        from importlib import import_module

        if name not in _FILES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_FILES[name]}"), name)

    def __dir__() -> list[str]:
        """List what there is, whether it was asked for before or not."""
        return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
