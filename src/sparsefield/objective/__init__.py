"""The objective: likelihood or pseudo-likelihood of the data, and a penalty."""

from sparsefield.objective._completed import COMPLETED, Completed, CompletedPolicy
from sparsefield.objective._coordinates import Coordinates, Features, Slots, variances_of
from sparsefield.objective._data import DataTerm, Observed
from sparsefield.objective._expectation import expected_moments
from sparsefield.objective._group import Group, members_of
from sparsefield.objective._line_search import backtrack
from sparsefield.objective._penalty import L1, Penalty
from sparsefield.objective._penalty_facts import (
    PenaltyKind,
    check_penalty_kind,
    choose_penalty,
    describe_penalty,
    find_nonzero,
    make_penalty,
)
from sparsefield.objective._problem import Problem
from sparsefield.objective._quadratic import RARE, Quadratic
from sparsefield.objective._ranges import count_statements, depends, extremes, spans, widths
from sparsefield.objective._residual_variances import largest_variances, rarest_share, rest_of_some, rest_variances
from sparsefield.objective._ridge import Ridge
from sparsefield.objective._soft_threshold import smallest_subgradient
from sparsefield.objective._sparse_quadratic import SparseQuadratic, find_few_near, find_near
from sparsefield.objective._support import GroupSupport, Support
from sparsefield.objective._working_set import (
    choose_active,
    count_zeros,
    pick_largest,
    shrink_to_fit,
    size_of_working_set,
)

__all__ = [
    "COMPLETED",
    "L1",
    "RARE",
    "Completed",
    "CompletedPolicy",
    "Coordinates",
    "DataTerm",
    "Features",
    "Group",
    "GroupSupport",
    "Observed",
    "Penalty",
    "PenaltyKind",
    "Problem",
    "Quadratic",
    "Ridge",
    "Slots",
    "SparseQuadratic",
    "Support",
    "backtrack",
    "check_penalty_kind",
    "choose_active",
    "choose_penalty",
    "count_statements",
    "count_zeros",
    "depends",
    "describe_penalty",
    "expected_moments",
    "extremes",
    "find_few_near",
    "find_near",
    "find_nonzero",
    "largest_variances",
    "make_penalty",
    "members_of",
    "pick_largest",
    "rarest_share",
    "rest_of_some",
    "rest_variances",
    "shrink_to_fit",
    "size_of_working_set",
    "smallest_subgradient",
    "spans",
    "variances_of",
    "widths",
]
