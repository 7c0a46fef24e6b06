"""A test that all variables are independent: whether a table has any edge at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsefield.structure._chi_square import chi_square_tail
from sparsefield.structure._design import Design, Variable
from sparsefield.structure._nodes import Nodes


@dataclass(frozen=True)
class Independence:
    """How well independence explains a table.

    Parameters
    ----------
    p_value : float
        The probability of as strong a pair, or of as strong associations of all pairs together, were all variables
        independent; no more than this.
    """

    p_value: float


def judge_independence(nodes: Nodes) -> Independence:
    """Test independence twice, and take the smaller p-value twice (Bonferroni).

    One test is by the strongest pair, the statistic of which is compared with a chi-square for each pair that there is
    (Bonferroni again). It is the smaller one of two: score statistics, which are Pearson's of a table of two variables,
    are too large where one row shows two rare levels together, and likelihood ratios where cells are many beside the
    rows (of tables of 60 rows and six variables with six levels 22% had an edge). The other test is by the sum of
    all score statistics, which many weak edges make large. It has the mean and the variance of a scaled chi-square
    (Satterthwaite 1946).
    """
    design, scores = nodes.design, nodes.scores
    is_pair = np.triu(design.degrees > 0, 1)
    n_pairs = int(is_pair.sum())
    if not n_pairs:
        return Independence(1.0)
    scored = np.where(is_pair, chi_square_tail(scores, np.maximum(design.degrees, 1.0)), 1.0)
    strongest = 1.0
    for i, j in zip(*np.unravel_index(np.argsort(scored, axis=None, kind="stable"), scored.shape), strict=True):
        if scored[i, j] >= strongest:
            break
        ratio = nodes.look([(int(i), int(j))])[0].ratio
        strongest = min(strongest, max(float(scored[i, j]), float(chi_square_tail(ratio, design.degrees[i, j]))))
    mean, variance = float(design.degrees[is_pair].sum()), float(_variances(design)[is_pair].sum())
    scale = variance / (2 * mean)
    together = float(chi_square_tail(scores[is_pair].sum() / scale, mean / scale))
    return Independence(min(1.0, 2 * min(n_pairs * strongest, together)))


def _variances(design: Design) -> np.ndarray:
    """Return the variances of the score statistics of all pairs, were all variables independent.

    With u and v the features of two variables in a row, a statistic is the squared norm of sum u v' / sqrt(n). Of its
    second moment a share 1 / n is E |u|^4 E |v|^4, in place of what normal features have.
    """
    fourth = np.array([_fourth_moment(variable) for variable in design.variables])
    degrees = design.degrees
    return np.asarray(
        2 * degrees + (np.outer(fourth, fourth) - degrees**2 - 2 * degrees) / np.maximum(design.n_together, 1.0)
    )


def _fourth_moment(variable: Variable) -> float:
    """Return the mean of the fourth power of the norm of the features."""
    shares = np.exp(variable.log_odds) / np.exp(variable.log_odds).sum()
    return float(shares @ (variable.features**2).sum(axis=1) ** 2)
