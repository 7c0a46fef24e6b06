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

from sparsefield._files import whole_file
from sparsefield._graph import edge_strengths, edge_table, make_graph
from sparsefield._model import PairwiseMRF
from sparsefield._result import Fit

Attributes = Mapping[str, Mapping[str, Any]]


def _as_gexf(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> str:
    return "\n".join(nx.generate_gexf(_make_plain(fitted, nodes))) + "\n"


def _as_graphml(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> str:
    return "\n".join(nx.generate_graphml(_make_plain(fitted, nodes), named_key_ids=True)) + "\n"


def _make_plain(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> nx.Graph:
    """Make the network with attributes that XML can hold."""
    graph = make_graph(fitted, nodes)
    for name, own in graph.nodes(data=True):
        own.update({k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in own.items()})
        for text in (name, *map(str, own), *(v for v in own.values() if isinstance(v, str))):
            if any(ord(mark) < 32 and mark not in "\t\n\r" for mark in text):
                raise ValueError(f"{text!r} has a control character, which XML cannot hold: export as .json or .csv.")
    return graph


def _as_edges(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> str:  # noqa: ARG001
    return edge_table(fitted).write_csv()


def _as_adjacency(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> str:  # noqa: ARG001
    model = fitted.model if isinstance(fitted, Fit) else fitted
    names = list(model.domain.names)
    columns = dict(zip(names, edge_strengths(model), strict=True))
    return pl.DataFrame({"": names, **columns}).write_csv()


def _as_json(fitted: PairwiseMRF | Fit, nodes: Attributes | None) -> str:
    graph = make_graph(fitted, nodes)
    found: dict[str, Any] = {
        "nodes": [{**own, "name": name} for name, own in graph.nodes(data=True)],
        "edges": [{"first": a, "second": b, **own} for a, b, own in graph.edges(data=True)],
    }
    if isinstance(fitted, Fit):
        optimality = fitted.optimality
        found["fit"] = {
            "status": fitted.status.code,
            "sentence": fitted.status.sentence,
            "alpha": fitted.alpha,
            "certificate": fitted.steps[-1].certificate if fitted.steps else None,
            "optimality": None if optimality is None else str(optimality),
        }
    return json.dumps(found, indent=1, ensure_ascii=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


FORMATS: dict[str, Callable[[PairwiseMRF | Fit, Attributes | None], str]] = {
    "gexf": _as_gexf,
    "graphml": _as_graphml,
    "edges": _as_edges,
    "adjacency": _as_adjacency,
    "json": _as_json,
}
_ENDINGS = {".gexf": "gexf", ".graphml": "graphml", ".csv": "edges", ".json": "json"}


def export(
    fitted: PairwiseMRF | Fit,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    nodes: Attributes | None = None,
) -> None:
    """Write the network of a field to a file.

    Parameters
    ----------
    fitted : PairwiseMRF or Fit
        The field.
    path : str or path
        The file. It is written whole or not at all.
    format : "gexf", "graphml", "edges", "adjacency" or "json", optional
        For Gephi; for yEd, Cytoscape and igraph; a .csv with an edge a row; a .csv with the matrix of weights; nodes,
        edges and how the fit ended. Told by the ending of the path unless given (.csv: edges).
    nodes : mapping of variable to attributes, optional
        Further attributes of nodes, such as a group, for the formats that have them.

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
    text = FORMATS[kind](fitted, nodes)
    with whole_file(path) as rough:
        rough.write_text(text, encoding="utf-8")
