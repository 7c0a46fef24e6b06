"""How many rows of a table are nearly the same as each of its rows."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._compiling import compiled


@compiled
def count_similar(columns, rows, least, start, stop, counts):
    """Count the rows that agree with row i in at least so many columns, for i from start to stop.

    Parameters
    ----------
    columns : ndarray of shape (p, n), uint8
        The codes, a line for each column, so that rows next to each other are compared at once.
    rows : ndarray of shape (n, p), uint8
        The codes that each row looks for; those that nothing should agree with are not in columns.
    least : int
        How many columns must agree.
    start, stop : int
        The rows to count for.
    counts : ndarray of shape (n,), int64
        What was counted, written from start to stop; each row counts itself.
    """
    p, n = columns.shape
    agreeing = np.empty(n, np.uint32)
    for i in range(start, stop):
        agreeing[:] = 0
        for k in range(p):
            code = rows[i, k]
            line = columns[k]
            for j in range(n):
                agreeing[j] += np.uint32(line[j] == code)
        total = 0
        for j in range(n):
            total += agreeing[j] >= least
        counts[i] = total if agreeing[i] >= least else total + 1
