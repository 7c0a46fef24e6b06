"""Expected statistics under a model: by enumeration, or by Gibbs chains."""

from sparsefield.inference._chains import Chains
from sparsefield.inference._exact import Exact, enumerate_states
from sparsefield.inference._gibbs import Gibbs
from sparsefield.inference._protocol import Field, Inference
from sparsefield.inference._scan import Scan

__all__ = ["Chains", "Exact", "Field", "Gibbs", "Inference", "Scan", "enumerate_states"]
