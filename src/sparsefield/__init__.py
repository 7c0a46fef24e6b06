"""Sparse discrete Markov random fields, with certificates."""

from sparsefield import certificates, datasets, inference
from sparsefield._domain import Domain
from sparsefield._estimators import PseudoLikelihood, SparseMRF
from sparsefield._export import export
from sparsefield._graph import centrality_table, edge_table, make_graph
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments, moments_of_table
from sparsefield._optimality import certify
from sparsefield._result import Fit, Optimality
from sparsefield._table import Table, encode

__version__ = "0.1.0"

__all__ = [
    "Domain",
    "Fit",
    "Moments",
    "Optimality",
    "PairwiseMRF",
    "PseudoLikelihood",
    "SparseMRF",
    "Table",
    "centrality_table",
    "certificates",
    "certify",
    "datasets",
    "edge_table",
    "encode",
    "export",
    "inference",
    "make_graph",
    "moments_of_table",
]
