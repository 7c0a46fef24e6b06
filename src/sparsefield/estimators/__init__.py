"""scikit-learn estimators: validate, call, store."""

from sparsefield.estimators._pseudolikelihood import PseudoLikelihood
from sparsefield.estimators._renamed import SparseMRFCV
from sparsefield.estimators._sparse_mrf import SparseMRF

__all__ = [
    "PseudoLikelihood",
    "SparseMRF",
    "SparseMRFCV",
]
