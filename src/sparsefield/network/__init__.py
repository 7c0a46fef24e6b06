"""The network behind a field: edges, graph, centralities, clusters, recovery of a truth, files of other programs."""

from sparsefield.network._clusters import Clusters, find_clusters
from sparsefield.network._export import FORMATS, export
from sparsefield.network._graph import centrality_table, make_graph
from sparsefield.network._network import Network, edge_table
from sparsefield.network._recovery import edge_auc
from sparsefield.network._sureness import describe_inference

__all__ = [
    "FORMATS",
    "Clusters",
    "Network",
    "centrality_table",
    "describe_inference",
    "edge_auc",
    "edge_table",
    "export",
    "find_clusters",
    "make_graph",
]
