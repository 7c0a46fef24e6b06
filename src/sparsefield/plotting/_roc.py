"""How well edges are found, where the truth is known."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from sparsefield.fits import Fit, Fitted
from sparsefield.model import PairwiseMRF
from sparsefield.network import Network, edge_auc
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import Curve, plot_curves
from sparsefield.plotting._display import Display


class RocDisplay(Display):
    """The ROC curve of edges ranked by the size of their interaction, against a known field.

    Parameters
    ----------
    false_positives, true_positives : ndarray
        Rates along the curve.
    auc : float
        The area under it.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import RocDisplay
    >>> truth = sf.datasets.make_field(8, seed=1)
    >>> RocDisplay.from_fit(truth, truth).auc
    1.0
    """

    _size = (5.0, 5.0)

    def __init__(self, false_positives: NDArray[np.float64], true_positives: NDArray[np.float64], auc: float) -> None:
        self.false_positives, self.true_positives, self.auc = false_positives, true_positives, auc

    @classmethod
    def from_fit(cls, fitted: PairwiseMRF | Fit | Fitted, truth: PairwiseMRF) -> RocDisplay:
        """Compare a field, a fit or a fitted estimator with the truth."""
        found, known = Network.of(fitted), Network.of(truth)
        if found.names != known.names:
            raise ValueError("The field and the truth have different variables: compare fields of the same ones.")
        pairs = np.triu_indices(truth.domain.n_variables, 1)
        strengths = np.abs(found.strengths)
        auc = float(edge_auc(strengths, truth))
        false, true, _ = roc_curve(known.strengths[pairs] != 0, strengths[pairs])
        return cls(false, true, auc)

    @classmethod
    def from_estimator(cls, estimator: Fitted, truth: PairwiseMRF, *, ax: Axes | None = None) -> RocDisplay:
        """Compare a fitted estimator with the truth, and draw it on these axes or on new ones."""
        return cls.from_fit(estimator, truth).plot(ax)

    def _draw(self, ax: Axes) -> None:
        curve = Curve(f"AUC {self.auc:.3f}", self.false_positives, self.true_positives, color=LIGHT["groups"][0])
        random = Curve("at random", [0, 1], [0, 1], color=LIGHT["faint"], style=":")
        plot_curves(ax, [curve, random], x="share of pairs without an edge", y="share of edges found")
        ax.set_aspect("equal")
        ax.legend(frameon=False, loc="lower right")
