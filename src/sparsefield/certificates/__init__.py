"""How wrong a Gibbs gradient can be: bounds that hold, each with its conditions."""

from sparsefield.certificates._certificate import Certificate
from sparsefield.certificates._coalescence import coalescence
from sparsefield.certificates._concentration import Concentration, chains_needed, concentration
from sparsefield.certificates._dobrushin import Disagreement, dobrushin
from sparsefield.certificates._fischer import fischer
from sparsefield.certificates._influence import influence_matrix

__all__ = [
    "Certificate",
    "Concentration",
    "Disagreement",
    "chains_needed",
    "coalescence",
    "concentration",
    "dobrushin",
    "fischer",
    "influence_matrix",
]
