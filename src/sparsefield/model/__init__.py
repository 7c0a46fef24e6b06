"""The pairwise Markov random field, its file, and the layout of its parameters."""

from sparsefield.model._bridges import LARGEST_SKEWNESS, Bridge, add_influences, bridge, chain_bridges, skewness_of_sum
from sparsefield.model._entropy import Entropy
from sparsefield.model._file import has_text, read_text, write_parameters
from sparsefield.model._gauge import block_norms, zero_sum
from sparsefield.model._imputing import ImputeMethod
from sparsefield.model._layout import (
    MOST_AT_ONCE,
    across_variables,
    as_theta,
    count_once,
    count_statistics,
    independent_theta,
    inner_once,
    is_symmetric,
    norm,
    norm_of_rows,
    row_parts,
    scatter,
    sum_once,
    sum_rows_once,
    tally_sizes,
)
from sparsefield.model._pairwise import PairwiseMRF
from sparsefield.model._partition import LogPartition
from sparsefield.model._weights import has_sign, membership, pair_weights

__all__ = [
    "LARGEST_SKEWNESS",
    "MOST_AT_ONCE",
    "Bridge",
    "Entropy",
    "ImputeMethod",
    "LogPartition",
    "PairwiseMRF",
    "across_variables",
    "add_influences",
    "as_theta",
    "block_norms",
    "bridge",
    "chain_bridges",
    "count_once",
    "count_statistics",
    "has_sign",
    "has_text",
    "independent_theta",
    "inner_once",
    "is_symmetric",
    "membership",
    "norm",
    "norm_of_rows",
    "pair_weights",
    "read_text",
    "row_parts",
    "scatter",
    "skewness_of_sum",
    "sum_once",
    "sum_rows_once",
    "tally_sizes",
    "write_parameters",
    "zero_sum",
]
