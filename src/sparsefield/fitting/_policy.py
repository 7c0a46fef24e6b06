"""What is chosen for a fit: the tuning constants of all that it is made by, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield.marks import MARKS, MarksPolicy
from sparsefield.objective import COMPLETED, CompletedPolicy
from sparsefield.optimality import GAPS, GapPolicy
from sparsefield.pseudolikelihood import PSEUDO, PseudoPolicy
from sparsefield.solvers import NEWTON, PROXIMAL, SUMS, NewtonPolicy, ProximalPolicy, SumsPolicy


@dataclass(frozen=True)
class FitPolicy:
    """The policies of the parts of a fit, and what is chosen for the whole.

    `FITTING` holds the ones in use; `replace(FITTING, gaps=replace(GAPS, most_attempts=1))` is another policy.
    """

    # --- The whole ---

    # Where edges are known and only their weights are to be found, simulation error adds this part to the variance that
    # the rows leave of them: of parameters / (2 n) in the objective.
    draws_each_row: int = 20

    # How small their smallest subgradient is at the end, at most: weights are then right to six digits, also where
    # curvatures are as small as a hundredth. With half of the cells missing, exact fits that ended at 1e-4 differed by
    # 0.003 when labels were exchanged.
    least_tol: float = 1e-8

    # --- Its parts ---

    completed: CompletedPolicy = COMPLETED  # missing values
    pseudo: PseudoPolicy = PSEUDO  # the start
    newton: NewtonPolicy = NEWTON  # Newton steps
    proximal: ProximalPolicy = PROXIMAL  # proximal gradient steps
    sums: SumsPolicy = SUMS  # fields that are summed out
    marks: MarksPolicy = MARKS  # marks
    gaps: GapPolicy = GAPS  # bounds of the gap


FITTING = FitPolicy()
