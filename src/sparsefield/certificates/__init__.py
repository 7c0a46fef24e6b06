"""How wrong a Gibbs gradient can be: bounds that hold, each with its conditions."""

from sparsefield.certificates._certificate import Certificate, hold_together, trivial_bias
from sparsefield.certificates._coalescence import certify_bounds, check_confidence, coalescence
from sparsefield.certificates._concentration import Concentration, chains_needed, concentration
from sparsefield.certificates._dobrushin import Disagreement, dobrushin
from sparsefield.certificates._fischer import fischer, fischer_sweeps
from sparsefield.certificates._influence import influence_matrix

__all__ = [
    "Certificate",
    "Concentration",
    "Disagreement",
    "certify_bounds",
    "chains_needed",
    "check_confidence",
    "coalescence",
    "concentration",
    "dobrushin",
    "fischer",
    "fischer_sweeps",
    "hold_together",
    "influence_matrix",
    "trivial_bias",
]
