"""Random numbers with Gumbel's distribution, as whole numbers: the largest of scores draws a level from its law."""

from __future__ import annotations

import numpy as np

from sparsefield._kernels._bytes import _MANTISSA_BITS, BLOCK, _as_float, _as_int, _fused, _shift_left, _shift_right
from sparsefield._kernels._compiling import compiled

_UNIT = np.float32(2.0**-32)
_LOG_2 = np.float32(0.69314718056)
_HALF_EXPONENT = np.int32(126 << 23)  # of a float32 from 1/2 to 1
_MANTISSA = np.int32((1 << 23) - 1)
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of sqrt(1/2) as a float32

# The polynomials through -log(1 - z) / z and log2(1 + x) / x at ten Chebyshev nodes of [0, 1/2] and of
# [sqrt(1/2) - 1, sqrt(2) - 1]. Either function is analytic up to a distance of three times half the interval, so that
# errors fall like (3 + sqrt(8))^-10; found: 4.1e-9 and 4.7e-9. Rounding to float32 is what remains.
_P = (1.0, 0.5000012, 0.33325517, 0.2519568, 0.17544077, 0.34074646, -0.5900887, 1.9598706, -2.458962, 1.733612)
_Q = (1.442695, -0.72134733, 0.4808985, -0.3606966, 0.2885526, -0.2396081, 0.2048577, -0.1913884, 0.1847603, -0.1074979)


@compiled
def _evaluate(coefficients, x):
    """Return a polynomial of degree nine, in float32."""
    y = np.float32(coefficients[9])
    for k in range(8, -1, -1):
        y = _fused(y, x, np.float32(coefficients[k]))
    return y


@compiled
def fill_noise(draws, shift, noise):
    """Turn 31 of 32 random bits into -log2 of an exponential number, in whole units of 2^-shift.

    The bits are an odd number v of units 2^-32, and the exponential number is -log(1 - v). With u = 1 - v below one
    half, u = 2^-n (1 - z), it is n log 2 - log(1 - z); else z = v and n = 0, so that small ones keep their precision.
    """
    shift = np.int32(shift)
    scale = np.float32(2.0**shift)
    for c in range(BLOCK):
        odd = np.int32(draws[c] | np.uint32(1))
        is_small = odd >= np.int32(0)
        w = np.float32(odd if is_small else np.int32(-odd)) * _UNIT
        bits = _as_int(w)
        n = np.int32(126) - _shift_right(bits, _MANTISSA_BITS)
        z = w if is_small else np.float32(1.0) - _as_float(np.int32((bits & _MANTISSA) | _HALF_EXPONENT))
        steps = np.float32(0.0) if is_small else np.float32(np.int32(n))
        e = _fused(z, _evaluate(_P, z), steps * _LOG_2)
        bits = _as_int(e)
        k = _shift_right(np.int32(bits - _ROOT_HALF), _MANTISSA_BITS)
        x = _as_float(np.int32(bits - _shift_left(k, _MANTISSA_BITS))) - np.float32(1.0)
        fraction = np.int32(np.rint(x * _evaluate(_Q, x) * scale))
        noise[c] = np.int32(-(_shift_left(k, shift) + fraction))
