"""Relaxed fits (relaxed lasso): the support of a fit without its penalty, whose weights are not shrunken."""

from __future__ import annotations

from dataclasses import replace

from sparsefield.fits import Fit
from sparsefield.fitting import Learner
from sparsefield.gradients import Known
from sparsefield.model import as_theta
from sparsefield.objective import Group, GroupSupport, Support


def relax(learner: Learner, fit: Fit, known: Known | None = None) -> Fit:
    """Fit the edges of a fit again, free of the penalty that shrinks them, and no others.

    Parameters
    ----------
    learner : Learner
        The table.
    fit : Fit
        Whose edges they are.
    known : Drawn or Enumerated, optional
        Draws at the fit, or enumerated states; these may be those of other parameters to start from.

    Returns
    -------
    Fit
        The edges without their penalty; the fit with it is its `penalised`.
    """
    penalty, start = free(learner, fit), as_theta(fit.model) if known is None else known
    return replace(learner.learn(penalty.alpha, penalty=penalty, start=start), penalised=fit)


def free(learner: Learner, fit: Fit) -> Support | GroupSupport:
    """Return what the edges of a fit pay without its penalty: as much as half a row each, 1 / (2 n).

    So edges between levels that never meet have finite weights; main effects pay that too where the fit penalised them.
    With the group penalty an edge keeps all its parameters.
    """
    kind = GroupSupport if isinstance(learner.make_penalty(0.0), Group) else Support
    is_kept = as_theta(fit.model) != 0
    return kind(learner.table.domain, 1 / (2 * learner.rows.n), float(learner.options.penalize_main), is_kept)
