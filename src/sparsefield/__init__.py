"""Sparse discrete Markov random fields, with certificates."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "CountedTable",
    "Domain",
    "Fit",
    "Inference",
    "Merged",
    "Moments",
    "Optimality",
    "PairwiseMRF",
    "PseudoLikelihood",
    "ReadingWarning",
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
    "count_data",
    "datasets",
    "edge_table",
    "encode",
    "export",
    "gradients",
    "infer",
    "inference",
    "learn",
    "make_graph",
    "moments_of_table",
    "pairs",
    "path",
    "rank_contacts",
    "read_adabmdca",
    "read_alignment",
    "read_table",
    "selection",
    "sequence_weights",
    "stability",
    "write_adabmdca",
]

_ROOMS = (
    *("certificates", "data", "datasets", "estimators", "fits", "fitting", "gradients", "inference"),
    *("learning", "marks", "model", "network", "objective", "optimality", "pairs", "parallel", "plotting", "progress"),
    *("proteins", "pseudolikelihood", "report", "resampling", "selection", "solvers", "structure", "tables"),
)

# A room is entered when something of it is first asked for: scikit-learn takes a second to import, numba, scipy and
# polars another one. Type checkers run nothing, so that what is offered is written once more for them.
TYPE_CHECKING = False  # as in `typing`, which takes ten times as long to import as all of this
if TYPE_CHECKING:
    from sparsefield import (  # noqa: F401
        certificates,
        data,
        datasets,
        estimators,
        fits,
        fitting,
        gradients,
        inference,
        learning,
        marks,
        model,
        network,
        objective,
        optimality,
        pairs,
        parallel,
        plotting,
        progress,
        proteins,
        pseudolikelihood,
        report,
        resampling,
        selection,
        solvers,
        structure,
        tables,
    )
    from sparsefield.data import CountedTable, Domain, Merged, Moments, Table, TableError, moments_of_table
    from sparsefield.estimators import PseudoLikelihood, SparseMRF, SparseMRFCV, bootstrap, stability
    from sparsefield.fits import Fit, Optimality, Status
    from sparsefield.learning import certify, infer, learn
    from sparsefield.model import PairwiseMRF
    from sparsefield.network import centrality_table, edge_table, export, make_graph
    from sparsefield.pairs import Inference
    from sparsefield.proteins import rank_contacts, read_adabmdca, write_adabmdca
    from sparsefield.selection import alpha_max, path
    from sparsefield.tables import (
        Alignment,
        ReadingWarning,
        count_data,
        encode,
        read_alignment,
        read_table,
        sequence_weights,
    )
else:
    _OFFERED = {
        "data": ("CountedTable", "Domain", "Merged", "Moments", "Table", "TableError", "moments_of_table"),
        "estimators": ("PseudoLikelihood", "SparseMRF", "SparseMRFCV", "bootstrap", "stability"),
        "fits": ("Fit", "Optimality", "Status"),
        "learning": ("certify", "infer", "learn"),
        "model": ("PairwiseMRF",),
        "network": ("centrality_table", "edge_table", "export", "make_graph"),
        "pairs": ("Inference",),
        "proteins": ("rank_contacts", "read_adabmdca", "write_adabmdca"),
        "selection": ("alpha_max", "path"),
        "tables": (
            *("Alignment", "ReadingWarning", "count_data", "encode", "read_alignment", "read_table"),
            "sequence_weights",
        ),
    }

    def __getattr__(name: str) -> object:
        """Return a room, or what one of them offers."""
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        room = next((room for room, names in _OFFERED.items() if name in names), None)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{room}"), name)


def __dir__() -> list[str]:
    """List what there is, whether it was asked for before or not."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_ROOMS})
