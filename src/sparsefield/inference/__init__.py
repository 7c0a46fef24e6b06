"""Expected statistics under a model: by enumeration, by Gibbs chains, or by exact draws."""

from sparsefield.inference._backend import Backend, Bounds, ChainStates, Cpu
from sparsefield.inference._checks import check_order, check_request, check_seed, check_sweeps, check_two_levels
from sparsefield.inference._device_choice import Device, DeviceName, is_own_machine, make_backend, name_device
from sparsefield.inference._draws import Draws, States, pick_near
from sparsefield.inference._field import Field, energies, expand, reduce_to_binary
from sparsefield.inference.chains._chains import Chains
from sparsefield.inference.chains._counting import count_packed
from sparsefield.inference.chains._fused_checks import StepRule
from sparsefield.inference.chains._gibbs import Gibbs
from sparsefield.inference.chains._scan import Scan
from sparsefield.inference.cluster._cluster import Cluster
from sparsefield.inference.elimination._cliques import ELIMINATION, EliminationPolicy, split_by_reach
from sparsefield.inference.elimination._conditionals import Given
from sparsefield.inference.enumeration._exact import MAX_STATES, Exact, count_states, enumerate_states
from sparsefield.inference.enumeration._states import MOST_ENTRIES, EnumeratedStates, count_entries
from sparsefield.inference.exact_draws._bounds import BoundingChains
from sparsefield.inference.exact_draws._perfect import OutOfReachError, Perfect, PerfectRun
from sparsefield.inference.gpu._cuda import Auto, Cuda
from sparsefield.inference.gpu._device import DeviceMemoryError, NoDeviceError, has_gpu
from sparsefield.inference.missing._clamped import ClampedChains
from sparsefield.inference.missing._enumerated_rows import MOST_STATES, count_ways
from sparsefield.inference.missing._missing import ENUMERATION, ClampedRun, EnumerationPolicy, is_cheap

__all__ = [
    "ELIMINATION",
    "ENUMERATION",
    "MAX_STATES",
    "MOST_ENTRIES",
    "MOST_STATES",
    "Auto",
    "Backend",
    "BoundingChains",
    "Bounds",
    "ChainStates",
    "Chains",
    "ClampedChains",
    "ClampedRun",
    "Cluster",
    "Cpu",
    "Cuda",
    "Device",
    "DeviceMemoryError",
    "DeviceName",
    "Draws",
    "EliminationPolicy",
    "EnumeratedStates",
    "EnumerationPolicy",
    "Exact",
    "Field",
    "Gibbs",
    "Given",
    "NoDeviceError",
    "OutOfReachError",
    "Perfect",
    "PerfectRun",
    "Scan",
    "States",
    "StepRule",
    "check_order",
    "check_request",
    "check_seed",
    "check_sweeps",
    "check_two_levels",
    "count_entries",
    "count_packed",
    "count_states",
    "count_ways",
    "energies",
    "enumerate_states",
    "expand",
    "has_gpu",
    "is_cheap",
    "is_own_machine",
    "make_backend",
    "name_device",
    "pick_near",
    "reduce_to_binary",
    "split_by_reach",
]
