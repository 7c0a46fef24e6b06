"""How sure every pair is: estimates, intervals and tests by the likelihood of two variables given all others."""

from sparsefield.pairs._infer import explain_untestable, infer_table
from sparsefield.pairs._inference import UNTOLD, Inference
from sparsefield.pairs._rates import RATES, Rate, adjust, check_rate
from sparsefield.pairs._writing import as_level, as_q

__all__ = [
    "RATES",
    "UNTOLD",
    "Inference",
    "Rate",
    "adjust",
    "as_level",
    "as_q",
    "check_rate",
    "explain_untestable",
    "infer_table",
]
