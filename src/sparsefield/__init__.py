"""Sparse discrete Markov random fields, with certificates."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "EBIC",
    "Domain",
    "FalseDiscovery",
    "Fit",
    "HeldOut",
    "Newton",
    "PairwiseMRF",
    "Proximal",
    "PseudoLikelihood",
    "SparseMRF",
    "StARS",
    "Table",
    "TableError",
    "bootstrap",
    "centrality_table",
    "certify",
    "edge_table",
    "encode",
    "export",
    "infer",
    "learn",
    "make_graph",
    "path",
    "read_table",
    "stability",
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
    from sparsefield.data import Domain, Table, TableError
    from sparsefield.estimators import PseudoLikelihood, SparseMRF
    from sparsefield.fits import Fit
    from sparsefield.fitting import Newton, Proximal
    from sparsefield.learning import certify, infer, learn
    from sparsefield.model import PairwiseMRF
    from sparsefield.network import centrality_table, edge_table, export, make_graph
    from sparsefield.resampling import bootstrap, stability
    from sparsefield.selection import EBIC, FalseDiscovery, HeldOut, StARS, path
    from sparsefield.tables import encode, read_table
else:
    _OFFERED = {
        "data": ("Domain", "Table", "TableError"),
        "estimators": ("PseudoLikelihood", "SparseMRF"),
        "fits": ("Fit",),
        "fitting": ("Newton", "Proximal"),
        "learning": ("certify", "infer", "learn"),
        "model": ("PairwiseMRF",),
        "network": ("centrality_table", "edge_table", "export", "make_graph"),
        "resampling": ("bootstrap", "stability"),
        "selection": ("EBIC", "FalseDiscovery", "HeldOut", "StARS", "path"),
        "tables": ("encode", "read_table"),
    }
    # Names that were here before, and where they are now; they go with version 0.3.
    _MOVED = {
        "estimators": ("SparseMRFCV",),
        "data": ("CountedTable", "Merged", "Moments", "moments_of_table"),
        "fits": ("Optimality", "Status"),
        "pairs": ("Inference",),
        "proteins": (
            *("Alignment", "rank_contacts", "read_adabmdca", "read_alignment", "sequence_weights", "write_adabmdca"),
        ),
        "selection": ("alpha_max",),
        "tables": ("ReadingWarning", "count_data"),
    }

    def __getattr__(name: str) -> object:
        """Return a room, or what one of them offers."""
        from importlib import import_module

        if name in _ROOMS:
            return import_module(f"{__name__}.{name}")
        room = next((room for room, names in _OFFERED.items() if name in names), None)
        if room is None:
            room = next((room for room, names in _MOVED.items() if name in names), None)
            if room is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            import warnings

            is_rule = name == "SparseMRFCV"
            new = "SparseMRF(EBIC(...)), or HeldOut, or StARS," if is_rule else f"sparsefield.{room}.{name}"
            warnings.warn(f"sparsefield.{name} is {new} now.", FutureWarning, stacklevel=2)
        return getattr(import_module(f"{__name__}.{room}"), name)


def __dir__() -> list[str]:
    """List what there is, whether it was asked for before or not."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_ROOMS})
