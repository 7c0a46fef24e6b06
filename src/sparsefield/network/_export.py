"""Networks in the files of other programs: Gephi, yEd, Cytoscape, R, spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl

from sparsefield._writing import write_text
from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.model import PairwiseMRF
from sparsefield.network._graph import make_graph
from sparsefield.network._network import Network
from sparsefield.pairs import Inference

Attributes = Mapping[str, Mapping[str, Any]]


def _as_gexf(network: Network, nodes: Attributes | None, fit: Fit | None) -> str:  # noqa: ARG001
    return "\n".join(nx.generate_gexf(_make_plain(network, nodes))) + "\n"


def _as_graphml(network: Network, nodes: Attributes | None, fit: Fit | None) -> str:  # noqa: ARG001
    return "\n".join(nx.generate_graphml(_make_plain(network, nodes), named_key_ids=True)) + "\n"


def _make_plain(network: Network, nodes: Attributes | None) -> nx.Graph:
    """Make the network with attributes that XML can hold."""
    graph = make_graph(network, nodes)
    for name, own in graph.nodes(data=True):
        own.update({k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in own.items()})
        for text in (name, *map(str, own), *(v for v in own.values() if isinstance(v, str))):
            if any(ord(mark) < 32 and mark not in "\t\n\r" for mark in text):
                raise ValueError(f"{text!r} has a control character, which XML cannot hold: export as .json or .csv.")
    return graph


def _as_edges(network: Network, nodes: Attributes | None, fit: Fit | None) -> str:  # noqa: ARG001
    return network.edges.write_csv()


def _as_adjacency(network: Network, nodes: Attributes | None, fit: Fit | None) -> str:  # noqa: ARG001
    columns = dict(zip(network.names, network.strengths, strict=True))
    return pl.DataFrame({"": network.names, **columns}).write_csv()


def _as_json(network: Network, nodes: Attributes | None, fit: Fit | None) -> str:
    graph = make_graph(network, nodes)
    found: dict[str, Any] = {
        "nodes": [{**own, "name": name} for name, own in graph.nodes(data=True)],
        "edges": [{"first": a, "second": b, **own} for a, b, own in graph.edges(data=True)],
    }
    if fit is not None:
        found["fit"] = {
            "status": fit.status.code,
            "sentence": fit.status.sentence,
            "alpha": fit.alpha,
            "certificate": fit.steps[-1].certificate if fit.steps else None,
            "optimality": None if fit.optimality is None else str(fit.optimality),
        }
    return json.dumps(found, indent=1, ensure_ascii=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


FORMATS: dict[str, Callable[[Network, Attributes | None, Fit | None], str]] = {
    "gexf": _as_gexf,
    "graphml": _as_graphml,
    "edges": _as_edges,
    "adjacency": _as_adjacency,
    "json": _as_json,
}
_ENDINGS = {".gexf": "gexf", ".graphml": "graphml", ".csv": "edges", ".json": "json"}


def export(
    fitted: PairwiseMRF | Fit | Fitted | Network,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    nodes: Attributes | None = None,
    inference: Inference | None = None,
) -> None:
    """Write the network of a field to a file.

    Parameters
    ----------
    fitted : PairwiseMRF, Fit, fitted estimator or Network
        The field, or its network.
    path : str or path
        The file. It is written whole or not at all.
    format : "gexf", "graphml", "edges", "adjacency" or "json", optional
        For Gephi; for yEd, Cytoscape and igraph; a .csv with one edge per row; a .csv with the matrix of weights;
        nodes, edges and how the fit ended. Told by the ending of the path unless given (.csv: edges).
    nodes : mapping of variable to attributes, optional
        Further attributes of nodes, such as a group, for the formats that have them.
    inference : Inference, optional
        How sure every pair is (`infer`): edges have its estimates, intervals and q-values, as in `edge_table`.

    Examples
    --------
    >>> import sparsefield as sf
    >>> sf.export(sf.datasets.make_chain(5, seed=1), "chain.graphml")
    """
    path = Path(path)
    kind = _ENDINGS.get(path.suffix.lower()) if format is None else format
    if kind is None:
        raise ValueError(
            f"{str(path)!r} does not end in {', '.join(_ENDINGS)}: choose one of these, or give a format "
            f"({', '.join(FORMATS)})."
        )
    if kind not in FORMATS:
        raise ValueError(f"format is {kind!r}: use {', '.join(FORMATS)}.")
    fit = None if isinstance(fitted, PairwiseMRF | Network) else as_fit(fitted)
    write_text(path, FORMATS[kind](Network.of(fitted, inference), nodes, fit))
