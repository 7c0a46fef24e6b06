"""Which pairs of variables have an edge: regressions of variables on their neighbours, and a price for each edge."""

from sparsefield.structure._chi_square import chi_square_tail
from sparsefield.structure._design import Design, Variable
from sparsefield.structure._independence import Independence
from sparsefield.structure._neighbours import find_neighbours
from sparsefield.structure._nodes import Nodes
from sparsefield.structure._prior import EdgePrior, learn_prior
from sparsefield.structure._regression import Regression
from sparsefield.structure._rule import RISK, Structure, find_structure, is_feasible, settle

__all__ = [
    "RISK",
    "Design",
    "EdgePrior",
    "Independence",
    "Nodes",
    "Regression",
    "Structure",
    "Variable",
    "chi_square_tail",
    "find_neighbours",
    "find_structure",
    "is_feasible",
    "learn_prior",
    "settle",
]
