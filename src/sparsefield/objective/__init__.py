"""The objective: likelihood or pseudo-likelihood of the data, and a penalty."""

from sparsefield.objective._completed import Completed
from sparsefield.objective._data import DataTerm, Observed
from sparsefield.objective._expectation import expected_moments
from sparsefield.objective._facts import describe_penalty, make_penalty
from sparsefield.objective._penalty import L1, Penalty
from sparsefield.objective._problem import Problem
from sparsefield.objective._pseudolikelihood import PseudoLikelihoodLoss, count_by_variable, pseudo_log_likelihood
from sparsefield.objective._quadratic import RARE, Quadratic
from sparsefield.objective._support import Support
from sparsefield.objective._working_set import choose_active, size_of_working_set

__all__ = [
    "L1",
    "RARE",
    "Completed",
    "DataTerm",
    "Observed",
    "Penalty",
    "Problem",
    "PseudoLikelihoodLoss",
    "Quadratic",
    "Support",
    "choose_active",
    "count_by_variable",
    "describe_penalty",
    "expected_moments",
    "make_penalty",
    "pseudo_log_likelihood",
    "size_of_working_set",
]
