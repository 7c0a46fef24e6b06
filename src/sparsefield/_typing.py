"""Names of arrays, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]  # of any shape
Matrix = NDArray[np.float64]  # of two dimensions
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint8]  # of levels
Floats = NDArray[np.floating[Any]]  # in single or double precision
