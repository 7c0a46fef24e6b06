"""From rows to a fit: read, choose, solve, mark, certify."""

from sparsefield.learning._certify import certify
from sparsefield.learning._choose import Alpha, choose, is_rule
from sparsefield.learning._infer import infer
from sparsefield.learning._learn import Chosen, learn, learn_rows, learn_with
from sparsefield.learning._seeds import seed_of
from sparsefield.learning._show import Quiet, Show

__all__ = [
    "Alpha",
    "Chosen",
    "Quiet",
    "Show",
    "certify",
    "choose",
    "infer",
    "is_rule",
    "learn",
    "learn_rows",
    "learn_with",
    "seed_of",
]
