"""Sparse discrete Markov random fields, with certificates."""

from sparsefield import certificates, datasets, inference
from sparsefield._domain import Domain
from sparsefield._model import PairwiseMRF
from sparsefield._moments import Moments, moments_of_table
from sparsefield._table import Table, encode

__version__ = "0.1.0"

__all__ = [
    "Domain",
    "Moments",
    "PairwiseMRF",
    "Table",
    "certificates",
    "datasets",
    "encode",
    "inference",
    "moments_of_table",
]
