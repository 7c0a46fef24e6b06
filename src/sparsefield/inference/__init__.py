"""Expected statistics under a model: by enumeration, by Gibbs chains, or by exact draws."""

from sparsefield.inference._bounds import BoundingChains
from sparsefield.inference._chains import Chains
from sparsefield.inference._clamped import ClampedChains
from sparsefield.inference._exact import MAX_STATES, Exact, enumerate_states
from sparsefield.inference._gibbs import Gibbs
from sparsefield.inference._perfect import OutOfReachError, Perfect, PerfectRun
from sparsefield.inference._protocol import Field, Inference
from sparsefield.inference._scan import Scan

__all__ = [
    "MAX_STATES",
    "BoundingChains",
    "Chains",
    "ClampedChains",
    "Exact",
    "Field",
    "Gibbs",
    "Inference",
    "OutOfReachError",
    "Perfect",
    "PerfectRun",
    "Scan",
    "enumerate_states",
]
