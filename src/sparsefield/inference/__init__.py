"""Expected statistics under a model: by enumeration, by Gibbs chains, or by exact draws."""

from sparsefield._kernels._bytes import BLOCK
from sparsefield.inference._backend import Backend, Bounds, ChainStates, Cpu
from sparsefield.inference._bounds import BoundingChains
from sparsefield.inference._bridges import (
    LARGEST_SKEWNESS,
    Bridge,
    add_influences,
    bridge,
    chain_bridges,
    skewness_of_sum,
)
from sparsefield.inference._chains import Chains
from sparsefield.inference._checks import check_order, check_request, check_seed, check_sweeps, check_two_levels
from sparsefield.inference._clamped import ClampedChains
from sparsefield.inference._cliques import split_by_reach
from sparsefield.inference._cluster import Cluster
from sparsefield.inference._conditional import MOST_STATES, count_ways, expected_products
from sparsefield.inference._counting import count_packed
from sparsefield.inference._cuda import Auto, Cuda
from sparsefield.inference._device import DeviceMemoryError, NoDeviceError, has_gpu
from sparsefield.inference._draws import Draws, States, pick_near
from sparsefield.inference._exact import MAX_STATES, Exact, count_states, enumerate_states
from sparsefield.inference._field import Field, energies, expand, reduce_to_binary
from sparsefield.inference._gibbs import Gibbs
from sparsefield.inference._given import Given
from sparsefield.inference._machine import DeviceName, make_backend, name_device
from sparsefield.inference._missing import ClampedRun, is_cheap
from sparsefield.inference._perfect import OutOfReachError, Perfect, PerfectRun
from sparsefield.inference._scan import Scan
from sparsefield.inference._states import MOST_ENTRIES, EnumeratedStates, count_entries
from sparsefield.inference._until import StepRule

__all__ = [
    "BLOCK",
    "LARGEST_SKEWNESS",
    "MAX_STATES",
    "MOST_ENTRIES",
    "MOST_STATES",
    "Auto",
    "Backend",
    "BoundingChains",
    "Bounds",
    "Bridge",
    "ChainStates",
    "Chains",
    "ClampedChains",
    "ClampedRun",
    "Cluster",
    "Cpu",
    "Cuda",
    "DeviceMemoryError",
    "DeviceName",
    "Draws",
    "EnumeratedStates",
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
    "add_influences",
    "bridge",
    "chain_bridges",
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
    "expected_products",
    "has_gpu",
    "is_cheap",
    "make_backend",
    "name_device",
    "pick_near",
    "reduce_to_binary",
    "skewness_of_sum",
    "split_by_reach",
]
