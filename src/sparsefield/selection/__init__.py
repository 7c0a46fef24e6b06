"""Paths of penalties, and rules that choose from them."""

from sparsefield.selection.choices._criteria import Choice, extended_bic
from sparsefield.selection.choices._degrees_of_freedom import count_nonzero
from sparsefield.selection.choices._false_discovery import FalseDiscovery, take_discoveries
from sparsefield.selection.choices._null_edges import null_alpha
from sparsefield.selection.choices._path_rule import Found, PathRule, Verdict, describe_null_edges
from sparsefield.selection.choices._rules import EBIC, HeldOut, StARS
from sparsefield.selection.choices._select import Criterion, Rule, make_rule, select
from sparsefield.selection.paths._alpha_max import alpha_max, largest_alpha
from sparsefield.selection.paths._path import Objective, Path, check_objective, count_edges, path
from sparsefield.selection.paths._path_weights import PathWeights
from sparsefield.selection.paths._relax import relax

__all__ = [
    "EBIC",
    "Choice",
    "Criterion",
    "FalseDiscovery",
    "Found",
    "HeldOut",
    "Objective",
    "Path",
    "PathRule",
    "PathWeights",
    "Rule",
    "StARS",
    "Verdict",
    "alpha_max",
    "check_objective",
    "count_edges",
    "count_nonzero",
    "describe_null_edges",
    "extended_bic",
    "largest_alpha",
    "make_rule",
    "null_alpha",
    "path",
    "relax",
    "select",
    "take_discoveries",
]
