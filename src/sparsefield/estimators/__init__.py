"""scikit-learn estimators: validate, call, store."""

from sparsefield.estimators._pseudolikelihood import PseudoLikelihood
from sparsefield.estimators._resampling import bootstrap, stability
from sparsefield.estimators._sparse_mrf import SparseMRF
from sparsefield.estimators._sparse_mrf_cv import SparseMRFCV

__all__ = [
    "PseudoLikelihood",
    "SparseMRF",
    "SparseMRFCV",
    "bootstrap",
    "stability",
]
