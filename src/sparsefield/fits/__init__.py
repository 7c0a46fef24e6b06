"""What a fit says: its model, its status, its trace, and how far from the optimum it can be."""

from sparsefield.fits._fit import PROMISED_GAP, Fit, is_fit
from sparsefield.fits._fitted import Fitted, as_fit, as_model
from sparsefield.fits._optimality import GapKind, Optimality
from sparsefield.fits._status import Status
from sparsefield.fits._steps import GradientStep, NewtonStep, StepInfo

__all__ = [
    "PROMISED_GAP",
    "Fit",
    "Fitted",
    "GapKind",
    "GradientStep",
    "NewtonStep",
    "Optimality",
    "Status",
    "StepInfo",
    "as_fit",
    "as_model",
    "is_fit",
]
