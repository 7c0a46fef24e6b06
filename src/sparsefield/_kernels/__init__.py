"""Compiled loops: arrays and scalars in, arrays changed in place, nothing else known.

Two families hold the chains of a binary field: `_packed` (one bit a chain, AVX2) and `_bytes` (one byte a
chain, any processor, any number of levels). Both use the same random numbers and the same arithmetic, so they
produce the same states to the last bit.
"""
