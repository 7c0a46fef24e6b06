"""What happened in every iteration of a fit."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sparsefield.fits import Fit, Fitted, as_fit
from sparsefield.plotting._colors import LIGHT
from sparsefield.plotting._curves import Curve, plot_curves
from sparsefield.plotting._display import Display

_GRADIENT, _CERTIFICATE, _, _SWEEPS = LIGHT["groups"][:4]


class TraceDisplay(Display):
    """The trace of a fit, iteration by iteration: distance from optimality, simulation error, certificate, and sweeps.

    Parameters
    ----------
    fit : Fit
        The fit.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.plotting import TraceDisplay
    >>> table = sf.datasets.make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    >>> fit = sf.SparseMRF(0.05, random_state=1).fit(table).fit_
    >>> TraceDisplay.from_fit(fit).plot().ax_.get_yscale()
    'log'
    """

    _size = (8.0, 4.5)

    def __init__(self, fit: Fit) -> None:
        if not fit.steps:
            raise ValueError("The fit has no iterations: there is no trace to draw.")
        self.fit = fit

    @classmethod
    def from_fit(cls, fit: Fit | Fitted) -> TraceDisplay:
        """Make the picture of a fit, or of a fitted estimator."""
        return cls(as_fit(fit))

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Axes | None = None) -> TraceDisplay:
        """Draw the trace of a fitted estimator, on these axes or on new ones."""
        return cls.from_fit(estimator).plot(ax)

    def _draw(self, ax: Axes) -> None:
        trace = self.fit.trace
        x = trace["iteration"].to_numpy()
        # The norm that is zero at the optimum: of the step map, or of the smallest subgradient.
        violations = np.array([step.violation for step in self.fit.steps])
        columns = {
            "penalised gradient": (violations, _GRADIENT, "o-"),
            "its noise": (trace["simulation_error_norm"].to_numpy(), LIGHT["faint"], "o:"),
            "certificate: its bias is at most": (trace["certificate"].to_numpy().astype(float), _CERTIFICATE, "o-"),
        }
        curves = []
        for label, (values, color, style) in columns.items():
            if np.any(values > 0):  # zeros, of exact draws, cannot be shown on a scale of powers
                curves.append(Curve(label, x, np.where(values > 0, values, np.nan), color=color, style=style))
        plot_curves(ax, curves, x="iteration", y="L2 norm")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        sweeps = ax.twinx()
        sweeps.plot(x, trace["n_sweeps"].to_numpy(), color=_SWEEPS, linestyle="--", linewidth=1.2, label="sweeps")
        sweeps.set_ylabel("sweeps", color=_SWEEPS)
        sweeps.set_ylim(bottom=0)
        sweeps.spines[["top"]].set_visible(False)
        handles = [*ax.get_legend_handles_labels()[0], *sweeps.get_legend_handles_labels()[0]]
        ax.legend(handles=handles, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        exact = " (exact draws: no bias)" if not np.any(trace["certificate"].fill_null(np.nan).to_numpy() != 0) else ""
        ax.set_title(f"ended: {self.fit.status.code}{exact}", pad=30)
