"""Compiled loops: arrays and scalars in, arrays changed in place, nothing else known.

Two families hold the chains of a binary field: `_packed` (one bit a chain, AVX2) and `_bytes` (one byte a chain, any
processor). More levels have one byte a chain: `_permutes` (AVX-512) and `_levels` (any processor). Both of a pair use
the same random numbers and the same arithmetic, so they produce the same states to the last bit.
"""
