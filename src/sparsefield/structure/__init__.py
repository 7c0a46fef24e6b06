"""Which pairs of variables have an edge: regressions of variables on their neighbours, and a price for each edge."""

from sparsefield.structure._independence import Independence
from sparsefield.structure._prior import EdgePrior
from sparsefield.structure._rule import RISK, Structure, find_structure, is_feasible

__all__ = ["RISK", "EdgePrior", "Independence", "Structure", "find_structure", "is_feasible"]
