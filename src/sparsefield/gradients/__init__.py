"""How a gradient is estimated: how many sweeps, of how many chains, and when it is good enough.

A schedule is a value with one method, `estimate`. The paper's algorithms: `Fixed(n)` is SPG, `Increasing()` SPG-Inc,
`Tay()` TAY. `PerfectDraws()` and `ExactMoments()` have no bias to control, and `BestDraws()` takes the best draws that
there are.
"""

from sparsefield.gradients._best import BestDraws, enumerates, negligible_bias
from sparsefield.gradients._exact import ExactMoments, without_error
from sparsefield.gradients._fixed import Fixed, Increasing
from sparsefield.gradients._known import Drawn, Enumerated, Known
from sparsefield.gradients._perfect import PerfectDraws, draw_exactly
from sparsefield.gradients._proximal_step import ProximalStep
from sparsefield.gradients._schedule import Estimate, Point, Schedule, Simulation
from sparsefield.gradients._tay import CertificateKind, Tay

__all__ = [
    "BestDraws",
    "CertificateKind",
    "Drawn",
    "Enumerated",
    "Estimate",
    "ExactMoments",
    "Fixed",
    "Increasing",
    "Known",
    "PerfectDraws",
    "Point",
    "ProximalStep",
    "Schedule",
    "Simulation",
    "Tay",
    "draw_exactly",
    "enumerates",
    "negligible_bias",
    "without_error",
]
