"""The support of a fit without its penalty: weights that are not shrunken."""

from __future__ import annotations

from sparsefield.fits import Fit
from sparsefield.model import as_theta
from sparsefield.objective import Group, GroupSupport, Support
from sparsefield.solvers import ExactStand, Learner, Stand


def relax(learner: Learner, fit: Fit, stand: Stand | ExactStand | None = None, *, enough: float | None = None) -> Fit:
    """Fit the edges of a fit again, free of the penalty that shrinks them, and no others.

    Each pays as much as half a row, 1 / (2 n), so that edges between levels that never meet have finite weights; main
    effects pay that too where the fit penalised them. With the group penalty an edge keeps all its parameters.

    Parameters
    ----------
    learner : Learner
        The table.
    fit : Fit
        Whose edges they are.
    stand : Stand or ExactStand, optional
        Draws at the fit, or enumerated states; these may be those of other parameters to start from.
    enough : float, optional
        With enumerated states: what may be left to gain (`Learner.learn`).
    """
    n = learner.rows.n
    theta, domain = as_theta(fit.model), learner.table.domain
    kind = GroupSupport if isinstance(learner.make_penalty(0.0), Group) else Support
    penalty = kind(domain, 1 / (2 * n), float(learner.options.penalize_main), theta != 0)
    start = theta if stand is None else stand
    return learner.learn(penalty.alpha, penalty=penalty, start=start, marks=False, enough=enough)
