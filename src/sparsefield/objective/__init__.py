"""The objective: likelihood or pseudo-likelihood of the data, and a penalty."""

from sparsefield.objective._binary_pairs import BinaryPairLoss, Neighbours, PairField, count_active
from sparsefield.objective._completed import Completed
from sparsefield.objective._coordinates import Coordinates, Features, Slots, variances_of
from sparsefield.objective._data import DataTerm, Observed
from sparsefield.objective._expectation import expected_moments
from sparsefield.objective._facts import (
    PenaltyKind,
    check_penalty_kind,
    choose_penalty,
    describe_penalty,
    find_nonzero,
    make_penalty,
)
from sparsefield.objective._group import Group, descend_by_group, members_of
from sparsefield.objective._pair_loss import PairLoss
from sparsefield.objective._penalty import L1, Penalty
from sparsefield.objective._problem import Problem
from sparsefield.objective._pseudolikelihood import PseudoLikelihoodLoss, count_by_variable, pseudo_log_likelihoods
from sparsefield.objective._quadratic import RARE, Quadratic
from sparsefield.objective._ridge import Ridge
from sparsefield.objective._sparse_quadratic import Near, SparseQuadratic, find_few_near, find_near
from sparsefield.objective._support import GroupSupport, Support
from sparsefield.objective._working_set import choose_active, size_of_working_set

__all__ = [
    "L1",
    "RARE",
    "BinaryPairLoss",
    "Completed",
    "Coordinates",
    "DataTerm",
    "Features",
    "Group",
    "GroupSupport",
    "Near",
    "Neighbours",
    "Observed",
    "PairField",
    "PairLoss",
    "Penalty",
    "PenaltyKind",
    "Problem",
    "PseudoLikelihoodLoss",
    "Quadratic",
    "Ridge",
    "Slots",
    "SparseQuadratic",
    "Support",
    "check_penalty_kind",
    "choose_active",
    "choose_penalty",
    "count_active",
    "count_by_variable",
    "descend_by_group",
    "describe_penalty",
    "expected_moments",
    "find_few_near",
    "find_near",
    "find_nonzero",
    "make_penalty",
    "members_of",
    "pseudo_log_likelihoods",
    "size_of_working_set",
    "variances_of",
]
