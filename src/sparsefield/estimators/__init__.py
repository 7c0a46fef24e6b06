"""scikit-learn estimators: validate, call the solver, store what it says."""

from sparsefield.estimators._progress import PiecesBar, ProgressBar, choose_shown
from sparsefield.estimators._pseudolikelihood import PseudoLikelihood
from sparsefield.estimators._resampling import bootstrap, stability
from sparsefield.estimators._seeds import seed_of
from sparsefield.estimators._sparse_mrf import SparseMRF
from sparsefield.estimators._sparse_mrf_cv import SparseMRFCV

__all__ = [
    "PiecesBar",
    "ProgressBar",
    "PseudoLikelihood",
    "SparseMRF",
    "SparseMRFCV",
    "bootstrap",
    "choose_shown",
    "seed_of",
    "stability",
]
