"""Sparse discrete Markov random fields, with certificates."""

from sparsefield import certificates, datasets, gradients, inference, selection
from sparsefield.data import (
    Alignment,
    Domain,
    Merged,
    Moments,
    Table,
    TableError,
    encode,
    moments_of_table,
    read_alignment,
    sequence_weights,
)
from sparsefield.estimators import PseudoLikelihood, SparseMRF, SparseMRFCV, bootstrap, stability
from sparsefield.fits import Fit, Optimality, Status
from sparsefield.model import PairwiseMRF, read_adabmdca, write_adabmdca
from sparsefield.network import centrality_table, edge_table, export, make_graph, rank_contacts
from sparsefield.selection import alpha_max, learn, path
from sparsefield.solvers import certify

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "Domain",
    "Fit",
    "Merged",
    "Moments",
    "Optimality",
    "PairwiseMRF",
    "PseudoLikelihood",
    "SparseMRF",
    "SparseMRFCV",
    "Status",
    "Table",
    "TableError",
    "alpha_max",
    "bootstrap",
    "centrality_table",
    "certificates",
    "certify",
    "datasets",
    "edge_table",
    "encode",
    "export",
    "gradients",
    "inference",
    "learn",
    "make_graph",
    "moments_of_table",
    "path",
    "rank_contacts",
    "read_adabmdca",
    "read_alignment",
    "selection",
    "sequence_weights",
    "stability",
    "write_adabmdca",
]
